//! Writes files that appear whole or not at all, and recognises what interrupted writes leave.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{FormatError, StoreError};

/// How the name of a file ends while it is being written; it also starts with a dot.
const UNFINISHED: &str = ".unfinished";

/// How long a file that is being written is left alone after its last change.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// The most bytes of one write.
///
/// Linux caches the bytes of one write as one folio of up to some megabytes. When a mapping of the file
/// touches any byte of a folio, all of it becomes resident. So after large writes a single prediction
/// would make most of a model resident.
const SMALL: usize = 1 << 16;

/// A file that takes few bytes at a time.
pub(super) struct SmallWrites<'a>(&'a File);

impl Write for SmallWrites<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(&bytes[..bytes.len().min(SMALL)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes a file under a hidden name, syncs it, and renames it to the name that `fill` returns.
///
/// `fill` may name the file after its content. A failure leaves nothing behind.
pub(super) fn write_whole<R>(
    folder: &Path,
    hint: &str,
    fill: impl FnOnce(&mut io::BufWriter<SmallWrites>) -> io::Result<(String, R)>,
) -> Result<R, StoreError> {
    write_whole_to(folder, hint, |out| fill(out).map(|(name, result)| (folder.join(name), result)))
}

/// Writes a file under a hidden name in a folder, syncs it, and renames it to the path that `fill` returns.
pub(super) fn write_whole_to<R>(
    folder: &Path,
    hint: &str,
    fill: impl FnOnce(&mut io::BufWriter<SmallWrites>) -> io::Result<(PathBuf, R)>,
) -> Result<R, StoreError> {
    let (hidden, file) =
        create_hidden(folder, hint).map_err(|error| StoreError::io("write into", folder, error))?;
    let written = || -> io::Result<R> {
        let mut out = io::BufWriter::with_capacity(SMALL, SmallWrites(&file));
        let (target, result) = fill(&mut out)?;
        out.flush()?;
        drop(out);
        file.sync_all()?;
        fs::rename(&hidden, &target)?;
        sync_around(&target)?;
        Ok(result)
    };
    written().map_err(|error| {
        // The first error is the one to report. A file that stays is removed by a later training.
        let _ = fs::remove_file(&hidden);
        StoreError::io("write into", folder, error)
    })
}

/// Creates a file under a new hidden name. A process id alone is not unique: processes on several
/// machines may write into one folder.
fn create_hidden(folder: &Path, hint: &str) -> io::Result<(PathBuf, File)> {
    let process = std::process::id();
    for count in 0.. {
        let hidden = folder.join(format!(".{hint}-{process}-{count}{UNFINISHED}"));
        match File::create_new(&hidden) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            created => return created.map(|file| (hidden, file)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Opens a file that must be an ordinary one; gives its length, too.
pub(super) fn open_plain(path: &Path) -> Result<(File, u64), StoreError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => FormatError::missing(path).into(),
        _ => StoreError::io("open", path, error),
    };
    // Checked before opening, because opening a named pipe would wait for a writer.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        let advice = "copy the model again";
        return Err(FormatError::new(path, "it is not an ordinary file", advice).into());
    }
    let file = File::open(path).map_err(failed)?;
    let len = file.metadata().map_err(failed)?.len();
    Ok((file, len))
}

/// Puts the file `source` into the folder `to` under `name`: as a second link where the disk allows it,
/// else as a copy. A file of that name is replaced atomically.
pub(super) fn link_or_copy(source: &Path, to: &Path, name: &str) -> Result<(), StoreError> {
    // A hard link to a symbolic link would break when that link's target goes.
    let source = fs::canonicalize(source).map_err(|error| StoreError::io("find", source, error))?;
    let target = to.join(name);
    let hidden = to.join(format!(".{name}{UNFINISHED}"));
    let linked = || -> io::Result<()> {
        remove_if_there(&hidden)?;
        if fs::hard_link(&source, &hidden).is_err() {
            // `create_new` does not follow a link that another process may put there.
            let mut copy = File::create_new(&hidden)?;
            io::copy(&mut File::open(&source)?, &mut copy)?;
            copy.sync_all()?;
        }
        fs::rename(&hidden, &target)?;
        // Renaming one link of a file over another link of it leaves both.
        remove_if_there(&hidden)
    };
    linked().map_err(|error| StoreError::io("write", &target, error))
}

/// Syncs renames, creations and removals in a folder to disk.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    // Other systems cannot open folders; they keep the order of such changes themselves.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Syncs the folder that holds a file or folder.
pub(super) fn sync_around(path: &Path) -> io::Result<()> {
    let around = path.parent().filter(|around| !around.as_os_str().is_empty());
    sync_folder(around.unwrap_or(Path::new(".")))
}

/// Removes a file, if it exists.
fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes a file, if it exists; an error names it.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    remove_if_there(path).map_err(|error| StoreError::io("remove", path, error))
}

/// Whether a file name is one that an interrupted write leaves behind.
pub(super) fn is_leftover(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(UNFINISHED)
}

/// Removes what interrupted writes left in a folder that other processes may be writing to.
///
/// A write takes seconds, so nobody is writing a file that has not changed for an hour. Locks would not
/// tell: not all network disks show them to other machines.
pub(crate) fn remove_abandoned(folder: &Path) -> Result<(), StoreError> {
    for name in names_in(folder)?.unwrap_or_default() {
        let path = folder.join(&name);
        let modified = || fs::metadata(&path).and_then(|found| found.modified()).ok();
        let is_old = |at: SystemTime| at.elapsed().is_ok_and(|age| age > ABANDONED);
        if is_leftover(&name) && modified().is_some_and(is_old) {
            remove(&path)?;
        }
    }
    Ok(())
}

/// The names in a folder, sorted; nothing when there is no such folder.
///
/// Names that are not Unicode get replacement characters: labelwood writes no such names.
pub(super) fn names_in(folder: &Path) -> Result<Option<Vec<String>>, StoreError> {
    let list = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    };
    match list() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(|error| StoreError::io("list", folder, error)),
    }
}

/// The folder of the unfinished training into `DIR`: `DIR.partial`.
///
/// `DIR` may be written `DIR/` or `.`. For a symbolic link it is beside the folder that the link leads
/// to.
pub fn staging_folder(target: &Path) -> Result<PathBuf, StoreError> {
    let named = target.file_name().map(|name| target.with_file_name(name));
    let target = match named {
        // All links to a folder must give one place, which holds the lock.
        Some(named) if !named.is_symlink() => named,
        _ => fs::canonicalize(target).map_err(|error| StoreError::io("find", target, error))?,
    };
    let mut name = target.into_os_string();
    name.push(".partial");
    Ok(name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let failed: Result<(), _> = write_whole(folder.path(), "note", |out| {
            out.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(matches!(failed, Err(StoreError::Io { .. })));
        assert_eq!(names_in(folder.path()).unwrap(), Some(vec![]));
    }

    #[test]
    fn linking_twice_leaves_one_file() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(from.path().join("a"), "new").unwrap();
        fs::write(to.path().join("a"), "old").unwrap();
        for _ in 0..2 {
            link_or_copy(&from.path().join("a"), to.path(), "a").unwrap();
            assert_eq!(names_in(to.path()).unwrap().unwrap(), ["a"]);
            assert_eq!(fs::read_to_string(to.path().join("a")).unwrap(), "new");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_a_symbolic_link_points_to_is_linked() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(from.path().join("a"), "content").unwrap();
        std::os::unix::fs::symlink("a", from.path().join("link")).unwrap();
        link_or_copy(&from.path().join("link"), to.path(), "b").unwrap();
        drop(from);
        assert_eq!(fs::read_to_string(to.path().join("b")).unwrap(), "content");
    }

    #[test]
    fn the_partial_folder_lies_beside_the_target() {
        for target in ["models/forest", "models/forest/"] {
            let staging = staging_folder(Path::new(target)).unwrap();
            assert_eq!(staging, Path::new("models/forest.partial"));
        }
        let here = staging_folder(Path::new(".")).unwrap();
        assert_eq!(here.parent(), std::env::current_dir().unwrap().parent());
    }

    #[test]
    fn only_what_nobody_writes_any_more_is_abandoned() {
        let folder = tempfile::tempdir().unwrap();
        let long_ago = SystemTime::now() - 2 * ABANDONED;
        for (name, modified) in [
            (".tree-1-0.unfinished", long_ago),
            (".tree-2-0.unfinished", SystemTime::now()),
            ("tree.safetensors", long_ago),
        ] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(modified).unwrap();
        }
        remove_abandoned(folder.path()).unwrap();
        let left = names_in(folder.path()).unwrap().unwrap();
        assert_eq!(left, [".tree-2-0.unfinished", "tree.safetensors"]);
        remove_abandoned(&folder.path().join("none")).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_names() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(names_in(&folder.path().join("none")).unwrap(), None);
    }
}
