//! Routing batches of rows to their leaves.
//!
//! A batch goes through a tree together, level by level, so that a node's centroids are decoded once
//! for all rows that reach it. At each node a row follows every child whose share of its weight is
//! large enough. Shares fall with the distance to the nearest child, measured in standard deviations
//! of the row's nearness to all children, so that there is no temperature to choose.

use super::grow::FEATURE_PROJECTION;
use super::node_index::{self, BatchSize, sum_products};
use super::project::Projector;
use super::shares::shares;
use super::tree::{Child, Tree};
use super::values::{Hit, expand, set_bits};
use super::vote::{ReachedLeaf, ReachedLeaves};
use super::{Forest, tree_seed};
use crate::base::random::derive;
use crate::base::sparse::{Entries, MAX_DENSE_COLUMNS, OwnedEntries};
use crate::learn::cluster::lanes::{Lanes, Table, best_lane, similarities};
use multiversion::multiversion;

/// Rows at a node whose products with its centroids are held at a time.
const CHUNK: usize = 128;

/// A row at a node, and the share of the row's weight that reached it.
#[derive(Clone, Copy, Debug)]
struct RowAtNode {
    row: u32,
    weight: f32,
}

/// A row at a leaf, and the share of the row's weight that reached it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowAtLeaf {
    pub row: u32,
    pub reached: ReachedLeaf,
}

/// A node and the rows that have reached it.
struct NodeBatch {
    node: u32,
    /// The node's seed, from which its own feature projection follows, if it has one.
    seed: u64,
    rows: Vec<RowAtNode>,
}

/// Routes a batch of rows through one tree.
struct Router<'a> {
    tree: &'a Tree,
    rows: Entries<'a>,
    projector: Projector,
    /// One more than the largest column of the rows.
    width: usize,
    /// The projected rows, if all nodes of the tree share a projection.
    shared: Option<OwnedEntries>,
    /// Whether each node has its own projection.
    nodes_differ: bool,
    beam: usize,
    batch: BatchSize,
    /// The slot of each feature in `table`; 0, which is a slot of zeros, for features not used.
    slot_of: Vec<u32>,
    /// The centroids of a node by slot.
    table: Vec<Lanes>,
    /// The features that have a slot.
    used: Vec<u32>,
    /// The rows at a node.
    ids: Vec<u32>,
    hits: Vec<Hit>,
    /// The products of some rows at a node with its centroids.
    products: Vec<Lanes>,
    /// The rows that follow each child of a node; empty between nodes.
    followers: Vec<Vec<RowAtNode>>,
    leaves: Vec<RowAtLeaf>,
}

/// The leaves that rows of the given width reach in a tree of the forest.
pub(super) fn route(
    forest: &Forest,
    at: usize,
    (rows, width): (Entries<'_>, usize),
    beam: usize,
) -> ReachedLeaves {
    let (tree, params) = (&forest.trees[at], &forest.params);
    let all = 0..rows.offsets.len() as u32 - 1;
    let count = all.len();
    let node = match tree.root() {
        Child::Node(node) => node,
        Child::Leaf(leaf) => {
            let reached = ReachedLeaf { leaf, weight: 1.0 };
            let leaves: Vec<RowAtLeaf> = all.map(|row| RowAtLeaf { row, reached }).collect();
            return ReachedLeaves::new(&leaves, count);
        }
    };
    let seed = tree_seed(params, forest.first + at);
    let projector = Projector::of_features(params, forest.features);
    let nodes_differ = params.diversity.features_differ();
    let project = || projector.project(rows, all.clone(), derive(seed, FEATURE_PROJECTION));
    let shared = (!nodes_differ && !projector.is_identity()).then(project);
    let mut router = Router {
        tree,
        rows,
        projector,
        width: shared.as_ref().map_or(width, |shared| shared.view().width()),
        shared,
        nodes_differ,
        beam,
        batch: BatchSize::of(count),
        slot_of: Vec::new(),
        table: Vec::new(),
        used: Vec::new(),
        ids: Vec::new(),
        hits: Vec::new(),
        products: Vec::new(),
        followers: vec![Vec::new(); params.branches],
        leaves: Vec::new(),
    };
    let rows = all.map(|row| RowAtNode { row, weight: 1.0 }).collect();
    let mut level = vec![NodeBatch { node, seed, rows }];
    while !level.is_empty() {
        let mut next = Vec::new();
        for batch in level {
            route_node(&mut router, batch, &mut next);
        }
        if beam > 1 {
            narrow(&mut next, &mut router.leaves, count, beam);
        }
        level = next;
    }
    ReachedLeaves::new(&router.leaves, count)
}

impl Router<'_> {
    /// Moves the followers of each child to `next` or `self.leaves`; the children of `node` start at
    /// `first`.
    fn collect(&mut self, node: usize, first: usize, seed: u64, next: &mut Vec<NodeBatch>) {
        let followed = self.followers.iter_mut().enumerate().filter(|(_, rows)| !rows.is_empty());
        for (at, rows) in followed {
            match self.tree.child(node, first + at) {
                Child::Node(node) => {
                    let rows = std::mem::take(rows);
                    next.push(NodeBatch { node, seed: derive(seed, at as u64), rows });
                }
                Child::Leaf(leaf) => {
                    self.leaves.extend(rows.drain(..).map(|RowAtNode { row, weight }| RowAtLeaf {
                        row,
                        reached: ReachedLeaf { leaf, weight },
                    }))
                }
            }
        }
    }
}

/// Routes the rows at a node to its children: appends the child nodes to `next`, and the rows at
/// child leaves to `router.leaves`.
#[multiversion(targets("x86_64+avx2+bmi1+popcnt"))]
fn route_node(router: &mut Router<'_>, batch: NodeBatch, next: &mut Vec<NodeBatch>) {
    let NodeBatch { node, seed, rows } = batch;
    let node = node as usize;
    router.ids.clear();
    router.ids.extend(rows.iter().map(|row| row.row));
    let own;
    let entries = match &router.shared {
        Some(shared) => shared.view(),
        None if router.nodes_differ => {
            let seed = derive(seed, FEATURE_PROJECTION);
            own = router.projector.project(router.rows, router.ids.iter().copied(), seed);
            router.ids.clear();
            router.ids.extend(0..rows.len() as u32);
            router.width = own.view().width();
            own.view()
        }
        None => router.rows,
    };
    let children = router.tree.child_range(node);
    let nearness = router.tree.nearness(children.clone());
    let wanted: usize = router.ids.iter().map(|&row| entries.row(row).0.len()).sum();
    let words = router.tree.words_of(node).len();
    let lookup =
        router.width > MAX_DENSE_COLUMNS || router.batch.prefers_lookup(rows.len(), wanted, words);
    if !lookup {
        router.slot_of.resize(router.width.max(router.slot_of.len()), 0);
        let scratch = (&mut router.slot_of[..], &mut router.table, &mut router.used);
        decode_table(router.tree, node, entries, &router.ids, wanted, scratch);
    }
    let (values, precision) = (router.tree.values_of(node), router.tree.precision);
    let table = Table { slot_of: &router.slot_of, lanes: &router.table };
    router.products.resize(rows.len().min(CHUNK).max(router.products.len()), Lanes::ZERO);
    for (ids, rows) in router.ids.chunks(CHUNK).zip(rows.chunks(CHUNK)) {
        if lookup {
            for (products, &row) in router.products.iter_mut().zip(ids) {
                router.hits.clear();
                let row = entries.row(row);
                node_index::find(router.tree, node, row, router.batch, &mut router.hits);
                *products = sum_products(values, precision, &router.hits);
            }
        } else {
            let products = &mut router.products;
            similarities(&table, entries, ids, |at, found| products[at] = *found);
        }
        for (&row, products) in rows.iter().zip(&router.products) {
            let near = nearness.of(products);
            follow(row, &near, children.len(), router.beam, &mut router.followers);
        }
    }
    if !lookup {
        for &feature in &router.used {
            router.slot_of[feature as usize] = 0;
        }
    }
    router.collect(node, children.start, seed, next);
}

/// Adds a row to the followers of the children that it is near to.
#[inline(always)]
fn follow(
    row: RowAtNode,
    near: &Lanes,
    children: usize,
    beam: usize,
    followers: &mut [Vec<RowAtNode>],
) {
    let best = best_lane(near, children);
    if beam == 1 {
        return followers[best].push(row);
    }
    let shares = shares(near, best, children);
    for child in set_bits(shares.nonzero()) {
        followers[child].push(RowAtNode { row: row.row, weight: row.weight * shares.0[child] });
    }
}

/// Decodes a node's centroids into `table`, as far as the rows, which have `wanted` entries, have
/// their features; sets `slot_of` of these features and lists them in `used`.
#[inline(always)]
fn decode_table(
    tree: &Tree,
    node: usize,
    entries: Entries<'_>,
    rows: &[u32],
    wanted: usize,
    (slot_of, table, used): (&mut [u32], &mut Vec<Lanes>, &mut Vec<u32>),
) {
    let (words, mut values) = tree.centroids(node);
    used.clear();
    // If the rows have few entries, most features need no slot: only those of the rows get one.
    let few = wanted < tree.words_of(node).len();
    if few {
        for &row in rows {
            for &feature in entries.row(row).0 {
                if slot_of[feature as usize] == 0 {
                    used.push(feature);
                    slot_of[feature as usize] = used.len() as u32;
                }
            }
        }
    }
    table.clear();
    table.resize(used.len() + 1, Lanes::ZERO);
    let width = tree.precision.bytes();
    for (feature, child_bits) in words {
        let (these, rest) =
            values.split_at(values.len().min(child_bits.count_ones() as usize * width));
        values = rest;
        // No row has a feature beyond the end of `slot_of`.
        let Some(slot) = slot_of.get_mut(feature as usize) else { continue };
        if few && *slot == 0 {
            continue;
        }
        if !few {
            used.push(feature);
            *slot = used.len() as u32;
            table.push(Lanes::ZERO);
        }
        expand(&mut table[*slot as usize], child_bits, these, tree.precision);
    }
}

/// Keeps each row's `beam` heaviest nodes and leaves, and scales their weights to a sum of 1.
fn narrow(level: &mut Vec<NodeBatch>, leaves: &mut Vec<RowAtLeaf>, rows: usize, beam: usize) {
    let mut held = vec![0u32; rows];
    let at_nodes = level.iter().flat_map(|batch| batch.rows.iter().map(|row| row.row));
    for row in at_nodes.chain(leaves.iter().map(|leaf| leaf.row)) {
        held[row as usize] += 1;
    }
    if held.iter().all(|&held| held as usize <= beam) {
        return;
    }
    // The ranks of all nodes and leaves of each row that has more than `beam`, row after row.
    let mut starts = vec![0u32; rows + 1];
    for (row, &held) in held.iter().enumerate() {
        starts[row + 1] = starts[row] + if held as usize > beam { held } else { 0 };
    }
    let mut ranks = vec![0u64; starts[rows] as usize];
    let mut filled = starts.clone();
    let mut put = |row: u32, rank: u64| {
        if held[row as usize] as usize > beam {
            ranks[filled[row as usize] as usize] = rank;
            filled[row as usize] += 1;
        }
    };
    for NodeBatch { node, rows, .. } in level.iter() {
        rows.iter().for_each(|row| put(row.row, rank(row.weight, Child::Node(*node))));
    }
    leaves.iter().for_each(|leaf| put(leaf.row, leaf.reached.rank()));
    // For each row the rank of the last node or leaf that is kept, and the weight of all kept.
    let mut limits = vec![(u64::MAX, 1.0f32); rows];
    for (limit, range) in limits.iter_mut().zip(starts.windows(2)) {
        let ranks = &mut ranks[range[0] as usize..range[1] as usize];
        if !ranks.is_empty() {
            ranks.sort_unstable();
            let kept = &ranks[..beam];
            *limit = (kept[beam - 1], kept.iter().map(|&rank| weight_of(rank)).sum());
        }
    }
    let keep = |row: u32, weight: &mut f32, child: Child| {
        let (last, total) = limits[row as usize];
        let is_kept = rank(*weight, child) <= last;
        *weight /= total;
        is_kept
    };
    for NodeBatch { node, rows, .. } in level.iter_mut() {
        rows.retain_mut(|row| keep(row.row, &mut row.weight, Child::Node(*node)));
    }
    level.retain(|batch| !batch.rows.is_empty());
    leaves.retain_mut(|RowAtLeaf { row, reached }| {
        keep(*row, &mut reached.weight, Child::Leaf(reached.leaf))
    });
}

/// A number that is the lower the heavier a node or leaf is; [`Child::reference`] decides between equal
/// weights. The bits of weights are in their order, because weights are not negative.
pub(super) fn rank(weight: f32, child: Child) -> u64 {
    u64::from(!weight.to_bits()) << 32 | u64::from(child.reference())
}

/// The weight that a [`rank`] was made from.
pub(super) fn weight_of(rank: u64) -> f32 {
    f32::from_bits(!((rank >> 32) as u32))
}
