//! Linear classifiers: how they are stored and how rows are scored with them.
//!
//! One-vs-rest, label trees and label forests all store the same: nodes with children, and for each
//! child the weights of some features. [`Nodes`] stores a node's weights by feature, so that one pass
//! over a row's features scores all children; `Scorer` does that for many rows at many nodes.

mod build;
mod contributions;
mod estimate;
mod feature_index;
mod interleaved;
mod nodes;
mod score;
pub(crate) mod stored;
mod training;

pub(crate) use build::{Builder, ClassifierParams};
pub(crate) use estimate::Shape;
pub use nodes::Precision;
pub(crate) use nodes::{Child, Nodes, NodesFigures};
pub(crate) use nodes::{Limits, Values};
pub use score::Link;
pub(crate) use score::{RowAtNode, Scorer};
pub(crate) use training::TrainingRows;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::testing;
