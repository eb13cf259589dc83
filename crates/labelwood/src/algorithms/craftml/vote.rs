//! Prediction: rows are routed to leaves, and leaves vote for labels.
//!
//! Votes are integers, so that their sums do not depend on the order or division of the trees.

use super::node_index::BatchSize;
use super::route::{Router, RowAtLeaf, rank};
use super::route_single::{self, route_single};
use super::tree::{Child, Tree};
use super::{Forest, tree_seed};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, Entries, Predictions, Query, Scored, Votes};
use rayon::prelude::*;

/// The most rows that go through the trees together. More rows would mean that nodes are decoded less
/// often, but the leaves they reach in all trees are held in memory, about 2 KB a row.
const BLOCK: usize = 49_152;

/// A leaf, and the share of a row's weight that reached it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReachedLeaf {
    pub leaf: u32,
    pub weight: f32,
}

impl ReachedLeaf {
    /// What [`rank`] gives for it.
    pub fn rank(&self) -> u64 {
        rank(self.weight, Child::Leaf(self.leaf))
    }
}

/// The leaves of one tree that each row has reached.
pub(super) struct ReachedLeaves {
    /// Where each row's leaves start, and where those of the last row end.
    starts: Vec<u32>,
    leaves: Vec<ReachedLeaf>,
}

impl ReachedLeaves {
    /// Sorts leaves by row.
    pub fn new(reached: &[RowAtLeaf], rows: usize) -> Self {
        let mut starts = vec![0u32; rows + 1];
        reached.iter().for_each(|leaf| starts[leaf.row as usize + 1] += 1);
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut leaves = vec![ReachedLeaf { leaf: 0, weight: 0.0 }; reached.len()];
        for &RowAtLeaf { row, reached } in reached {
            let at = &mut next[row as usize];
            leaves[*at as usize] = reached;
            *at += 1;
        }
        ReachedLeaves { starts, leaves }
    }

    /// Collects the leaves of each row.
    fn from_rows<'a>(rows: impl Iterator<Item = &'a Vec<ReachedLeaf>>) -> Self {
        let mut reached = ReachedLeaves { starts: vec![0], leaves: Vec::new() };
        for leaves in rows {
            reached.leaves.extend(leaves);
            reached.starts.push(reached.leaves.len() as u32);
        }
        reached
    }

    fn of_row(&self, row: usize) -> &[ReachedLeaf] {
        &self.leaves[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}

/// The best `k` labels of each row.
pub(super) fn predict(
    forest: &Forest,
    features: CsrView<'_>,
    query: Query<'_>,
    task: &Task,
) -> Result<Predictions, Stopped> {
    task.predict_blocks(features, BLOCK, |block| forest.predict_block(block, query, task))
}

/// [`predict`] for so few rows that they go through the trees together.
pub(super) fn predict_block(
    forest: &Forest,
    features: CsrView<'_>,
    query: Query<'_>,
    task: &Task,
) -> Result<Predictions, Stopped> {
    let ranked =
        count(forest, features, query, task, |votes| votes.best(query.k, forest.params.trees))?;
    let mut predictions = Predictions::default();
    ranked.iter().for_each(|row: &Vec<Scored>| predictions.push_row(row));
    Ok(predictions)
}

/// Counts the trees' votes for the labels of each row; returns what `finish` makes of the votes.
pub(super) fn count<R: Send>(
    forest: &Forest,
    features: CsrView<'_>,
    query: Query<'_>,
    task: &Task,
    finish: impl Fn(&mut Votes) -> R + Sync,
) -> Result<Vec<R>, Stopped> {
    let reached = reached_leaves(forest, features, query, task)?;
    let each = |visit: &mut dyn FnMut(&Tree, ReachedLeaf), row| {
        for (tree, reached) in forest.trees.iter().zip(&reached) {
            reached.of_row(row).iter().for_each(|&leaf| visit(tree, leaf));
        }
    };
    Ok((0..features.len())
        .into_par_iter()
        .map_init(
            || Votes::new(forest.labels),
            |votes, row| {
                if BatchSize::of(features.len()) == BatchSize::Small {
                    each(
                        &mut |tree, reached| tree.prefetch_leaf_bounds(reached.leaf as usize),
                        row,
                    );
                    each(
                        &mut |tree, reached| tree.prefetch_leaf_labels(reached.leaf as usize),
                        row,
                    );
                }
                each(&mut |tree, reached| vote(votes, tree, reached, query), row);
                finish(votes)
            },
        )
        .collect())
}

/// The leaves that the rows reach in each tree.
fn reached_leaves(
    forest: &Forest,
    features: CsrView<'_>,
    query: Query<'_>,
    task: &Task,
) -> Result<Vec<ReachedLeaves>, Stopped> {
    let rows = forest.weights.apply(features, forest.features);
    let beam = query.beam.unwrap_or(forest.params.beam).max(1);
    let nodes_differ = forest.params.diversity.features_differ();
    if BatchSize::of(features.len()) == BatchSize::Small && !nodes_differ {
        let share = (forest.trees.len() * features.len()).div_ceil(task.threads());
        let together = share.clamp(1, route_single::MOST_TREES);
        let route_row = |row| {
            let route = |(at, trees)| {
                task.check()?;
                let first = forest.first + at * together;
                Ok(route_single(forest, first, trees, (rows.view(), row), beam))
            };
            let leaves = forest.trees.par_chunks(together).enumerate().map(route);
            Ok(leaves.collect::<Result<Vec<_>, Stopped>>()?.concat())
        };
        let leaves = (0..features.len() as u32).into_par_iter().map(route_row);
        let leaves = leaves.collect::<Result<Vec<Vec<Vec<ReachedLeaf>>>, Stopped>>()?;
        let of_tree = |tree| ReachedLeaves::from_rows(leaves.iter().map(|trees| &trees[tree]));
        return Ok((0..forest.trees.len()).map(of_tree).collect());
    }
    let rows = (rows.view(), rows.view().width());
    let route = |(at, tree)| {
        task.check()?;
        let seed = tree_seed(&forest.params, forest.first + at);
        Ok(Router::new(forest, tree, rows, beam).route(seed))
    };
    forest.trees.par_iter().enumerate().map(route).collect()
}

/// The one leaf of a tree that growing puts each row into.
pub(super) fn leaves(forest: &Forest, tree: usize, rows: Entries<'_>) -> Vec<u32> {
    let router = Router::new(forest, &forest.trees[tree], (rows, rows.width()), 1);
    let reached = router.route(tree_seed(&forest.params, tree));
    reached.leaves.iter().map(|reached| reached.leaf).collect()
}

/// Adds the votes of a leaf: for each label, the share of the leaf's instances that have it.
fn vote(votes: &mut Votes, tree: &Tree, reached: ReachedLeaf, query: Query<'_>) {
    let instances = f64::from(tree.leaf_instances.get(reached.leaf as usize));
    let vote = Votes::units(f64::from(reached.weight) / instances);
    tree.each_label(reached.leaf as usize, |label, count| {
        if query.allows(label) {
            votes.add(label, vote.wrapping_mul(u64::from(count)));
        }
    });
}
