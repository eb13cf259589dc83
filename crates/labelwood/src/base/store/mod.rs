//! The files of a model, whatever the algorithm.
//!
//! A model is a folder: one file per *unit* (a tree, say) plus `manifest.json`, which names them. A unit is
//! a safetensors file of flat arrays, so that a fresh process maps it and is ready. Files appear
//! whole or not at all, and the manifest comes last: a folder holds either the old model or the new
//! one, whenever the power fails. Or a model is one file, an archive of these (`archive`).
//!
//! Writing: `Staging::begin` makes the folder `DIR.partial` beside the target. Units go there as they
//! are finished, a later training that resumes finds them, and `Staging::commit` makes the model of
//! them. Reading: `Stored::open` checks lengths and checksums of all files before it maps them.

mod archive;
mod digest;
mod error;
mod files;
mod lock;
mod manifest;
mod staging;
mod scan;
mod unit;

pub use archive::is_file_target;
pub use digest::Digest;
pub(crate) use error::listed;
pub use error::{FormatError, StoreError};
pub use files::staging_folder;
pub(crate) use files::{remove, remove_abandoned};
pub(crate) use lock::{LOCK, lock};
pub(crate) use manifest::FORMAT;
pub use manifest::{Manifest, Training, Update};
pub(crate) use manifest::{read_limited, write_json};
pub(crate) use scan::{Scanned, scan, unit_names_in};
pub(crate) use staging::{Begin, Staging};
pub use staging::{Start, check_target};
pub use unit::Load;
pub(crate) use unit::{ArrayRef, Unit, UnitFile};
pub(crate) use unit::{plan_prefix, write_arrays, write_unit};

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::base::run::Task;
use archive::Archive;

/// How a model is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether the files are mapped or copied.
    pub load: Load,
    /// Whether the checksums are verified, which reads every file once.
    pub verify: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { load: Load::Map, verify: true }
    }
}

/// A model's files, open.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The folder or file that it was opened in; empty if it is in memory.
    place: PathBuf,
    /// Whether each unit is a file of its own.
    is_folder: bool,
    manifest: Manifest,
    units: Vec<Unit>,
    /// The position in `units` of the unit of each name.
    places: BTreeMap<String, usize>,
}

impl Stored {
    /// Opens the model in a folder, or in one file.
    ///
    /// Lengths are always checked before a file is mapped, checksums when `options.verify` is set.
    /// Verifying streams the files through small buffers: they do not become resident.
    pub fn open(place: &Path, options: Options, task: &Task) -> Result<Self, StoreError> {
        Ok(Self::open_some(place, options, |_| (), task)?.0)
    }

    /// Opens some of the units of a model: `choose` removes the others from the manifest. Its result is
    /// returned, too.
    pub(crate) fn open_some<T>(
        place: &Path,
        options: Options,
        choose: impl Fn(&mut Manifest) -> T,
        task: &Task,
    ) -> Result<(Self, T), StoreError> {
        let mut source = Source::open(place)?;
        loop {
            let mut some = source.manifest.clone();
            let chosen = choose(&mut some);
            match source.units(&some, options, task) {
                Ok(units) => {
                    let is_folder = source.archive.is_none();
                    let stored = Self::new(place.to_owned(), some, units);
                    return Ok((Stored { is_folder, ..stored }, chosen));
                }
                Err(error) => {
                    // A training may have replaced the model since its manifest was read.
                    let now = Source::open(place)?;
                    if now.manifest == source.manifest {
                        return Err(error);
                    }
                    source = now;
                }
            }
        }
    }

    /// A model whose units are in memory, in the manifest's order.
    pub(crate) fn in_memory(manifest: Manifest, units: Vec<Unit>) -> Self {
        Self::new(PathBuf::new(), manifest, units)
    }

    fn new(place: PathBuf, manifest: Manifest, units: Vec<Unit>) -> Self {
        let names = manifest.units.iter().map(|unit| unit.name().to_owned());
        let places = names.zip(0..).collect();
        Stored { place, is_folder: false, manifest, units, places }
    }

    /// Makes a model of the bytes that [`Stored::files`] gave: first the manifest, then the units in its
    /// order. They are copied, and checked as files are.
    ///
    /// ```
    /// use labelwood::data::{ReadOptions, read_bytes};
    /// use labelwood::algorithms::craftml;
    /// use labelwood::model::Model;
    /// use labelwood::store::Stored;
    /// use labelwood::run::Pool;
    /// let task = Pool::new(1)?.task();
    /// let rows = read_bytes(b"0 1:1\n1 2:1\n", "a.svm", &ReadOptions::default(), &task)?.dataset;
    /// let settings = craftml::Params::default().into();
    /// let model = Model::train(rows.view(), Default::default(), &settings, &task)?;
    /// let files: Vec<Vec<u8>> =
    ///     model.stored().files().into_iter().map(|(_, bytes)| bytes.into()).collect();
    /// let again = Stored::from_files(files.iter().map(Vec::as_slice), &task)?;
    /// assert_eq!(again.manifest(), model.manifest());
    /// assert!(Stored::from_files([b"no manifest".as_slice()], &task).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_files<'a>(
        files: impl IntoIterator<Item = &'a [u8]>,
        task: &Task,
    ) -> Result<Self, StoreError> {
        let mut files = files.into_iter();
        let manifest =
            Manifest::parse(Path::new(manifest::MANIFEST), files.next().unwrap_or_default())?;
        let mut units = Vec::with_capacity(manifest.units.len());
        for listed in &manifest.units {
            let path = Path::new(&listed.file);
            let content = files.next().ok_or_else(|| FormatError::missing(path))?;
            let (expected, found) = (listed.bytes, content.len() as u64);
            if found != expected {
                return Err(FormatError::length(path, expected, found).into());
            }
            units.push(Unit::from_bytes(&listed.file, content)?);
        }
        let stored = Stored::in_memory(manifest, units);
        verify(&stored.units, &stored.manifest, task.install(|| digests(&stored.units)))?;
        Ok(stored)
    }

    /// The names and bytes of the model's files: the manifest, then the units in its order.
    pub fn files(&self) -> Vec<(&str, Cow<'_, [u8]>)> {
        let units = self.manifest.units.iter().zip(&self.units);
        let units = units.map(|(file, unit)| (file.file.as_str(), Cow::Borrowed(unit.bytes())));
        let manifest = (manifest::MANIFEST, Cow::Owned(self.manifest.to_bytes()));
        [manifest].into_iter().chain(units).collect()
    }

    /// The same without its folder, which may go: mapped files last as long as they are mapped.
    pub fn without_folder(self) -> Self {
        Stored { place: PathBuf::new(), is_folder: false, ..self }
    }

    /// The folder or file that it was opened in; none if it is in memory.
    pub fn place(&self) -> Option<&Path> {
        Some(self.place.as_path()).filter(|place| !place.as_os_str().is_empty())
    }

    /// The file of a unit, if each unit has one of its own.
    pub(super) fn file_of(&self, unit: &UnitFile) -> Option<PathBuf> {
        self.is_folder.then(|| self.place.join(&unit.file))
    }

    /// What the model is.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// An error for a manifest that this version of labelwood cannot use.
    pub(crate) fn refused(&self, reason: impl Into<String>) -> FormatError {
        manifest::invalid(&self.place.join(manifest::MANIFEST), reason.into())
    }

    /// The units, in the manifest's order.
    pub(crate) fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The units of one part of a model, whose names start with `prefix`, by the rest of their names.
    pub(crate) fn below(&self, prefix: &str) -> Stored {
        let own = self.manifest.units.iter().zip(&self.units).filter_map(|(file, unit)| {
            Some((file.renamed(file.name().strip_prefix(prefix)?), unit.clone()))
        });
        let (files, units) = own.unzip();
        let manifest = Manifest { units: files, ..self.manifest.clone() };
        Self::new(self.place.clone(), manifest, units)
    }

    /// The unit of a name such as `tree-0007`.
    pub(crate) fn unit(&self, name: &str) -> Result<&Unit, FormatError> {
        let at = self.places.get(name);
        at.map(|&at| &self.units[at])
            .ok_or_else(|| self.refused(format!("it names no unit `{name}`")))
    }
}

/// The files of a model on disk.
struct Source<'a> {
    place: &'a Path,
    manifest: Manifest,
    /// The one file, unless it is a folder.
    archive: Option<Archive>,
}

impl<'a> Source<'a> {
    fn open(place: &'a Path) -> Result<Self, StoreError> {
        if place.is_file() {
            let (archive, manifest) = Archive::open(place)?;
            return Ok(Source { place, manifest, archive: Some(archive) });
        }
        Ok(Source { place, manifest: Manifest::read(place)?, archive: None })
    }

    fn units(
        &mut self,
        chosen: &Manifest,
        options: Options,
        task: &Task,
    ) -> Result<Vec<Unit>, StoreError> {
        let listed = &chosen.units;
        let units = match &mut self.archive {
            Some(archive) => archive.units(listed, options.load)?,
            None => task.install(|| {
                let open = |unit| Unit::open_listed(self.place, unit, options.load);
                listed.par_iter().map(open).collect::<Result<Vec<Unit>, StoreError>>()
            })?,
        };
        if options.verify {
            let found = match options.load {
                Load::Map => {
                    let files = units.iter().map(Unit::path).zip(listed);
                    let sections: Vec<_> = files
                        .map(|(path, file)| match &self.archive {
                            Some(archive) => (self.place, archive.place(file)),
                            None => (path, 0..file.bytes),
                        })
                        .collect();
                    digest::of_sections(&sections, task)?
                }
                // The copies are checked and not the files, which may change in the meantime.
                Load::Copy => task.install(|| digests(&units)),
            };
            verify(&units, chosen, found)?;
        }
        Ok(units)
    }
}

/// The file that changes whenever the model in a folder or file does.
pub fn manifest_file(place: &Path) -> PathBuf {
    if place.is_file() { place.to_owned() } else { place.join(manifest::MANIFEST) }
}

/// Whether there is a model, be it whole or damaged: a folder with a manifest, or one file.
///
/// ```
/// use labelwood::store::is_model;
/// let folder = tempfile::tempdir()?;
/// assert!(!is_model(folder.path()));
/// std::fs::write(folder.path().join("manifest.json"), "")?;
/// assert!(is_model(folder.path()));
/// assert!(!is_model(&folder.path().join("manifest.json")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn is_model(place: &Path) -> bool {
    place.join(manifest::MANIFEST).is_file() || archive::is_archive(place)
}

fn digests(units: &[Unit]) -> Vec<Digest> {
    units.par_iter().map(|unit| Digest::of_many(unit.bytes())).collect()
}

/// Compares the digests of the contents with those in the manifest.
fn verify(units: &[Unit], manifest: &Manifest, found: Vec<Digest>) -> Result<(), FormatError> {
    for ((unit, file), found) in units.iter().zip(&manifest.units).zip(found) {
        if found != file.xxh3 {
            let reason = format!("checksum {found}, but the manifest says {}", file.xxh3);
            let advice = "the file was damaged: copy the model again";
            return Err(FormatError::new(unit.path(), reason, advice));
        }
    }
    Ok(())
}

#[cfg(test)]
mod archive_tests;
#[cfg(test)]
mod kill_tests;
#[cfg(test)]
mod tests;
