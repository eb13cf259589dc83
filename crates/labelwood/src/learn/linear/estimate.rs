//! What a training of linear classifiers will need, from the shape of its rows.

use super::Precision;
use crate::base::sparse::{CsrView, LabelRowsView};
use crate::learn::cluster::lanes::LANES;

/// Bytes that a weight takes while its nodes are built: its number, its child, and some room.
const BUILDING: f64 = 12.0;
/// Bytes that a feature of a node takes meanwhile, which its weights share: one for each child at most.
const FEATURE: f64 = 16.0;

/// The sizes that memory follows from.
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
    pub fn new(features: CsrView<'_>, labels: LabelRowsView<'_>) -> Self {
        let width = features.columns() as f64;
        let mean = features.entries() as f64 / features.len().max(1) as f64;
        // The features of a label's rows repeat, the more the more rows there are.
        let own = |rows: &[u32]| (mean * libm::pow(rows.len() as f64, 0.8)).min(width);
        // Labels without a row cost nothing here, however many are declared.
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

    /// Bytes of the rows as they are read, as the solver sees them, and turned round.
    pub fn prepared(&self) -> f64 {
        let read = self.rows * 16.0 + self.entries * 8.0 + self.label_entries * 4.0;
        let solved = self.rows * 12.0 + self.entries * 8.0 + self.features * 12.0;
        let turned = self.labels * 16.0 + self.label_entries * 4.0;
        read + solved + turned
    }

    /// Bytes of all labels' vectors.
    pub fn vectors(&self) -> f64 {
        self.labels * 8.0 + self.pairs * 8.0
    }

    /// Bytes that one thread solves a block of labels with.
    pub fn workspace(&self) -> f64 {
        let lanes = LANES as f64 * 4.0;
        self.features * (lanes + 8.0) + self.rows * (lanes + 16.0)
    }

    /// Bytes of the centres of so many groups of labels, of which each thread holds a table.
    pub fn centres(&self, groups: usize, threads: usize) -> f64 {
        let tables = groups.div_ceil(LANES).min(threads);
        self.features * ((tables * LANES) as f64 * 4.0 + 4.0)
    }

    /// About how many weights are kept when all labels are learned on each of so many levels.
    ///
    /// Weights are about as large as the values of features, which are small in long rows. The
    /// constants were fitted to seven data sets.
    pub fn weights(&self, threshold: f32, levels: f64) -> f64 {
        levels * (self.pairs * self.kept(threshold)).min(self.labels * self.features)
    }

    /// The same when each label is learned against all rows: the more there are, the more of them
    /// are like the label's own without having it, and give their features weights, too.
    pub fn weights_among_all(&self, threshold: f32) -> f64 {
        let crowd = 0.85 * libm::pow(self.rows / 1e4, 0.4);
        (self.pairs * self.kept(threshold) * crowd).min(self.labels * self.features)
    }

    /// How many weights are kept for each pair of a label and a feature that share a row.
    fn kept(&self, threshold: f32) -> f64 {
        let value = 1.0 / (self.entries / self.rows.max(1.0)).max(1.0).sqrt();
        0.3 / (f64::from(threshold) / value + 0.05)
    }

    /// Bytes of nodes with so many children each while they are built.
    pub fn building(weights: f64, children: usize) -> f64 {
        weights * (BUILDING + FEATURE / children as f64)
    }

    /// Bytes of stored nodes, whose children are told apart by so many bytes.
    pub fn stored(weights: f64, precision: Precision, owner: f64) -> f64 {
        let value = match precision {
            Precision::Half => 2.0,
            Precision::Single => 4.0,
        };
        // One more for the features, of which several weights share one.
        weights * (value + owner + 1.0)
    }
}
