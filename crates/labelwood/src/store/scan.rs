//! Units in any folder, and whether they are what was written.

use std::fs;
use std::path::{Path, PathBuf};

use super::unit::stem_of;
use super::{StoreError, UnitFile, digest, files};
use crate::run::Run;

/// A unit's file that was read.
pub(crate) struct Scanned {
    pub path: PathBuf,
    pub unit: UnitFile,
    /// Whether its content gives the digest in its name.
    pub is_sound: bool,
}

/// The units in a folder whose stems are wanted, by name; none if there is no such folder.
pub(crate) fn scan(
    folder: &Path,
    is_wanted: impl Fn(&str) -> bool,
    run: &Run,
) -> Result<Vec<Scanned>, StoreError> {
    let names = files::names_in(folder)?.unwrap_or_default();
    let mut found = Vec::new();
    for file in names.into_iter().filter(|name| stem_of(name).is_some_and(&is_wanted)) {
        let path = folder.join(&file);
        let size = fs::metadata(&path).map_err(|error| StoreError::io("read", &path, error))?;
        found.push((file, path, size.len()));
    }
    let files: Vec<_> = found.iter().map(|(_, path, bytes)| (path.as_path(), *bytes)).collect();
    let digests = digest::of_files(&files, run)?;
    let scanned = found.into_iter().zip(digests).map(|((file, path, bytes), xxh3)| {
        let unit = UnitFile { file, bytes, xxh3 };
        Scanned { is_sound: unit.has_valid_name(), path, unit }
    });
    Ok(scanned.collect())
}

/// The stems of the units in a folder, as their names tell; nothing is read.
pub(crate) fn stems_in(folder: &Path) -> Result<Vec<String>, StoreError> {
    let names = files::names_in(folder)?.unwrap_or_default();
    Ok(names.iter().filter_map(|name| stem_of(name)).map(str::to_owned).collect())
}
