//! Prediction by shares of a model, which several workers have open.

use std::path::PathBuf;

use labelwood::run::Task;
use labelwood::shard::{
    Combiner as InnerCombiner, ModelShare as InnerShare, Scores, Share, ShareError,
};
use labelwood::sparse::Query;
use labelwood::store::Options;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyTuple;

use crate::errors::Fault;
use crate::model::Model;
use crate::rows::{FeatureArrays, Features, prediction_arrays};
use crate::work;

/// What a share is asked about.
#[derive(FromPyObject)]
enum Asked<'py> {
    Rows(FeatureArrays<'py>),
    Texts(Vec<PyBackedStr>),
}

/// A share of a model.
#[pyclass(frozen, module = "labelwood._native")]
pub struct ModelShare(InnerShare);

#[pymethods]
impl ModelShare {
    /// Maps a share of the model in a folder.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, index: usize, of: usize) -> PyResult<Self> {
        let share = Share { index, of };
        let open = |task: &Task| InnerShare::open(&path, share, Options::default(), task);
        work::run(py, 0, None, open).map(ModelShare)
    }

    /// What the share has to say about rows or texts, as bytes.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        asked: Asked<'_>,
        k: usize,
        beam: Option<usize>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let query = Query { k, beam, allowed: None };
        let bytes = match asked {
            Asked::Rows(arrays) => {
                let features = Features::new(arrays)?;
                let rows = features.view(py)?;
                work::run(py, threads, None, |task| -> Result<Vec<u8>, Fault> {
                    Ok(self.0.scores(rows, query, task)?.to_bytes())
                })?
            }
            Asked::Texts(texts) => {
                work::run(py, threads, None, |task| -> Result<Vec<u8>, Fault> {
                    let rows = self.0.model().read_texts(&texts, task)?;
                    Ok(self.0.scores(rows.view(), query, task)?.to_bytes())
                })?
            }
        };
        Ok(PyArray1::from_vec(py, bytes))
    }
}

/// Makes predictions of what all shares have to say.
#[pyclass(frozen, module = "labelwood._native")]
pub struct Combiner(InnerCombiner);

#[pymethods]
impl Combiner {
    /// Opens what is needed of the model in a folder.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let open = |task: &Task| InnerCombiner::open(&path, Options::default(), task);
        work::run(py, 0, None, open).map(Combiner)
    }

    /// The model without what it learned: for its manifest and its text.
    #[getter]
    fn model(&self) -> Model {
        self.0.model().clone().into()
    }

    /// The best labels of each row as `(indptr, indices, data)`, from the scores of all shares.
    fn combine<'py>(
        &self,
        py: Python<'py>,
        scores: Vec<PyReadonlyArray1<'_, u8>>,
        k: usize,
        beam: Option<usize>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let scores =
            scores.iter().map(PyReadonlyArray1::as_slice).collect::<Result<Vec<_>, _>>()?;
        let query = Query { k, beam, allowed: None };
        let predictions = work::run(py, 0, None, |task| -> Result<_, ShareError> {
            let scores =
                scores.into_iter().map(Scores::from_bytes).collect::<Result<Vec<_>, _>>()?;
            self.0.combine(&scores, query, task)
        })?;
        prediction_arrays(py, &predictions)
    }
}
