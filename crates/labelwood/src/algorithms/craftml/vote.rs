//! Prediction: rows find their leaves, and leaves vote.
//!
//! Votes are added up as whole numbers: any order, and any split of the trees, gives the same sums.

use super::marks::Company;
use super::route::{Router, Visit};
use super::tree::Tree;
use super::walk::{self, walk};
use super::{Forest, tree_seed};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, Entries, Predictions, Query, Scored, Votes};
use rayon::prelude::*;

/// Rows that go through the trees together: the more, the fewer times a node is unpacked, but what
/// they reach in all trees is held, about 2 KB a row.
const BLOCK: usize = 49_152;

/// The end of a path: a leaf, and the share of the row's weight that came there.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub leaf: u32,
    pub weight: f32,
}

/// The leaves of one tree that each row has reached.
pub(super) struct Reached {
    /// Where each row's ends start, and after the last row where they end.
    starts: Vec<u32>,
    ends: Vec<End>,
}

impl Reached {
    /// Puts visits in the order of their rows.
    pub fn new(visits: &[Visit], rows: usize) -> Self {
        let mut starts = vec![0u32; rows + 1];
        visits.iter().for_each(|visit| starts[visit.row as usize + 1] += 1);
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut ends = vec![End { leaf: 0, weight: 0.0 }; visits.len()];
        for &Visit { row, leaf, weight } in visits {
            let at = &mut next[row as usize];
            ends[*at as usize] = End { leaf, weight };
            *at += 1;
        }
        Reached { starts, ends }
    }

    /// What rows have reached one by one.
    fn of_rows<'a>(rows: impl Iterator<Item = &'a Vec<End>>) -> Self {
        let mut reached = Reached { starts: vec![0], ends: Vec::new() };
        for ends in rows {
            reached.ends.extend(ends);
            reached.starts.push(reached.ends.len() as u32);
        }
        reached
    }

    fn of(&self, row: usize) -> &[End] {
        &self.ends[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}

/// The best `k` labels of each row.
pub(super) fn predict(
    forest: &Forest,
    features: CsrView<'_>,
    query: Query<'_>,
    run: &Task,
) -> Result<Predictions, Stopped> {
    run.predict_blocks(features, BLOCK, |block| forest.predict_block(block, query, run))
}

/// The same for rows that go through the trees together.
pub(super) fn predict_block(
    forest: &Forest,
    features: CsrView<'_>,
    query: Query<'_>,
    run: &Task,
) -> Result<Predictions, Stopped> {
    let ranked =
        count(forest, features, query, run, |votes| votes.best(query.k, forest.params.trees))?;
    let mut predictions = Predictions::default();
    ranked.iter().for_each(|row: &Vec<Scored>| predictions.push_row(row));
    Ok(predictions)
}

/// Lets the trees vote for the labels of each row; `finish` makes something of the votes.
pub(super) fn count<R: Send>(
    forest: &Forest,
    features: CsrView<'_>,
    query: Query<'_>,
    run: &Task,
    finish: impl Fn(&mut Votes) -> R + Sync,
) -> Result<Vec<R>, Stopped> {
    let reached = reach(forest, features, query, run)?;
    let each = |visit: &mut dyn FnMut(&Tree, End), row| {
        for (tree, reached) in forest.trees.iter().zip(&reached) {
            reached.of(row).iter().for_each(|&end| visit(tree, end));
        }
    };
    Ok((0..features.len())
        .into_par_iter()
        .map_init(
            || Votes::new(forest.labels),
            |votes, row| {
                if let Company::Few = Company::of(features.len()) {
                    each(&mut |tree, end| tree.fetch_leaf_place(end.leaf as usize), row);
                    each(&mut |tree, end| tree.fetch_leaf(end.leaf as usize), row);
                }
                each(&mut |tree, end| vote(votes, tree, end, query), row);
                finish(votes)
            },
        )
        .collect())
}

/// The leaves that the rows reach, in each tree.
fn reach(
    forest: &Forest,
    features: CsrView<'_>,
    query: Query<'_>,
    run: &Task,
) -> Result<Vec<Reached>, Stopped> {
    let rows = forest.weights.apply(features, forest.features);
    let beam = query.beam.unwrap_or(forest.params.beam).max(1);
    if Company::of(features.len()) == Company::Few && !forest.params.diversity.features_differ() {
        let share = (forest.trees.len() * features.len()).div_ceil(run.threads());
        let some = share.clamp(1, walk::TREES);
        let walk = |row| {
            let walk = |(at, trees)| {
                run.check()?;
                Ok(walk(forest, forest.first + at * some, trees, (rows.view(), row), beam))
            };
            let ends = forest.trees.par_chunks(some).enumerate().map(walk);
            Ok(ends.collect::<Result<Vec<_>, Stopped>>()?.concat())
        };
        let ends = (0..features.len() as u32).into_par_iter().map(walk);
        let ends = ends.collect::<Result<Vec<Vec<Vec<End>>>, Stopped>>()?;
        let of_tree = |tree| Reached::of_rows(ends.iter().map(|trees| &trees[tree]));
        return Ok((0..forest.trees.len()).map(of_tree).collect());
    }
    let rows = (rows.view(), rows.view().width());
    let reach = |(at, tree)| {
        run.check()?;
        let seed = tree_seed(&forest.params, forest.first + at);
        Ok(Router::new(forest, tree, rows, beam).route(seed))
    };
    forest.trees.par_iter().enumerate().map(reach).collect()
}

/// The leaf of a tree that each row falls into, by the one path that growing would take.
pub(super) fn leaves(forest: &Forest, tree: usize, rows: Entries<'_>) -> Vec<u32> {
    let router = Router::new(forest, &forest.trees[tree], (rows, rows.width()), 1);
    let reached = router.route(tree_seed(&forest.params, tree));
    reached.ends.iter().map(|end| end.leaf).collect()
}

/// Adds the votes of a leaf: for each label, the share of the leaf's instances that have it.
fn vote(votes: &mut Votes, tree: &Tree, end: End, query: Query<'_>) {
    let instances = f64::from(tree.leaf_instances.get(end.leaf as usize));
    let vote = Votes::units(f64::from(end.weight) / instances);
    tree.each_label(end.leaf as usize, |label, count| {
        if query.allows(label) {
            votes.add(label, vote.wrapping_mul(u64::from(count)));
        }
    });
}
