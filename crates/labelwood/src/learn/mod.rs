//! What algorithms share: weights of features, clustering, linear classifiers, calibration.

pub mod calibration;
pub mod cluster;
pub(crate) mod cost;
pub mod favour;
pub mod linear;
pub mod propensity;
pub mod solver;
pub mod weighting;
