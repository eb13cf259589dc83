//! What all work runs on and under: a [`Pool`] of threads, and a [`Task`] for each piece of work.
//!
//! There is no global state. The caller makes a pool, which may live as long as the process, and a
//! task for each piece of work, which carries that work's cancellation, deadline, progress and
//! memory limit. Nothing of a task is shared with another one but the threads.

mod bytes;
mod cgroup;
mod clock;
mod memory;
mod progress;

pub use bytes::Bytes;
pub use cgroup::group_memory;
pub use clock::{Clock, Spent};
pub(crate) use memory::Held;
pub use memory::{Memory, OutOfMemory, memory_limit};
use progress::Scope;
pub use progress::{Progress, Stage};

use crate::base::sparse::{Predictions, RowsView};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use thiserror::Error;

/// Threads that work; clones share them.
///
/// ```
/// use labelwood::run::Pool;
/// let pool = Pool::new(3)?;
/// assert_eq!(pool.threads(), 3);
/// // Each piece of work is a task of its own: stopping one leaves the others alone.
/// let (one, other) = (pool.task(), pool.task());
/// one.canceller().cancel();
/// assert!(one.check().is_err() && other.check().is_ok());
/// assert!(Pool::new(100_000).is_err());
/// # Ok::<(), labelwood::run::ThreadError>(())
/// ```
#[derive(Clone)]
pub struct Pool(Arc<rayon::ThreadPool>);

/// One piece of work: the threads that do it, and its own cancellation, deadline, progress and
/// memory limit.
///
/// ```
/// use labelwood::run::{Pool, Stopped};
/// let task = Pool::new(2)?.task()
///     .on_progress(|progress| eprintln!("{}: {}/{}", progress.stage, progress.done, progress.total));
/// task.check()?;
/// task.canceller().cancel();
/// assert_eq!(task.check(), Err(Stopped::Cancelled));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Task {
    pool: Pool,
    canceller: Canceller,
    observer: Option<Arc<Observer>>,
    scope: Scope,
    deadline: Option<Instant>,
    /// Made when it is first asked for: small pieces of work never do.
    memory: Arc<OnceLock<Memory>>,
}

/// What is told of progress.
type Observer = dyn Fn(Progress) + Send + Sync;

/// Stops the task it came from; clones stop the same task.
#[derive(Clone, Debug, Default)]
pub struct Canceller(Arc<AtomicBool>);

/// The memory and disk that a training needs, about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Bytes of memory at the peak, the rows themselves included.
    pub memory: u64,
    /// Bytes of the finished model.
    pub model: u64,
}

/// Why a task stopped before its work was done.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Stopped {
    /// Its [`Canceller`] was used.
    #[error("stopped on request")]
    Cancelled,
    /// Its deadline passed.
    #[error("the time was up")]
    Late,
}

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

impl Pool {
    /// A pool of `threads` threads; 0 means as many as the machine and its CPU quota give.
    pub fn new(threads: usize) -> Result<Self, ThreadError> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            1..=MOST_THREADS => threads,
            _ => {
                let reason = format!("at most {MOST_THREADS} are of use");
                return Err(ThreadError { threads, reason });
            }
        };
        let builder = rayon::ThreadPoolBuilder::new()
            .stack_size(STACK_BYTES)
            .thread_name(|index| format!("labelwood-{index}"));
        Self::build(builder, threads)
    }

    /// A pool of the calling thread alone, which must not belong to another pool.
    ///
    /// No thread is started and none is woken, so that a small piece of work costs nothing more
    /// than itself, and a process that was forked may go on with it. The thread belongs to this
    /// pool from now on: make one for a thread and keep it.
    ///
    /// ```
    /// use labelwood::run::Pool;
    /// let pool = Pool::here()?;
    /// let here = std::thread::current().id();
    /// assert_eq!(pool.task().install(|| std::thread::current().id()), here);
    /// assert!(Pool::here().is_err());
    /// # Ok::<(), labelwood::run::ThreadError>(())
    /// ```
    pub fn here() -> Result<Self, ThreadError> {
        Self::build(rayon::ThreadPoolBuilder::new().use_current_thread(), 1)
    }

    fn build(builder: rayon::ThreadPoolBuilder, threads: usize) -> Result<Self, ThreadError> {
        let pool = builder.num_threads(threads).build();
        let pool = pool.map_err(|error| ThreadError { threads, reason: error.to_string() })?;
        Ok(Pool(Arc::new(pool)))
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.0.current_num_threads()
    }

    /// A new piece of work: nobody has cancelled it, it has no deadline and tells no progress.
    pub fn task(&self) -> Task {
        Task {
            pool: self.clone(),
            canceller: Canceller::default(),
            observer: None,
            scope: Scope::default(),
            deadline: None,
            memory: Arc::default(),
        }
    }
}

impl Task {
    /// Calls `observer` whenever a stage advances, from any thread.
    #[must_use]
    pub fn on_progress(mut self, observer: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Lets input take at most so many bytes of memory, or any number of them, instead of as many as
    /// the machine gives.
    ///
    /// ```
    /// use labelwood::{data, run::Pool};
    /// let task = Pool::new(1)?.task().limit_memory(Some(100_000));
    /// let (text, options) = ("0 1:1\n".repeat(50_000), data::ReadOptions::default());
    /// let error = data::read_bytes(text.as_bytes(), "a.svm", &options, &task).unwrap_err();
    /// assert!(error.to_string().starts_with("a.svm: the 97.7 KiB of memory that may be used are full"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn limit_memory(mut self, bytes: Option<u64>) -> Self {
        self.memory = Arc::new(OnceLock::from(Memory::limited_to(bytes)));
        self
    }

    /// The same task with a deadline: what runs under it stops when this moment comes. Without a
    /// moment it keeps its own deadline, and the earlier of two deadlines holds.
    ///
    /// ```
    /// use labelwood::run::{Pool, Stopped};
    /// let task = Pool::new(1)?.task();
    /// let hurried = task.until(Some(std::time::Instant::now()));
    /// assert_eq!(hurried.check(), Err(Stopped::Late));
    /// assert_eq!(hurried.until(None).check(), Err(Stopped::Late));
    /// assert_eq!(task.check(), Ok(()));
    /// // Cancelling a task cancels what was made of it, and the other way round.
    /// hurried.canceller().cancel();
    /// assert_eq!(task.check(), Err(Stopped::Cancelled));
    /// # Ok::<(), labelwood::run::ThreadError>(())
    /// ```
    #[must_use]
    pub fn until(&self, moment: Option<Instant>) -> Task {
        Task { deadline: self.deadline.into_iter().chain(moment).min(), ..self.clone() }
    }

    /// The same task without a deadline: only a cancellation stops it.
    #[must_use]
    pub fn without_deadline(&self) -> Task {
        Task { deadline: None, ..self.clone() }
    }

    /// The same task for a share of its work: what is done under it takes the whole from the share's
    /// start to its end.
    ///
    /// ```
    /// use labelwood::run::{Pool, Stage};
    /// use std::sync::{Arc, Mutex};
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let told = seen.clone();
    /// let task = Pool::new(1)?.task().on_progress(move |progress| {
    ///     told.lock().unwrap().push((progress.part, progress.overall));
    /// });
    /// task.share(0.0..0.5).part("craftml").progress(Stage::Units("trees"), 5, 10);
    /// task.share(0.5..1.0).progress(Stage::Rows, 100, 200);
    /// assert_eq!(*seen.lock().unwrap(), [(Some("craftml"), 0.25), (None, 0.75)]);
    /// # Ok::<(), labelwood::run::ThreadError>(())
    /// ```
    #[must_use]
    pub fn share(&self, share: Range<f64>) -> Task {
        Task { scope: self.scope.share(share), ..self.clone() }
    }

    /// The same task for a part of the work, whose progress is told under this name.
    #[must_use]
    pub fn part(&self, name: &'static str) -> Task {
        Task { scope: self.scope.part(name), ..self.clone() }
    }

    /// The same task for one piece of a stage, of which so many are finished before it: whatever stages
    /// the piece has, its progress is told as the stage's.
    #[must_use]
    pub fn piece_of(&self, stage: Stage, done: u64, total: u64) -> Task {
        Task { scope: self.scope.piece_of(stage, done, total), ..self.clone() }
    }

    /// The same task without a word of progress.
    #[must_use]
    pub fn quiet(&self) -> Task {
        Task { observer: None, ..self.clone() }
    }

    /// The memory that input may take.
    pub fn memory(&self) -> &Memory {
        self.memory.get_or_init(Memory::of_machine)
    }

    /// The handle that stops this task.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// How many threads work.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// Fails once the task is cancelled or late; long loops ask this often.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.canceller.is_cancelled() {
            return Err(Stopped::Cancelled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Stopped::Late),
            _ => Ok(()),
        }
    }

    /// Reports progress to the observer.
    pub fn progress(&self, stage: Stage, done: u64, total: u64) {
        if let Some(observer) = &self.observer {
            observer(self.scope.progress(stage, done, total));
        }
    }

    /// Predicts `block` rows at a time, which bounds the memory, and reports how many are done.
    pub(crate) fn predict_blocks<'r>(
        &self,
        rows: impl Into<RowsView<'r>>,
        block: usize,
        predict: impl Fn(RowsView<'_>) -> Result<Predictions, Stopped>,
    ) -> Result<Predictions, Stopped> {
        let mut predictions = Predictions::default();
        let rows = rows.into();
        for start in (0..rows.len()).step_by(block) {
            let end = (start + block).min(rows.len());
            predictions.append(&predict(rows.slice(start..end).view())?);
            self.progress(Stage::Rows, end as u64, rows.len() as u64);
        }
        Ok(predictions)
    }

    /// Runs `work` on the pool: rayon's parallel calls inside it use these threads.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.0.install(work)
    }
}

impl Canceller {
    /// Asks the task to stop at the next check.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the task was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_earlier_of_two_deadlines_holds_and_the_callers_is_untouched() {
        let task = Pool::new(1).unwrap().task();
        let (past, future) = (Instant::now(), Instant::now() + Duration::from_secs(3600));
        let hour = task.until(Some(future));
        assert_eq!(hour.until(Some(past)).check(), Err(Stopped::Late));
        assert_eq!(hour.check(), Ok(()));
        assert_eq!(hour.until(None).check(), Ok(()));
        let late = task.until(Some(past));
        assert_eq!(late.until(Some(future)).check(), Err(Stopped::Late));
        assert_eq!(late.without_deadline().check(), Ok(()));
        assert_eq!(task.check(), Ok(()));
    }

    #[test]
    fn a_task_that_is_late_and_cancelled_is_cancelled() {
        let task = Pool::new(1).unwrap().task().until(Some(Instant::now()));
        task.canceller().cancel();
        assert_eq!(task.check(), Err(Stopped::Cancelled));
    }
}
