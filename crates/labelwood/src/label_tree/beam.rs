//! Prediction: rows walk down the most probable nodes of each level.
//!
//! A block of rows goes through a tree together, level by level, and the rows that have come to a
//! node are scored there together. Probabilities are added up as logarithms on the way and become
//! scores for a tree's best labels only; scores are summed over trees as whole numbers, so that any
//! order, and any split of the trees, gives the same sums.

use super::{LabelTrees, Tree};
use crate::cluster::lanes::Entries;
use crate::linear::{Child, Link, Nodes, Scorer};
use crate::run::{Cancelled, Run};
use crate::sparse::{CsrView, Predictions, Scored, Votes, top_k};
use rayon::prelude::*;

/// Rows that are weighted together, between two looks at the canceller.
const BLOCK: usize = 16_384;
/// Rows that a thread takes through the trees together.
const CHUNK: usize = 1024;
/// Labels that a tree votes for at least, if it knows as many.
const VOTES: usize = 100;

/// A row at a node.
#[derive(Clone, Copy, Debug)]
struct Visit {
    /// The subtree and the node in it.
    place: (u32, u32),
    row: u32,
    log: f32,
}

/// The best `k` labels of each row.
pub(super) fn predict(
    model: &LabelTrees,
    features: CsrView<'_>,
    k: usize,
    beam: usize,
    run: &Run,
) -> Result<Predictions, Cancelled> {
    let mut predictions = Predictions::default();
    for start in (0..features.len()).step_by(BLOCK) {
        let end = (start + BLOCK).min(features.len());
        let rows = model.weights.apply(features.slice(start..end).view(), model.features);
        let ids: Vec<u32> = (0..(end - start) as u32).collect();
        let begin = || (Walk::new(model, beam, k), Votes::new(model.labels));
        let chunk = |(walk, votes): &mut (Walk, Votes), ids: &[u32]| {
            run.check()?;
            let mut ballots = vec![Vec::new(); ids.len()];
            for tree in &model.trees {
                walk.tree(tree, rows.view(), ids, &mut ballots);
            }
            let mut ranked = Predictions::default();
            for ballot in ballots {
                ballot
                    .iter()
                    .for_each(|best| votes.add(best.id, Votes::units(f64::from(best.score))));
                ranked.push_row(&votes.best(k, model.trees.len()));
            }
            Ok(ranked)
        };
        let ranked = run.install(|| {
            ids.par_chunks(CHUNK).map_init(begin, chunk).collect::<Result<Vec<_>, Cancelled>>()
        })?;
        ranked.iter().for_each(|chunk| predictions.append(chunk));
        run.progress("rows", end as u64, features.len() as u64);
    }
    Ok(predictions)
}

/// Takes rows through trees; holds the scratch memory for it.
struct Walk {
    link: Link,
    beam: usize,
    votes: usize,
    scorer: Scorer,
    level: Vec<Visit>,
    next: Vec<Visit>,
    rows: Vec<u32>,
}

impl Walk {
    fn new(model: &LabelTrees, beam: usize, k: usize) -> Self {
        Walk {
            link: model.params.link,
            beam,
            votes: k.max(VOTES),
            scorer: Scorer::new(model.features),
            level: Vec::new(),
            next: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Adds the labels that a tree votes for, with their probabilities, to each row's ballot.
    fn tree(
        &mut self,
        tree: &Tree,
        entries: Entries<'_>,
        rows: &[u32],
        ballots: &mut [Vec<Scored>],
    ) {
        let first = rows.first().copied().unwrap_or(0);
        let mut found: Vec<Vec<Scored>> = vec![Vec::new(); rows.len()];
        self.level.clear();
        let start = rows.iter().map(|&row| Visit { place: (u32::MAX, 0), row, log: 0.0 });
        self.level.extend(start);
        while !self.level.is_empty() {
            let level = std::mem::take(&mut self.level);
            for visits in level.chunk_by(|left, right| left.place == right.place) {
                self.node(tree, entries, visits, first, &mut found);
            }
            self.level = level;
            self.narrow();
        }
        for (ballot, mut found) in ballots.iter_mut().zip(found) {
            top_k(&mut found, self.votes);
            ballot.extend(
                found.iter().map(|best| Scored { id: best.id, score: libm::expf(best.score) }),
            );
        }
    }

    /// Scores the rows at a node, and sends them on to its children.
    fn node(
        &mut self,
        tree: &Tree,
        entries: Entries<'_>,
        visits: &[Visit],
        first: u32,
        found: &mut [Vec<Scored>],
    ) {
        let (part, node) = visits[0].place;
        let nodes: &Nodes =
            if part == u32::MAX { &tree.root } else { &tree.subtrees[part as usize] };
        let children = nodes.children(node as usize);
        self.rows.clear();
        self.rows.extend(visits.iter().map(|visit| visit.row));
        let (link, next) = (self.link, &mut self.next);
        self.scorer.score(nodes, node as usize, entries, &self.rows, |at, margins| {
            let Visit { row, log, .. } = visits[at];
            let found = &mut found[(row - first) as usize];
            for (child, &margin) in children.clone().zip(margins) {
                let log = log + link.log_probability(margin);
                match nodes.child(child) {
                    Child::Label(id) => found.push(Scored { id, score: log }),
                    Child::Node(node) if part == u32::MAX => {
                        next.push(Visit { place: (node, 0), row, log });
                    }
                    Child::Node(node) => next.push(Visit { place: (part, node), row, log }),
                }
            }
        });
    }

    /// Makes the visits to the next level this one's: of each row the most probable few.
    fn narrow(&mut self) {
        self.level.clear();
        let order = |left: &Visit, right: &Visit| {
            right.log.total_cmp(&left.log).then(left.place.cmp(&right.place))
        };
        self.next.sort_unstable_by(|left, right| left.row.cmp(&right.row).then(order(left, right)));
        for visits in self.next.chunk_by(|left, right| left.row == right.row) {
            self.level.extend(&visits[..visits.len().min(self.beam)]);
        }
        self.next.clear();
        self.level.sort_unstable_by_key(|visit| (visit.place, visit.row));
    }
}
