//! From text to rows.

use labelwood::data::documents::Options;
use labelwood::data::{Dataset, LabelIndex, LabelIndexBuilder};
use labelwood::run::Run;
use labelwood::sparse::{Csr, LabelRows};
use labelwood::text::{Fitting, Params, TextError, TextReader, Vectoriser as Inner};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyTuple;

use crate::errors::OrRaise;
use crate::rows::arrays;
use crate::work;

/// A fitted vectoriser.
#[pyclass(frozen, module = "labelwood._native")]
pub struct Vectoriser(Inner);

#[pymethods]
impl Vectoriser {
    /// Learns the terms of texts; gives their rows as `(indptr, indices, data)`, too.
    #[staticmethod]
    fn fit<'py>(
        py: Python<'py>,
        texts: Vec<PyBackedStr>,
        params: &str,
        threads: usize,
    ) -> PyResult<(Self, Bound<'py, PyTuple>)> {
        let params: Params = serde_json::from_str(params).or_raise(py)?;
        let (vectoriser, rows) = work::run(py, threads, None, |run| fit(&texts, params, run))?;
        Ok((Vectoriser(vectoriser), arrays(py, rows.view())?))
    }

    /// The rows of new texts as `(indptr, indices, data)`.
    fn transform<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<PyBackedStr>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let rows = work::run(py, threads, None, |run| self.0.transform(&texts, run))?;
        arrays(py, rows.view())
    }

    /// How many columns the rows have.
    #[getter]
    fn columns(&self) -> usize {
        self.0.columns()
    }

    /// The terms in the order of the columns; none with hashing.
    #[getter]
    fn terms(&self) -> Vec<&str> {
        self.0.terms().collect()
    }
}

/// The default settings as JSON.
#[pyfunction]
pub fn vectoriser_defaults() -> String {
    serde_json::to_string(&Params::default()).expect("settings are numbers and names")
}

/// How texts are read.
pub struct Reading {
    vectoriser: Params,
    documents: Options,
}

impl Reading {
    /// From settings as JSON.
    pub fn parse(py: Python<'_>, vectoriser: &str, documents: &str) -> PyResult<Self> {
        Ok(Reading {
            vectoriser: serde_json::from_str(vectoriser).or_raise(py)?,
            documents: serde_json::from_str(documents).or_raise(py)?,
        })
    }

    /// The rows of texts with their tags, and what reads more of them.
    pub fn learn(
        self,
        texts: &[PyBackedStr],
        tags: &[Vec<PyBackedStr>],
        run: &Run,
    ) -> Result<(Dataset, TextReader), TextError> {
        let (vectoriser, features) = fit(texts, self.vectoriser, run)?;
        let (labels, names) = number(tags);
        let dataset = Dataset { features, labels, label_names: Some(names) };
        Ok((dataset, TextReader::new(self.documents, vectoriser)))
    }
}

/// Learns the terms of texts, of which at least one must be kept.
fn fit(texts: &[PyBackedStr], params: Params, run: &Run) -> Result<(Inner, Csr), TextError> {
    let mut fitting = Fitting::new(params)?;
    fitting.add(texts, run)?;
    let (vectoriser, rows) = fitting.finish(run)?;
    if vectoriser.columns() == 0 {
        let &Params { min_df, max_df, .. } = vectoriser.params();
        return Err(TextError::NoTerms { documents: rows.len(), min_df, max_df });
    }
    Ok((vectoriser, rows))
}

/// Tags as numbers, in the order in which they are met.
fn number(tags: &[Vec<PyBackedStr>]) -> (LabelRows, LabelIndex) {
    let mut names = LabelIndexBuilder::default();
    let (mut offsets, mut ids) = (vec![0], Vec::new());
    for tags in tags {
        let mut row: Vec<u32> = tags.iter().map(|tag| names.id(tag)).collect();
        row.sort_unstable();
        row.dedup();
        ids.append(&mut row);
        offsets.push(ids.len() as u64);
    }
    let values = vec![(); ids.len()];
    let labels = LabelRows::try_new(names.len(), offsets, ids, values)
        .expect("ids are sorted, single and known");
    (labels, names.finish())
}
