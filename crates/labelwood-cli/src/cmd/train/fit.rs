//! Training one model, and testing it.

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::{Context as _, Result, anyhow};
use labelwood::Settings;
use labelwood::data::Dataset;
use labelwood::metrics::Metrics;
use labelwood::model::{Model, TrainError, TrainOptions, Trained, train_with, train_within};
use labelwood::report::{EvaluationReport, Spent};
use labelwood::run::{Bytes, Progress, Stage};
use labelwood::store::{Manifest, Options, staging_folder};

use super::Training;
use crate::machine::{Clock, sum};
use crate::prediction::{measured, predicted};
use crate::signals::NOTHING_KEPT;

/// How far the trees have come, as far as the run tells.
#[derive(Clone, Default)]
pub struct Trees(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The folder that a model is being trained into.
    target: Option<PathBuf>,
    /// Finished units and all units, and what they are called.
    count: (u64, u64),
    units: &'static str,
    /// When the last tree was done: what comes after it is saving.
    last: Option<Clock>,
}

impl Trees {
    /// Watches a run's progress.
    pub fn watch(&self) -> impl Fn(Progress) -> Progress + Send + Sync + 'static {
        let trees = self.clone();
        move |progress| {
            if let Stage::Units(units) = progress.stage {
                let mut state = trees.state();
                // The parts of a grove follow one after the other.
                let done = if state.units == units { state.count.0 } else { 0 };
                state.units = units;
                state.count = (progress.done.max(done), progress.total);
                if progress.done == progress.total {
                    state.last = Some(Clock::start());
                }
            }
            progress
        }
    }

    /// What is left when the run is ended from outside.
    pub fn kept(&self) -> impl Fn() -> String + Send + Sync + 'static {
        let trees = self.clone();
        move || match &*trees.state() {
            State { target: Some(target), count: (done, total), units, .. } if *total > 0 => {
                kept(*done, *total, units, target)
            }
            _ => NOTHING_KEPT.to_owned(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn begin(&self, target: &Path) {
        *self.state() = State { target: Some(target.to_owned()), ..State::default() };
    }

    /// The model is in place; gives when the last tree was done.
    fn end(&self) -> Option<Clock> {
        std::mem::take(&mut *self.state()).last
    }
}

/// Where finished units are kept.
fn unfinished_at(target: &Path) -> PathBuf {
    staging_folder(target).unwrap_or_else(|_| target.to_owned())
}

/// What a stopped training leaves, and how to go on.
fn kept(finished: u64, total: u64, units: &str, target: &Path) -> String {
    let folder = unfinished_at(target);
    // A model that is there is replaced only if that is asked for again.
    let replaces = target.join("manifest.json").exists();
    let flags = if replaces { "--resume --overwrite" } else { "--resume" };
    format!("{finished} of {total} {units} are kept in {}; go on with {flags}", folder.display())
}

/// A trained model and what it took.
pub struct Fitted {
    /// The settings with every automatic choice made.
    pub settings: Settings,
    /// The bytes of the model's folder, or of its trees if it has none.
    pub bytes: u64,
    /// Growing the trees, writing them included.
    pub fit: Spent,
    /// What follows the last tree.
    pub save: Spent,
    /// How good the model is, if that was asked for.
    pub test: Option<Test>,
    /// Whether all of it was there before.
    pub was_there: bool,
    folder: Option<PathBuf>,
    manifest: Manifest,
}

/// How good a model is on the test rows, with the time of each stage.
pub struct Test {
    /// The figures.
    pub metrics: Metrics,
    stages: Vec<(&'static str, Spent)>,
}

impl Fitted {
    /// The test as a table or JSON.
    pub fn report(&self) -> Option<EvaluationReport<'_>> {
        let test = self.test.as_ref()?;
        Some(EvaluationReport { metrics: &test.metrics, stages: &test.stages })
    }
}

/// What a user wants to know after a training.
impl Display for Fitted {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Manifest { instances: rows, labels, .. } = &self.manifest;
        let size = Bytes(self.bytes);
        let trees = self.settings.describe_size();
        let seconds = self.fit.seconds + self.save.seconds;
        let Some(folder) = &self.folder else {
            return write!(out, "{trees} of {rows} rows and {labels} labels in {seconds:.1} s");
        };
        let folder = folder.display();
        if let Some(chosen) = self.settings.chosen() {
            writeln!(out, "{chosen}")?;
        }
        if self.was_there {
            return write!(out, "{folder}: this training is finished, there is nothing to resume");
        }
        write!(
            out,
            "{folder}: {trees} of {rows} rows and {labels} labels in {seconds:.1} s, {size}"
        )?;
        if self.test.is_none() {
            write!(
                out,
                "\nnext: labelwood evaluate {folder} DATA, labelwood predict {folder} DATA"
            )?;
        }
        Ok(())
    }
}

impl Training<'_> {
    /// Trains into the folder `target` and tests what was written.
    pub fn fit(&self, rows: &Dataset, test: Option<&Dataset>, target: &Path) -> Result<Fitted> {
        self.trees.begin(target);
        let clock = Clock::start();
        let (settings, options) = (&self.settings, self.options());
        let (limits, start) = (&self.args.limits, self.args.start());
        let trained = if self.is_limited() {
            let limits = limits.within(self.context.started());
            train_within(rows, options, settings, limits, target, start, &self.task)
        } else {
            train_with(rows, options, settings, target, start, &self.task)
        };
        let trained = trained.map_err(|error| stopped_or(error, target))?;
        let saved = Clock::start();
        let grown = self.trees.end().unwrap_or(saved);
        let (manifest, was_there) = match trained {
            Trained::Written(manifest) => (manifest, false),
            Trained::AlreadyThere(manifest) => (manifest, true),
        };
        let test = test.map(|test| self.test_model(target, test)).transpose()?;
        Ok(Fitted {
            bytes: folder_bytes(target, &manifest)?,
            settings: settings_of(&manifest)?,
            fit: grown.since(&clock),
            save: saved.since(&grown),
            test,
            was_there,
            folder: Some(target.to_owned()),
            manifest,
        })
    }

    /// What is asked of the training besides the settings.
    fn options(&self) -> TrainOptions<'_> {
        TrainOptions {
            text: self.reader.as_ref(),
            calibrate: self.calibrate,
            favour: self.favour,
            keep_rows: self.args.keep_rows,
        }
    }

    /// Whether trees are added one by one. What auto chooses without trees, it chooses only if it fits.
    pub fn is_limited(&self) -> bool {
        self.args.limits.are_given() && self.settings.facts().grows.is_some()
    }

    /// Trains and tests without writing anything.
    pub fn fit_in_memory(&self, rows: &Dataset, test: Option<&Dataset>) -> Result<Fitted> {
        let clock = Clock::start();
        let options = TrainOptions { text: None, keep_rows: false, ..self.options() };
        let model = Model::train(rows.view(), options, &self.settings, &self.task);
        let model = model.map_err(|error| match error {
            TrainError::Stopped { source, .. } => {
                anyhow::Error::from(source).context("nothing is kept without --model")
            }
            other => other.into(),
        })?;
        let fit = clock.spent();
        let test = test.map(|test| self.score(&model, test, None)).transpose()?;
        Ok(Fitted {
            settings: settings_of(model.manifest())?,
            bytes: model.manifest().bytes(),
            fit,
            save: sum([]),
            test,
            was_there: false,
            folder: None,
            manifest: model.manifest().clone(),
        })
    }

    /// Tests the model as a fresh process would: from its folder.
    fn test_model(&self, folder: &Path, test: &Dataset) -> Result<Test> {
        let clock = Clock::start();
        let model = Model::open(folder, Options::default(), &self.task)?;
        let load = clock.spent();
        self.score(&model, test, Some(load))
            .with_context(|| format!("the model is complete in {}", folder.display()))
    }

    /// Predicts and compares with the truth.
    fn score(&self, model: &Model, test: &Dataset, load: Option<Spent>) -> Result<Test> {
        let clock = Clock::start();
        let predictions = predicted(model, test, &self.task)?;
        let load = load.map(|load| ("load", load)).into_iter();
        let stages = load.chain([("predict", clock.spent())]).collect();
        Ok(Test { metrics: measured(model, test, &predictions)?, stages })
    }
}

/// The settings that a model was trained with.
fn settings_of(manifest: &Manifest) -> Result<Settings> {
    let training = &manifest.training;
    Settings::from_values(&training.algorithm, training.settings.clone()).map_err(|e| anyhow!(e))
}

/// The error of a training; a stopped one says what is kept and how to go on.
fn stopped_or(error: TrainError, target: &Path) -> anyhow::Error {
    match error {
        TrainError::Stopped { finished, total, units, source } => {
            let kept = kept(finished as u64, total as u64, units, target);
            anyhow::Error::from(source).context(kept)
        }
        TrainError::TimeUp { finished, units } => {
            let folder = unfinished_at(target);
            anyhow!(
                "the time was up before there was a model: {finished} finished {units} are kept in {}; \
                 go on with --resume, or allow a longer --budget",
                folder.display()
            )
        }
        TrainError::NoRoom { least, allowed } => anyhow!(
            "the model takes at least {}, but --max-model allows {}: allow more, or try --algorithm auto",
            Bytes(least),
            Bytes(allowed)
        ),
        TrainError::Store(error) => error.into(),
        other => other.into(),
    }
}

/// The size of a model's folder: its units and the manifest.
fn folder_bytes(folder: &Path, manifest: &Manifest) -> Result<u64> {
    let path = folder.join("manifest.json");
    let size = fs::metadata(&path).with_context(|| path.display().to_string())?;
    Ok(manifest.bytes() + size.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_told_while_trees_grow_into_a_folder() {
        let trees = Trees::default();
        let (watch, kept) = (trees.watch(), trees.kept());
        assert_eq!(kept(), NOTHING_KEPT);
        trees.begin(Path::new("out/model"));
        assert_eq!(kept(), NOTHING_KEPT);
        watch(Progress { stage: Stage::Units("trees"), done: 7, total: 50 });
        watch(Progress { stage: Stage::Units("trees"), done: 6, total: 50 });
        assert_eq!(kept(), "7 of 50 trees are kept in out/model.partial; go on with --resume");
        trees.end();
        assert_eq!(kept(), NOTHING_KEPT);
        trees.begin(Path::new("out/model"));
        watch(Progress { stage: Stage::Units("submodels"), done: 9, total: 9 });
        assert_eq!(kept(), "9 of 9 submodels are kept in out/model.partial; go on with --resume");
    }

    #[test]
    fn a_model_that_is_there_is_replaced_only_on_request() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        std::fs::write(folder.path().join("manifest.json"), "").expect("it is writable");
        assert!(kept(1, 2, "trees", folder.path()).ends_with("go on with --resume --overwrite"));
    }
}
