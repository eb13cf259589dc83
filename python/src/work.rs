//! Work without the interpreter's lock: long pieces on a thread of their own while this one looks
//! out for signals, small pieces right here.

use std::cell::OnceCell;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use labelwood::run::{Canceller, Progress, Run};
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
    job: impl FnOnce(&Run) -> Result<T, E> + Send,
) -> PyResult<T> {
    let (events, inbox) = channel();
    let inbox = Mutex::new(inbox);
    let mut run = Run::new(threads).or_raise(py)?;
    if progress.is_some() {
        let events = Mutex::new(events.clone());
        run = run.on_progress(move |progress| tell(&events, progress));
    }
    let outcome = std::thread::scope(|scope| {
        let run = &run;
        let worker = scope.spawn(move || {
            // However the job ends, a panic included, the one who waits is told.
            let _done = Announce(events);
            job(run)
        });
        let watched = watch(py, &inbox, progress, &run.canceller());
        if watched.is_err() {
            run.canceller().cancel();
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
            (Ok(Event::Progress(Progress { stage, done, total }, through)), Some(callback)) => {
                let told = callback.call1((stage, done, total));
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
    static HERE: OnceCell<Run> = const { OnceCell::new() };
}

/// Runs a small `job` on the calling thread, without the interpreter's lock.
pub fn here<T: Send, E: Into<Fault> + Send>(
    py: Python<'_>,
    job: impl FnOnce(&Run) -> Result<T, E> + Send,
) -> PyResult<T> {
    let done = py.detach(|| {
        HERE.with(|here| {
            if here.get().is_none() {
                let run = Run::here().map_err(Fault::from)?;
                let _ = here.set(run);
            }
            let run = here.get().expect("it was set above");
            job(run).map_err(Into::into)
        })
    });
    log::flush(py)?;
    done.map_err(|fault: Fault| fault.raise(py))
}
