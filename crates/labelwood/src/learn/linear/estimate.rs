//! Estimates the memory of training linear classifiers from the sizes of the data.

use super::Precision;
use crate::data::DatasetView;
use crate::learn::cluster::lanes::LANES;

/// Bytes of a weight while its node is built: its value, its child, and unused capacity.
const BYTES_PER_WEIGHT: f64 = 12.0;
/// Bytes of a node's feature while the node is built. A feature has at most one weight a child.
const BYTES_PER_FEATURE: f64 = 16.0;

/// The sizes of the data that memory depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub rows: f64,
    pub features: f64,
    pub labels: f64,
    entries: f64,
    label_entries: f64,
    /// About how many pairs of a label and a feature share a row.
    pairs: f64,
}

impl Shape {
    pub(crate) fn new(rows: DatasetView<'_>) -> Self {
        let DatasetView { features, labels, .. } = rows;
        let width = features.columns() as f64;
        let mean = features.entries() as f64 / features.len().max(1) as f64;
        // More rows of a label repeat more of its features.
        let own = |rows: &[u32]| (mean * libm::pow(rows.len() as f64, 0.8)).min(width);
        // From the entries, so that labels without a row cost nothing, however many are declared.
        let mut found = labels.indices().to_vec();
        found.sort_unstable();
        Shape {
            rows: features.len() as f64,
            features: width,
            labels: labels.columns() as f64,
            entries: features.entries() as f64,
            label_entries: labels.entries() as f64,
            pairs: found.chunk_by(|one, other| one == other).map(own).sum(),
        }
    }

    /// Bytes of the rows as they are read, of the solver's copy, and of the rows of each label.
    pub(crate) fn prepared(&self) -> f64 {
        let read = self.rows * 16.0 + self.entries * 8.0 + self.label_entries * 4.0;
        let solver = self.rows * 12.0 + self.entries * 8.0 + self.features * 12.0;
        let by_label = self.labels * 16.0 + self.label_entries * 4.0;
        read + solver + by_label
    }

    /// Bytes of all labels' vectors.
    pub(crate) fn vectors(&self) -> f64 {
        self.labels * 8.0 + self.pairs * 8.0
    }

    /// Bytes of one thread's solver workspace.
    pub(crate) fn workspace(&self) -> f64 {
        let lanes = LANES as f64 * 4.0;
        self.features * (lanes + 8.0) + self.rows * (lanes + 16.0)
    }

    /// Bytes of the centres for clustering labels into so many groups; each thread holds one table.
    pub(crate) fn centres(&self, groups: usize, threads: usize) -> f64 {
        let tables = groups.div_ceil(LANES).min(threads);
        self.features * ((tables * LANES) as f64 * 4.0 + 4.0)
    }

    /// About how many weights are kept if all labels are learned on each of so many levels.
    pub(crate) fn weights(&self, threshold: f32, levels: f64) -> f64 {
        levels * (self.pairs * self.kept(threshold)).min(self.labels * self.features)
    }

    /// Like [`Shape::weights`] on one level, with each label learned against all rows: the more rows
    /// there are, the more of them resemble the label's own and give their features weights, too.
    pub(crate) fn weights_among_all(&self, threshold: f32) -> f64 {
        let crowd = 0.85 * libm::pow(self.rows / 1e4, 0.4);
        (self.pairs * self.kept(threshold) * crowd).min(self.labels * self.features)
    }

    /// How many weights are kept for each pair of a label and a feature that share a row.
    ///
    /// Weights are about as large as the values of features, which are small in long rows. The
    /// constants were fitted to seven data sets.
    fn kept(&self, threshold: f32) -> f64 {
        let value = 1.0 / (self.entries / self.rows.max(1.0)).max(1.0).sqrt();
        0.3 / (f64::from(threshold) / value + 0.05)
    }

    /// Bytes of nodes with so many children each while they are built.
    pub(crate) fn building(weights: f64, children: usize) -> f64 {
        weights * (BYTES_PER_WEIGHT + BYTES_PER_FEATURE / children as f64)
    }

    /// Bytes of stored nodes; `owner` is the bytes of a weight's child number.
    pub(crate) fn stored(weights: f64, precision: Precision, owner: f64) -> f64 {
        let value = match precision {
            Precision::Half => 2.0,
            Precision::Single => 4.0,
        };
        // One byte more for the features: several weights share one.
        weights * (value + owner + 1.0)
    }
}
