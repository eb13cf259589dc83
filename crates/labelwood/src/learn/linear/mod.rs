//! Linear classifiers as they are stored and asked.
//!
//! One-vs-rest, label trees and label forests all end in the same thing: nodes with some children,
//! each child with a weight for some features. [`Nodes`] keeps the children of a node side by side,
//! feature by feature, so that one pass over a row's features scores all of them; [`Scorer`] does
//! that for all rows that have come to a node.

mod build;
mod estimate;
mod few;
mod join;
mod nodes;
mod ranks;
mod score;
mod shrink;
pub(crate) mod stored;

pub use build::Builder;
pub(crate) use build::Learn;
pub(crate) use estimate::Shape;
pub use nodes::{Child, Nodes, NodesFigures, Precision};
pub(crate) use nodes::{Values, Within};
pub use score::{Link, Meeting, Scorer};

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
