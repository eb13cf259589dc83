//! How good predictions are.

use labelwood::metrics::{Evaluation, MetricOptions, Propensity, Psndcg, TrainingCounts};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Fault;
use crate::rows::{FeatureArrays, Features, LabelArrays, Labels, predictions};
use crate::work;

/// The figures of some predictions, by name, and those of head, torso and tail labels.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "it is called from one place")]
pub fn evaluate<'py>(
    py: Python<'py>,
    truth: LabelArrays<'_>,
    scores: FeatureArrays<'_>,
    instances: usize,
    counts: Vec<u32>,
    at: Vec<usize>,
    propensity: (f64, f64),
    is_pyxclib: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let (truth, scores) = (Labels::new(truth)?, Features::new(scores)?);
    let (truth, scores) = (truth.view(py)?, scores.view(py)?);
    let psndcg = if is_pyxclib { Psndcg::Pyxclib } else { Psndcg::Matlab };
    let propensity = Propensity { a: propensity.0, b: propensity.1 };
    let options = MetricOptions { at, propensity, psndcg };
    let training = TrainingCounts { instances, labels: &counts };
    let most = options.at.iter().copied().max().unwrap_or(0);
    let metrics = work::run(py, 1, None, |_| -> Result<_, Fault> {
        let best = predictions(scores, most);
        Ok(Evaluation::new(truth, &best, training, &options)?.metrics())
    })?;
    let figures = PyDict::new(py);
    for (name, value) in metrics.named() {
        figures.set_item(name, value)?;
    }
    for slice in &metrics.slices {
        for (name, value) in slice.named() {
            figures.set_item(format!("{}_{name}", slice.slice.name()), value)?;
        }
    }
    Ok(figures)
}

/// The inverse propensity of labels with these training counts.
#[pyfunction]
pub fn inverse_propensity(instances: usize, counts: Vec<u32>, a: f64, b: f64) -> Vec<f64> {
    Propensity { a, b }.inverse(instances, counts).collect()
}
