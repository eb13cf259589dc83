//! Sparse rows: the one representation of features, labels and predictions.
//!
//! A matrix is CSR: `u64` row offsets, `u32` column indices strictly increasing within a row, and
//! one value per index. [`Csr`] owns its arrays; [`CsrView`] borrows them from wherever they lie
//! (a `Vec`, a memory map, NumPy) and is what every algorithm takes. Features have `f32` values;
//! label rows have none, which is `Csr<()>`, a matrix whose value array takes no memory.
//!
//! [`top_k`] selects the best scores in one fixed order, and [`Predictions`] holds what it selects.
//! `Votes` sums scores in any order. A [`Query`] says how many labels to predict, and a [`LabelSet`]
//! which.

mod csr;
mod entries;
mod bitmap32;
mod query;
mod rows;
mod top_k;
mod votes;

pub(crate) use bitmap32::Bitmap32;
pub use csr::{Csr, CsrView, Row, SparseError};
pub(crate) use entries::Entries;
pub(crate) use entries::{MAX_DENSE_COLUMNS, OwnedEntries, l2_norm, scale_to_unit};
pub use query::{LabelSet, Query};
pub use rows::{Rows, RowsView};
pub(crate) use top_k::best_first;
pub use top_k::{Predictions, Scored, top_k};
pub(crate) use votes::Votes;

/// The labels of each row: a matrix of indices without values.
///
/// Every entry is a relevant label, and all are equally relevant. To convert a matrix with values,
/// make an entry of every value that is not zero.
pub type LabelRows = Csr<()>;
/// A borrowed [`LabelRows`].
pub type LabelRowsView<'a> = CsrView<'a, ()>;
