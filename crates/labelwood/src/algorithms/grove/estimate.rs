//! What a training will need, before it starts.

use super::Params;
use crate::base::run::Estimate;
use crate::base::sparse::{CsrView, LabelRowsView};

impl Params {
    /// The memory and disk that a training on so many threads needs, about, when each part is
    /// written as soon as it is grown: one part is grown after the other, and the small ones that
    /// the blend is learned with stay in memory until they have scored the held-out rows.
    pub fn estimate(
        &self,
        features: CsrView<'_>,
        labels: LabelRowsView<'_>,
        threads: usize,
    ) -> Estimate {
        let parts = |params: &Params| {
            [
                params.forest.estimate(features, labels, threads),
                params.label_tree.estimate(features, labels, threads),
            ]
        };
        let rows = (features.len() + labels.len()) * 8;
        let copied = rows + features.entries() * 8 + labels.entries() * 4;
        let whole = parts(self);
        let reduced = parts(&self.reduced())
            .map(|Estimate { memory, model }| copied as u64 + memory.saturating_add(model));
        let memory = whole.map(|part| part.memory).into_iter().chain(reduced).max();
        Estimate { memory: memory.unwrap_or(0), model: whole.iter().map(|part| part.model).sum() }
    }
}
