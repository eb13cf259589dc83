//! What algorithms share: weights of features, clustering, linear classifiers, calibration, boosting.

pub(crate) mod boosting;
pub(crate) mod calibration;
pub(crate) mod cluster;
pub(crate) mod cost;
pub(crate) mod favour;
pub(crate) mod linear;
pub(crate) mod propensity;
pub(crate) mod solver;
pub(crate) mod weighting;
pub(crate) mod threshold;
