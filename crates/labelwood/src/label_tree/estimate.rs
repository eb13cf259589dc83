//! What a training will need, before it starts.

use super::Params;
use crate::craftml::Estimate;
use crate::linear::Shape;
use crate::sparse::{CsrView, LabelRowsView};

/// The share of the labels in the largest of a root's groups, about.
const LARGEST_GROUP: f64 = 0.2;

impl Params {
    /// The memory and disk that a training on so many threads needs, about, when each part is
    /// written as soon as it is grown.
    pub fn estimate(
        &self,
        features: CsrView<'_>,
        labels: LabelRowsView<'_>,
        threads: usize,
    ) -> Estimate {
        let shape = Shape::new(features, labels);
        let weights = shape.weights(self.weight_threshold);
        let memory = shape.prepared()
            + shape.gathered()
            + shape.vectors()
            + self.growing(&shape, threads)
            + Shape::building(weights * LARGEST_GROUP * (threads as f64).min(1.0 / LARGEST_GROUP));
        let model = self.trees as f64 * self.stored(&shape, weights);
        Estimate { memory: memory as u64, model: model as u64 }
    }

    /// Bytes that all threads grow nodes with, besides the nodes.
    pub(crate) fn growing(&self, shape: &Shape, threads: usize) -> f64 {
        let scratch = shape.rows * 4.0 + shape.features * 4.0;
        threads as f64 * (shape.workspace() + scratch) + shape.centres(self.branches)
    }

    /// Bytes of a tree that has so many weights.
    pub(crate) fn stored(&self, shape: &Shape, weights: f64) -> f64 {
        let owner = if self.branches.max(self.leaf) <= 256 { 1.0 } else { 2.0 };
        Shape::stored(weights, self.precision, owner) + shape.labels * 16.0
    }
}
