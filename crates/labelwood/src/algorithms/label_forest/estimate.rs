//! What a training will need, before it starts.

use super::Params;
use crate::base::run::Estimate;
use crate::base::sparse::{CsrView, LabelRowsView};
use crate::learn::linear::Shape;

impl Params {
    /// The memory and disk that a training on so many threads needs, about, when each submodel is
    /// written as soon as it is grown.
    pub fn estimate(
        &self,
        features: CsrView<'_>,
        labels: LabelRowsView<'_>,
        threads: usize,
    ) -> Estimate {
        let shape = Shape::new(features, labels);
        let tree = self.resolve(features, labels).tree;
        let growing = threads.min(self.submodels) as f64;
        let copies = self.submodels as f64 * self.rate;
        // The root has the weights of one level more: it learns from all rows for few labels.
        let levels = tree.levels(shape.labels * self.rate) + 1.0;
        let weights = shape.weights(tree.weight_threshold, levels);
        // Each submodel that grows has centres of its own.
        let centres = (growing - 1.0) * shape.centres(tree.branches(), threads);
        let memory = shape.prepared()
            + growing * shape.vectors() * self.rate
            + shape.labels * (copies * 4.0 + 24.0)
            + tree.growing(&shape, threads)
            + centres
            + growing * Shape::building(weights * self.rate, tree.branches());
        let model = copies * tree.stored(&shape, weights);
        Estimate { memory: memory as u64, model: model as u64 }
    }
}
