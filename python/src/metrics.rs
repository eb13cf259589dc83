//! How good predictions are.

use labelwood::metrics::{
    AtThreshold, Evaluation, MetricOptions, Propensity, Psndcg, TrainingCounts,
};
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
    threshold: Option<f32>,
) -> PyResult<Bound<'py, PyDict>> {
    let (truth, scores) = (Labels::new(truth)?, Features::new(scores)?);
    let (truth, scores) = (truth.view(py)?, scores.view(py)?);
    let psndcg = if is_pyxclib { Psndcg::Pyxclib } else { Psndcg::Matlab };
    let propensity = Propensity { a: propensity.0, b: propensity.1 };
    let options = MetricOptions { at, propensity, psndcg };
    let training = TrainingCounts { instances, labels: &counts };
    let most = options.at.iter().copied().max().unwrap_or(0);
    let (metrics, at_threshold) = work::run(py, 1, None, |_| -> Result<_, Fault> {
        // Where a threshold decides, all scores count.
        let best = predictions(scores, if threshold.is_some() { usize::MAX } else { most });
        let evaluation = Evaluation::new(truth, &best, training, &options)?;
        Ok((evaluation.metrics(), threshold.map(|least| evaluation.at_threshold(least))))
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
    if let Some(at) = at_threshold {
        let AtThreshold { precision, recall, micro_f1, macro_f1, sample_f1, .. } = at;
        let named = [
            ("precision", precision),
            ("recall", recall),
            ("micro_f1", micro_f1),
            ("macro_f1", macro_f1),
            ("sample_f1", sample_f1),
            ("labels_per_row", at.labels_per_row),
            ("empty_rows", at.empty_rows),
        ];
        for (name, value) in named {
            figures.set_item(name, value)?;
        }
    }
    Ok(figures)
}

/// The inverse propensity of labels with these training counts.
#[pyfunction]
pub fn inverse_propensity(instances: usize, counts: Vec<u32>, a: f64, b: f64) -> Vec<f64> {
    Propensity { a, b }.inverse(instances, counts).collect()
}
