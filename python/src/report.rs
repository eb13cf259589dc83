//! Reports on predictions.

use labelwood::metrics::{Evaluation, Interval, MetricOptions, Propensity, Psndcg, TrainingCounts};
use labelwood::report::{Curves, Page, RowText, Study};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use serde::Serialize;
use std::collections::BTreeMap;

use crate::errors::Fault;
use crate::rows::{FeatureArrays, Features, LabelArrays, Labels, predictions};
use crate::work;

/// Labels of a row that are looked at where a threshold decides, as many as the command looks at.
const ENOUGH: usize = 30;

/// What is measured: the cuts, the constants of propensities and which PSnDCG, the threshold, whether scores
/// tell how sure a prediction is, and the seed of intervals.
#[derive(FromPyObject)]
pub struct Asked(Vec<usize>, (f64, f64), bool, Option<f32>, bool, u64);

/// What people call things: the title, and if they are known the names of labels, and the ids and the texts of
/// rows.
#[derive(FromPyObject)]
pub struct Called(
    PyBackedStr,
    Option<Vec<PyBackedStr>>,
    Option<Vec<PyBackedStr>>,
    Option<Vec<PyBackedStr>>,
);

/// The numbers of a report.
#[derive(Serialize)]
struct Numbers<'a> {
    figures: BTreeMap<String, f64>,
    intervals: &'a BTreeMap<String, Interval>,
    curves: &'a Curves,
}

/// A page on some predictions, and its numbers as JSON.
#[pyfunction]
pub fn report(
    py: Python<'_>,
    truth: LabelArrays<'_>,
    scores: FeatureArrays<'_>,
    instances: usize,
    counts: Vec<u32>,
    asked: Asked,
    called: Called,
) -> PyResult<(String, String)> {
    let (truth, scores) = (Labels::new(truth)?, Features::new(scores)?);
    let (truth, scores) = (truth.view(py)?, scores.view(py)?);
    let Asked(cuts, (a, b), is_pyxclib, threshold, has_scores, seed) = asked;
    let Called(title, names, ids, texts) = called;
    let psndcg = if is_pyxclib { Psndcg::Pyxclib } else { Psndcg::Matlab };
    let options = MetricOptions { at: cuts, propensity: Propensity { a, b }, psndcg };
    let training = TrainingCounts { instances, labels: &counts };
    let most = options.at.iter().copied().max().unwrap_or(0).max(ENOUGH);
    let study = work::run(py, 1, None, |_| -> Result<_, Fault> {
        let best = predictions(scores, most);
        let evaluation = Evaluation::new(truth, &best, training, &options)?;
        Ok(Study::of(&evaluation, threshold, has_scores, seed))
    })?;
    let page = Page {
        title: &title,
        study: &study,
        popular: None,
        name: &|label| at(&names, label as usize),
        row: &|row| RowText { id: at(&ids, row), text: at(&texts, row) },
        facts: &[],
        stages: &[],
    };
    let figures = study.metrics.named().filter(|(_, value)| !value.is_nan()).collect();
    let numbers = Numbers { figures, intervals: &study.intervals, curves: &study.curves };
    let numbers =
        serde_json::to_string(&numbers).expect("maps with string keys and numbers serialise");
    Ok((page.to_string(), numbers))
}

/// The string at a place of a list, if there is one.
fn at(list: &Option<Vec<PyBackedStr>>, place: usize) -> Option<&str> {
    list.as_ref()?.get(place).map(|one| &**one)
}
