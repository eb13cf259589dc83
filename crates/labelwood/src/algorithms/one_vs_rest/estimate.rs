//! What a training will need, before it starts.

use super::{BLOCK, Params};
use crate::base::run::Estimate;
use crate::base::sparse::{CsrView, LabelRowsView};
use crate::learn::linear::Shape;

/// Bytes that a weight takes as it is learned, before the weights of a block are put in order.
const LEARNED: f64 = 6.0;

impl Params {
    /// The memory and disk that a training on so many threads needs, about, when each block is
    /// written as soon as it is learned.
    pub fn estimate(
        &self,
        features: CsrView<'_>,
        labels: LabelRowsView<'_>,
        threads: usize,
    ) -> Estimate {
        let shape = Shape::new(features, labels);
        let weights = shape.weights_among_all(self.weight_threshold);
        let block = weights * (BLOCK as f64 / shape.labels.max(1.0)).min(1.0);
        let memory = shape.prepared()
            + threads as f64 * shape.workspace()
            + block * LEARNED
            + Shape::building(block, BLOCK);
        let model = Shape::stored(weights, self.precision, 2.0) + shape.labels * 8.0;
        Estimate { memory: memory as u64, model: model as u64 }
    }
}
