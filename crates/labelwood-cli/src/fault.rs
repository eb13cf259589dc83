//! What an error means: its line on stderr and its exit code.
//!
//! The library's errors and `std::io::Error` are recognised wherever they are in the chain, so a
//! subcommand only uses `?` and `context`. For a fault of the machine that has no type of its own
//! there is [`MachineFault`].

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use labelwood::data::ReadError;
use labelwood::model::store::StoreError;
use labelwood::run::{OutOfMemory, Stopped, ThreadError};
use labelwood::shard::{PartError, ShardError};

/// Exit code for flags that do not go together, as clap has it.
const WRONG_USAGE: u8 = 2;

/// Exit code of a run that a signal stopped: what shells use for Ctrl-C.
pub const STOPPED: u8 = 130;

/// Exit code when the reader of our output went away: what shells use for programs that SIGPIPE
/// ends.
const OUTPUT_CLOSED: u8 = 141;

/// The machine is at fault: too little memory, for example.
#[derive(Debug)]
pub struct MachineFault(pub String);

impl fmt::Display for MachineFault {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for MachineFault {}

/// Who or what ended the command.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// The reader of our output went away, as `head` does. The exit code tells; a line on stderr
    /// would only be in the way.
    OutputClosed,
    /// A file, a value in it, or a setting.
    Input,
    /// Disk, memory, threads.
    Machine,
    /// A signal.
    Stopped,
}

impl Fault {
    fn exit_code(self) -> u8 {
        match self {
            Fault::OutputClosed => OUTPUT_CLOSED,
            Fault::Input => 1,
            Fault::Machine => 3,
            Fault::Stopped => STOPPED,
        }
    }
}

/// Prints `error` on stderr, with every cause on its own line if `verbose`; returns the exit code.
pub fn report(error: &anyhow::Error, verbose: bool) -> ExitCode {
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        say(usage.to_string().trim_end());
        return ExitCode::from(WRONG_USAGE);
    }
    let fault = classify(error);
    match fault {
        Fault::OutputClosed => {}
        Fault::Stopped => say(format_args!("stopped: {error}")),
        Fault::Input | Fault::Machine => say(format_args!("error: {}", line(error))),
    }
    if verbose && fault != Fault::OutputClosed {
        for cause in error.chain().skip(1) {
            say(format_args!("  caused by: {cause}"));
        }
    }
    ExitCode::from(fault.exit_code())
}

/// Answers a command line that does not lead to a subcommand: prints the help or the version that it
/// asks for, or what is wrong with it; returns the exit code.
pub fn answer(asked: &clap::Error) -> ExitCode {
    match asked.print().and_then(|()| io::stdout().flush()) {
        _ if asked.use_stderr() => ExitCode::from(WRONG_USAGE),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&anyhow::Error::from(error).context("standard output"), false),
    }
}

/// Writes a line to stderr. Not `eprintln!`, which panics where stderr cannot be written: the exit
/// code has to tell then.
pub fn say(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

fn classify(error: &anyhow::Error) -> Fault {
    let known = error.chain().find_map(|cause| {
        if is_cancelled(cause) {
            Some(Fault::Stopped)
        } else if cause.is::<ThreadError>()
            || cause.is::<OutOfMemory>()
            || cause.is::<MachineFault>()
        {
            Some(Fault::Machine)
        } else {
            cause.downcast_ref::<io::Error>().map(classify_io)
        }
    });
    known.unwrap_or(Fault::Input)
}

/// Whether the run was cancelled. An error that is transparent for another hides it from the chain.
fn is_cancelled(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.is::<Stopped>()
        || matches!(cause.downcast_ref(), Some(ReadError::Stopped(_)))
        || matches!(cause.downcast_ref(), Some(StoreError::Stopped(_)))
        || cause.downcast_ref().is_some_and(ShardError::is_cancelled)
        || cause.downcast_ref().is_some_and(PartError::is_cancelled)
}

/// A missing or unreadable file is the caller's to mend; a full or failing disk is not.
fn classify_io(error: &io::Error) -> Fault {
    use io::ErrorKind::*;
    match error.kind() {
        _ if error.get_ref().is_some_and(|inner| inner.is::<Stopped>()) => Fault::Stopped,
        BrokenPipe => Fault::OutputClosed,
        StorageFull
        | QuotaExceeded
        | FileTooLarge
        | ReadOnlyFilesystem
        | OutOfMemory
        | StaleNetworkFileHandle
        | TimedOut => Fault::Machine,
        _ if error.raw_os_error().is_some_and(is_machine_code) => Fault::Machine,
        _ => Fault::Input,
    }
}

/// System error codes that have no [`io::ErrorKind`] of their own.
fn is_machine_code(code: i32) -> bool {
    #[cfg(unix)]
    return [libc::EIO, libc::EMFILE, libc::ENFILE].contains(&code);
    #[cfg(not(unix))]
    return false;
}

/// The error and its causes on one line, leaving out a cause that the text already tells.
fn line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let text = cause.to_string().replace(['\n', '\r'], " ");
        if line.is_empty() {
            line = text;
        } else if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};

    fn io_error(kind: io::ErrorKind) -> anyhow::Error {
        anyhow::Error::from(io::Error::from(kind)).context("could not write out.txt")
    }

    #[test]
    fn the_kind_of_io_error_decides_who_is_at_fault() {
        assert_eq!(classify(&io_error(io::ErrorKind::NotFound)), Fault::Input);
        assert_eq!(classify(&io_error(io::ErrorKind::PermissionDenied)), Fault::Input);
        assert_eq!(classify(&io_error(io::ErrorKind::StorageFull)), Fault::Machine);
        assert_eq!(classify(&io_error(io::ErrorKind::BrokenPipe)), Fault::OutputClosed);
    }

    #[cfg(unix)]
    #[test]
    fn a_failing_disk_is_the_machines_fault() {
        let error = io::Error::from_raw_os_error(libc::EIO);
        assert_eq!(classify(&error.into()), Fault::Machine);
    }

    #[test]
    fn markers_are_found_below_a_context() {
        let too_much = anyhow::Error::from(MachineFault("needs 9.0 GiB".into())).context("train");
        assert_eq!(classify(&too_much), Fault::Machine);
        let stopped =
            Err::<(), _>(Stopped::Cancelled).context("3 of 50 trees are kept").unwrap_err();
        assert_eq!(classify(&stopped), Fault::Stopped);
        assert_eq!(classify(&ReadError::Stopped(Stopped::Cancelled).into()), Fault::Stopped);
        assert_eq!(classify(&StoreError::Stopped(Stopped::Cancelled).into()), Fault::Stopped);
        assert_eq!(classify(&io::Error::other(Stopped::Cancelled).into()), Fault::Stopped);
        assert_eq!(classify(&anyhow!("leaf must be at least 1")), Fault::Input);
    }

    #[test]
    fn the_line_tells_each_cause_once() {
        let error = anyhow!("disk\nfull").context("a.txt: disk full").context("could not convert");
        assert_eq!(line(&error), "could not convert: a.txt: disk full");
    }
}
