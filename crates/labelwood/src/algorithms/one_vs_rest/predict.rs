//! Prediction: every label is scored, and the best are kept.

use super::OneVsRest;
use crate::base::run::{Stage, Stopped, Task};
use crate::base::sparse::{CsrView, Entries, Predictions, Query, Scored, best_first, top_k};
use crate::learn::linear::{Child, Meeting, Nodes, Scorer};
use rayon::prelude::*;

/// Rows that are weighted together.
const ROWS: usize = 16_384;
/// Rows that a thread scores with one block of labels after the other: enough of them that reading
/// a block's weights is shared by many, few enough that all threads have work.
const CHUNK: usize = 256;

/// The best labels of each row.
pub(super) fn predict(
    model: &OneVsRest,
    features: CsrView<'_>,
    query: Query<'_>,
    run: &Task,
) -> Result<Predictions, Stopped> {
    let margins = margins(model, features, query, run)?;
    let mut predictions = Predictions::default();
    for row in margins.rows() {
        predictions.push_row(&ranked(row.to_vec(), query.k, model));
    }
    Ok(predictions)
}

/// The labels of the best margins of each row, best first.
pub(super) fn margins(
    model: &OneVsRest,
    features: CsrView<'_>,
    query: Query<'_>,
    run: &Task,
) -> Result<Predictions, Stopped> {
    let mut predictions = Predictions::default();
    for start in (0..features.len()).step_by(ROWS) {
        let end = (start + ROWS).min(features.len());
        let rows = model.weights.apply(features.slice(start..end).view(), model.features);
        let (width, ids) = (rows.view().width(), Vec::from_iter(0..(end - start) as u32));
        // Threads that have no rows of their own take a part of the labels.
        let parts = run.threads().div_ceil(ids.len().div_ceil(CHUNK));
        let blocks = model.blocks.len().div_ceil(parts).max(1);
        let chunk = |ids: &[u32]| {
            let part =
                |blocks: &[Nodes]| best(model, blocks, (rows.view(), width), ids, query, run);
            let parts = model.blocks.par_chunks(blocks).map(part);
            let mut parts = parts.collect::<Result<Vec<_>, Stopped>>()?;
            let mut ranked = Predictions::default();
            for row in 0..ids.len() {
                let mut best = Best::new(query.k);
                parts.iter_mut().for_each(|part| best.kept.append(&mut part[row].kept));
                ranked.push_row(&best.finish());
            }
            Ok(ranked)
        };
        let ranked =
            run.install(|| ids.par_chunks(CHUNK).map(chunk).collect::<Result<Vec<_>, Stopped>>())?;
        ranked.iter().for_each(|chunk| predictions.append(chunk));
        run.progress(Stage::Rows, end as u64, features.len() as u64);
    }
    Ok(predictions)
}

/// The labels of some blocks that are among the best of each row, or may be.
fn best<'m>(
    model: &OneVsRest,
    blocks: &'m [Nodes],
    (rows, width): (Entries<'m>, usize),
    ids: &[u32],
    query: Query<'_>,
    run: &Task,
) -> Result<Vec<Best>, Stopped> {
    let mut scorer = Scorer::new(width, rows.offsets.len() - 1);
    let mut best = vec![Best::new(query.k); ids.len()];
    // Few rows meet many blocks at once: none waits for another's memory.
    for blocks in blocks.chunks((CHUNK / ids.len().max(1)).max(1)) {
        run.check()?;
        let rows_at = |block| (0..ids.len()).map(move |at| (block, at));
        let visits: Vec<(&Nodes, usize)> = blocks.iter().flat_map(rows_at).collect();
        let meeting =
            |&(nodes, at): &(&'m Nodes, usize)| Meeting { nodes, node: 0, row: rows.row(ids[at]) };
        scorer.score(&visits, meeting, |&(block, at), margins| {
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

/// The best `k` labels by their margins, with their probabilities.
pub(super) fn ranked(mut margins: Vec<Scored>, k: usize, model: &OneVsRest) -> Vec<Scored> {
    top_k(&mut margins, k);
    for best in &mut margins {
        best.score = libm::expf(model.params.link.log_probability(best.score));
    }
    // Different margins may have the same probability.
    margins.sort_unstable_by(best_first);
    margins
}

/// The best `k` labels so far.
#[derive(Clone)]
struct Best {
    k: usize,
    /// Lower margins are not among the best.
    least: f32,
    /// The best, and up to as many that were.
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
