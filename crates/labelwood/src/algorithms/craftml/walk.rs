//! Prediction row by row, for few rows, which wait for memory nearly all the time.
//!
//! A row meets some hundred nodes, each in a place of its own, and at each of them some tens of
//! features. So it goes through several trees at once, level by level: what its next step takes is
//! asked for in all of them before any is read. The leaves and their weights are those that a block
//! of rows finds.

use super::grow::FEATURES;
use super::marks::{self, Company, STAGES};
use super::project::Projector;
use super::route::{order, stored_nearness, weight_of};
use super::shares::shares;
use super::tree::{Child, Tree};
use super::values::Hit;
use super::vote::End;
use super::{Forest, tree_seed};
use crate::base::random::derive;
use crate::base::sparse::{Entries, OwnedEntries};
use crate::learn::cluster::lanes::{LANES, Lanes, best_lane};

/// Trees that a row goes through at once, at most: what is asked for must stay in the cache until it is read.
pub(super) const TREES: usize = 8;

/// A node that the row has come to, and the share of its weight that came there.
#[derive(Clone, Copy)]
struct Step {
    node: u32,
    weight: f32,
    /// Where the entries that the node has end among those found; 0 as long as they are sought.
    hits: u32,
}

/// The row in one tree.
struct Walk<'a> {
    tree: &'a Tree,
    /// The row as this tree projects it.
    projected: Option<OwnedEntries>,
    level: Vec<Step>,
    ends: Vec<End>,
}

/// Memory that all walks use.
#[derive(Default)]
struct Scratch {
    next: Vec<Step>,
    hits: Vec<Hit>,
    orders: Vec<u64>,
}

/// The leaves that one of some rows reaches in some trees, the first of which has the given number.
/// The trees' nodes must not have projections of their own.
pub(super) fn walk(
    forest: &Forest,
    first: usize,
    trees: &[Tree],
    (rows, row): (Entries<'_>, u32),
    beam: usize,
) -> Vec<Vec<End>> {
    let params = &forest.params;
    let projector =
        Projector::new(params.feature_projection, forest.features, params.feature_dimensions);
    let project = |at| {
        let seed = derive(tree_seed(params, first + at), FEATURES);
        (!projector.is_identity()).then(|| projector.project(rows, row..row + 1, seed))
    };
    let start = trees.iter().enumerate().map(|(at, tree)| Walk::new(tree, project(at)));
    let mut walks: Vec<Walk<'_>> = start.collect();
    let mut scratch = Scratch::default();
    let row = rows.row(row);
    while walks.iter().any(|walk| !walk.level.is_empty()) {
        for stage in STAGES {
            for walk in &walks {
                let columns = walk.row(row).0;
                let visits = walk.level.iter().map(|step| (step.node as usize, columns));
                marks::fetch(stage, walk.tree, visits);
            }
        }
        scratch.hits.clear();
        walks.iter_mut().for_each(|walk| walk.find(row, &mut scratch.hits));
        let mut first = 0;
        walks.iter_mut().for_each(|walk| first = walk.step(first, beam, &mut scratch));
    }
    walks.into_iter().map(|walk| walk.ends).collect()
}

impl<'a> Walk<'a> {
    fn new(tree: &'a Tree, projected: Option<OwnedEntries>) -> Self {
        let (mut level, mut ends) = (Vec::new(), Vec::new());
        match tree.root() {
            Child::Node(node) => level.push(Step { node, weight: 1.0, hits: 0 }),
            Child::Leaf(leaf) => ends.push(End { leaf, weight: 1.0 }),
        }
        Walk { tree, projected, level, ends }
    }

    fn row<'r>(&'r self, given: (&'r [u32], &'r [f32])) -> (&'r [u32], &'r [f32]) {
        self.projected.as_ref().map_or(given, |projected| projected.view().row(0))
    }

    /// Appends the row's entries that each node of a level has.
    fn find(&mut self, row: (&[u32], &[f32]), hits: &mut Vec<Hit>) {
        for at in 0..self.level.len() {
            let node = self.level[at].node as usize;
            marks::find(self.tree, node, self.row(row), Company::Few, hits);
            self.level[at].hits = hits.len() as u32;
        }
    }

    /// Goes from the nodes of a level, whose hits start at a place, to their children; gives where
    /// the next tree's hits start.
    fn step(&mut self, first: usize, beam: usize, scratch: &mut Scratch) -> usize {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as just asked.
            return unsafe { self.step_avx2(first, beam, scratch) };
        }
        self.step_portable(first, beam, scratch)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn step_avx2(&mut self, first: usize, beam: usize, scratch: &mut Scratch) -> usize {
        self.step_portable(first, beam, scratch)
    }

    #[inline(always)]
    fn step_portable(&mut self, mut first: usize, beam: usize, scratch: &mut Scratch) -> usize {
        let Scratch { next, hits, orders } = scratch;
        next.clear();
        for &Step { node, weight, hits: last } in &self.level {
            let products = marks::weigh(self.tree, node as usize, &hits[first..last as usize]);
            first = last as usize;
            let children = self.tree.child_range(node as usize);
            let near = stored_nearness(self.tree, children.clone()).of(&products);
            let best = best_lane(&near, children.len());
            let shares = match beam {
                1 => one(best),
                _ => shares(&near, best, children.len()),
            };
            let mut followed = shares.nonzero();
            while followed != 0 {
                let lane = followed.trailing_zeros() as usize % LANES;
                followed &= followed - 1;
                let weight = weight * shares.0[lane];
                match self.tree.child(node as usize, children.start + lane) {
                    Child::Node(node) => next.push(Step { node, weight, hits: 0 }),
                    Child::Leaf(leaf) => self.ends.push(End { leaf, weight }),
                }
            }
        }
        std::mem::swap(&mut self.level, next);
        self.narrow(beam, orders);
        first
    }

    /// Keeps the `beam` heaviest paths, finished ones included, and makes up for the rest.
    fn narrow(&mut self, beam: usize, orders: &mut Vec<u64>) {
        if self.level.len() + self.ends.len() <= beam {
            return;
        }
        orders.clear();
        orders.extend(self.level.iter().map(Step::order));
        orders.extend(self.ends.iter().map(End::order));
        orders.sort_unstable();
        let kept = &orders[..beam];
        let (last, total) =
            (kept[beam - 1], kept.iter().map(|&order| weight_of(order)).sum::<f32>());
        self.level.retain(|step| step.order() <= last);
        self.ends.retain(|end| end.order() <= last);
        self.level.iter_mut().for_each(|step| step.weight /= total);
        self.ends.iter_mut().for_each(|end| end.weight /= total);
    }
}

impl Step {
    fn order(&self) -> u64 {
        order(self.weight, Child::Node(self.node).reference())
    }
}

impl End {
    fn order(&self) -> u64 {
        order(self.weight, Child::Leaf(self.leaf).reference())
    }
}

/// All of the weight in one lane.
#[inline(always)]
fn one(lane: usize) -> Lanes {
    let mut lanes = Lanes::ZERO;
    lanes.0[lane] = 1.0;
    lanes
}
