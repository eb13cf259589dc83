//! Work without the interpreter's lock: long pieces on a thread of their own while this one looks
//! out for signals, small pieces right here, or on threads that wait for them.

use std::cell::OnceCell;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use labelwood::run::{Canceller, Pool, Progress, Task};
use pyo3::prelude::*;

use crate::errors::{Fault, OrRaise};
use crate::log;

/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(100);

enum Event {
    /// Who sent it may wait until the other is dropped, which is when the callback is through.
    Progress(Progress, Sender<()>),
    Done,
}

/// Runs `job` on `threads` threads (0 for all), calling `progress(stage, done, total)` as it
/// advances. Ctrl-C, or an exception in the callback, cancels the job; at the last step of a stage
/// the job waits for the callback, so that an exception is never too late.
///
/// The threads end with the call, so that a process may be forked before and after it.
pub fn run<T: Send, E: Into<Fault> + Send>(
    py: Python<'_>,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
    job: impl FnOnce(&Task) -> Result<T, E> + Send,
) -> PyResult<T> {
    let (events, inbox) = channel();
    let inbox = Mutex::new(inbox);
    let mut task = Pool::new(threads).or_raise(py)?.task();
    if progress.is_some() {
        let events = Mutex::new(events.clone());
        task = task.on_progress(move |progress| tell(&events, progress));
    }
    let outcome = std::thread::scope(|scope| {
        let task = &task;
        let work = move || {
            // However the job ends, a panic included, the one who waits is told.
            let _done = Announce(events);
            job(task)
        };
        let worker = std::thread::Builder::new().spawn_scoped(scope, work);
        let worker = worker.map_err(|error| Fault::Machine(error.to_string())).or_raise(py)?;
        let watched = watch(py, &inbox, progress, &task.canceller());
        if watched.is_err() {
            task.canceller().cancel();
        }
        drop(inbox);
        let joined = py.detach(|| worker.join());
        watched.map(|()| joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    log::flush(py)?;
    outcome?.or_raise(py)
}

fn tell(events: &Mutex<Sender<Event>>, progress: Progress) {
    let (through, wait) = channel();
    let event = Event::Progress(progress, through);
    // Nobody listens once the job is cancelled, and then nobody is waited for.
    let _ = events.lock().unwrap_or_else(PoisonError::into_inner).send(event);
    if progress.done == progress.total {
        let _ = wait.recv();
    }
}

struct Announce(Sender<Event>);

impl Drop for Announce {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Done);
    }
}

/// Waits for the end of a job; an error is the exception that is to stop it.
fn watch(
    py: Python<'_>,
    inbox: &Mutex<Receiver<Event>>,
    progress: Option<&Bound<'_, PyAny>>,
    canceller: &Canceller,
) -> PyResult<()> {
    loop {
        let next =
            py.detach(|| inbox.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(TICK));
        py.check_signals()?;
        log::flush(py)?;
        match (next, progress) {
            (Ok(Event::Done) | Err(RecvTimeoutError::Disconnected), _) => return Ok(()),
            (Ok(Event::Progress(Progress { stage, done, total, .. }, through)), Some(callback)) => {
                let told = callback.call1((stage.name(), done, total));
                if told.is_err() {
                    canceller.cancel();
                }
                drop(through);
                told?;
            }
            _ => {}
        }
    }
}

thread_local! {
    static HERE: OnceCell<Pool> = const { OnceCell::new() };
}

/// Runs a small `job` on the calling thread, without the interpreter's lock.
pub fn here<T: Send, E: Into<Fault> + Send>(
    py: Python<'_>,
    job: impl FnOnce(&Task) -> Result<T, E> + Send,
) -> PyResult<T> {
    done(py, py.detach(|| on_this_thread(job)))
}

/// How long small jobs of one kind have lately taken, or would have without the help of others:
/// microseconds, about.
#[derive(Default)]
pub struct Pace(AtomicU32);

impl Pace {
    /// Waking other threads and waiting for them takes a sixth of this.
    const LONG: u32 = 250;

    fn is_slow(&self) -> bool {
        self.0.load(Ordering::Relaxed) > Self::LONG
    }

    /// Others may do the same at that time; whichever number stays will do.
    fn note(&self, took: Duration, was_shared: bool) {
        let alone = took.as_micros().min(1 << 20) as u32 * if was_shared { 2 } else { 1 };
        let mean = (self.0.load(Ordering::Relaxed) * 7 + alone) / 8;
        self.0.store(mean, Ordering::Relaxed);
    }
}

/// Runs a small `job` without the interpreter's lock: on the calling thread, or, if those before
/// took long and `threads` (0 for all) allow it, on threads that wait for such jobs.
pub fn soon<T: Send, E: Into<Fault> + Send>(
    py: Python<'_>,
    threads: usize,
    pace: &Pace,
    job: impl FnOnce(&Task) -> Result<T, E> + Send,
) -> PyResult<T> {
    let outcome = py.detach(|| {
        let crew = if pace.is_slow() { crew(threads) } else { None };
        let start = Instant::now();
        let outcome = match &crew {
            Some(pool) => job(&pool.task()).map_err(Into::into),
            None => on_this_thread(job),
        };
        pace.note(start.elapsed(), crew.is_some());
        outcome
    });
    done(py, outcome)
}

fn on_this_thread<T, E: Into<Fault>>(job: impl FnOnce(&Task) -> Result<T, E>) -> Result<T, Fault> {
    HERE.with(|here| {
        if here.get().is_none() {
            let _ = here.set(Pool::here().map_err(Fault::from)?);
        }
        let pool = here.get().expect("it was set above");
        job(&pool.task()).map_err(Into::into)
    })
}

fn done<T>(py: Python<'_>, outcome: Result<T, Fault>) -> PyResult<T> {
    log::flush(py)?;
    outcome.map_err(|fault| fault.raise(py))
}

/// The threads that wait for small jobs.
struct Crew {
    /// The process that started them: a fork has none of them.
    process: u32,
    /// How many were asked for, 0 for all.
    threads: usize,
    /// None on a machine where one is all.
    pool: Option<Pool>,
}

static CREW: Mutex<Option<Crew>> = Mutex::new(None);
/// More threads would find nothing to do in a small job.
const MOST: usize = 8;

/// So many threads (0 for all) that wait for small jobs, if that is more than one and nobody else is
/// asking for them: whoever is, may not be there any more in a process that was forked.
fn crew(threads: usize) -> Option<Pool> {
    if threads == 1 {
        return None;
    }
    let process = std::process::id();
    let mut crew = CREW.try_lock().ok()?;
    if let Some(crew) = crew.as_ref()
        && (crew.process, crew.threads) == (process, threads)
    {
        return crew.pool.clone();
    }
    let count = match threads {
        0 => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
        some => some,
    };
    let pool = if count > 1 { Pool::new(count.min(MOST)).ok() } else { None };
    let before = crew.replace(Crew { process, threads, pool: pool.clone() });
    if before.as_ref().is_some_and(|before| before.process != process) {
        // Its threads are in another process and cannot be told to end.
        std::mem::forget(before);
    }
    pool
}
