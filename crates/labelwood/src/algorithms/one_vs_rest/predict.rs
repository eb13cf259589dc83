//! Prediction: every label is scored, and the best are kept.

use super::OneVsRest;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, Entries, Predictions, Query, Scored, best_first, top_k};
use crate::learn::linear::{Child, Nodes, RowAtNode, Scorer};
use rayon::prelude::*;

/// Rows whose features are weighted together.
const ROWS: usize = 16_384;
/// Rows that a thread scores with one block of labels after the other. Many rows share the cost of
/// reading a block's weights; too many would leave threads without work.
const CHUNK: usize = 256;

impl OneVsRest {
    /// The labels of the best margins of each row, best first.
    pub(super) fn margins(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        task.predict_blocks(features, ROWS, |block| {
            let features = block.features;
            let rows = self.weights.apply(features, self.features);
            let (width, ids) = (rows.view().width(), Vec::from_iter(0..features.len() as u32));
            // With fewer chunks of rows than threads, the labels are split among threads, too.
            let splits = task.threads().div_ceil(ids.len().div_ceil(CHUNK));
            let block_chunk = self.blocks.len().div_ceil(splits).max(1);
            let chunk = |ids: &[u32]| {
                let best_of =
                    |blocks: &[Nodes]| best(self, blocks, (rows.view(), width), ids, query, task);
                let found = self.blocks.par_chunks(block_chunk).map(best_of);
                let mut found = found.collect::<Result<Vec<_>, Stopped>>()?;
                let mut ranked = Predictions::default();
                for row in 0..ids.len() {
                    let mut best = Best::new(query.k);
                    found.iter_mut().for_each(|found| best.kept.append(&mut found[row].kept));
                    ranked.push_row(&best.finish());
                }
                Ok(ranked)
            };
            let chunks = || ids.par_chunks(CHUNK).map(chunk).collect::<Result<Vec<_>, Stopped>>();
            let mut predictions = Predictions::default();
            task.install(chunks)?.iter().for_each(|chunk| predictions.append(chunk));
            Ok(predictions)
        })
    }

    /// Cuts margins down to the best `k` and turns them into probabilities.
    pub(super) fn ranked(&self, mut margins: Vec<Scored>, k: usize) -> Vec<Scored> {
        top_k(&mut margins, k);
        for best in &mut margins {
            best.score = libm::expf(self.params.link.log_probability(best.score));
        }
        // Different margins may round to the same probability.
        margins.sort_unstable_by(best_first);
        margins
    }
}

/// Each row's best labels in some blocks.
fn best<'m>(
    model: &OneVsRest,
    blocks: &'m [Nodes],
    (rows, width): (Entries<'m>, usize),
    ids: &[u32],
    query: Query<'_>,
    task: &Task,
) -> Result<Vec<Best>, Stopped> {
    let mut scorer = Scorer::new(width, rows.offsets.len() - 1);
    let mut best = vec![Best::new(query.k); ids.len()];
    // A few rows are scored with many blocks at once, so that their waits for memory overlap.
    for blocks in blocks.chunks((CHUNK / ids.len().max(1)).max(1)) {
        task.check()?;
        let rows_at = |block| (0..ids.len()).map(move |at| (block, at));
        let visits: Vec<(&Nodes, usize)> = blocks.iter().flat_map(rows_at).collect();
        let row_at_node = |&(nodes, at): &(&'m Nodes, usize)| RowAtNode {
            nodes,
            node: 0,
            row: rows.row(ids[at]),
        };
        scorer.score(&visits, row_at_node, |&(block, at), margins| {
            let best = &mut best[at];
            for (child, &margin) in margins.iter().enumerate() {
                if margin >= best.least
                    && let Child::Label(id) = block.child(child)
                    && (id as usize) < model.labels
                    && query.allows(id)
                {
                    best.offer(Scored { id, score: margin });
                }
            }
        });
    }
    Ok(best)
}

/// The best `k` labels so far.
#[derive(Clone)]
struct Best {
    k: usize,
    /// No label with a lower margin can be among the best.
    least: f32,
    /// The best so far, and up to `k` more that were not dropped yet.
    kept: Vec<Scored>,
}

impl Best {
    fn new(k: usize) -> Self {
        let least = if k == 0 { f32::INFINITY } else { f32::NEG_INFINITY };
        Best { k, least, kept: Vec::new() }
    }

    fn offer(&mut self, label: Scored) {
        self.kept.push(label);
        if self.kept.len() >= self.k.saturating_mul(2) {
            top_k(&mut self.kept, self.k);
            self.least = self.kept.last().map_or(f32::INFINITY, |last| last.score);
        }
    }

    /// The best, best first.
    fn finish(mut self) -> Vec<Scored> {
        top_k(&mut self.kept, self.k);
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn offered_one_by_one_the_same_labels_are_best(
            margins in prop::collection::vec(-3i8..3, 0..60),
            k in 0usize..9,
        ) {
            let all = (0..).zip(&margins).map(|(id, &score)| Scored { id, score: score.into() });
            let mut expected: Vec<Scored> = all.clone().collect();
            top_k(&mut expected, k);
            let mut best = Best::new(k);
            for label in all {
                if label.score >= best.least {
                    best.offer(label);
                }
            }
            prop_assert_eq!(best.finish(), expected);
        }
    }
}
