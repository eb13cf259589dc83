//! The algorithms, one folder each.

pub mod craftml;
pub mod grove;
pub mod label_forest;
pub mod label_tree;
pub mod one_vs_rest;
