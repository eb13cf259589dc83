//! The one model, as Python holds it.

use std::path::PathBuf;

use labelwood::Settings;
use labelwood::app::{TrainingNeed, names_in, predict_at_least};
use labelwood::data::DatasetView;
use labelwood::model::{Model as Inner, TrainError, TrainOptions, train_with};
use labelwood::run::Task;
use labelwood::settings::Favour;
use labelwood::settings::Kind;
use labelwood::sparse::{LabelSet, Predictions, Query};
use labelwood::store::{Load, Options, Start, StoreError, Stored};
use labelwood::words::plural;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyTuple};
use serde_json::Value;

use crate::errors::{Fault, OrRaise, in_python, refuse};
use crate::rows::{FeatureArrays, Features, LabelArrays, Rows, arrays, one_row, prediction_arrays};
use crate::text::{Reading, Vocabulary};
use crate::work::{self, Pace};

/// For up to so many rows no thread is started: that would take longer.
const FEW: usize = 64;

/// Bytes that a label takes whether or not a row has it: among an estimator's `classes_`, and in the
/// counts and offsets of the library, which it makes before it can estimate anything.
const LABEL: u64 = 32;

/// The bytes of a model's files: the manifest, then the units in its order.
type Files<'py> = Vec<Bound<'py, PyBytes>>;

/// An algorithm's name, its settings as JSON, whether scores are made probabilities, and which labels
/// are favoured.
#[derive(FromPyObject)]
pub struct Learner(PyBackedStr, PyBackedStr, bool, PyBackedStr);

impl Learner {
    /// The algorithm, and what its model holds besides.
    pub fn parts(&self, py: Python<'_>) -> PyResult<(Settings, TrainOptions<'static>)> {
        let Learner(algorithm, values, calibrate, favour) = self;
        let settings = parse(py, algorithm, values)?;
        let name = serde_json::Value::from(&**favour);
        let favour = serde_json::from_value(name).map_err(|_| {
            let known = Favour::NAMES.join(" or ");
            refuse(py, format!("favour is {favour:?}, but must be {known}"))
        })?;
        Ok((settings, TrainOptions { calibrate: *calibrate, favour, ..TrainOptions::default() }))
    }
}

/// A trained model.
#[pyclass(frozen, module = "labelwood._native")]
pub struct Model(pub Inner, Pace);

impl From<Inner> for Model {
    fn from(model: Inner) -> Self {
        Model(model, Pace::default())
    }
}

#[pymethods]
impl Model {
    /// Trains on rows of features and labels, which are borrowed where their types allow it, in
    /// memory or `into` a folder, which may be overwritten. What needs more than so many bytes of
    /// `memory` is refused.
    #[staticmethod]
    #[pyo3(signature = (learner, features, labels, names, into, threads, progress, memory=None))]
    #[expect(clippy::too_many_arguments, reason = "it is called from one place")]
    fn train(
        py: Python<'_>,
        learner: Learner,
        features: FeatureArrays<'_>,
        labels: LabelArrays<'_>,
        names: Option<Vec<PyBackedStr>>,
        into: Option<Into>,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        let (settings, options) = learner.parts(py)?;
        let rows = Rows::new(features, labels, names)?;
        let dataset = rows.view(py)?;
        let train = |task: &Task| learn(dataset, options, &settings, into, memory, task);
        work::run(py, threads, progress, train).map(Model::from)
    }

    /// Trains on texts and their tags; `memory` is as for rows.
    #[staticmethod]
    #[pyo3(signature = (
        learner, vectoriser, documents, texts, tags, vocabulary, into, threads, progress, memory=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "it is called from one place")]
    fn train_text(
        py: Python<'_>,
        learner: Learner,
        vectoriser: &str,
        documents: &str,
        texts: Vec<PyBackedStr>,
        tags: Vec<Vec<PyBackedStr>>,
        vocabulary: Vocabulary,
        into: Option<Into>,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        let (settings, options) = learner.parts(py)?;
        let reading = Reading::parse(py, vectoriser, documents, vocabulary)?;
        work::run(py, threads, progress, |task| -> Result<Self, Fault> {
            let (dataset, reader) = reading.learn(&texts, &tags, task)?;
            let options = TrainOptions { text: Some(&reader), ..options };
            Ok(learn(dataset.view(), options, &settings, into, memory, task)?.into())
        })
    }

    /// Opens a model's folder; without `map`, its files are read into memory.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, map: bool) -> PyResult<Self> {
        let load = if map { Load::Map } else { Load::Copy };
        let options = Options { load, ..Options::default() };
        work::run(py, 0, None, |task| Inner::open(&path, options, task)).map(Model::from)
    }

    /// How to make the model again, for `pickle`: from the bytes of its files.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Files<'py>,))> {
        let make = py.import("labelwood._native")?.getattr("model_from_files")?;
        Ok((make, (self.files(py),)))
    }

    /// The bytes of the model's files: the manifest, then the units.
    fn files<'py>(&self, py: Python<'py>) -> Files<'py> {
        self.0.stored().files().iter().map(|(_, bytes)| PyBytes::new(py, bytes)).collect()
    }

    /// Writes the model into a folder.
    fn save(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        work::run(py, 1, None, |_| self.0.stored().save(&path, overwrite))
    }

    /// The best labels of each row as `(indptr, indices, data)`, each row best first; all that reach
    /// a threshold, if there is one.
    #[pyo3(signature = (features, k, beam, allowed, threads, progress, threshold=None))]
    #[expect(clippy::too_many_arguments, reason = "it is called from one place")]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        features: FeatureArrays<'_>,
        k: usize,
        beam: Option<usize>,
        allowed: Option<Vec<u32>>,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
        threshold: Option<f32>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let features = Features::new(features)?;
        let rows = features.view(py)?;
        let allowed: Option<LabelSet> = allowed.map(|labels| labels.into_iter().collect());
        let query = Query { k, beam, allowed: allowed.as_ref() };
        let predict = |task: &Task| match threshold {
            Some(least) => predict_at_least(&self.0, rows, least, query, task),
            None => self.0.predict(rows, query, task),
        };
        self.answer(py, rows.len(), threads, progress, predict)
    }

    /// The best labels of each text as `(indptr, indices, data)`, each row best first; the model must
    /// have been trained on text.
    fn predict_texts<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<PyBackedStr>,
        k: usize,
        beam: Option<usize>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let query = Query { k, beam, allowed: None };
        let predict = |task: &Task| self.0.predict_texts(&texts, query, task);
        self.answer(py, texts.len(), threads, None, predict)
    }

    /// The best labels of one row of (column, value) pairs as (label, score) pairs, best first.
    ///
    /// Columns may come in any order, and those that training did not know are ignored. Repeated
    /// ones are added up.
    #[pyo3(signature = (pairs, k, beam=None))]
    fn predict_row(
        &self,
        py: Python<'_>,
        mut pairs: Vec<(u32, f32)>,
        k: usize,
        beam: Option<usize>,
    ) -> PyResult<Vec<(u32, f32)>> {
        pairs.sort_by_key(|&(column, _)| column);
        pairs.dedup_by(|next, first| {
            let is_same = next.0 == first.0;
            if is_same {
                first.1 += next.1;
            }
            is_same
        });
        let row = one_row(py, pairs)?;
        let query = Query { k, beam, allowed: None };
        let best = work::here(py, |task| self.0.predict(row.view(), query, task))?;
        Ok(best.row(0).iter().map(|best| (best.id, best.score)).collect())
    }

    /// The rows of texts as `(indptr, indices, data)`; the model must have been trained on text.
    fn vectorise<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<PyBackedStr>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let read = |task: &Task| self.0.read_texts(&texts, task);
        let rows = if texts.len() <= FEW {
            work::here(py, read)?
        } else {
            work::run(py, threads, None, read)?
        };
        arrays(py, rows.features.view())
    }

    /// What the model is, as JSON: the content of `manifest.json`.
    #[getter]
    fn manifest(&self) -> String {
        String::from_utf8_lossy(&self.0.manifest().to_bytes()).into_owned()
    }

    /// Whether the model was trained on text.
    #[getter]
    fn reads_text(&self) -> bool {
        self.0.text().is_some()
    }

    /// How many training rows have each label.
    #[getter]
    fn label_counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.0.labels().counts())
    }

    /// The labels' names, if training knew them.
    #[getter]
    fn label_names(&self) -> Option<Vec<&str>> {
        let names = self.0.labels().names()?;
        Some((0..names.len() as u32).map(|id| names.display(id)).collect())
    }

    /// The label that each text means, by code or any name, or none.
    fn find_labels(&self, texts: Vec<PyBackedStr>) -> Vec<Option<u32>> {
        texts.iter().map(|text| self.0.labels().find(text)).collect()
    }

    /// The tags of the languages in which labels have names, the model's own first.
    #[getter]
    fn languages(&self) -> Vec<&str> {
        self.0.labels().languages().collect()
    }

    /// The labels' names in a language, else those of the model.
    fn names_in(&self, py: Python<'_>, language: &str) -> PyResult<Vec<String>> {
        let names = names_in(&self.0, Some(language)).or_raise(py)?.unwrap_or_default();
        Ok((0..names.len() as u32).map(|id| names.display(id).to_owned()).collect())
    }

    /// All names of a label besides its code, the preferred one first.
    fn all_names(&self, label: u32) -> Vec<&str> {
        let names = self.0.labels().names().filter(|names| (label as usize) < names.len());
        names.map(|names| names.names(label).collect()).unwrap_or_default()
    }

    /// The broader labels of a label.
    fn broader(&self, label: u32) -> Vec<u32> {
        self.0.labels().broader(label).to_vec()
    }

    /// The labels below each child of a label tree's root, if there is such a tree.
    fn clusters(&self, tree: usize) -> Option<Vec<Vec<u32>>> {
        self.0.learned().clusters(tree)
    }

    /// The terms that tell most about a label with their weights, if it was trained on text.
    fn label_terms(&self, label: u32) -> Option<Vec<(&str, f32)>> {
        self.0.label_terms(label)
    }
}

impl Model {
    /// Predicts rows, few of them without starting threads, and gives the predictions as arrays.
    fn answer<'py, E: std::convert::Into<Fault> + Send>(
        &self,
        py: Python<'py>,
        rows: usize,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
        predict: impl FnOnce(&Task) -> Result<Predictions, E> + Send,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let predictions = if rows <= FEW && progress.is_none() {
            work::soon(py, threads, &self.1, predict)?
        } else {
            work::run(py, threads, progress, predict)?
        };
        prediction_arrays(py, &predictions)
    }
}

/// The model that the bytes of its files are.
#[pyfunction]
pub fn model_from_files(py: Python<'_>, files: Files<'_>) -> PyResult<Model> {
    let files: Vec<&[u8]> = files.iter().map(|file| file.as_bytes()).collect();
    work::run(py, 0, None, |task| -> Result<Model, Fault> {
        Ok(Inner::read(Stored::from_files(files.iter().copied(), task)?, task)?.into())
    })
}

/// Where a model is learned, if not in memory.
#[derive(FromPyObject)]
pub enum Into {
    /// In a folder, and whether what is there is replaced. A training of the same rows and settings
    /// that was stopped goes on there otherwise.
    Folder(PathBuf, bool),
    /// In a temporary folder, if it takes at least so many bytes by the estimate.
    DiskFrom(u64),
}

/// Trains in memory, or into a folder, which is then mapped.
fn learn(
    dataset: DatasetView<'_>,
    options: TrainOptions<'_>,
    settings: &Settings,
    into: Option<Into>,
    memory: Option<u64>,
    task: &Task,
) -> Result<Inner, Fault> {
    let labels = dataset.labels.columns();
    refuse_more(labels as u64 * LABEL, memory, labels)?;
    let whole = TrainingNeed {
        calibrate: options.calibrate,
        reader: options.text,
        ..TrainingNeed::new(dataset, settings, task.threads())
    };
    let narrowed = memory.and_then(|memory| whole.narrowed(memory));
    let settings = narrowed.as_ref().unwrap_or(settings);
    let estimate = settings.estimate(dataset, task.threads());
    let on_disk = match &into {
        Some(Into::Folder(..)) => true,
        Some(Into::DiskFrom(least)) => cfg!(unix) && estimate.model >= *least,
        None => false,
    };
    let need = TrainingNeed {
        calibrate: options.calibrate,
        keeps_model: !on_disk,
        reader: options.text,
        ..TrainingNeed::new(dataset, settings, task.threads())
    };
    refuse_more(need.bytes(), memory, labels)?;
    if let Some(Into::Folder(folder, overwrite)) = into {
        let start = Start { resume: !overwrite, overwrite };
        train_with(dataset, options, settings, &folder, start, task)?;
        return Ok(Inner::open(&folder, Options::default(), task)?);
    }
    if on_disk && let Some(model) = learn_on_disk(dataset, options, settings, task)? {
        return Ok(model);
    }
    Ok(Inner::train(dataset, options, settings, task)?)
}

/// Refuses a training that needs more bytes than there are.
fn refuse_more(needed: u64, memory: Option<u64>, labels: usize) -> Result<(), Fault> {
    let Some(memory) = memory.filter(|&memory| needed > memory) else { return Ok(()) };
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    Err(Fault::Machine(format!(
        "the training with {} needs {:.1} GB of memory or more, but this machine, \
         or its container, has {:.1}: give it fewer labels or rows, or fewer threads (n_jobs=1)",
        plural(labels, "label"),
        gigabytes(needed),
        gigabytes(memory),
    )))
}

/// Trains into a temporary folder and maps what it holds; none if there is no room for it.
///
/// The folder goes as soon as the files are mapped, which keeps what they hold: nothing is left
/// behind, however the process ends later.
fn learn_on_disk(
    dataset: DatasetView<'_>,
    options: TrainOptions<'_>,
    settings: &Settings,
    task: &Task,
) -> Result<Option<Inner>, Fault> {
    let Ok(temporary) = tempfile::Builder::new().prefix("labelwood-").tempdir() else {
        return Ok(None);
    };
    let folder = temporary.path().join("model");
    match train_with(dataset, options, settings, &folder, Start::default(), task) {
        Ok(_) => {
            Ok(Some(Inner::open(&folder, Options { verify: false, ..Options::default() }, task)?))
        }
        Err(TrainError::Store(StoreError::Io { source, .. })) => {
            let place = temporary.path().parent().unwrap_or(temporary.path());
            tracing::warn!("{}: {source}; the model is learned in memory instead", place.display());
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// An algorithm and its settings, checked.
fn parse(py: Python<'_>, algorithm: &str, values: &str) -> PyResult<Settings> {
    let values: Value = serde_json::from_str(values).or_raise(py)?;
    let Some(known) = Settings::named(algorithm) else {
        return Err(refuse(py, format!("{algorithm} is no algorithm")));
    };
    check_types(py, &known, &values, "")?;
    for part in values["parts"].as_array().into_iter().flatten() {
        let name = part["algorithm"].as_str().unwrap_or_default();
        if let Some(known) = Settings::named(name) {
            check_types(py, &known, part, &format!(" of {name}"))?;
        }
    }
    let settings = known.parse(values).map_err(|reason| refuse(py, reason))?;
    settings.check().or_raise(py)?;
    Ok(settings)
}

/// Refuses the first value that its setting may not have, as Python writes it.
fn check_types(py: Python<'_>, known: &Settings, values: &Value, whose: &str) -> PyResult<()> {
    for setting in known.table() {
        let Some(value) = values.get(setting.name) else { continue };
        if setting.check(value).is_err() {
            let found = in_python(value);
            let expected = match setting.kind {
                Kind::Flag => "True or False".to_owned(),
                ref kind => kind.to_string(),
            };
            let or_none = if setting.is_optional { ", or None" } else { "" };
            let name = setting.name;
            let text = format!("{name}{whose} is {found}, but must be {expected}{or_none}");
            return Err(refuse(py, text));
        }
    }
    Ok(())
}
