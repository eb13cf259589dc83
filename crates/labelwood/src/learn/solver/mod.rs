//! Linear classifiers for many labels over the same rows.
//!
//! Each label gets the weights that separate its rows from all others: the minimum of half the
//! squared length of the weights plus `cost` times the summed loss. The dual problem is solved one
//! row at a time (Hsieh et al., ICML 2008; for the logistic loss Yu et al., Machine Learning 2011).
//!
//! It is fast because labels are solved in blocks of [`LANES`]: one pass over a row's entries gives
//! its margins for all labels of the block with contiguous loads, and one more changes the weights
//! of all. It does not start from zero (`warm_start`) but from the best weights among those that
//! treat all positive rows of a label alike and all its negative rows alike. Since nearly all rows
//! are negative for nearly all labels, these are found from the positive rows alone, and few passes
//! are left.
//!
//! Rows at a bound of the dual problem are left out of later passes, and all rows are visited again
//! before a block is done. The last step recomputes the weights from the dual variables, so that a
//! feature that only settled rows have gets a weight of exactly zero.
//!
//! Where most weights are to be zero, their magnitudes count, too (`l1`, an elastic net; Yen et al., ICML
//! 2016). That changes one thing: what the dual variables add up to is no longer the weights, but is brought
//! nearer to zero first, by the same amount in all columns, and whatever is smaller becomes zero. The amount
//! grows with the root of the label's rows, as the chance part of a sum of so many rows does; one amount for
//! all labels would leave nothing of the rare ones or hardly anything out of the frequent ones. The bias
//! stays as it is.
//!
//! The entry point is [`Workspace::solve`], which learns from [`Rows`] as [`Params`] say. For the divisions of
//! FastXML's nodes, [`SparseWorkspace`] learns one classifier with the magnitudes of the weights in the place
//! of their squares: without these, the dual problem has no weights that follow from its variables.

mod params;
mod rows;
mod vector;
mod dual;
mod warm_start;
mod pass;
mod block;
mod sparse;

pub(crate) use block::Workspace;
pub use params::{Loss, Params};
pub(crate) use rows::Rows;
pub(crate) use sparse::{SparseParams, SparseWorkspace};

pub(crate) use crate::learn::cluster::lanes::LANES;

#[cfg(test)]
mod tests;
