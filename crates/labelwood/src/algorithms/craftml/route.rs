//! Blocks of rows on their way to the leaves.
//!
//! A block of rows goes through a tree together, level by level, so that a node's centroids are
//! unpacked once for all rows that reach it. At each node a row follows every child whose share of
//! its weight is worth it: shares fall off with the distance to the nearest child, measured in
//! standard deviations of the row's nearness to all children, so that no temperature need be chosen.

use super::Forest;
use super::centroids::Nearness;
use super::grow::FEATURES;
use super::marks::{self, Company};
use super::project::Projector;
use super::shares::shares;
use super::tree::{Child, Tree};
use super::values::{Hit, fill};
use super::vote::Reached;
use crate::base::random::derive;
use crate::base::sparse::{Entries, MAX_DENSE_COLUMNS, OwnedEntries};
use crate::learn::cluster::lanes::{LANES, Lanes, Table, best_lane, similarities};

/// Rows at a node whose products with its centroids are held at a time.
const CHUNK: usize = 128;

/// A row at a node or leaf, and the share of its weight that came there.
#[derive(Clone, Copy, Debug)]
struct Path {
    row: u32,
    weight: f32,
}

/// A node and the rows at it.
struct Stop {
    node: u32,
    /// The node's seed, from which its own feature projection follows, if it has one.
    seed: u64,
    paths: Vec<Path>,
}

impl Stop {
    /// What tells this place in the tree from others.
    fn place(&self) -> u32 {
        Child::Node(self.node).reference()
    }
}

/// A row at a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    pub row: u32,
    pub leaf: u32,
    pub weight: f32,
}

impl Visit {
    /// What tells this place in the tree from others.
    fn place(&self) -> u32 {
        Child::Leaf(self.leaf).reference()
    }
}

/// Takes a block of rows through one tree.
pub(super) struct Router<'a> {
    tree: &'a Tree,
    rows: Entries<'a>,
    projector: Projector,
    /// One more than the highest column of the rows.
    width: usize,
    /// The projected rows, when the whole tree shares a projection.
    shared: Option<OwnedEntries>,
    nodes_differ: bool,
    beam: usize,
    company: Company,
    slot_of: Vec<u32>,
    table: Vec<Lanes>,
    used: Vec<u32>,
    ids: Vec<u32>,
    hits: Vec<Hit>,
    /// The products of some rows at a node with its centroids.
    products: Vec<Lanes>,
    /// The rows that go on to each child of a node; empty between nodes.
    sent: Vec<Vec<Path>>,
    visits: Vec<Visit>,
}

impl<'a> Router<'a> {
    /// The `width` is that of the rows.
    pub fn new(
        forest: &'a Forest,
        tree: &'a Tree,
        (rows, width): (Entries<'a>, usize),
        beam: usize,
    ) -> Self {
        let params = &forest.params;
        let projector =
            Projector::new(params.feature_projection, forest.features, params.feature_dimensions);
        Router {
            tree,
            rows,
            projector,
            width,
            shared: None,
            nodes_differ: params.diversity.features_differ(),
            beam,
            company: Company::of(rows.offsets.len() - 1),
            slot_of: Vec::new(),
            table: Vec::new(),
            used: Vec::new(),
            ids: Vec::new(),
            hits: Vec::new(),
            products: Vec::new(),
            sent: vec![Vec::new(); params.branches],
            visits: Vec::new(),
        }
    }

    /// The leaves that the rows reach.
    pub fn route(mut self, seed: u64) -> Reached {
        let rows = 0..self.rows.offsets.len() as u32 - 1;
        let node = match self.tree.root() {
            Child::Node(node) => node,
            Child::Leaf(leaf) => {
                let visits: Vec<Visit> =
                    rows.clone().map(|row| Visit { row, leaf, weight: 1.0 }).collect();
                return Reached::new(&visits, rows.len());
            }
        };
        if !self.nodes_differ && !self.projector.is_identity() {
            let seed = derive(seed, FEATURES);
            let shared = self.projector.project(self.rows, rows.clone(), seed);
            self.width = shared.view().width();
            self.shared = Some(shared);
        }
        let paths: Vec<Path> = rows.clone().map(|row| Path { row, weight: 1.0 }).collect();
        let mut level = vec![Stop { node, seed, paths }];
        while !level.is_empty() {
            let mut next = Vec::new();
            for stop in level {
                self.pass(stop, &mut next);
            }
            if self.beam > 1 {
                narrow(&mut next, &mut self.visits, rows.len(), self.beam);
            }
            level = next;
        }
        Reached::new(&self.visits, rows.len())
    }

    /// Sends the rows at a node on to its children.
    fn pass(&mut self, stop: Stop, next: &mut Vec<Stop>) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("popcnt")
        {
            // SAFETY: the processor has all three, as just asked.
            return unsafe { self.pass_avx2(stop, next) };
        }
        self.pass_portable(stop, next);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn pass_avx2(&mut self, stop: Stop, next: &mut Vec<Stop>) {
        self.pass_portable(stop, next);
    }

    #[inline(always)]
    fn pass_portable(&mut self, stop: Stop, next: &mut Vec<Stop>) {
        let Stop { node, seed, paths } = stop;
        let node = node as usize;
        self.ids.clear();
        self.ids.extend(paths.iter().map(|path| path.row));
        let own;
        let entries = match &self.shared {
            Some(shared) => shared.view(),
            None if self.nodes_differ => {
                let seed = derive(seed, FEATURES);
                own = self.projector.project(self.rows, self.ids.iter().copied(), seed);
                self.ids.clear();
                self.ids.extend(0..paths.len() as u32);
                self.width = own.view().width();
                own.view()
            }
            None => self.rows,
        };
        let children = self.tree.child_range(node);
        let nearness = stored_nearness(self.tree, children.clone());
        let wanted: usize = self.ids.iter().map(|&row| entries.row(row).0.len()).sum();
        let one_by_one = self.width > MAX_DENSE_COLUMNS
            || self.company.pays(paths.len(), wanted, self.tree.words_of(node).len());
        if !one_by_one {
            self.slot_of.resize(self.width.max(self.slot_of.len()), 0);
            let scratch = (&mut self.slot_of[..], &mut self.table, &mut self.used);
            unpack(self.tree, node, entries, &self.ids, wanted, scratch);
        }
        let table = Table { slot_of: &self.slot_of, lanes: &self.table };
        self.products.resize(paths.len().min(CHUNK).max(self.products.len()), Lanes::ZERO);
        for (ids, paths) in self.ids.chunks(CHUNK).zip(paths.chunks(CHUNK)) {
            if one_by_one {
                for (products, &row) in self.products.iter_mut().zip(ids) {
                    let row = entries.row(row);
                    *products = marks::products(self.tree, node, row, self.company, &mut self.hits);
                }
            } else {
                let products = &mut self.products;
                similarities(&table, entries, ids, |at, found| products[at] = *found);
            }
            for (&path, products) in paths.iter().zip(&self.products) {
                send(path, &nearness.of(products), children.len(), self.beam, &mut self.sent);
            }
        }
        if !one_by_one {
            for &feature in &self.used {
                self.slot_of[feature as usize] = 0;
            }
        }
        self.collect(node, children.start, seed, next);
    }

    /// Lets the rows that a node has sent on come to its children, the first of which is at `first`.
    fn collect(&mut self, node: usize, first: usize, seed: u64, next: &mut Vec<Stop>) {
        let sent = self.sent.iter_mut().enumerate().filter(|(_, paths)| !paths.is_empty());
        for (at, paths) in sent {
            match self.tree.child(node, first + at) {
                Child::Node(node) => {
                    let paths = std::mem::take(paths);
                    next.push(Stop { node, seed: derive(seed, at as u64), paths });
                }
                Child::Leaf(leaf) => {
                    self.visits.extend(paths.drain(..).map(|Path { row, weight }| Visit {
                        row,
                        leaf,
                        weight,
                    }))
                }
            }
        }
    }
}

/// Sends a row on to the children that it is near to.
#[inline(always)]
fn send(path: Path, near: &Lanes, children: usize, beam: usize, sent: &mut [Vec<Path>]) {
    let best = best_lane(near, children);
    if beam == 1 {
        return sent[best].push(path);
    }
    let shares = shares(near, best, children);
    let mut followed = shares.nonzero();
    while followed != 0 {
        let child = followed.trailing_zeros() as usize % LANES;
        followed &= followed - 1;
        sent[child].push(Path { row: path.row, weight: path.weight * shares.0[child] });
    }
}

pub(super) fn stored_nearness(tree: &Tree, children: std::ops::Range<usize>) -> Nearness {
    let count = children.len();
    // Those of the next nodes are read, too, if there are as many: copies of one length are quicker.
    let lanes = |stored: &[f32]| match stored[children.start..].first_chunk() {
        Some(stored) => Lanes(*stored).first(count),
        None => {
            let mut lanes = Lanes::ZERO;
            lanes.0[..count].copy_from_slice(&stored[children.clone()]);
            lanes
        }
    };
    Nearness {
        scales: lanes(&tree.scales),
        biases: (!tree.biases.is_empty()).then(|| lanes(&tree.biases)),
    }
}

/// Unpacks a node's centroids, as far as the rows have their features, of which they have `wanted`,
/// into `table`, maps the features in `slot_of` and lists those mapped in `used`.
#[inline(always)]
fn unpack(
    tree: &Tree,
    node: usize,
    entries: Entries<'_>,
    rows: &[u32],
    wanted: usize,
    (slot_of, table, used): (&mut [u32], &mut Vec<Lanes>, &mut Vec<u32>),
) {
    let (words, mut values) = tree.centroids(node);
    used.clear();
    // With few rows most features need no slot: those that do are mapped first.
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
    for (feature, touches) in words {
        let (these, rest) =
            values.split_at(values.len().min(touches.count_ones() as usize * width));
        values = rest;
        // No row has a feature beyond the map's.
        let Some(slot) = slot_of.get_mut(feature as usize) else { continue };
        if few && *slot == 0 {
            continue;
        }
        if !few {
            used.push(feature);
            *slot = used.len() as u32;
            table.push(Lanes::ZERO);
        }
        fill(&mut table[*slot as usize], touches, these, tree.precision);
    }
}

/// Keeps each row's `beam` heaviest paths, finished ones included, and makes up for the rest.
fn narrow(level: &mut Vec<Stop>, visits: &mut Vec<Visit>, rows: usize, beam: usize) {
    let mut held = vec![0u32; rows];
    let unfinished = level.iter().flat_map(|stop| stop.paths.iter().map(|path| path.row));
    for row in unfinished.chain(visits.iter().map(|visit| visit.row)) {
        held[row as usize] += 1;
    }
    if held.iter().all(|&held| held as usize <= beam) {
        return;
    }
    // The orders of a crowded row's paths stand together.
    let mut starts = vec![0u32; rows + 1];
    for (row, &held) in held.iter().enumerate() {
        starts[row + 1] = starts[row] + if held as usize > beam { held } else { 0 };
    }
    let mut orders = vec![0u64; starts[rows] as usize];
    let mut filled = starts.clone();
    let mut put = |row: u32, order: u64| {
        if held[row as usize] as usize > beam {
            orders[filled[row as usize] as usize] = order;
            filled[row as usize] += 1;
        }
    };
    for stop in level.iter() {
        stop.paths.iter().for_each(|path| put(path.row, order(path.weight, stop.place())));
    }
    visits.iter().for_each(|visit| put(visit.row, order(visit.weight, visit.place())));
    // For each row the last path that is kept, and what the kept ones weigh.
    let mut limits = vec![(u64::MAX, 1.0f32); rows];
    for (limit, range) in limits.iter_mut().zip(starts.windows(2)) {
        let orders = &mut orders[range[0] as usize..range[1] as usize];
        if !orders.is_empty() {
            orders.sort_unstable();
            let kept = &orders[..beam];
            *limit = (kept[beam - 1], kept.iter().map(|&order| weight_of(order)).sum());
        }
    }
    let keep = |row: u32, weight: &mut f32, place: u32| {
        let (last, total) = limits[row as usize];
        let is_kept = order(*weight, place) <= last;
        *weight /= total;
        is_kept
    };
    for stop in level.iter_mut() {
        let place = stop.place();
        stop.paths.retain_mut(|path| keep(path.row, &mut path.weight, place));
    }
    level.retain(|stop| !stop.paths.is_empty());
    visits.retain_mut(|visit| {
        let place = visit.place();
        keep(visit.row, &mut visit.weight, place)
    });
}

/// A number that is the lower the heavier a path is; `place` decides between equal ones. Weights are
/// not negative, so their bits are in their order.
pub(super) fn order(weight: f32, place: u32) -> u64 {
    u64::from(!weight.to_bits()) << 32 | u64::from(place)
}

pub(super) fn weight_of(order: u64) -> f32 {
    f32::from_bits(!((order >> 32) as u32))
}
