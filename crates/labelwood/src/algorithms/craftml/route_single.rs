//! Routing single rows to their leaves, for small batches.
//!
//! A row visits some hundred nodes and looks up some tens of features at each, all in different
//! places of memory, so that latency is nearly all of its time. So a row goes through several trees
//! at once, level by level: what the next level reads is prefetched in all of them before any is
//! read. The leaves and weights are the same as those of [`super::route`].

use super::grow::FEATURE_PROJECTION;
use super::node_index::{self, BatchSize, PREFETCH_STAGES};
use super::project::Projector;
use super::route::{rank, weight_of};
use super::shares::shares;
use super::tree::{Child, Tree};
use super::values::{Hit, set_bits};
use super::vote::ReachedLeaf;
use super::{Forest, tree_seed};
use crate::base::random::derive;
use crate::base::sparse::{Entries, OwnedEntries};
use crate::learn::cluster::lanes::{Lanes, best_lane};
use multiversion::multiversion;

/// The most trees that a row goes through at once: what is prefetched must stay in the cache until it
/// is read.
pub(super) const MOST_TREES: usize = 8;

/// A node that the row has reached, and the share of the row's weight that reached it.
#[derive(Clone, Copy)]
struct ReachedNode {
    node: u32,
    weight: f32,
    /// Where the node's hits end in [`Scratch::hits`]; 0 until they are found.
    hits_end: u32,
}

/// The row in one tree.
struct TreeWalk<'a> {
    tree: &'a Tree,
    /// The row as this tree projects it.
    projected: Option<OwnedEntries>,
    /// The nodes reached at the current level.
    level: Vec<ReachedNode>,
    leaves: Vec<ReachedLeaf>,
}

/// Memory shared by the walks.
#[derive(Default)]
struct Scratch {
    next: Vec<ReachedNode>,
    /// The hits of all nodes of a level, in the order of trees and nodes.
    hits: Vec<Hit>,
    ranks: Vec<u64>,
}

/// The leaves that a row reaches in each of the given trees, the first of which has number `first`.
/// All nodes of a tree must share its feature projection.
pub(super) fn route_single(
    forest: &Forest,
    first: usize,
    trees: &[Tree],
    (rows, row): (Entries<'_>, u32),
    beam: usize,
) -> Vec<Vec<ReachedLeaf>> {
    let params = &forest.params;
    let projector = Projector::of_features(params, forest.features);
    let project = |at| {
        let seed = derive(tree_seed(params, first + at), FEATURE_PROJECTION);
        (!projector.is_identity()).then(|| projector.project(rows, row..row + 1, seed))
    };
    let start = trees.iter().enumerate().map(|(at, tree)| TreeWalk::new(tree, project(at)));
    let mut walks: Vec<TreeWalk<'_>> = start.collect();
    let mut scratch = Scratch::default();
    let row = rows.row(row);
    while walks.iter().any(|walk| !walk.level.is_empty()) {
        for stage in PREFETCH_STAGES {
            for walk in &walks {
                let columns = walk.row(row).0;
                let visits = walk.level.iter().map(|reached| (reached.node as usize, columns));
                node_index::prefetch_stage(stage, walk.tree, visits);
            }
        }
        scratch.hits.clear();
        walks.iter_mut().for_each(|walk| walk.find(row, &mut scratch.hits));
        let mut first = 0;
        walks.iter_mut().for_each(|walk| first = descend(walk, first, beam, &mut scratch));
    }
    walks.into_iter().map(|walk| walk.leaves).collect()
}

impl<'a> TreeWalk<'a> {
    fn new(tree: &'a Tree, projected: Option<OwnedEntries>) -> Self {
        let (mut level, mut leaves) = (Vec::new(), Vec::new());
        match tree.root() {
            Child::Node(node) => level.push(ReachedNode { node, weight: 1.0, hits_end: 0 }),
            Child::Leaf(leaf) => leaves.push(ReachedLeaf { leaf, weight: 1.0 }),
        }
        TreeWalk { tree, projected, level, leaves }
    }

    /// The row as this tree reads it: projected, or as it is given.
    fn row<'r>(&'r self, given: (&'r [u32], &'r [f32])) -> (&'r [u32], &'r [f32]) {
        self.projected.as_ref().map_or(given, |projected| projected.view().row(0))
    }

    /// Finds the row's features at each node of the level.
    fn find(&mut self, row: (&[u32], &[f32]), hits: &mut Vec<Hit>) {
        for at in 0..self.level.len() {
            let node = self.level[at].node as usize;
            node_index::find(self.tree, node, self.row(row), BatchSize::Small, hits);
            self.level[at].hits_end = hits.len() as u32;
        }
    }

    /// Keeps the `beam` heaviest nodes and leaves, and scales their weights to a sum of 1.
    fn narrow(&mut self, beam: usize, ranks: &mut Vec<u64>) {
        if self.level.len() + self.leaves.len() <= beam {
            return;
        }
        ranks.clear();
        ranks.extend(self.level.iter().map(ReachedNode::rank));
        ranks.extend(self.leaves.iter().map(ReachedLeaf::rank));
        ranks.sort_unstable();
        let kept = &ranks[..beam];
        let (last, total) = (kept[beam - 1], kept.iter().map(|&rank| weight_of(rank)).sum::<f32>());
        self.level.retain(|reached| reached.rank() <= last);
        self.leaves.retain(|reached| reached.rank() <= last);
        self.level.iter_mut().for_each(|reached| reached.weight /= total);
        self.leaves.iter_mut().for_each(|reached| reached.weight /= total);
    }
}

/// Descends from the nodes of the level to their children. The hits of the level start at `first`;
/// returns where those of the next tree start.
#[multiversion(targets("x86_64+avx2"))]
fn descend(walk: &mut TreeWalk<'_>, mut first: usize, beam: usize, scratch: &mut Scratch) -> usize {
    let Scratch { next, hits, ranks } = scratch;
    next.clear();
    for &ReachedNode { node, weight, hits_end } in &walk.level {
        let hits = &hits[first..hits_end as usize];
        let values = walk.tree.values_of(node as usize);
        let products = node_index::sum_products(values, walk.tree.precision, hits);
        first = hits_end as usize;
        let children = walk.tree.child_range(node as usize);
        let near = walk.tree.nearness(children.clone()).of(&products);
        let best = best_lane(&near, children.len());
        let shares = match beam {
            1 => all_to(best),
            _ => shares(&near, best, children.len()),
        };
        for lane in set_bits(shares.nonzero()) {
            let weight = weight * shares.0[lane];
            match walk.tree.child(node as usize, children.start + lane) {
                Child::Node(node) => next.push(ReachedNode { node, weight, hits_end: 0 }),
                Child::Leaf(leaf) => walk.leaves.push(ReachedLeaf { leaf, weight }),
            }
        }
    }
    std::mem::swap(&mut walk.level, next);
    walk.narrow(beam, ranks);
    first
}

impl ReachedNode {
    fn rank(&self) -> u64 {
        rank(self.weight, Child::Node(self.node))
    }
}

/// Shares that give all of the weight to one child.
#[inline(always)]
fn all_to(child: usize) -> Lanes {
    let mut shares = Lanes::ZERO;
    shares.0[child] = 1.0;
    shares
}
