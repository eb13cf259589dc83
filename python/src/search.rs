//! Choosing an algorithm, and settings.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use labelwood::Settings;
use labelwood::app::TrainingNeed;
use labelwood::auto::{self, Limits, choose};
use labelwood::data::DatasetView;
use labelwood::run::Task;
use labelwood::settings::Favour;
use labelwood::tune::{Measure, Plan, tune};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use serde_json::json;

use crate::errors::{Fault, refuse};
use crate::rows::{FeatureArrays, LabelArrays, Rows};
use crate::text::{Reading, Vocabulary};
use crate::training::parse;
use crate::work;

/// An algorithm, its settings as JSON, and why it was chosen.
type Chosen = (&'static str, String, Vec<String>);

/// The algorithm that suits rows, for a seed and the bytes of memory that there are.
#[pyfunction]
pub fn choose_algorithm(
    py: Python<'_>,
    features: FeatureArrays<'_>,
    labels: LabelArrays<'_>,
    seed: u64,
    memory: Option<u64>,
    threads: usize,
) -> PyResult<Chosen> {
    let rows = Rows::new(features, labels, None)?;
    let dataset = rows.view(py)?;
    let choice = work::run(py, threads, None, |task| {
        let threads = task.threads();
        let fits = |settings: &Settings| {
            let need = TrainingNeed::new(dataset, settings, threads).bytes();
            memory.is_none_or(|memory| need <= memory)
        };
        choose(dataset, seed, Limits::default(), fits, task)
    })?;
    Ok((choice.settings.name(), choice.settings.values().to_string(), choice.why))
}

/// What is tried: algorithms with their settings as JSON, none for all that suit the rows; the settings that
/// stay as they are; the measure, the folds, a folder for finished trials, the seconds that there are, and
/// the seed.
#[derive(FromPyObject)]
pub struct Trials(
    Vec<(PyBackedStr, PyBackedStr)>,
    Vec<String>,
    PyBackedStr,
    usize,
    Option<PathBuf>,
    Option<f64>,
    u64,
);

impl Trials {
    fn starts(&self, py: Python<'_>) -> PyResult<Vec<Settings>> {
        self.0.iter().map(|(algorithm, values)| parse(py, algorithm, values)).collect()
    }

    fn measure(&self, py: Python<'_>) -> PyResult<Measure> {
        serde_json::from_value(json!(&*self.2)).map_err(|_| {
            let known = Measure::NAMES.join(", ");
            refuse(py, format!("measure is {:?}, but must be one of {known}", &*self.2))
        })
    }

    /// What came of it: the algorithm, its settings, the table and the verdict.
    fn run(
        &self,
        starts: Vec<Settings>,
        measure: Measure,
        dataset: DatasetView<'_>,
        task: &Task,
    ) -> Result<Tuned, Fault> {
        let Trials(_, keep, _, folds, folder, seconds, seed) = self;
        let starts = match starts.is_empty() {
            true => auto::algorithms(dataset, *seed)
                .into_iter()
                .map(|settings| settings.favour(Favour::None))
                .collect(),
            false => starts,
        };
        let plan = Plan::new(dataset, &starts, keep, measure, *folds)?;
        let temporary = tempfile::Builder::new().prefix("labelwood-").tempdir()?;
        let place = folder.as_deref().unwrap_or(temporary.path());
        let budget =
            seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default());
        let until = budget.map(|budget| Instant::now() + budget);
        let outcome = tune(dataset, &plan, place, &task.until(until))?;
        let chosen = outcome.chosen();
        let values = chosen.settings.values().to_string();
        Ok((
            chosen.settings.name(),
            values,
            outcome.cells(),
            outcome.verdict(),
            outcome.is_finished(),
        ))
    }
}

/// The algorithm and its settings as JSON, what was tried as the cells of a table, a sentence about it, and
/// whether all rounds are finished.
type Tuned = (&'static str, String, Vec<Vec<String>>, String, bool);

/// The settings that suit rows.
#[pyfunction]
pub fn tune_rows(
    py: Python<'_>,
    trials: Trials,
    features: FeatureArrays<'_>,
    labels: LabelArrays<'_>,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Tuned> {
    let (starts, measure) = (trials.starts(py)?, trials.measure(py)?);
    let rows = Rows::new(features, labels, None)?;
    let dataset = rows.view(py)?;
    work::run(py, threads, progress, |task| trials.run(starts, measure, dataset, task))
}

/// The settings that suit texts, which are read as a vectoriser says.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are the parameters of Python's")]
pub fn tune_texts(
    py: Python<'_>,
    trials: Trials,
    vectoriser: &str,
    documents: &str,
    texts: Vec<PyBackedStr>,
    tags: Vec<Vec<PyBackedStr>>,
    vocabulary: Vocabulary,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Tuned> {
    let (starts, measure) = (trials.starts(py)?, trials.measure(py)?);
    let reading = Reading::parse(py, vectoriser, documents, vocabulary)?;
    work::run(py, threads, progress, |task| -> Result<Tuned, Fault> {
        let (dataset, _) = reading.learn(&texts, &tags, task)?;
        trials.run(starts, measure, dataset.view(), task)
    })
}
