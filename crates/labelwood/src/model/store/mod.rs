//! The files of a model folder, whatever the algorithm.
//!
//! A model is one file per *unit* (a tree, say) plus `manifest.json`, which names them. A unit is a
//! safetensors file of flat arrays, so that a fresh process maps it and is ready. Files appear
//! whole or not at all, and the manifest comes last: a folder holds either the old model or the new
//! one, whenever the power fails.
//!
//! Writing: [`Partial::begin`] opens `DIR.partial` beside the target; units go there as they are
//! finished, a later run takes them up, and [`Partial::commit`] turns them into the model.
//! Reading: [`Stored::open`] checks everything the files say about themselves before it maps them.
//!
//! ```
//! use labelwood::model::store::{Begin, Manifest, Options, Partial, Start, Stored, Training};
//! use labelwood::run::Run;
//! let folder = tempfile::tempdir()?;
//! let target = folder.path().join("model");
//! let run = Run::new(2)?;
//! let settings = serde_json::json!({"trees": 1, "seed": 42});
//! let training = Training { algorithm: "craftml".into(), settings, data: "digest".into(), text: None, calibrate: false, shrunk: None };
//!
//! let Begin::Work(partial) = Partial::begin(&target, &training, Start::default())? else { panic!() };
//! let tree = partial.write_unit("tree-0000", &[("leaves", [3u32, 1].as_slice().into())])?;
//! let manifest = Manifest { training, instances: 9, features: 5, labels: 4, units: vec![tree] };
//! partial.commit(&manifest)?;
//!
//! let stored = Stored::open(&target, Options::default(), &run)?;
//! assert_eq!(*stored.unit("tree-0000")?.array::<u32>("leaves")?, [3, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod digest;
mod error;
mod files;
mod manifest;
mod partial;
mod unit;

pub use digest::{Digest, NotADigest};
pub use error::{FormatError, StoreError};
pub use manifest::{FORMAT, Manifest, Training};
pub use partial::{Begin, Partial, Start, check_target};
pub use unit::{ArrayRef, Load, Unit, UnitFile, write_unit};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::run::Run;

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
    /// Where the unit of each stem is.
    places: BTreeMap<String, usize>,
}

impl Stored {
    /// Opens the model in a folder.
    ///
    /// Lengths are always checked before a file is mapped, checksums when `options.verify` is set.
    /// Verifying streams the files through small buffers: they do not become resident.
    pub fn open(folder: &Path, options: Options, run: &Run) -> Result<Self, StoreError> {
        let mut manifest = Manifest::read(folder)?;
        loop {
            match open_units(folder, &manifest, options, run) {
                Ok(units) => {
                    let stems = manifest.units.iter().map(|unit| unit.stem().to_owned());
                    let places = stems.zip(0..).collect();
                    return Ok(Stored { folder: folder.to_owned(), manifest, units, places });
                }
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

    /// What the model is.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The error that says that the manifest does not fit what this version knows.
    pub fn refused(&self, reason: impl Into<String>) -> FormatError {
        FormatError::Manifest { path: self.folder.join(manifest::MANIFEST), reason: reason.into() }
    }

    /// The units, in the manifest's order.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The unit of the given stem, such as `tree-0007`.
    pub fn unit(&self, stem: &str) -> Result<&Unit, FormatError> {
        let at = self.places.get(stem);
        at.map(|&at| &self.units[at])
            .ok_or_else(|| self.refused(format!("it names no unit `{stem}`")))
    }
}

fn open_units(
    folder: &Path,
    manifest: &Manifest,
    options: Options,
    run: &Run,
) -> Result<Vec<Unit>, StoreError> {
    let units = run.install(|| {
        let open = |unit| Unit::open_listed(folder, unit, options.load);
        manifest.units.par_iter().map(open).collect::<Result<Vec<Unit>, StoreError>>()
    })?;
    if options.verify {
        let found = match options.load {
            Load::Map => {
                let listed = units.iter().zip(&manifest.units);
                let files: Vec<_> = listed.map(|(unit, file)| (unit.path(), file.bytes)).collect();
                digest::of_files(&files, run)?
            }
            // What is checked is what is used, even if the file changes later.
            Load::Copy => run.install(|| {
                units.par_iter().map(|unit| Digest::of_many(unit.bytes())).collect::<Vec<Digest>>()
            }),
        };
        for ((unit, file), found) in units.iter().zip(&manifest.units).zip(found) {
            if found != file.xxh3 {
                let (path, expected) = (unit.path().to_owned(), file.xxh3);
                return Err(FormatError::Checksum { path, expected, found }.into());
            }
        }
    }
    Ok(units)
}

#[cfg(test)]
mod tests;
