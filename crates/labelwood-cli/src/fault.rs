//! What an error means: its line on stderr and its exit code.
//!
//! The library tells whose fault an error is, wherever it is in the chain, so a subcommand only uses
//! `?` and `context`. For a fault of the machine that has no type of its own there is
//! [`MachineFault`].

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use labelwood::app::Fault;
pub use labelwood::app::MachineFault;

/// Exit code for flags that do not go together, as clap has it.
const WRONG_USAGE: u8 = 2;

/// Exit code of a run that a signal stopped: what shells use for Ctrl-C.
pub const STOPPED: u8 = 130;

/// Exit code when the reader of our output went away: what shells use for programs that SIGPIPE
/// ends.
const OUTPUT_CLOSED: u8 = 141;

/// The exit code that tells whose fault an error is.
fn exit_code(fault: Fault) -> u8 {
    match fault {
        Fault::Input => 1,
        Fault::Machine => 3,
        Fault::Stopped => STOPPED,
        Fault::OutputClosed => OUTPUT_CLOSED,
    }
}

/// Prints `error` on stderr, with every cause on its own line if `verbose`; returns the exit code.
pub fn report(error: &anyhow::Error, verbose: bool) -> ExitCode {
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        say(usage.to_string().trim_end());
        return ExitCode::from(WRONG_USAGE);
    }
    let fault = Fault::of(error.as_ref());
    match fault {
        // The exit code tells; a line on stderr would only be in the way.
        Fault::OutputClosed => {}
        Fault::Stopped => say(format_args!("stopped: {error}")),
        Fault::Input | Fault::Machine => say(format_args!("error: {}", line(error))),
    }
    if verbose && fault != Fault::OutputClosed {
        for cause in error.chain().skip(1) {
            say(format_args!("  caused by: {cause}"));
        }
    }
    ExitCode::from(exit_code(fault))
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
    use labelwood::data::ReadError;
    use labelwood::run::Stopped;
    use labelwood::store::StoreError;

    fn code(error: &anyhow::Error) -> u8 {
        exit_code(Fault::of(error.as_ref()))
    }

    #[test]
    fn the_kind_of_io_error_decides_the_exit_code() {
        let code_of = |kind| {
            code(&anyhow::Error::from(io::Error::from(kind)).context("could not write out.txt"))
        };
        assert_eq!(code_of(io::ErrorKind::NotFound), 1);
        assert_eq!(code_of(io::ErrorKind::PermissionDenied), 1);
        assert_eq!(code_of(io::ErrorKind::StorageFull), 3);
        assert_eq!(code_of(io::ErrorKind::BrokenPipe), 141);
    }

    #[cfg(unix)]
    #[test]
    fn a_failing_disk_is_the_machines_fault() {
        assert_eq!(code(&io::Error::from_raw_os_error(libc::EIO).into()), 3);
    }

    #[test]
    fn markers_are_found_below_a_context() {
        let too_much = anyhow::Error::from(MachineFault("needs 9.0 GiB".into())).context("train");
        assert_eq!(code(&too_much), 3);
        let stopped =
            Err::<(), _>(Stopped::Cancelled).context("3 of 50 trees are kept").unwrap_err();
        assert_eq!(code(&stopped), STOPPED);
        assert_eq!(code(&ReadError::Stopped(Stopped::Cancelled).into()), STOPPED);
        assert_eq!(code(&StoreError::Stopped(Stopped::Cancelled).into()), STOPPED);
        assert_eq!(code(&io::Error::other(Stopped::Cancelled).into()), STOPPED);
        assert_eq!(code(&anyhow!("leaf must be at least 1")), 1);
    }

    #[test]
    fn the_line_tells_each_cause_once() {
        let error = anyhow!("disk\nfull").context("a.txt: disk full").context("could not convert");
        assert_eq!(line(&error), "could not convert: a.txt: disk full");
    }
}
