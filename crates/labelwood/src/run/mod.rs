//! The context that all work runs under: threads, memory, cancellation and progress.
//!
//! There is no global state: the caller makes a [`Run`], hands it in, and decides what progress
//! looks like and when to stop.

mod bytes;
mod groups;
mod memory;

pub use bytes::Bytes;
pub use groups::group_memory;
pub use memory::{Held, Memory, OutOfMemory, memory_limit};

use crate::sparse::{CsrView, Predictions};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use thiserror::Error;

/// Threads, memory, cancellation and progress of one piece of work.
///
/// ```
/// use labelwood::run::Run;
/// let run = Run::new(2)?.on_progress(|progress| eprintln!("{}: {}/{}", progress.stage, progress.done, progress.total));
/// run.check()?;
/// run.canceller().cancel();
/// assert!(run.check().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Run {
    pool: rayon::ThreadPool,
    canceller: Canceller,
    observer: Option<Box<dyn Fn(Progress) + Send + Sync>>,
    deadline: Deadline,
    /// Made when it is first asked for: small pieces of work never do.
    memory: OnceLock<Memory>,
}

/// A moment that can be moved while others look at it.
struct Deadline {
    origin: Instant,
    /// Nanoseconds after the origin; the largest number stands for never.
    after: AtomicU64,
}

/// A deadline as it was; dropping this restores it, however the work ends that it was moved for.
struct Before<'a> {
    deadline: &'a Deadline,
    after: u64,
}

impl Drop for Before<'_> {
    fn drop(&mut self) {
        self.deadline.after.store(self.after, Ordering::Relaxed);
    }
}

/// Stops the run it came from; clones stop the same run.
#[derive(Clone, Debug, Default)]
pub struct Canceller(Arc<AtomicBool>);

/// How far a stage has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// What is being done, such as `trees`.
    pub stage: &'static str,
    /// Units finished.
    pub done: u64,
    /// Units in all.
    pub total: u64,
}

/// The memory and disk that a training needs, about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Bytes of memory at the peak, the rows themselves included.
    pub memory: u64,
    /// Bytes of the finished model.
    pub model: u64,
}

/// The work was cancelled by its [`Canceller`].
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("stopped on request")]
pub struct Cancelled;

/// The machine gave no threads.
#[derive(Debug, Error)]
#[error("could not start {threads} threads: {reason}; try a smaller number")]
pub struct ThreadError {
    threads: usize,
    reason: String,
}

/// Threads that wait for work wake each other: tens of thousands do nothing else.
const MOST_THREADS: usize = 1024;

/// The stack of each thread, whatever the environment says. No recursion depends on data; what is
/// nested are parallel loops, whose waiting threads take up other parts of the same work.
const STACK_BYTES: usize = 4 << 20;

impl Run {
    /// A run on `threads` threads; 0 means as many as the machine and its CPU quota give.
    ///
    /// ```
    /// use labelwood::run::Run;
    /// assert_eq!(Run::new(3)?.threads(), 3);
    /// assert!(Run::new(100_000).is_err());
    /// # Ok::<(), labelwood::run::ThreadError>(())
    /// ```
    pub fn new(threads: usize) -> Result<Self, ThreadError> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            1..=MOST_THREADS => threads,
            _ => {
                let reason = format!("at most {MOST_THREADS} are of use");
                return Err(ThreadError { threads, reason });
            }
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .stack_size(STACK_BYTES)
            .thread_name(|index| format!("labelwood-{index}"))
            .build()
            .map_err(|error| ThreadError { threads, reason: error.to_string() })?;
        Ok(Run {
            pool,
            canceller: Canceller::default(),
            observer: None,
            deadline: Deadline::never(),
            memory: OnceLock::new(),
        })
    }

    /// A run on the calling thread alone, which must not belong to another run.
    ///
    /// No thread is started and none is woken, so that a small piece of work costs nothing more
    /// than itself, and a process that was forked may go on with it. The thread belongs to this
    /// run from now on: make one for a thread and keep it.
    ///
    /// ```
    /// use labelwood::run::Run;
    /// let run = Run::here()?;
    /// let here = std::thread::current().id();
    /// assert_eq!(run.install(|| std::thread::current().id()), here);
    /// assert!(Run::here().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn here() -> Result<Self, ThreadError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .build()
            .map_err(|error| ThreadError { threads: 1, reason: error.to_string() })?;
        Ok(Run {
            pool,
            canceller: Canceller::default(),
            observer: None,
            deadline: Deadline::never(),
            memory: OnceLock::new(),
        })
    }

    /// Calls `observer` whenever a stage advances, from any thread.
    pub fn on_progress(mut self, observer: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Lets input take at most so many bytes of memory, or any number of them, instead of as many as
    /// the machine gives.
    ///
    /// ```
    /// use labelwood::{data, run::Run};
    /// let run = Run::new(1)?.limit_memory(Some(100_000));
    /// let (text, options) = ("0 1:1\n".repeat(50_000), data::ReadOptions::default());
    /// let error = data::read_bytes(text.as_bytes(), "a.svm", &options, &run).unwrap_err();
    /// assert!(error.to_string().starts_with("a.svm: the 97.7 KiB of memory that may be used are full"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn limit_memory(mut self, bytes: Option<u64>) -> Self {
        self.memory = OnceLock::from(Memory::limited_to(bytes));
        self
    }

    /// The memory that input may take.
    pub fn memory(&self) -> &Memory {
        self.memory.get_or_init(Memory::of_machine)
    }

    /// The handle that stops this run.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// How many threads work.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Fails once the run is cancelled or late; long loops ask this often.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.canceller.is_cancelled() || self.is_late() { Err(Cancelled) } else { Ok(()) }
    }

    /// Does `work`, which stops as if it were cancelled when this moment comes; without a moment it
    /// goes on.
    ///
    /// A caller's own deadline holds, too: `work` stops at the earlier of both. Afterwards the
    /// caller's is the only one again, so that a run that was late goes on with other work.
    ///
    /// ```
    /// use labelwood::run::Run;
    /// let run = Run::new(1)?;
    /// let now = std::time::Instant::now();
    /// run.with_deadline(Some(now), || {
    ///     assert!(run.is_late() && run.check().is_err());
    ///     run.with_deadline(None, || assert!(run.is_late()));
    /// });
    /// assert!(run.check().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_deadline<R>(&self, moment: Option<Instant>, work: impl FnOnce() -> R) -> R {
        let _callers = self.deadline.advance(moment);
        work()
    }

    /// Whether the moment to stop at has come.
    pub fn is_late(&self) -> bool {
        self.deadline.is_over()
    }

    /// Reports progress to the observer.
    pub fn progress(&self, stage: &'static str, done: u64, total: u64) {
        if let Some(observer) = &self.observer {
            observer(Progress { stage, done, total });
        }
    }

    /// Predicts `block` rows at a time, which bounds the memory, and reports how many are done.
    pub(crate) fn predict_blocks(
        &self,
        features: CsrView<'_>,
        block: usize,
        predict: impl Fn(CsrView<'_>) -> Result<Predictions, Cancelled>,
    ) -> Result<Predictions, Cancelled> {
        let mut predictions = Predictions::default();
        for start in (0..features.len()).step_by(block) {
            let end = (start + block).min(features.len());
            predictions.append(&predict(features.slice(start..end).view())?);
            self.progress("rows", end as u64, features.len() as u64);
        }
        Ok(predictions)
    }

    /// Runs `work` on the pool: rayon's parallel calls inside it use these threads.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }
}

impl Deadline {
    const NEVER: u64 = u64::MAX;

    fn never() -> Self {
        Deadline { origin: Instant::now(), after: AtomicU64::new(Self::NEVER) }
    }

    /// Moves the deadline to this moment if that is earlier.
    fn advance(&self, moment: Option<Instant>) -> Before<'_> {
        let after = moment.map(|moment| moment.saturating_duration_since(self.origin).as_nanos());
        let after = after.and_then(|after| u64::try_from(after).ok()).unwrap_or(Self::NEVER);
        let before = self.after.fetch_min(after, Ordering::Relaxed);
        Before { deadline: self, after: before }
    }

    fn is_over(&self) -> bool {
        let after = self.after.load(Ordering::Relaxed);
        after != Self::NEVER && self.origin.elapsed().as_nanos() >= u128::from(after)
    }
}

impl Canceller {
    /// Asks the run to stop at the next check.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_earlier_of_two_deadlines_holds_and_the_callers_comes_back() {
        let run = Run::new(1).unwrap();
        let (past, future) = (Instant::now(), Instant::now() + Duration::from_secs(3600));
        let late = |moment| run.with_deadline(moment, || run.is_late());
        run.with_deadline(Some(future), || {
            assert!(late(Some(past)));
            assert!(!run.is_late());
            assert!(!late(None));
        });
        run.with_deadline(Some(past), || {
            assert!(late(Some(future)) && late(None));
            assert!(run.is_late());
        });
        assert!(!run.is_late());
        // It also comes back when the work ends early.
        let panics = std::panic::AssertUnwindSafe(|| run.with_deadline(Some(past), || panic!()));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert!(!run.is_late());
    }
}
