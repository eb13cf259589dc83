//! Making a trained model smaller: small weights are dropped, and values stored in fewer bits.

use super::{settings_of, text};
use crate::algorithms::{Settings, Shrink, Shrunk, StoredAs};
use crate::base::run::{Stage, Task};
use crate::base::store::{
    ArrayRef, Begin, Manifest, Options, Staging, Start, StoreError, Stored, Training, UnitFile,
};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// Why a model was not made smaller.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShrinkError {
    /// What is asked for makes nothing smaller, or would go where the model itself is.
    #[error("{0}")]
    Refused(String),
    /// The threshold drops everything.
    #[error(
        "prune is {prune}, but the largest of all {what} is {largest}: none would be left; choose a \
         much smaller threshold"
    )]
    NothingLeft {
        /// The threshold.
        prune: f32,
        /// What would be dropped.
        what: &'static str,
        /// The largest of them.
        largest: f32,
    },
    /// A model's files could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes a smaller copy of the model in the folder `source` into the folder `target`, and returns
/// the manifests of both.
///
/// The copy is a model like any other. Its settings are those that it was made with, its precision
/// and threshold taken from `shrink`, and it remembers which model it comes from; labels and text
/// are the same. The files are read and written one at a time on each thread, so that memory does
/// not follow the size of the model. A threshold that would drop everything is refused, one that
/// leaves less than a hundredth is warned of.
///
/// ```
/// use labelwood::data::{Dataset, generate::{Generator, Profile}};
/// use labelwood::algorithms::label_tree::Params;
/// use labelwood::model::{Model, Shrink, StoredAs, shrink, train};
/// use labelwood::run::Pool;
/// let task = Pool::new(2)?.task();
/// let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
/// let (features, labels) = Generator::new(profile, 1)?.rows(0..200, &task)?;
/// let dataset = Dataset { features, labels, label_names: None, named: None };
/// let folder = tempfile::tempdir()?;
/// let (large, small) = (folder.path().join("large"), folder.path().join("small"));
/// train(&dataset, &Params::default().into(), &large, Default::default(), &task)?;
///
/// let how = Shrink { prune: Some(0.2), values: Some(StoredAs::F16) };
/// let (before, after) = shrink(&large, &small, how, false, &task)?;
/// assert!(after.bytes() < before.bytes());
/// Model::open(&small, Default::default(), &task)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn shrink(
    source: &Path,
    target: &Path,
    shrink: Shrink,
    overwrite: bool,
    task: &Task,
) -> Result<(Manifest, Manifest), ShrinkError> {
    let prune = shrink.prune.unwrap_or(0.0);
    if shrink == Shrink::default() {
        let reason = "nothing would become smaller: say which weights to drop (prune) or how to store \
                      them (values)";
        return Err(ShrinkError::Refused(reason.to_owned()));
    }
    if !(prune >= 0.0 && prune.is_finite()) {
        let reason = format!("prune is {prune}, but must be a number of at least 0");
        return Err(ShrinkError::Refused(reason));
    }
    if fs::canonicalize(source).ok().is_some_and(|from| fs::canonicalize(target).ok() == Some(from))
    {
        let reason = "this is the model to make smaller; give another folder";
        return Err(ShrinkError::Refused(format!("{}: {reason}", target.display())));
    }
    let stored = Stored::open(source, Options::default(), task)?;
    let before = stored.manifest();
    if before.training.algorithm == text::VECTORISER {
        return Err(StoreError::NoModel { folder: source.to_owned() }.into());
    }
    let settings = settings_of(&stored).map_err(StoreError::from)?;
    let Some(smaller) = settings.shrunk(shrink) else { return Err(unknown_values(&settings)) };
    let mut provenance = serde_json::to_value(shrink).expect("it is a number and a name");
    provenance["from"] = before.model_id().to_string().into();
    let training = Training {
        settings: smaller.values(),
        shrunk: Some(provenance),
        ..before.training.clone()
    };
    let start = Start { resume: false, overwrite };
    let Begin::Work(partial) = Staging::begin(target, &training, start)? else {
        unreachable!("nothing is finished that is not resumed")
    };
    let work =
        Work { stored: &stored, partial: &partial, shrink, settings, kept: Mutex::default() };
    let written = work.units(task).map_err(ShrinkError::from);
    match written.and_then(|units| work.check_kept().map(|()| units)) {
        Ok(units) => {
            let after = Manifest { training, units, ..before.clone() };
            partial.commit(&after)?;
            Ok((before.clone(), after))
        }
        Err(error) => {
            // What is there of it is worth nothing; the first error is the one to report.
            let _ = partial.discard();
            Err(error)
        }
    }
}

/// The error of values that an algorithm does not store: it names those that it does.
fn unknown_values(settings: &Settings) -> ShrinkError {
    let is_known = |values: &StoredAs| {
        settings.shrunk(Shrink { values: Some(*values), prune: None }).is_some()
    };
    let all = [StoredAs::U8, StoredAs::F16, StoredAs::F32].into_iter().zip(StoredAs::NAMES);
    let known: Vec<&str> =
        all.filter(|(values, _)| is_known(values)).map(|(_, name)| *name).collect();
    let (algorithm, known) = (settings.name(), known.join(" or "));
    if known.is_empty() {
        return ShrinkError::Refused(format!(
            "{algorithm} has no values that could be stored in fewer bits"
        ));
    }
    ShrinkError::Refused(format!("{algorithm} stores values as {known}: ask for one of these"))
}

/// What is needed to make the units of a model smaller.
struct Work<'a> {
    stored: &'a Stored,
    partial: &'a Staging,
    shrink: Shrink,
    settings: Settings,
    /// What is left, by what it is called.
    kept: Mutex<BTreeMap<&'static str, Kept>>,
}

impl Work<'_> {
    /// Refuses a model that lost everything of a kind, and warns of one that lost nearly all.
    fn check_kept(&self) -> Result<(), ShrinkError> {
        let kept = self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let prune = self.shrink.prune.unwrap_or(0.0);
        kept.iter().try_for_each(|(what, kept)| kept.check(what, prune))
    }

    /// Writes all units, in the order of the manifest.
    fn units(&self, task: &Task) -> Result<Vec<UnitFile>, StoreError> {
        let files = &self.stored.manifest().units;
        let (done, total) = (AtomicU64::new(0), files.len() as u64);
        let write = |file: &UnitFile| {
            task.check()?;
            let name = file.name();
            let write = |arrays: &[(&str, ArrayRef<'_>)]| self.partial.write_unit(name, arrays);
            let shrunk = self.settings.shrink_unit(self.shrink, self.stored, name, &write)?;
            let written = match shrunk {
                Some(shrunk) => {
                    let mut kept =
                        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    kept.entry(shrunk.what).or_default().add(&shrunk);
                    Ok(shrunk.file)
                }
                None => self.partial.adopt(self.stored, file),
            };
            task.progress(Stage::Units("units"), done.fetch_add(1, Ordering::Relaxed) + 1, total);
            written
        };
        task.install(|| files.par_iter().map(write).collect())
    }
}

/// How many values there were and how many are left, counted over all units.
#[derive(Default)]
struct Kept {
    before: u64,
    after: u64,
    /// The largest value of the units that lost all of theirs, by magnitude.
    largest: f32,
}

impl Kept {
    /// Counts a unit.
    fn add(&mut self, shrunk: &Shrunk) {
        self.before += shrunk.before;
        self.after += shrunk.after;
        if shrunk.after == 0 {
            self.largest = self.largest.max(shrunk.largest.abs());
        }
    }

    /// Refuses a threshold that left nothing, and warns of one that left less than a hundredth.
    fn check(&self, what: &'static str, prune: f32) -> Result<(), ShrinkError> {
        let &Kept { before, after, largest } = self;
        if prune == 0.0 || before == 0 {
            return Ok(());
        }
        if after == 0 {
            return Err(ShrinkError::NothingLeft { prune, what, largest });
        }
        if after < before / 100 {
            tracing::warn!(
                "prune is {prune}, which leaves {after} of {before} {what}: predictions will be poor; \
                 choose a smaller threshold"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
