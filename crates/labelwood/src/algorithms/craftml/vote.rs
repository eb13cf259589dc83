//! Prediction: rows are routed to leaves, and leaves vote for labels.
//!
//! Votes are integers, so that their sums do not depend on the order or division of the trees.

use super::node_index::BatchSize;
use super::route::{RowAtLeaf, rank, route};
use super::route_single::{self, route_single};
use super::tree::{Child, Tree};
use super::{Forest, by_group};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, Entries, Query, Votes};
use rayon::prelude::*;

/// A leaf, and the share of a row's weight that reached it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReachedLeaf {
    pub leaf: u32,
    pub weight: f32,
}

impl ReachedLeaf {
    /// What [`rank`] gives for it.
    pub(super) fn rank(&self) -> u64 {
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
    pub(super) fn new(reached: &[RowAtLeaf], rows: usize) -> Self {
        let (starts, sorted) = by_group(rows, reached.iter().map(|leaf| leaf.row));
        let leaves = sorted.into_iter().map(|at| reached[at as usize].reached).collect();
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

    pub(super) fn of_row(&self, row: usize) -> &[ReachedLeaf] {
        &self.leaves[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}

impl Forest {
    /// Counts the trees' votes for the labels of each row; returns what `finish` makes of the votes.
    pub(super) fn count<R: Send>(
        &self,
        rows: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
        finish: impl Fn(&mut Votes) -> R + Sync,
    ) -> Result<Vec<R>, Stopped> {
        task.install(|| {
            let reached = reached_leaves(self, rows, query, task)?;
            let each = |row, visit: &mut dyn FnMut(&Tree, ReachedLeaf)| {
                for (tree, reached) in self.trees.iter().zip(&reached) {
                    reached.of_row(row).iter().for_each(|&leaf| visit(tree, leaf));
                }
            };
            let count = |votes: &mut Votes, row| {
                if BatchSize::of(rows.len()) == BatchSize::Small {
                    each(row, &mut |tree, reached| tree.prefetch_leaf_bounds(reached.leaf));
                    each(row, &mut |tree, reached| tree.prefetch_leaf_labels(reached.leaf));
                }
                each(row, &mut |tree, reached| vote(votes, tree, reached, query));
                finish(votes)
            };
            let begin = || Votes::new(self.labels);
            Ok((0..rows.len()).into_par_iter().map_init(begin, count).collect())
        })
    }
}

/// The leaves that the rows reach in each tree.
pub(super) fn reached_leaves(
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
    let route = |at| {
        task.check()?;
        Ok(route(forest, at, rows, beam))
    };
    (0..forest.trees.len()).into_par_iter().map(route).collect()
}

/// The one leaf of a tree that growing puts each row into.
pub(super) fn leaves(forest: &Forest, tree: usize, rows: Entries<'_>) -> Vec<u32> {
    let reached = route(forest, tree, (rows, rows.width()), 1);
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
