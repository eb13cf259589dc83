//! Calibration: from scores to probabilities.

pub(crate) mod logistic;
