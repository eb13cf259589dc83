//! Units in any folder, and whether they are what was written.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::manifest::is_absence;
use super::unit::stem_of;
use super::{StoreError, UnitFile, digest, files};
use crate::base::run::Task;

/// A unit that was looked at.
pub(crate) struct Scanned {
    pub path: PathBuf,
    pub stem: String,
    /// What file it is, if its content gives the digest in its name.
    pub sound: Option<UnitFile>,
}

/// The units in a folder whose stems are wanted, by name; none if there is no such folder.
pub(crate) fn scan(
    folder: &Path,
    is_wanted: impl Fn(&str) -> bool,
    run: &Task,
) -> Result<Vec<Scanned>, StoreError> {
    let names = files::names_in(folder)?.unwrap_or_default();
    let mut found = Vec::new();
    for file in names {
        if let Some(stem) = stem_of(&file).filter(|stem| is_wanted(stem)) {
            let (path, stem) = (folder.join(&file), stem.to_owned());
            let len = readable_len(&path).map_err(|error| StoreError::io("read", &path, error))?;
            found.push((file, len, Scanned { path, stem, sound: None }));
        }
    }
    let readable = found.iter().filter_map(|(_, len, unit)| Some((unit.path.as_path(), (*len)?)));
    let mut digests = digest::of_files(&readable.collect::<Vec<_>>(), run)?.into_iter();
    let scanned = found.into_iter().map(|(file, len, mut scanned)| {
        let unit = len.zip(len.and_then(|_| digests.next()));
        let unit = unit.map(|(bytes, xxh3)| UnitFile { file, bytes, xxh3 });
        scanned.sound = unit.filter(UnitFile::has_valid_name);
        scanned
    });
    Ok(scanned.collect())
}

/// The length of a file, or nothing if what has its name cannot be a unit.
///
/// A folder and a symbolic link that leads nowhere are as good as damaged: the unit is made again.
/// All else that goes wrong is the machine's, such as a disk that fails or a file that only its owner
/// may read, and says nothing about the unit.
fn readable_len(path: &Path) -> io::Result<Option<u64>> {
    let found = match fs::metadata(path) {
        Err(error) if is_absence(&error) => return Ok(None),
        other => other?,
    };
    // Asked before opening: opening a named pipe would wait for a writer.
    if !found.is_file() {
        return Ok(None);
    }
    File::open(path)?;
    Ok(Some(found.len()))
}

/// The stems of the units in a folder, as their names tell; nothing is read.
pub(crate) fn stems_in(folder: &Path) -> Result<Vec<String>, StoreError> {
    let names = files::names_in(folder)?.unwrap_or_default();
    Ok(names.iter().filter_map(|name| stem_of(name)).map(str::to_owned).collect())
}
