//! Why a text or a row has its labels.

use labelwood::app::find_label;
use labelwood::model::explain::{ExplainOptions, Explanation};
use labelwood::run::Task;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::errors::{Fault, OrRaise};
use crate::model::Model;
use crate::rows::one_row;
use crate::work;

/// What is explained.
#[derive(FromPyObject)]
pub enum Source {
    /// A text.
    Text(PyBackedStr),
    /// The columns of a row, which rise, with their values.
    Row(Vec<(u32, f32)>),
}

/// A label that is asked for.
#[derive(FromPyObject)]
pub enum Wanted {
    /// By its number.
    Number(u32),
    /// By its code or any name.
    Name(PyBackedStr),
}

/// Why a text or a row has these labels, or the best `k`, as JSON and as HTML.
#[pyfunction]
pub fn explain(
    py: Python<'_>,
    model: &Model,
    source: Source,
    labels: Vec<Wanted>,
    k: usize,
    most: usize,
) -> PyResult<(String, String)> {
    let number = |wanted: &Wanted| match wanted {
        Wanted::Number(label) => Ok(*label),
        Wanted::Name(name) => find_label(&model.0, None, name),
    };
    let labels: Vec<u32> = labels.iter().map(number).collect::<Result<_, _>>().or_raise(py)?;
    let options = ExplainOptions { labels: &labels, k, most, ..ExplainOptions::default() };
    let explanation = match source {
        Source::Text(text) => work::here(py, |task: &Task| -> Result<Explanation, Fault> {
            Ok(model.0.explain(&text, &options, task)?)
        })?,
        Source::Row(pairs) => {
            let row = one_row(py, pairs)?;
            work::here(py, |task: &Task| model.0.explain_row(row.view(), &options, task))?
        }
    };
    let json = serde_json::to_string(&explanation).or_raise(py)?;
    Ok((json, explanation.to_html()))
}
