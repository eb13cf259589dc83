//! The folder `DIR.partial` of an unfinished training, until it becomes the model `DIR`, a folder or a file.
//!
//! It holds `settings.json`, which says what is being trained, the finished units, and a lock.
//! [`Staging::commit`] takes three [`STEPS`], each of which may be repeated. Whichever step is killed,
//! the target holds the old model or the new one, and a training that resumes ends in the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::lock::{LOCK, lock};
use super::manifest::{read_limited, write_json};
use super::unit::{is_of_plan, unit_name_of};
use super::{
    ArrayRef, FORMAT, Manifest, Scanned, StoreError, Stored, Training, Unit, UnitFile, archive,
    files, is_model, scan, unit_names_in, write_unit,
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

/// Whether there is anything left to train.
#[derive(Debug)]
pub(crate) enum Begin {
    /// Yes: there are units to train, though some may be finished.
    Work(Staging),
    /// No: the training to resume has been finished, and this is its model.
    Finished(Manifest),
}

/// The folder of an unfinished training, locked for this process.
#[derive(Debug)]
pub(crate) struct Staging {
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

/// Refuses a folder or file that a training must not write to. Call it before any work.
///
/// Allowed are a folder that is missing or empty, one that holds units without a manifest, which a
/// killed training leaves, a file that is missing, and with `overwrite` either if it holds a model.
///
/// ```
/// use labelwood::store::check_target;
/// let folder = tempfile::tempdir()?;
/// check_target(folder.path(), false)?;
/// std::fs::write(folder.path().join("thesis.tex"), "")?;
/// assert!(check_target(folder.path(), true).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_target(target: &Path, overwrite: bool) -> Result<(), StoreError> {
    match is_model(target) {
        true if overwrite => Ok(()),
        true => Err(StoreError::Exists { folder: target.to_owned() }),
        false if target.is_file() => Err(StoreError::not_a_model(target, "a file")),
        false => {
            let names = files::names_in(target)?.unwrap_or_default();
            refuse_others(target, &names, &[])
        }
    }
}

/// The model of this training, if a training to resume has been finished already. Refuses a target that
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
                let reason = format!(
                    "the model here is finished and differs: {difference}; repeat its settings and \
                     data, add --overwrite to replace it, or choose another folder"
                );
                return Err(StoreError::refused(target, reason));
            }
            Some(_) => {}
        }
    }
    check_target(target, start.overwrite)?;
    Ok(None)
}

impl Staging {
    /// Starts a training into `target`, or resumes it.
    ///
    /// Refuses what [`check_target`] refuses, and a folder that another process trains into. An
    /// unfinished training with finished units is refused if it is neither resumed nor overwritten, or
    /// if it is resumed with other settings; one without finished units is replaced.
    pub(crate) fn begin(
        target: &Path,
        training: &Training,
        start: Start,
    ) -> Result<Begin, StoreError> {
        Self::begin_at(target, training, start, || finished(target, training, start))
    }

    /// Starts or resumes a training that replaces `old`, the model in `target`, like [`begin`](Self::begin).
    ///
    /// Refuses if another process has replaced that model since it was read.
    pub(crate) fn begin_from(
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

    /// Starts or resumes a training unless `finished` gives its model or refuses.
    ///
    /// `finished` is called twice: before anything is written, and again under the lock, when no other
    /// process can change the answer.
    fn begin_at(
        target: &Path,
        training: &Training,
        start: Start,
        finished: impl Fn() -> Result<Option<Manifest>, StoreError>,
    ) -> Result<Begin, StoreError> {
        let folder = files::staging_folder(target)?;
        if let Some(manifest) = finished()?
            && !folder.exists()
        {
            return Ok(Begin::Finished(manifest));
        }
        let staging = Self::lock(folder, target, start.overwrite)?;
        match finished() {
            Ok(Some(manifest)) => {
                staging.tidy(&manifest)?;
                Ok(Begin::Finished(manifest))
            }
            Ok(None) => {
                staging.resume_or_clear(training, start)?;
                Ok(Begin::Work(staging))
            }
            Err(error) => {
                // A folder that was made for the lock alone must not stay. If removing it fails, the
                // first error is still the one to report.
                if let Ok(None) = read_settings(&staging.folder) {
                    let _ = staging.remove();
                }
                Err(error)
            }
        }
    }

    /// Removes the folder of a commit that was killed after it had put its model into `target`. The
    /// folder of another unfinished training stays.
    pub(crate) fn finish(target: &Path) -> Result<(), StoreError> {
        let folder = files::staging_folder(target)?;
        if !folder.exists() {
            return Ok(());
        }
        let staging = Self::lock(folder, target, true)?;
        let manifest = Manifest::read(target)?;
        match read_settings(&staging.folder)? {
            Some(bytes) if !staging.is_committed(&bytes) => Ok(()),
            _ => staging.tidy(&manifest),
        }
    }

    /// Whether the training of these settings is the one whose model is in the target.
    fn is_committed(&self, settings: &[u8]) -> bool {
        let settings = parse_settings(&self.folder, settings).map(|settings| settings.training);
        let manifest = Manifest::read(&self.target).map(|manifest| manifest.training);
        settings.ok().zip(manifest.ok()).is_some_and(|(here, there)| here == there)
    }

    /// Keeps the finished units of the same training, or removes all units.
    fn resume_or_clear(&self, training: &Training, start: Start) -> Result<(), StoreError> {
        match read_settings(&self.folder)? {
            // The commit was killed before it removed this folder.
            Some(bytes) if self.is_committed(&bytes) => self.start_afresh(training)?,
            Some(bytes) if start.resume => self.compare(&bytes, training)?,
            Some(_) if !start.overwrite && !unit_names_in(&self.folder)?.is_empty() => {
                let reason = "an unfinished training is here; add --resume to go on with it or \
                              --overwrite to start afresh";
                return Err(StoreError::refused(&self.folder, reason));
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

    /// The settings of the unfinished training into `target`, if there is one.
    pub(crate) fn training(target: &Path) -> Result<Option<Training>, StoreError> {
        let folder = files::staging_folder(target)?;
        let settings = read_settings(&folder)?.map(|bytes| parse_settings(&folder, &bytes));
        Ok(settings.transpose()?.map(|settings| settings.training))
    }

    /// Creates and locks the folder, which must hold nothing but what a training leaves.
    fn lock(folder: PathBuf, target: &Path, overwrite: bool) -> Result<Self, StoreError> {
        let lock = lock(&folder, |names| refuse_others(&folder, names, &[SETTINGS, LOCK]))?;
        Ok(Staging { folder, target: target.to_owned(), overwrite, _lock: lock })
    }

    fn compare(&self, bytes: &[u8], training: &Training) -> Result<(), StoreError> {
        let Settings { format, training: there } = parse_settings(&self.folder, bytes)?;
        // A model cannot have units of two formats.
        let other_format =
            (format != FORMAT).then(|| format!("format is {format} there but {FORMAT} here"));
        match other_format.or_else(|| there.difference(training)) {
            Some(difference) => Err(different(&self.folder, difference)),
            None => Ok(()),
        }
    }

    /// The folder, which [`Staging::commit`] removes.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a finished unit; see [`write_unit`]. May be called from many threads.
    pub(crate) fn write_unit(
        &self,
        name: &str,
        arrays: &[(&str, ArrayRef<'_>)],
    ) -> Result<UnitFile, StoreError> {
        write_unit(&self.folder, name, arrays)
    }

    /// Writes a unit that is finished and in memory.
    pub(crate) fn write_finished(&self, file: &UnitFile, unit: &Unit) -> Result<(), StoreError> {
        files::write_whole(&self.folder, file.name(), |out| {
            out.write_all(unit.bytes())?;
            Ok((file.file.clone(), ()))
        })
    }

    /// Adds a unit of another model without changes.
    pub(crate) fn adopt(&self, from: &Stored, unit: &UnitFile) -> Result<UnitFile, StoreError> {
        match from.file_of(unit) {
            Some(file) => self.adopt_file(&file, unit),
            None => {
                self.write_finished(unit, from.unit(unit.name())?)?;
                Ok(unit.clone())
            }
        }
    }

    /// Adds a unit without changes from a file of any name: as a second link to the file where the disk
    /// allows it, else as a copy.
    pub(crate) fn adopt_file(&self, from: &Path, unit: &UnitFile) -> Result<UnitFile, StoreError> {
        files::link_or_copy(from, &self.folder, &unit.file)?;
        Ok(unit.clone())
    }

    /// The units that are finished, sorted by name.
    ///
    /// Reads each file and compares its digest. A file that is damaged, or that has the name of another
    /// unit, is removed, so that the unit is trained again.
    pub(crate) fn finished_units(&self, task: &Task) -> Result<Vec<UnitFile>, StoreError> {
        let units = scan(&self.folder, |_| true, task)?;
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        units.iter().for_each(|found| *count.entry(&found.name).or_default() += 1);
        let mut finished = Vec::new();
        for Scanned { path, name, sound } in &units {
            match sound {
                Some(unit) if count[name.as_str()] == 1 => finished.push(unit.clone()),
                _ => files::remove(path)?,
            }
        }
        Ok(finished)
    }

    /// Makes the model of the units in the manifest, and removes this folder.
    ///
    /// The manifest is renamed into place after all units are on disk; only then are units of an
    /// earlier model removed. A model that is one file is renamed into place as a whole.
    pub(crate) fn commit(self, manifest: &Manifest) -> Result<(), StoreError> {
        STEPS.iter().try_for_each(|step| step(&self, manifest))
    }

    /// Links or copies the units into the target, beside those of an earlier model.
    fn place_units(&self, manifest: &Manifest) -> Result<(), StoreError> {
        check_target(&self.target, self.overwrite)?;
        if archive::is_file_target(&self.target) {
            return Ok(());
        }
        let failed = |error: io::Error| StoreError::io("write into", &self.target, error);
        fs::create_dir_all(&self.target).map_err(failed)?;
        for unit in &manifest.units {
            files::link_or_copy(&self.folder.join(&unit.file), &self.target, &unit.file)?;
        }
        files::sync_folder(&self.target).map_err(failed)?;
        // The target itself may be new: its name is on disk once its parent folder is synced.
        files::sync_around(&self.folder).map_err(failed)
    }

    fn place_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        if archive::is_file_target(&self.target) {
            return self.place_archive(manifest, |unit, mut out| {
                io::copy(&mut File::open(self.folder.join(&unit.file))?, &mut out)
            });
        }
        manifest.write(&self.target)
    }

    /// Writes the model as one file and renames it into place; `content` writes what a unit holds.
    fn place_archive(
        &self,
        manifest: &Manifest,
        content: impl Fn(&UnitFile, &mut dyn Write) -> io::Result<u64>,
    ) -> Result<(), StoreError> {
        // A link to the model stays one: the file takes the place of what it leads to.
        let target = fs::canonicalize(&self.target).unwrap_or_else(|_| self.target.clone());
        files::write_whole_to(&self.folder, "model", |out| {
            archive::write(out, manifest, content)?;
            Ok((target, ()))
        })
    }

    /// Removes units that are not in the manifest from the target, then removes this folder.
    fn tidy(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let named: BTreeSet<&str> = manifest.units.iter().map(|unit| unit.file.as_str()).collect();
        if self.target.is_dir() {
            self.sweep(&self.target, |name| is_ours(name) && !named.contains(name))?;
        }
        self.remove()
    }

    /// Gives the work up: removes this folder and what is in it.
    pub(crate) fn discard(self) -> Result<(), StoreError> {
        self.remove()
    }

    fn remove(&self) -> Result<(), StoreError> {
        self.clear()?;
        for name in [SETTINGS, LOCK] {
            files::remove(&self.folder.join(name))?;
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
                files::remove(&folder.join(name))?;
            }
        }
        Ok(())
    }
}

impl Stored {
    /// Writes the same model into another folder or file: the same units, byte for byte.
    pub fn save(&self, target: &Path, overwrite: bool) -> Result<(), StoreError> {
        let start = Start { resume: false, overwrite };
        let begun = Staging::begin(target, &self.manifest().training, start)?;
        let Begin::Work(staging) = begun else { return Ok(()) };
        if archive::is_file_target(target) {
            let bytes = |file: &UnitFile| self.unit(file.name()).map(Unit::bytes);
            staging.place_archive(self.manifest(), |file, out| {
                let bytes = bytes(file).map_err(io::Error::other)?;
                out.write_all(bytes)?;
                Ok(bytes.len() as u64)
            })?;
            return staging.tidy(self.manifest());
        }
        for (file, unit) in self.manifest().units.iter().zip(self.units()) {
            staging.write_finished(file, unit)?;
        }
        staging.commit(self.manifest())
    }
}

/// The steps of [`Staging::commit`], in order.
pub(super) type Step = fn(&Staging, &Manifest) -> Result<(), StoreError>;
pub(super) const STEPS: [Step; 3] = [Staging::place_units, Staging::place_manifest, Staging::tidy];

/// Whether a file name is that of a model's unit or of an interrupted write.
fn is_ours(name: &str) -> bool {
    unit_name_of(name).is_some_and(|name| !is_of_plan(name)) || files::is_leftover(name)
}

fn refuse_others(folder: &Path, names: &[String], known: &[&str]) -> Result<(), StoreError> {
    match names.iter().find(|name| !is_ours(name) && !known.contains(&name.as_str())) {
        Some(other) => Err(StoreError::not_a_model(folder, &format!("`{other}`"))),
        None => Ok(()),
    }
}

/// The bytes of the settings of an unfinished training, if there is one.
fn read_settings(folder: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    read_limited(&folder.join(SETTINGS), SETTINGS_LIMIT)
}

fn parse_settings(folder: &Path, bytes: &[u8]) -> Result<Settings, StoreError> {
    serde_json::from_slice(bytes)
        .map_err(|error| different(folder, format!("its {SETTINGS} cannot be read ({error})")))
}

fn different(folder: &Path, difference: String) -> StoreError {
    StoreError::Different { folder: folder.to_owned(), difference }
}
