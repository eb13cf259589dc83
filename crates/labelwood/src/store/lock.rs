//! A folder that one process at a time writes to.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;

use super::{StoreError, files};

/// Held by the process that writes to the folder; its content is that process's id.
pub(crate) const LOCK: &str = ".lock";

/// Creates and locks a folder, unless `check` refuses the names that are in it. It is locked until
/// the file is dropped; that may be removed before, by who holds it.
pub(crate) fn lock(
    folder: &Path,
    check: impl Fn(&[String]) -> Result<(), StoreError>,
) -> Result<File, StoreError> {
    let failed = |error: io::Error| StoreError::io("lock", folder, error);
    let path = folder.join(LOCK);
    let process = std::process::id().to_string();
    loop {
        fs::create_dir_all(folder).map_err(|error| StoreError::io("create", folder, error))?;
        check(&files::names_in(folder)?.unwrap_or_default())?;
        let mut open = OpenOptions::new();
        let mut lock = match open.read(true).write(true).create(true).truncate(false).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other.map_err(failed)?,
        };
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                // Whoever has just locked it has not written its number down yet.
                let process = fs::read_to_string(&path).ok().and_then(|id| id.parse().ok());
                return Err(StoreError::Busy { folder: folder.to_owned(), process });
            }
            // A disk without locks: two writers at once are then the user's to avoid.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Ok(()) => {}
        }
        lock.set_len(0).and_then(|()| lock.write_all(process.as_bytes())).map_err(failed)?;
        // The holder before may have removed the file between opening and locking; then the
        // name leads elsewhere or nowhere.
        if fs::read_to_string(&path).is_ok_and(|holder| holder == process) {
            return Ok(lock);
        }
    }
}
