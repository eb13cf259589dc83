//! The files of a model folder, whatever the algorithm.
//!
//! A model is one file per *unit* (a tree, say) plus `manifest.json`, which names them. A unit is a
//! safetensors file of flat arrays, so that a fresh process maps it and is ready. Files appear
//! whole or not at all, and the manifest comes last: a folder holds either the old model or the new
//! one, whenever the power fails.
//!
//! Writing: `Staging::begin` makes the folder `DIR.partial` beside the target. Units go there as they
//! are finished, a later training that resumes finds them, and `Staging::commit` makes the model of
//! them. Reading: `Stored::open` checks lengths and checksums of all files before it maps them.

mod digest;
mod error;
mod files;
mod lock;
mod manifest;
mod staging;
mod scan;
mod unit;

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
    folder: PathBuf,
    manifest: Manifest,
    units: Vec<Unit>,
    /// The position in `units` of the unit of each name.
    places: BTreeMap<String, usize>,
}

impl Stored {
    /// Opens the model in a folder.
    ///
    /// Lengths are always checked before a file is mapped, checksums when `options.verify` is set.
    /// Verifying streams the files through small buffers: they do not become resident.
    pub fn open(folder: &Path, options: Options, task: &Task) -> Result<Self, StoreError> {
        Ok(Self::open_some(folder, options, |_| (), task)?.0)
    }

    /// Opens some of the units of a model: `choose` removes the others from the manifest. Its result is
    /// returned, too.
    pub(crate) fn open_some<T>(
        folder: &Path,
        options: Options,
        choose: impl Fn(&mut Manifest) -> T,
        task: &Task,
    ) -> Result<(Self, T), StoreError> {
        let mut manifest = Manifest::read(folder)?;
        loop {
            let mut some = manifest.clone();
            let chosen = choose(&mut some);
            match open_units(folder, &some, options, task) {
                Ok(units) => return Ok((Self::new(folder.to_owned(), some, units), chosen)),
                Err(error) => {
                    // A training may have replaced the model since its manifest was read.
                    let now = Manifest::read(folder)?;
                    if now == manifest {
                        return Err(error);
                    }
                    manifest = now;
                }
            }
        }
    }

    /// A model whose units are in memory, in the manifest's order.
    pub(crate) fn in_memory(manifest: Manifest, units: Vec<Unit>) -> Self {
        Self::new(PathBuf::new(), manifest, units)
    }

    fn new(folder: PathBuf, manifest: Manifest, units: Vec<Unit>) -> Self {
        let names = manifest.units.iter().map(|unit| unit.name().to_owned());
        let places = names.zip(0..).collect();
        Stored { folder, manifest, units, places }
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
        Stored { folder: PathBuf::new(), ..self }
    }

    /// The folder that it was opened in; none if it is in memory.
    pub fn folder(&self) -> Option<&Path> {
        Some(self.folder.as_path()).filter(|folder| !folder.as_os_str().is_empty())
    }

    /// What the model is.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// An error for a manifest that this version of labelwood cannot use.
    pub(crate) fn refused(&self, reason: impl Into<String>) -> FormatError {
        manifest::invalid(&self.folder.join(manifest::MANIFEST), reason.into())
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
        Self::new(self.folder.clone(), manifest, units)
    }

    /// The unit of a name such as `tree-0007`.
    pub(crate) fn unit(&self, name: &str) -> Result<&Unit, FormatError> {
        let at = self.places.get(name);
        at.map(|&at| &self.units[at])
            .ok_or_else(|| self.refused(format!("it names no unit `{name}`")))
    }
}

fn open_units(
    folder: &Path,
    manifest: &Manifest,
    options: Options,
    task: &Task,
) -> Result<Vec<Unit>, StoreError> {
    let units = task.install(|| {
        let open = |unit| Unit::open_listed(folder, unit, options.load);
        manifest.units.par_iter().map(open).collect::<Result<Vec<Unit>, StoreError>>()
    })?;
    if options.verify {
        let found = match options.load {
            Load::Map => {
                let listed = units.iter().zip(&manifest.units);
                let files: Vec<_> = listed.map(|(unit, file)| (unit.path(), file.bytes)).collect();
                digest::of_files(&files, task)?
            }
            // The copies are checked and not the files, which may change in the meantime.
            Load::Copy => task.install(|| digests(&units)),
        };
        verify(&units, manifest, found)?;
    }
    Ok(units)
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
mod kill_tests;
#[cfg(test)]
mod tests;
