//! Locks a folder, so that one process at a time writes to it.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use super::{StoreError, files};

/// The lock file. Its content is the id of the process that holds the lock.
pub(crate) const LOCK: &str = ".lock";

/// How often locking is tried again when the holder has just removed the lock file.
const TRIES: usize = 100;

/// The most digits of a process id.
const DIGITS: u64 = 10;

/// Creates and locks a folder, unless `check` refuses the names that are in it.
///
/// The folder is locked until the returned file is dropped. The holder may remove the file before.
///
/// Anybody may have put files into the folder. So links are not followed, and a file that is called
/// like the lock but is none is left as it is.
pub(crate) fn lock(
    folder: &Path,
    check: impl Fn(&[String]) -> Result<(), StoreError>,
) -> Result<File, StoreError> {
    let failed = |error: io::Error| StoreError::io("lock", folder, error);
    let refused = |found| StoreError::not_a_model(folder, &format!("`{LOCK}`, which {found}"));
    let busy = |process: &str| {
        let other = format!("another process{process} is writing here");
        StoreError::refused(folder, format!("{other}; wait for it or choose another folder"))
    };
    let path = folder.join(LOCK);
    for _ in 0..TRIES {
        fs::create_dir_all(folder).map_err(|error| StoreError::io("create", folder, error))?;
        check(&files::names_in(folder)?.unwrap_or_default())?;
        let mut lock = match open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) if path.is_symlink() => return Err(refused("is a symbolic link")),
            other => other.map_err(failed)?,
        };
        if !lock.metadata().map_err(failed)?.is_file() {
            return Err(refused("is not an ordinary file"));
        }
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                // The holder may not have written its id yet.
                let process = content(&mut lock).ok().and_then(|id| id.parse::<u32>().ok());
                return Err(busy(&process.map(|id| format!(" ({id})")).unwrap_or_default()));
            }
            // The disk has no locks. Then the user has to avoid two writers at once.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Ok(()) => {}
        }
        let id = content(&mut lock).map_err(failed)?;
        // Part of an id is there if another process was killed while it wrote.
        let is_process_id =
            id.len() as u64 <= DIGITS && id.bytes().all(|byte| byte.is_ascii_digit());
        if has_other_names(&lock.metadata().map_err(failed)?) || !is_process_id {
            return Err(refused("no training wrote"));
        }
        lock.rewind()
            .and_then(|()| lock.set_len(0))
            .and_then(|()| lock.write_all(std::process::id().to_string().as_bytes()))
            .map_err(failed)?;
        // The previous holder may have removed the file between our opening and locking it. Then there
        // is another file of that name, or none.
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => {
                let (found, held) = (found.map_err(failed)?, lock.metadata().map_err(failed)?);
                if identity(&found) == identity(&held) {
                    return Ok(lock);
                }
            }
        }
    }
    // Other processes locked and removed it in every try.
    Err(busy(""))
}

/// Opens or creates the file. A symbolic link is not followed: it is an error on Unix, and opened itself
/// on Windows.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt;
        const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
        options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    }
    options.open(path)
}

/// The first characters of the file: one more than a process id may have.
fn content(lock: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    lock.rewind()?;
    lock.take(DIGITS + 1).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether the file has other hard links. Then it is no lock file of labelwood.
#[cfg(unix)]
fn has_other_names(file: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(file) > 1
}

#[cfg(not(unix))]
fn has_other_names(_: &Metadata) -> bool {
    false
}

/// Tells two files apart that exist at the same time.
#[cfg(unix)]
fn identity(file: &Metadata) -> impl PartialEq {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino())
}

/// Without inode numbers: the time of the last change, which is when the process id was written.
#[cfg(not(unix))]
fn identity(file: &Metadata) -> impl PartialEq {
    (file.modified().ok(), file.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_lock(folder: &Path) -> Result<File, StoreError> {
        lock(folder, |_| Ok(()))
    }

    #[test]
    fn a_lock_holds_the_process_id_and_may_be_taken_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        // What others left: nothing, part of a number, a longer number.
        for left in ["", "12", "4294967295"] {
            fs::write(&path, left).unwrap();
            let held = try_lock(folder.path()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), std::process::id().to_string());
            let busy = try_lock(folder.path()).unwrap_err().to_string();
            let expected = format!("another process ({}) is writing here", std::process::id());
            assert!(busy.contains(&expected), "{busy}");
            drop(held);
        }
    }

    #[test]
    fn a_file_that_no_training_wrote_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        for content in ["important", "12 monkeys", "12345678901", "1\n"] {
            fs::write(&path, content).unwrap();
            let error = try_lock(folder.path()).unwrap_err();
            assert!(error.to_string().contains("this is not a model"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_the_lock_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, other) = (folder.path().join("inside"), folder.path().join("other"));
        fs::create_dir(&inside).unwrap();
        for content in ["important", "", "17"] {
            fs::write(&other, content).unwrap();
            std::os::unix::fs::symlink(&other, inside.join(LOCK)).unwrap();
            let error = try_lock(&inside).unwrap_err().to_string();
            assert!(error.contains("holds `.lock`, which is a symbolic link"), "{error}");
            fs::remove_file(inside.join(LOCK)).unwrap();
            fs::hard_link(&other, inside.join(LOCK)).unwrap();
            let error = try_lock(&inside).unwrap_err().to_string();
            assert!(error.contains("holds `.lock`, which no training wrote"), "{error}");
            fs::remove_file(inside.join(LOCK)).unwrap();
            assert_eq!(fs::read_to_string(&other).unwrap(), content);
        }
        // A link that leads nowhere does not make a file there.
        std::os::unix::fs::symlink(folder.path().join("new"), inside.join(LOCK)).unwrap();
        assert!(try_lock(&inside).is_err());
        assert!(!folder.path().join("new").exists());
    }

    #[test]
    fn a_lock_that_is_always_removed_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        let tries = std::cell::Cell::new(0);
        let removed = lock(&inside, |_| {
            tries.set(tries.get() + 1);
            fs::remove_dir(&inside).unwrap();
            Ok(())
        });
        assert!(removed.unwrap_err().to_string().contains("another process is writing here"));
        assert_eq!(tries.get(), TRIES);
    }
}
