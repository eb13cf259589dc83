//! How long learning takes, about, for planning: which units take how long, and whether a worker's
//! memory will do.
//!
//! The constants were fitted to trainings of seven public and synthetic sets on one machine, with rows
//! of ten to seven hundred entries and up to 670,000 labels; other machines and data differ by some
//! times.

use super::cluster::lanes::LANES;
use crate::data::DatasetView;

/// Seconds of a linear classifier for each row that it learns from.
const ROW: f64 = 5.0e-8;
/// Seconds of a linear classifier for each entry of the rows that it learns from.
const ENTRY: f64 = 1.5e-9;

/// Seconds of classifiers for so many labels against all rows. They are learned some at a time, which
/// takes as long for fewer; most rows settle in the first passes, so that it hardly matters how many
/// rows the labels have.
pub(crate) fn learn_labels(labels: f64, rows: DatasetView<'_>) -> f64 {
    let lanes = (labels / LANES as f64).ceil() * LANES as f64;
    lanes * (ROW * rows.len() as f64 + ENTRY * rows.features.entries() as f64)
}
