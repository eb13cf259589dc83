//! A model on its way: `DIR.partial`, from the first unit to the finished folder.
//!
//! The folder holds `settings.json`, which says what is being trained, the units that are finished,
//! and a lock. [`Partial::commit`] goes through [`STEPS`], each of which may be repeated: whatever
//! step a kill interrupts, the target holds the old model or the new one, and resuming ends in the
//! same place.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::lock::{LOCK, lock};
use super::manifest::{MANIFEST, is_absence, read_limited, write_json};
use super::unit::{is_of_plan, stem_of};
use super::{
    ArrayRef, FORMAT, FormatError, Manifest, Scanned, StoreError, Stored, Training, Unit, UnitFile,
    files, scan, write_unit,
};
use crate::base::run::Task;

/// What is being trained, in the folder of the unfinished training.
const SETTINGS: &str = "settings.json";
/// The largest `settings.json` that is read.
const SETTINGS_LIMIT: u64 = 16 << 20;

/// How a training starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Take up an unfinished training, if there is one.
    pub resume: bool,
    /// Replace a model that is there; without `resume`, also drop an unfinished training.
    pub overwrite: bool,
}

/// What there is to do.
#[derive(Debug)]
pub enum Begin {
    /// Units to train; some may be finished.
    Work(Partial),
    /// Nothing: the training to resume has been finished, and this is its model.
    Finished(Manifest),
}

/// The folder of an unfinished training, locked for this process.
#[derive(Debug)]
pub struct Partial {
    folder: PathBuf,
    target: PathBuf,
    overwrite: bool,
    /// Held until this is dropped.
    _lock: File,
}

/// `settings.json`.
#[derive(Serialize, Deserialize)]
struct Settings {
    format: u64,
    training: Training,
}

/// Refuses a target that a training must not write to; asked before any work.
///
/// A folder that is missing or empty is fine, and with `overwrite` one that holds a model. Units
/// without a manifest are what an interrupted [`Partial::commit`] leaves, and are fine too.
///
/// ```
/// use labelwood::model::store::check_target;
/// let folder = tempfile::tempdir()?;
/// check_target(folder.path(), false)?;
/// std::fs::write(folder.path().join("thesis.tex"), "")?;
/// assert!(check_target(folder.path(), true).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_target(target: &Path, overwrite: bool) -> Result<(), StoreError> {
    if target.is_file() {
        let (path, found) = (target.to_owned(), "a file".to_owned());
        return Err(StoreError::NotAModel { path, found });
    }
    let names = files::names_in(target)?.unwrap_or_default();
    if names.iter().any(|name| name == MANIFEST) {
        if overwrite {
            return Ok(());
        }
        return Err(StoreError::Exists { folder: target.to_owned() });
    }
    refuse_others(target, &names, &[])
}

/// The model that the training is to give, if it is in the target already; refuses a target that
/// the training must not write to.
fn finished(
    target: &Path,
    training: &Training,
    start: Start,
) -> Result<Option<Manifest>, StoreError> {
    if start.resume
        && let Ok(manifest) = Manifest::read(target)
    {
        match manifest.training.difference(training) {
            None => return Ok(Some(manifest)),
            Some(difference) if !start.overwrite => {
                let folder = target.to_owned();
                return Err(StoreError::DifferentModel { folder, difference });
            }
            Some(_) => {}
        }
    }
    check_target(target, start.overwrite)?;
    Ok(None)
}

impl Partial {
    /// Starts a training into `target`, or takes it up.
    ///
    /// Refuses what [`check_target`] refuses, a folder that another process trains into, and an
    /// unfinished training that is neither to be resumed nor overwritten, or that differs. One
    /// without a finished unit has nothing to lose, and gives way.
    pub fn begin(target: &Path, training: &Training, start: Start) -> Result<Begin, StoreError> {
        Self::begin_at(target, training, start, || finished(target, training, start))
    }

    /// The same for a training that starts from `old`, the model in `target`, and replaces it.
    ///
    /// Refuses if another process has replaced that model since it was read.
    pub fn begin_from(
        old: &Manifest,
        target: &Path,
        training: &Training,
        start: Start,
    ) -> Result<Begin, StoreError> {
        let start = Start { overwrite: true, ..start };
        Self::begin_at(target, training, start, || match Manifest::read(target)? == *old {
            true => Ok(None),
            false => Err(StoreError::Replaced { folder: target.to_owned() }),
        })
    }

    /// Starts or takes up what `finished` neither refuses nor finds in the target. That is asked
    /// before anything is made, and again when no other process can change the answer.
    fn begin_at(
        target: &Path,
        training: &Training,
        start: Start,
        finished: impl Fn() -> Result<Option<Manifest>, StoreError>,
    ) -> Result<Begin, StoreError> {
        let folder = files::partial_beside(target)?;
        if let Some(manifest) = finished()?
            && !folder.exists()
        {
            return Ok(Begin::Finished(manifest));
        }
        let partial = Self::lock(folder, target, start.overwrite)?;
        match finished() {
            Ok(Some(manifest)) => {
                partial.tidy(&manifest)?;
                Ok(Begin::Finished(manifest))
            }
            Ok(None) => {
                partial.take_up(training, start)?;
                Ok(Begin::Work(partial))
            }
            Err(error) => {
                // A folder that was made for the lock alone is in the way; the error that is there
                // already is the one to report.
                if let Ok(None) = partial.settings() {
                    let _ = partial.remove();
                }
                Err(error)
            }
        }
    }

    /// Removes what the commit of the model in `target` left behind if it was interrupted; other
    /// work that is unfinished there stays.
    pub fn finish(target: &Path) -> Result<(), StoreError> {
        let folder = files::partial_beside(target)?;
        if !folder.exists() {
            return Ok(());
        }
        let partial = Self::lock(folder, target, true)?;
        let manifest = Manifest::read(target)?;
        match partial.settings()? {
            Some(bytes) if !partial.is_committed(&bytes) => Ok(()),
            _ => partial.tidy(&manifest),
        }
    }

    /// Whether the training of these settings is the one whose model is in the target.
    fn is_committed(&self, settings: &[u8]) -> bool {
        let settings = Self::parse(&self.folder.join(SETTINGS), settings);
        Manifest::read(&self.target).is_ok_and(|manifest| {
            settings.is_ok_and(|settings| settings.training == manifest.training)
        })
    }

    /// Keeps the finished units of the same training, or starts without any.
    fn take_up(&self, training: &Training, start: Start) -> Result<(), StoreError> {
        match self.settings()? {
            // Nothing is unfinished but the removal of this folder.
            Some(bytes) if self.is_committed(&bytes) => self.start_afresh(training)?,
            Some(bytes) if start.resume => self.compare(&bytes, training)?,
            Some(_) if !start.overwrite && self.has_units()? => {
                return Err(StoreError::Unfinished { folder: self.folder.clone() });
            }
            _ => self.start_afresh(training)?,
        }
        self.sweep(&self.folder, files::is_leftover)
    }

    fn start_afresh(&self, training: &Training) -> Result<(), StoreError> {
        self.clear()?;
        let settings = Settings { format: FORMAT, training: training.clone() };
        write_json(&self.folder, SETTINGS, &settings)
    }

    /// What an unfinished training into `target` trains, if there is one.
    pub fn training(target: &Path) -> Result<Option<Training>, StoreError> {
        let path = files::partial_beside(target)?.join(SETTINGS);
        match read_limited(&path, SETTINGS_LIMIT) {
            Err(StoreError::Io { source, .. }) if is_absence(&source) => Ok(None),
            Err(error) => Err(error),
            Ok(bytes) => Ok(Some(Self::parse(&path, &bytes)?.training)),
        }
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Settings, FormatError> {
        serde_json::from_slice(bytes).map_err(|error| FormatError::Settings {
            path: path.to_owned(),
            reason: error.to_string(),
        })
    }

    /// Creates and locks the folder, which must hold nothing but what a training leaves.
    fn lock(folder: PathBuf, target: &Path, overwrite: bool) -> Result<Self, StoreError> {
        let lock = lock(&folder, |names| refuse_others(&folder, names, &[SETTINGS, LOCK]))?;
        Ok(Partial { folder, target: target.to_owned(), overwrite, _lock: lock })
    }

    fn settings(&self) -> Result<Option<Vec<u8>>, StoreError> {
        match read_limited(&self.folder.join(SETTINGS), SETTINGS_LIMIT) {
            Err(StoreError::Io { source, .. }) if is_absence(&source) => Ok(None),
            other => other.map(Some),
        }
    }

    fn has_units(&self) -> Result<bool, StoreError> {
        let names = files::names_in(&self.folder)?.unwrap_or_default();
        Ok(names.iter().any(|name| stem_of(name).is_some()))
    }

    fn compare(&self, bytes: &[u8], training: &Training) -> Result<(), StoreError> {
        let there = Self::parse(&self.folder.join(SETTINGS), bytes)?;
        // Units of two formats do not make one model.
        if there.format != FORMAT {
            let difference = format!("format is {} there but {FORMAT} here", there.format);
            return Err(StoreError::Different { folder: self.folder.clone(), difference });
        }
        match there.training.difference(training) {
            Some(difference) => {
                Err(StoreError::Different { folder: self.folder.clone(), difference })
            }
            None => Ok(()),
        }
    }

    /// The folder, for those who look at it; it is removed by [`Partial::commit`].
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a finished unit; see [`write_unit`]. May be called from many threads.
    pub fn write_unit(
        &self,
        stem: &str,
        arrays: &[(&str, ArrayRef<'_>)],
    ) -> Result<UnitFile, StoreError> {
        write_unit(&self.folder, stem, arrays)
    }

    /// Writes a unit that is finished elsewhere.
    pub(crate) fn write_finished(&self, file: &UnitFile, unit: &Unit) -> Result<(), StoreError> {
        files::write_whole(&self.folder, file.stem(), |out| {
            out.write_all(unit.bytes())?;
            Ok((file.file.clone(), ()))
        })
    }

    /// Takes a unit of another model over as it is: a second link to its file where the disk
    /// allows it, else a copy.
    pub fn adopt_unit(&self, from: &Path, unit: &UnitFile) -> Result<UnitFile, StoreError> {
        self.adopt_file(&from.join(&unit.file), unit)?;
        Ok(unit.clone())
    }

    /// The same of a file that may have another name.
    pub(crate) fn adopt_file(&self, from: &Path, unit: &UnitFile) -> Result<(), StoreError> {
        files::link_or_copy(from, &self.folder, &unit.file)
    }

    /// The units that are finished, sorted by name.
    ///
    /// Each was read and gave the digest in its name. One that does not, or that shares its stem
    /// with another, is removed: it is to be trained again.
    pub fn finished_units(&self, run: &Task) -> Result<Vec<UnitFile>, StoreError> {
        let units = scan(&self.folder, |_| true, run)?;
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        units.iter().for_each(|found| *count.entry(&found.stem).or_default() += 1);
        let mut finished = Vec::new();
        for Scanned { path, stem, sound } in &units {
            match sound {
                Some(unit) if count[stem.as_str()] == 1 => finished.push(unit.clone()),
                _ => files::remove_if_there(path)
                    .map_err(|error| StoreError::io("remove", path, error))?,
            }
        }
        Ok(finished)
    }

    /// Turns the units that the manifest names into the model, and removes this folder.
    ///
    /// The manifest is renamed into place after all units are on disk; only then are units of an
    /// earlier model removed.
    pub fn commit(self, manifest: &Manifest) -> Result<(), StoreError> {
        STEPS.iter().try_for_each(|step| step(&self, manifest))
    }

    /// Puts the units beside those of the model that may be there.
    fn place_units(&self, manifest: &Manifest) -> Result<(), StoreError> {
        check_target(&self.target, self.overwrite)?;
        let failed = |error: io::Error| StoreError::io("write into", &self.target, error);
        fs::create_dir_all(&self.target).map_err(failed)?;
        for unit in &manifest.units {
            files::link_or_copy(&self.folder.join(&unit.file), &self.target, &unit.file)?;
        }
        files::sync_folder(&self.target).map_err(failed)?;
        // The target's own name, which may be new, is kept by the folder that holds them both.
        let around = self.folder.parent().filter(|around| !around.as_os_str().is_empty());
        files::sync_folder(around.unwrap_or(Path::new("."))).map_err(failed)
    }

    fn place_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        manifest.write(&self.target)
    }

    /// Removes what the manifest no longer names, then this folder.
    fn tidy(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let named: BTreeSet<&str> = manifest.units.iter().map(|unit| unit.file.as_str()).collect();
        self.sweep(&self.target, |name| is_ours(name) && !named.contains(name))?;
        self.remove()
    }

    /// Gives the work up: removes this folder and what is in it.
    pub fn discard(self) -> Result<(), StoreError> {
        self.remove()
    }

    fn remove(&self) -> Result<(), StoreError> {
        self.clear()?;
        for name in [SETTINGS, LOCK] {
            let path = self.folder.join(name);
            files::remove_if_there(&path)
                .map_err(|error| StoreError::io("remove", &path, error))?;
        }
        fs::remove_dir(&self.folder).map_err(|error| StoreError::io("remove", &self.folder, error))
    }

    /// Removes all units and leftovers from this folder.
    fn clear(&self) -> Result<(), StoreError> {
        self.sweep(&self.folder, is_ours)
    }

    fn sweep(&self, folder: &Path, is_unwanted: impl Fn(&str) -> bool) -> Result<(), StoreError> {
        for name in files::names_in(folder)?.unwrap_or_default() {
            if is_unwanted(&name) {
                let path = folder.join(name);
                files::remove_if_there(&path)
                    .map_err(|error| StoreError::io("remove", &path, error))?;
            }
        }
        Ok(())
    }
}

impl Stored {
    /// Writes the same model into another folder, byte for byte.
    pub fn save(&self, target: &Path, overwrite: bool) -> Result<(), StoreError> {
        let start = Start { resume: false, overwrite };
        let begun = Partial::begin(target, &self.manifest().training, start)?;
        let Begin::Work(partial) = begun else { return Ok(()) };
        for (file, unit) in self.manifest().units.iter().zip(self.units()) {
            partial.write_finished(file, unit)?;
        }
        partial.commit(self.manifest())
    }
}

/// What [`Partial::commit`] does, in order.
pub(super) type Step = fn(&Partial, &Manifest) -> Result<(), StoreError>;
pub(super) const STEPS: [Step; 3] = [Partial::place_units, Partial::place_manifest, Partial::tidy];

/// Whether a file is a model's unit or half of something we wrote.
fn is_ours(name: &str) -> bool {
    stem_of(name).is_some_and(|stem| !is_of_plan(stem)) || files::is_leftover(name)
}

fn refuse_others(folder: &Path, names: &[String], known: &[&str]) -> Result<(), StoreError> {
    match names.iter().find(|name| !is_ours(name) && !known.contains(&name.as_str())) {
        Some(other) => {
            let found = format!("`{other}`");
            Err(StoreError::NotAModel { path: folder.to_owned(), found })
        }
        None => Ok(()),
    }
}
