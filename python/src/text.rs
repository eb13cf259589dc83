//! From text to rows.

use labelwood::run::Run;
use labelwood::sparse::Csr;
use labelwood::text::{Fitting, Params, TextError, Vectoriser as Inner};
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

/// Learns the terms of texts, of which at least one must be kept.
pub fn fit(texts: &[PyBackedStr], params: Params, run: &Run) -> Result<(Inner, Csr), TextError> {
    let mut fitting = Fitting::new(params)?;
    fitting.add(texts, run)?;
    let (vectoriser, rows) = fitting.finish(run)?;
    if vectoriser.columns() == 0 {
        let &Params { min_df, max_df, .. } = vectoriser.params();
        return Err(TextError::NoTerms { documents: rows.len(), min_df, max_df });
    }
    Ok((vectoriser, rows))
}
