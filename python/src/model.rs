//! The one model, as Python holds it.

use std::path::{Path, PathBuf};

use labelwood::app::{names_in, predict_at_least};
use labelwood::data::{Dataset, Named};
use labelwood::model::{Model as Inner, TrainOptions, UpdateStart, update};
use labelwood::run::{Stopped, Task};
use labelwood::sparse::{Csr, LabelSet, Predictions, Query, RowsView};
use labelwood::store::{Load, Manifest, Options, Stored};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyTuple};

use crate::errors::{Fault, OrRaise};
use crate::rows::{
    FeatureArrays, Features, LabelArrays, Labels, Rows, arrays, label_index, one_row,
    prediction_arrays,
};
use crate::text::{Reading, Vocabulary};
use crate::training::{Bounds, Learner, in_temporary, learn};
use crate::work::{self, Pace};

/// For up to so many rows no thread is started: that would take longer.
const FEW: usize = 64;

/// The bytes of a model's files: the manifest, then the units in its order.
type Files<'py> = Vec<Bound<'py, PyBytes>>;

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
    /// Trains on rows of features and labels, which are borrowed where their types allow it.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "it is called from one place")]
    fn train(
        py: Python<'_>,
        learner: Learner,
        features: FeatureArrays<'_>,
        labels: LabelArrays<'_>,
        names: Option<Vec<PyBackedStr>>,
        bounds: Bounds,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (settings, options) = learner.parts(py)?;
        let rows = Rows::new(features, labels, names)?;
        let dataset = rows.view(py)?;
        let train = |task: &Task| learn(dataset, options, &settings, bounds, task);
        work::run(py, threads, progress, train).map(Model::from)
    }

    /// Trains on texts and their tags.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "it is called from one place")]
    fn train_text(
        py: Python<'_>,
        learner: Learner,
        vectoriser: &str,
        documents: &str,
        texts: Vec<PyBackedStr>,
        tags: Vec<Vec<PyBackedStr>>,
        vocabulary: Vocabulary,
        bounds: Bounds,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (settings, options) = learner.parts(py)?;
        let reading = Reading::parse(py, vectoriser, documents, vocabulary)?;
        work::run(py, threads, progress, |task| -> Result<Self, Fault> {
            let (dataset, reader) = reading.learn(&texts, &tags, task)?;
            let options = TrainOptions { text: Some(&reader), ..options };
            Ok(learn(dataset.view(), options, &settings, bounds, task)?.into())
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

    /// Writes the model into a folder, or a file.
    fn save(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        work::run(py, 1, None, |_| self.0.stored().save(&path, overwrite))
    }

    /// The model with more rows, which the last update must not have added unless they are to be added
    /// `again`; written into a folder, if one is given, which may be overwritten.
    #[expect(clippy::too_many_arguments, reason = "it is called from one place")]
    fn update(
        &self,
        py: Python<'_>,
        features: FeatureArrays<'_>,
        labels: LabelArrays<'_>,
        names: Option<Vec<PyBackedStr>>,
        into: Option<(PathBuf, bool)>,
        again: bool,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let rows = Rows::new(features, labels, names)?;
        let view = rows.view(py)?;
        let dataset = Dataset {
            features: view.features.to_owned(),
            labels: view.labels.to_owned(),
            label_names: view.label_names.cloned(),
            named: None,
        };
        let updated = |task: &Task| self.with(&dataset, into, again, task);
        work::run(py, threads, progress, updated).map(Model::from)
    }

    /// The same with more texts.
    #[expect(clippy::too_many_arguments, reason = "it is called from one place")]
    fn update_texts(
        &self,
        py: Python<'_>,
        texts: Vec<PyBackedStr>,
        labels: LabelArrays<'_>,
        names: Vec<PyBackedStr>,
        into: Option<(PathBuf, bool)>,
        again: bool,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let labels = Labels::new(labels)?;
        let labels = labels.view(py)?.to_owned();
        let label_names = Some(label_index(&names));
        let updated = |task: &Task| -> Result<Inner, Fault> {
            let rows = self.0.read_texts(&texts, task)?;
            let names = Csr::new(rows.features.columns());
            let named = rows.matches.map(|matches| Named { names, matches });
            let dataset = Dataset { features: rows.features, labels, label_names, named };
            self.with(&dataset, into, again, task)
        };
        work::run(py, threads, progress, updated).map(Model::from)
    }

    /// The best labels of each row as `(indptr, indices, data)`, each row best first; all that reach
    /// a threshold, and so many at least, if one is given.
    #[pyo3(signature = (features, k, beam, allowed, threads, progress, least=None))]
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
        least: Option<Least>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let features = Features::new(features)?;
        let rows = features.view(py)?;
        let allowed: Option<LabelSet> = allowed.map(|labels| labels.into_iter().collect());
        let query = Query { k, beam, allowed: allowed.as_ref() };
        let predict = |task: &Task| best(&self.0, rows.into(), query, least, task);
        self.answer(py, rows.len(), threads, progress, predict)
    }

    /// The same of texts; the model must have been trained on text.
    #[pyo3(signature = (texts, k, beam, allowed, threads, progress, least=None))]
    #[expect(clippy::too_many_arguments, reason = "it is called from one place")]
    fn predict_texts<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<PyBackedStr>,
        k: usize,
        beam: Option<usize>,
        allowed: Option<Vec<u32>>,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
        least: Option<Least>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let allowed: Option<LabelSet> = allowed.map(|labels| labels.into_iter().collect());
        let query = Query { k, beam, allowed: allowed.as_ref() };
        let predict = |task: &Task| -> Result<Predictions, Fault> {
            let rows = self.0.read_texts(&texts, task)?;
            Ok(best(&self.0, rows.view(), query, least, task)?)
        };
        self.answer(py, texts.len(), threads, progress, predict)
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

    /// The threshold with the best F1 on rows that were held out, if the training learned one.
    #[getter]
    fn threshold(&self) -> Option<f32> {
        self.0.threshold()
    }

    /// Whether scores are probabilities.
    #[getter]
    fn gives_probabilities(&self) -> bool {
        self.0.gives_probabilities()
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

    /// The codes of the labels, each with its names after TABs, if training knew them.
    #[getter]
    fn label_lines(&self) -> Option<Vec<&str>> {
        Some(self.0.labels().names()?.lines().collect())
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

/// The least score of a label, and how many labels a row has at least whatever their scores.
type Least = (f32, usize);

/// The best labels of each row, or all that are good enough.
fn best(
    model: &Inner,
    rows: RowsView<'_>,
    query: Query<'_>,
    least: Option<Least>,
    task: &Task,
) -> Result<Predictions, Stopped> {
    match least {
        Some((least, labels)) => predict_at_least(model, rows, least, labels, query, task),
        None => model.predict(rows, query, task),
    }
}

impl Model {
    /// The model with more rows.
    fn with(
        &self,
        dataset: &Dataset,
        into: Option<(PathBuf, bool)>,
        again: bool,
        task: &Task,
    ) -> Result<Inner, Fault> {
        let update = |folder: &Path, overwrite| -> Result<(), Fault> {
            let start = UpdateStart { overwrite, again };
            update(&self.0, dataset, folder, start, task)?;
            Ok(())
        };
        match into {
            Some((folder, overwrite)) => {
                update(&folder, overwrite)?;
                Ok(Inner::open(&folder, Options::default(), task)?)
            }
            None => in_temporary(|folder| update(folder, false), task),
        }
    }

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

/// What the model in a folder or file is, as JSON; its units are not opened.
#[pyfunction]
pub fn manifest(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let read = work::run(py, 1, None, |_| Manifest::read(&path))?;
    Ok(String::from_utf8(read.to_bytes()).expect("JSON is text"))
}
