//! Stopping on SIGINT, SIGTERM and SIGHUP.
//!
//! The first signal cancels the task, which then ends at its next check and keeps its finished units.
//! If that takes too long, for example because it waits for standard input, the process is ended from
//! here. Nothing finished is lost, because every file is renamed into place when it is complete. A
//! second signal ends the process at once.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use labelwood::run::Canceller;

use crate::fault::{self, MachineFault, STOPPED};

/// How long a cancelled task may take to end by itself.
const GRACE: Duration = Duration::from_millis(900);

/// The message for work that keeps nothing when it is ended.
pub const NOTHING_KEPT: &str = "no unfinished work is kept";

/// Cancels the task on a signal. `kept` describes what is left if it does not end in time. Call this
/// once in a process.
pub fn cancel_on_signal(
    canceller: Canceller,
    kept: impl Fn() -> String + Send + Sync + 'static,
) -> Result<()> {
    let ignored = ignored_signals();
    let asked = AtomicBool::new(false);
    let kept = Arc::new(kept);
    ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::Relaxed) {
            process::exit(STOPPED.into());
        }
        canceller.cancel();
        let kept = kept.clone();
        let end = move || {
            thread::sleep(GRACE);
            fault::say(format_args!("stopped: {}", kept()));
            process::exit(STOPPED.into());
        };
        // If no thread can be started, wait here; then a second signal does not end the process sooner.
        if thread::Builder::new().spawn(end.clone()).is_err() {
            end();
        }
    })
    .map_err(|error| MachineFault(format!("could not watch for signals: {error}")))?;
    ignore_again(&ignored);
    Ok(())
}

/// Signals that the parent process asked us to ignore, as `nohup` does with SIGHUP.
#[cfg(unix)]
fn ignored_signals() -> Vec<libc::c_int> {
    let is_ignored = |&signal: &libc::c_int| {
        // SAFETY: an all-zero `sigaction` is a valid value of this plain C struct, and with a null
        // new action the call only writes the current one into it.
        unsafe {
            let mut current: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut current) == 0
                && current.sa_sigaction == libc::SIG_IGN
        }
    };
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].into_iter().filter(is_ignored).collect()
}

/// Ignores signals again that were ignored before the handler was set for all of them.
#[cfg(unix)]
fn ignore_again(signals: &[libc::c_int]) {
    for &signal in signals {
        // SAFETY: `SIG_IGN` is a valid disposition for these three signals.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

#[cfg(not(unix))]
fn ignored_signals() {}

#[cfg(not(unix))]
fn ignore_again(_: &()) {}
