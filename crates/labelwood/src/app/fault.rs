//! Whose fault an error is.
//!
//! The command turns the answer into an exit code, Python into a class of exceptions. An error is
//! looked through to its last cause, so that callers only have to pass on what the library says.

use crate::base::run::{OutOfMemory, Stopped, ThreadError};
use std::error::Error;
use std::{io, iter};
use thiserror::Error;

/// Who or what is at fault for an error.
///
/// ```
/// use labelwood::app::{Fault, MachineFault};
/// use labelwood::data::{ReadOptions, read};
/// use labelwood::run::{Pool, Stopped};
/// let task = Pool::new(1)?.task();
/// let missing = read("no-such.txt".as_ref(), &ReadOptions::default(), &task).unwrap_err();
/// assert_eq!(Fault::of(&missing), Fault::Input);
/// assert_eq!(Fault::of(&MachineFault("the disk is too slow".to_owned())), Fault::Machine);
/// assert_eq!(Fault::of(&Stopped::Cancelled), Fault::Stopped);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A file, a value in it, or a setting: the user can mend it. Files that are missing or that the
    /// user may not read or write belong here.
    Input,
    /// Disk, memory or threads.
    Machine,
    /// Nobody: the work was stopped on request, or its time was up.
    Stopped,
    /// Nobody: the reader of the output went away, as `head` does.
    OutputClosed,
}

/// An error that is the machine's fault and has no type of its own.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct MachineFault(
    /// What is wrong, and what to do about it.
    pub String,
);

impl Fault {
    /// Whose fault an error is: the first of its causes that tells decides.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let mut causes = iter::successors(Some(error), |&cause| cause.source());
        causes.find_map(Self::told_by).unwrap_or(Fault::Input)
    }

    fn told_by(cause: &(dyn Error + 'static)) -> Option<Self> {
        if cause.is::<Stopped>() {
            return Some(Fault::Stopped);
        }
        if cause.is::<ThreadError>() || cause.is::<OutOfMemory>() || cause.is::<MachineFault>() {
            return Some(Fault::Machine);
        }
        cause.downcast_ref().map(Self::of_io)
    }

    /// A missing or unreadable file is the user's to mend; a full or failing disk is not.
    fn of_io(error: &io::Error) -> Self {
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
}

/// System error codes that have no [`io::ErrorKind`] of their own: the disk fails, or too many files
/// are open.
fn is_machine_code(code: i32) -> bool {
    #[cfg(unix)]
    return {
        use rustix::io::Errno;
        [Errno::IO, Errno::MFILE, Errno::NFILE].iter().any(|known| known.raw_os_error() == code)
    };
    #[cfg(not(unix))]
    return false;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::store::StoreError;
    use crate::data::ReadError;
    use crate::model::TrainError;
    use crate::shard::{ShardError, ShareError};
    use crate::text::TextError;

    #[test]
    fn the_kind_of_io_error_decides() {
        let fault = |kind| {
            let (path, source) = ("out.txt".to_owned(), io::Error::from(kind));
            Fault::of(&ReadError::Io { path, source })
        };
        use io::ErrorKind::*;
        for kind in [NotFound, PermissionDenied, NotADirectory, IsADirectory, AlreadyExists] {
            assert_eq!(fault(kind), Fault::Input, "{kind}");
        }
        assert_eq!(fault(StorageFull), Fault::Machine);
        assert_eq!(fault(OutOfMemory), Fault::Machine);
        assert_eq!(fault(BrokenPipe), Fault::OutputClosed);
    }

    #[cfg(unix)]
    #[test]
    fn a_failing_disk_is_the_machines_fault_and_a_missing_permission_is_not() {
        use rustix::io::Errno;
        let fault = |code: Errno| Fault::of(&io::Error::from(code));
        assert_eq!(fault(Errno::IO), Fault::Machine);
        assert_eq!(fault(Errno::MFILE), Fault::Machine);
        for code in [Errno::ACCESS, Errno::PERM, Errno::NOTDIR] {
            assert_eq!(fault(code), Fault::Input, "{code}");
        }
    }

    #[test]
    fn a_stop_is_found_in_every_error_of_the_library() {
        let late = Stopped::Late;
        let stopped = Stopped::Cancelled;
        let store = || StoreError::Stopped(stopped);
        let train = TrainError::Stopped { finished: 1, total: 2, units: "trees", source: stopped };
        let errors: [Box<dyn Error>; 11] = [
            Box::new(late),
            Box::new(ReadError::Stopped(late)),
            Box::new(store()),
            Box::new(TextError::Read(ReadError::Stopped(stopped))),
            Box::new(TextError::Stopped(stopped)),
            Box::new(TrainError::Store(store())),
            Box::new(ShardError::Train(train)),
            Box::new(ShardError::Store(store())),
            Box::new(ShardError::Stopped(stopped)),
            Box::new(ShareError::Stopped(stopped)),
            Box::new(io::Error::other(stopped)),
        ];
        for error in errors {
            assert_eq!(Fault::of(error.as_ref()), Fault::Stopped, "{error:?}");
        }
        assert_eq!(Fault::of(&TrainError::NoRows), Fault::Input);
    }
}
