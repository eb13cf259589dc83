//! What a training will need, before it starts.

use super::Params;
use crate::learn::linear::Shape;

impl Params {
    /// The share of a tree's weights in the subtrees that so many threads grow at once, about: the
    /// largest of 2 groups has half of them, of 3 four tenths, of 100 a twelfth.
    pub(super) fn at_once(&self, threads: usize) -> f64 {
        let largest = 0.75 / (self.branches() as f64).sqrt();
        (largest * threads as f64).min(1.0)
    }

    /// How many levels of nodes a tree over so many labels has, about; beyond a few, the upper ones
    /// have too few children to count.
    pub(crate) fn levels(&self, labels: f64) -> f64 {
        let branches = (self.branches() as f64).powi(self.collapse.min(16) as i32 + 1);
        let most = self.depth.min(4) as f64;
        let divided = libm::log(labels / self.leaf() as f64) / libm::log(branches);
        // One branch divides nothing, and makes this infinite or not a number.
        if divided.is_finite() { (divided.ceil() + 1.0).clamp(1.0, most) } else { 1.0 }
    }

    /// Bytes that all threads grow nodes with, besides the nodes.
    pub(crate) fn growing(&self, shape: &Shape, threads: usize) -> f64 {
        let scratch = shape.rows * 4.0 + shape.features * 4.0;
        threads as f64 * (shape.workspace() + scratch) + shape.centres(self.branches(), threads)
    }

    /// Bytes of a tree that has so many weights.
    pub(crate) fn stored(&self, shape: &Shape, weights: f64) -> f64 {
        let owner = if self.branches().max(self.leaf()) <= 256 { 1.0 } else { 2.0 };
        Shape::stored(weights, self.precision, owner) + shape.labels * 16.0
    }
}
