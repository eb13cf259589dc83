//! The rows that linear classifiers are learned from.

use crate::base::sparse::{Csr, LabelRows};
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
    /// propensity. The names of a label are as many further rows with that label alone as `names` says.
    pub(crate) fn new(
        rows: DatasetView<'_>,
        weights: FeatureWeights,
        tail_weight: f32,
        names: usize,
    ) -> Self {
        assert_eq!(rows.features.len(), rows.labels.len(), "rows of labels for those of features");
        let counts = rows.labels.column_counts().into_iter().map(|count| count as usize);
        let emphasis = Emphasis::new(rows.labels.len(), counts, tail_weight);
        let with_names = with_names(rows, names);
        let (features, labels) = match &with_names {
            Some((features, labels)) => (features.view(), labels.view()),
            None => (rows.features, rows.labels),
        };
        let rows = Rows::all(weights.prepare(features).view(), features.columns());
        let rows_of = labels.transpose();
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

/// The rows and after them the names of each label, so many times; nothing if no label has names.
fn with_names(rows: DatasetView<'_>, times: usize) -> Option<(Csr, LabelRows)> {
    let names = rows.named.filter(|_| times > 0)?.names;
    let known: Vec<usize> =
        (0..names.len()).filter(|&label| !names.row(label).indices.is_empty()).collect();
    if known.is_empty() {
        return None;
    }
    let (mut features, mut labels) = (rows.features.to_owned(), rows.labels.to_owned());
    let names = names.select(&known);
    for _ in 0..times {
        features.append(names.view());
        for &label in &known {
            labels.push_row(&[label as u32], &[()]).expect("labels have names, not more");
        }
    }
    Some((features, labels))
}
