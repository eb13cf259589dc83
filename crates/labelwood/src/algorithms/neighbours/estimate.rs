//! What a training will need, before it starts.

use super::Params;
use crate::base::run::Estimate;
use crate::data::DatasetView;

/// Seconds of an entry that is put into its place.
const ENTRY: f64 = 2.0e-8;

impl Params {
    /// The memory and disk that a training needs, about: the rows, weighted, and the index.
    pub(super) fn estimate_of(&self, rows: DatasetView<'_>) -> Estimate {
        let DatasetView { features, labels, .. } = rows;
        let given = features.entries() * 8 + labels.entries() * 4 + rows.len() * 16;
        let prepared = self.weighting.resolve(features).prepared_bytes(features);
        let known = features.columns().min(features.entries());
        let width = if labels.columns() > 1 << 16 { 4 } else { 2 };
        let index = features.entries() * 6 + known * 12 + labels.entries() * width + rows.len() * 8;
        // Where the rows of each feature go.
        let next = features.columns() * 8;
        let memory = given as u64 + prepared + (index + next + known * 4) as u64;
        Estimate { memory, model: index as u64 + labels.columns() as u64 * 8 }
    }

    /// The seconds that it takes, about.
    pub(super) fn seconds(rows: DatasetView<'_>) -> f64 {
        ENTRY * (rows.features.entries() + rows.labels.entries()) as f64
    }
}
