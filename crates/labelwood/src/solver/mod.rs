//! Linear classifiers for many labels over the same rows.
//!
//! Each label gets the weights that separate its rows from all others: the minimum of half the
//! squared length of the weights plus `cost` times the summed loss. The dual problem is solved one
//! row at a time (Hsieh et al., ICML 2008; for the logistic loss Yu et al., Machine Learning 2011).
//!
//! What makes it fast here is that labels come in blocks of [`LANES`]: one pass over a row's entries
//! gives its margins for all labels of the block with contiguous loads, and one more changes the
//! weights of all. Nearly all rows are negative for nearly all labels, so that the first guess is
//! not zero but the best weights among those that treat all positive rows alike and all negative
//! rows alike, which need no pass over the rows at all. From there few passes are left.
//!
//! The entry point is [`Workspace::solve`]; [`Rows`] are what is learned from.

mod params;
mod rows;
mod vector;
mod dual;
mod guess;
mod pass;
mod block;

pub use block::{Positives, Weights, Workspace};
pub use params::{Loss, Params};
pub use rows::Rows;

pub use crate::cluster::lanes::{LANES, Lanes};
