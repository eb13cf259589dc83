//! The rows that linear classifiers are learned from.

use crate::base::sparse::LabelRows;
use crate::data::DatasetView;
use crate::learn::favour::Emphasis;
use crate::learn::solver::Rows;
use crate::learn::weighting::FeatureWeights;

/// Training rows, prepared once for all labels, whichever of them are learned together.
pub(crate) struct TrainingRows {
    pub weights: FeatureWeights,
    /// The rows' weighted features, each row of length 1.
    pub rows: Rows,
    /// The rows of each label.
    rows_of: LabelRows,
    emphasis: Emphasis,
}

impl TrainingRows {
    /// Weights the features, and the positive rows of rare labels by a power of their inverse
    /// propensity.
    pub(crate) fn new(rows: DatasetView<'_>, weights: FeatureWeights, tail_weight: f32) -> Self {
        let DatasetView { features, labels, .. } = rows;
        assert_eq!(features.len(), labels.len(), "one row of labels for each row of features");
        let rows = Rows::all(weights.prepare(features).view(), features.columns());
        let rows_of = labels.transpose();
        let counts = rows_of.rows().map(|row| row.indices.len());
        let emphasis = Emphasis::new(labels.len(), counts, tail_weight);
        TrainingRows { weights, rows, rows_of, emphasis }
    }

    /// The number of labels, with rows or without.
    pub(crate) fn label_count(&self) -> usize {
        self.rows_of.len()
    }

    /// The labels that at least one row has.
    pub(crate) fn labels_with_rows(&self) -> Vec<u32> {
        (0..self.label_count() as u32).filter(|&label| !self.rows_of(label).is_empty()).collect()
    }

    /// The rows that have a label.
    pub(crate) fn rows_of(&self, label: u32) -> &[u32] {
        // Only a damaged file names a label that does not exist.
        if label as usize >= self.rows_of.len() {
            return &[];
        }
        self.rows_of.row(label as usize).indices
    }

    /// The weight of a label's positive rows.
    pub(crate) fn emphasis_of(&self, label: u32) -> f32 {
        self.emphasis.of(self.rows_of(label).len())
    }
}
