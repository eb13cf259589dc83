//! Finds the units in a folder and checks their digests.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::manifest::is_absence;
use super::unit::unit_name_of;
use super::{StoreError, UnitFile, digest, files};
use crate::base::run::Task;

/// A file that is named like a unit.
pub(crate) struct Scanned {
    pub path: PathBuf,
    pub name: String,
    /// The unit, if its content gives the digest in its file name; none if it is damaged.
    pub sound: Option<UnitFile>,
}

/// The units in a folder with a wanted name, sorted; none if there is no such folder.
pub(crate) fn scan(
    folder: &Path,
    is_wanted: impl Fn(&str) -> bool,
    task: &Task,
) -> Result<Vec<Scanned>, StoreError> {
    let names = files::names_in(folder)?.unwrap_or_default();
    let mut found = Vec::new();
    for file in names {
        if let Some(name) = unit_name_of(&file).filter(|name| is_wanted(name)) {
            let (path, name) = (folder.join(&file), name.to_owned());
            let len = readable_len(&path).map_err(|error| StoreError::io("read", &path, error))?;
            found.push((file, len, Scanned { path, name, sound: None }));
        }
    }
    let readable =
        found.iter().filter_map(|(_, len, unit)| Some((unit.path.as_path(), 0..(*len)?)));
    let mut digests = digest::of_sections(&readable.collect::<Vec<_>>(), task)?.into_iter();
    let scanned = found.into_iter().map(|(file, len, mut scanned)| {
        let unit = len.zip(len.and_then(|_| digests.next()));
        let unit = unit.map(|(bytes, xxh3)| UnitFile { file, bytes, xxh3 });
        scanned.sound = unit.filter(UnitFile::has_valid_name);
        scanned
    });
    Ok(scanned.collect())
}

/// The length of a file; nothing for a folder and for a symbolic link that leads nowhere.
///
/// Those count as damaged, so that the unit is made again. Every other failure is the machine's, such
/// as a disk that fails or a file that only its owner may read: it does not tell whether the unit is
/// sound.
fn readable_len(path: &Path) -> io::Result<Option<u64>> {
    let found = match fs::metadata(path) {
        Err(error) if is_absence(&error) => return Ok(None),
        other => other?,
    };
    // Checked before opening, because opening a named pipe would wait for a writer.
    if !found.is_file() {
        return Ok(None);
    }
    File::open(path)?;
    Ok(Some(found.len()))
}

/// The names of the units in a folder, by file name alone; no file is read.
pub(crate) fn unit_names_in(folder: &Path) -> Result<Vec<String>, StoreError> {
    let names = files::names_in(folder)?.unwrap_or_default();
    Ok(names.iter().filter_map(|name| unit_name_of(name)).map(str::to_owned).collect())
}
