//! What a training will need, before it starts.

use super::params::{Params, Precision, Projection};
use crate::sparse::{CsrView, LabelRowsView};

/// The memory and disk that growing a forest needs, about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Bytes of memory at the peak, the rows themselves included.
    pub memory: u64,
    /// Bytes of the finished model.
    pub model: u64,
}

impl Estimate {
    /// Estimates from the shape of the rows; `threads` trees grow at the same time.
    ///
    /// The model's part is an upper estimate: how many entries centroids share is not known before.
    pub fn new(
        features: CsrView<'_>,
        labels: LabelRowsView<'_>,
        params: &Params,
        threads: usize,
    ) -> Self {
        let params = &params.resolve(features, labels);
        let (rows, entries) = (features.len() as u64, features.entries() as u64);
        let label_entries = labels.entries() as u64;
        let csr = |rows: u64, entries: u64, width: u64| rows * 8 + entries * width;
        let given = csr(rows, entries, 8) + csr(rows, label_entries, 4);
        let prepared = csr(rows, entries, 8) + csr(rows, label_entries, 8) + rows * 16;
        let projected =
            |projection: Projection, columns: usize, most: usize, entries: u64, shared: bool| {
                match projection.resolve(columns) {
                    Projection::None if shared => 0,
                    Projection::Gaussian => csr(rows, rows * columns.min(most) as u64, 8),
                    _ => csr(rows, entries, 8),
                }
            };
        let own = projected(
            params.feature_projection,
            features.columns(),
            params.feature_dimensions,
            entries,
            !params.diversity.features_differ(),
        ) + projected(
            params.label_projection,
            labels.columns(),
            params.label_dimensions,
            label_entries,
            !params.diversity.labels_differ(),
        );
        // A growing tree holds a copy of each row, and for a moment two.
        let copies = 2 * (csr(rows, entries, 8) + csr(rows, label_entries, 8));
        let scratch = copies + (features.columns() + labels.columns()) as u64 * 72 + rows * 12;
        // Instances lie about `leaf / 3` to a leaf; every level repeats the entries of its nodes,
        // each as a word of two bytes and one value.
        let leaves = (rows * 3 / params.leaf as u64).max(1) as f64;
        let levels = (leaves.ln() / (params.branches as f64).ln()).ceil().max(1.0);
        let width = match params.precision {
            Precision::Byte => 4,
            Precision::Half => 5,
        };
        let distinct = (entries as f64 * levels * 0.6 * params.keep.unwrap_or(1.0)) as u64;
        let tree = distinct * width + label_entries * 5 + rows * 16;
        let growing = threads.min(params.trees) as u64 * (own + scratch + 2 * tree);
        Estimate {
            // Arrays that grow hold up to a quarter more than is in them.
            memory: (given + prepared + growing) / 4 * 5,
            model: tree * params.trees as u64,
        }
    }
}
