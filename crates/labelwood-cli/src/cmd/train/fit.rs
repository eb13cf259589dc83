//! Training one model, and testing it.

use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::{Context as _, Result, anyhow};
use labelwood::Settings;
use labelwood::app::names_in;
use labelwood::data::Dataset;
use labelwood::metrics::{AtThreshold, Metrics};
use labelwood::model::{Model, TrainError, TrainOptions, Trained, train_with, train_within};
use labelwood::report::EvaluationReport;
use labelwood::run::{Bytes, Clock, Progress, Spent, Stage, Task};
use labelwood::store::{Manifest, Options, StoreError, is_model, staging_folder};
use labelwood::words::{counted, plural};

use super::Training;
use crate::machine::sum;
use crate::output::quoted_path;
use crate::prediction::{ENOUGH, measured, most_frequent, predicted};
use crate::report::{Tested, facts_of};
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
    /// The part of a grove that they are of.
    part: Option<&'static str>,
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
                let is_same = (state.part, state.units) == (progress.part, units);
                let done = if is_same { state.count.0 } else { 0 };
                (state.part, state.units) = (progress.part, units);
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

/// `3 finished trees are`.
fn finished_units(finished: u64, units: &str) -> String {
    let counted = counted(finished, units);
    let noun = counted.split_once(' ').map_or(units, |(_, noun)| noun);
    format!("{finished} finished {noun} {}", are(finished))
}

/// The verb of so many.
fn are(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// What a stopped training leaves, and how to go on.
fn kept(finished: u64, total: u64, units: &str, target: &Path) -> String {
    let folder = unfinished_at(target);
    // A model that is there is replaced only if that is asked for again.
    let flags = if is_model(target) { "--resume --overwrite" } else { "--resume" };
    let units = counted(total, units);
    format!(
        "{finished} of {units} {} kept in {}; go on with {flags}",
        are(finished),
        folder.display()
    )
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
    at_threshold: Option<AtThreshold>,
    popular: Metrics,
    stages: Vec<(&'static str, Spent)>,
}

impl Fitted {
    /// The test as a table or JSON.
    pub fn report(&self) -> Option<EvaluationReport<'_>> {
        let test = self.test.as_ref()?;
        Some(EvaluationReport {
            metrics: &test.metrics,
            at_threshold: test.at_threshold,
            popular: Some(&test.popular),
            stages: &test.stages,
            all: false,
        })
    }
}

/// What a user wants to know after a training.
impl Display for Fitted {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Manifest { instances, labels, .. } = self.manifest;
        let (rows, labels) = (plural(instances, "row"), plural(labels, "label"));
        let size = Bytes(self.bytes);
        let trees = self.settings.describe_size();
        let seconds = self.fit.seconds + self.save.seconds;
        let Some(folder) = &self.folder else {
            return write!(out, "{trees} of {rows} and {labels} in {seconds:.1} s");
        };
        let (folder, typed) = (folder.display(), quoted_path(folder));
        if let Some(chosen) = self.settings.chosen() {
            writeln!(out, "{chosen}")?;
        }
        if self.was_there {
            return write!(out, "{folder}: this training is finished, there is nothing to resume");
        }
        write!(out, "{folder}: {trees} of {rows} and {labels} in {seconds:.1} s, {size}")?;
        if self.test.is_none() {
            write!(out, "\nnext: labelwood evaluate {typed} DATA, labelwood predict {typed} DATA")?;
        }
        Ok(())
    }
}

impl Training<'_> {
    /// Trains into the folder `target` and tests what was written.
    pub fn fit(
        &self,
        rows: &Dataset,
        test: Option<&Dataset>,
        target: &Path,
        task: &Task,
    ) -> Result<Fitted> {
        let [training, testing] = stages(task, rows, test);
        self.trees.begin(target);
        let clock = Clock::start();
        let (settings, options) = (&self.settings, self.options());
        let (limits, start) = (&self.args.limits, self.args.start());
        let trained = if self.is_limited() {
            let limits = limits.within(self.context.started());
            train_within(rows, options, settings, limits, target, start, &training)
        } else {
            train_with(rows, options, settings, target, start, &training)
        };
        let trained = trained.map_err(|error| stopped_or(error, target))?;
        let saved = Clock::start();
        let grown = self.trees.end().unwrap_or(saved);
        let (manifest, was_there) = match trained {
            Trained::Written(manifest) => (manifest, false),
            Trained::AlreadyThere(manifest) => (manifest, true),
        };
        let test = test.map(|test| self.test_model(target, test, &testing)).transpose()?;
        Ok(Fitted {
            bytes: manifest.bytes() + manifest.to_bytes().len() as u64,
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
            threshold: self.threshold,
            favour: self.favour,
            keep_rows: self.args.keep_rows,
        }
    }

    /// Whether trees are added one by one. What auto chooses without trees, it chooses only if it fits.
    pub fn is_limited(&self) -> bool {
        self.args.limits.are_given() && self.settings.facts().grows.is_some()
    }

    /// Trains and tests without writing anything.
    pub fn fit_in_memory(
        &self,
        rows: &Dataset,
        test: Option<&Dataset>,
        task: &Task,
    ) -> Result<Fitted> {
        let [training, testing] = stages(task, rows, test);
        let clock = Clock::start();
        let options = TrainOptions { text: None, keep_rows: false, ..self.options() };
        let model = Model::train(rows.view(), options, &self.settings, &training);
        let model = model.map_err(|error| match error {
            TrainError::Stopped { source, .. } => {
                anyhow::Error::from(source).context("nothing is kept without --model")
            }
            other => other.into(),
        })?;
        let fit = clock.spent();
        let test = test.map(|test| self.score(&model, test, None, &testing)).transpose()?;
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
    fn test_model(&self, folder: &Path, test: &Dataset, task: &Task) -> Result<Test> {
        let clock = Clock::start();
        let model = Model::open(folder, Options::default(), task)?;
        let load = clock.spent();
        self.score(&model, test, Some(load), task)
            .with_context(|| format!("the model is complete in {}", folder.display()))
    }

    /// Predicts and compares with the truth.
    fn score(
        &self,
        model: &Model,
        test: &Dataset,
        load: Option<Spent>,
        task: &Task,
    ) -> Result<Test> {
        let clock = Clock::start();
        let predictions = predicted(model, test, self.args.report.is_some(), task)?;
        let load = load.map(|load| ("load", load)).into_iter();
        let stages: Vec<_> = load.chain([("predict", clock.spent())]).collect();
        let evaluation = measured(model, test, &predictions)?;
        let popular = most_frequent(model.labels().counts(), ENOUGH, test.len());
        let popular = measured(model, test, &popular)?.metrics();
        if let Some(path) = &self.args.report {
            let names = names_in(model, None)?;
            let tested = Tested {
                title: self.args.title(),
                evaluation: &evaluation,
                popular: &popular,
                threshold: model.threshold(),
                has_scores: true,
                names: names.as_ref(),
                notes: &self.notes,
                facts: facts_of(model),
                stages: &stages,
                seed: self.context.seed,
            };
            tested.write(path)?;
        }
        Ok(Test {
            metrics: evaluation.metrics(),
            at_threshold: model.threshold().map(|least| evaluation.at_threshold(least)),
            popular,
            stages,
        })
    }
}

/// What testing a row costs, compared with learning from one.
const TEST_COST: f64 = 0.3;

/// The task of a training and that of testing what it wrote, with their shares of the work.
fn stages(task: &Task, rows: &Dataset, test: Option<&Dataset>) -> [Task; 2] {
    let cost = TEST_COST * test.map_or(0, Dataset::len) as f64;
    let trained = 1.0 - cost / (cost + rows.len() as f64).max(1.0);
    [task.share(0.0..trained), task.share(trained..1.0).part("test")]
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
                "the time was up before there was a model: {} kept in {}; go on with --resume, or allow a \
                 longer --budget",
                finished_units(finished as u64, units),
                folder.display()
            )
        }
        TrainError::NoRoom { least, allowed } => anyhow!(
            "the model takes at least {}, but --max-model allows {}: allow more, or try --algorithm auto",
            Bytes(least),
            Bytes(allowed)
        ),
        TrainError::Store(error) if is_disk_full(&error) => {
            let folder = unfinished_at(target);
            let kept = format!(
                "finished trees are kept in {}; make room, then go on with --resume",
                folder.display()
            );
            let problem = format!("{error}: {kept}");
            anyhow::Error::from(error).context(problem)
        }
        TrainError::Store(error) => error.into(),
        other => other.into(),
    }
}

/// Whether there is no room left for a file.
fn is_disk_full(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull)
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
        watch(Progress::new(Stage::Units("trees"), 7, 50));
        watch(Progress::new(Stage::Units("trees"), 6, 50));
        assert_eq!(kept(), "7 of 50 trees are kept in out/model.partial; go on with --resume");
        trees.end();
        assert_eq!(kept(), NOTHING_KEPT);
        trees.begin(Path::new("out/model"));
        watch(Progress::new(Stage::Units("submodels"), 9, 9));
        assert_eq!(kept(), "9 of 9 submodels are kept in out/model.partial; go on with --resume");
    }

    #[test]
    fn a_full_disk_leaves_finished_trees_to_go_on_with() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let store = StoreError::Io { action: "write", path: "m.partial/tree".into(), source: full };
        let error = stopped_or(TrainError::Store(store), Path::new("out/model"));
        let expected =
            "finished trees are kept in out/model.partial; make room, then go on with --resume";
        assert!(error.to_string().ends_with(expected), "{error}");
        assert_eq!(labelwood::app::Fault::of(error.as_ref()), labelwood::app::Fault::Machine);
    }

    #[test]
    fn a_model_that_is_there_is_replaced_only_on_request() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        std::fs::write(folder.path().join("manifest.json"), "").expect("it is writable");
        assert!(kept(1, 2, "trees", folder.path()).ends_with("go on with --resume --overwrite"));
    }
}
