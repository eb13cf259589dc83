//! Extreme multi-label learning: which few of very many labels fit a document or a row of features.
//!
//! Modules in reading order, each depending only on those above it.

pub mod array;
pub mod sparse;
pub mod random;
pub mod run;
pub mod data;
pub mod metrics;
pub mod cluster;
pub mod craftml;
pub mod model;
pub mod report;
