//! Prediction: rows find their leaves, and leaves vote.
//!
//! A block of rows goes through a tree together, level by level, so that a node's centroids are
//! unpacked once for all rows that reach it. At each node a row follows every child whose share of
//! its weight is worth it: shares fall off with the distance to the nearest child, measured in
//! standard deviations of the row's nearness to all children, so that no temperature need be chosen.
//! Votes are added up as whole numbers: any order, and any split of the trees, gives the same sums.

use super::centroids::Nearness;
use super::grow::FEATURES;
use super::marks;
use super::params::Precision;
use super::project::Projector;
use super::tree::{Child, Tree};
use super::{Forest, tree_seed};
use crate::cluster::lanes::{LANES, Lanes, Table, best_lane, similarities};
use crate::random::derive;
use crate::run::{Cancelled, Run};
use crate::sparse::{CsrView, Entries, OwnedEntries, Predictions, Query, Scored, Votes};
use rayon::prelude::*;

/// Rows that go through the trees together.
const BLOCK: usize = 16_384;
/// How fast a child's share falls off with its distance to the nearest, in standard deviations.
const SHARPNESS: f32 = 3.0;
/// Children with a smaller share of a row's weight are not followed.
const LEAST_SHARE: f32 = 0.1;
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

/// A row at a leaf.
#[derive(Clone, Copy, Debug)]
struct Visit {
    row: u32,
    leaf: u32,
    weight: f32,
}

/// The best `k` labels of each row.
pub(super) fn predict(
    forest: &Forest,
    features: CsrView<'_>,
    query: Query<'_>,
    run: &Run,
) -> Result<Predictions, Cancelled> {
    run.predict_blocks(features, BLOCK, |block| forest.predict_block(block, query, run))
}

/// The same for rows that go through the trees together.
pub(super) fn predict_block(
    forest: &Forest,
    features: CsrView<'_>,
    query: Query<'_>,
    run: &Run,
) -> Result<Predictions, Cancelled> {
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
    run: &Run,
    finish: impl Fn(&mut Votes) -> R + Sync,
) -> Result<Vec<R>, Cancelled> {
    let rows = forest.weights.apply(features, forest.features);
    let beam = query.beam.unwrap_or(forest.params.beam).max(1);
    let visits = forest
        .trees
        .par_iter()
        .enumerate()
        .map(|(at, tree)| {
            run.check()?;
            let seed = tree_seed(&forest.params, forest.first + at);
            Ok(Router::new(forest, tree, rows.view(), beam).route(seed))
        })
        .collect::<Result<Vec<Vec<Visit>>, Cancelled>>()?;
    let (starts, ballots) = by_row(&visits, features.len());
    Ok((0..features.len())
        .into_par_iter()
        .map_init(
            || Votes::new(forest.labels),
            |votes, row| {
                for &(tree, visit) in &ballots[starts[row]..starts[row + 1]] {
                    vote(votes, &forest.trees[tree as usize], visit, query);
                }
                finish(votes)
            },
        )
        .collect())
}

/// All visits, with their trees, grouped by row; the second array says where each row's start.
fn by_row(visits: &[Vec<Visit>], rows: usize) -> (Vec<usize>, Vec<(u32, Visit)>) {
    let mut starts = vec![0usize; rows + 1];
    for visit in visits.iter().flatten() {
        starts[visit.row as usize + 1] += 1;
    }
    for row in 0..rows {
        starts[row + 1] += starts[row];
    }
    let mut next = starts.clone();
    let mut grouped = vec![(0, Visit { row: 0, leaf: 0, weight: 0.0 }); starts[rows]];
    for (tree, visits) in visits.iter().enumerate() {
        for visit in visits {
            grouped[next[visit.row as usize]] = (tree as u32, *visit);
            next[visit.row as usize] += 1;
        }
    }
    (starts, grouped)
}

/// Adds the votes of a leaf: for each label, the share of the leaf's instances that have it.
fn vote(votes: &mut Votes, tree: &Tree, visit: Visit, query: Query<'_>) {
    let instances = f64::from(tree.leaf_instances.get(visit.leaf as usize));
    let vote = Votes::units(f64::from(visit.weight) / instances);
    for (label, count) in tree.leaf(visit.leaf as usize) {
        if query.allows(label) {
            votes.add(label, vote.wrapping_mul(u64::from(count)));
        }
    }
}

/// Takes a block of rows through one tree.
struct Router<'a> {
    tree: &'a Tree,
    rows: Entries<'a>,
    projector: Projector,
    /// The projected rows, when the whole tree shares a projection.
    shared: Option<OwnedEntries>,
    nodes_differ: bool,
    beam: usize,
    slot_of: Vec<u32>,
    table: Vec<Lanes>,
    used: Vec<u32>,
    ids: Vec<u32>,
    hits: Vec<marks::Hit>,
    /// The rows that go on to each child of a node; empty between nodes.
    sent: Vec<Vec<Path>>,
    visits: Vec<Visit>,
}

impl<'a> Router<'a> {
    fn new(forest: &'a Forest, tree: &'a Tree, rows: Entries<'a>, beam: usize) -> Self {
        let params = &forest.params;
        let projector =
            Projector::new(params.feature_projection, forest.features, params.feature_dimensions);
        Router {
            tree,
            rows,
            projector,
            shared: None,
            nodes_differ: params.diversity.features_differ(),
            beam,
            slot_of: Vec::new(),
            table: Vec::new(),
            used: Vec::new(),
            ids: Vec::new(),
            hits: Vec::new(),
            sent: vec![Vec::new(); params.branches],
            visits: Vec::new(),
        }
    }

    /// The leaves that the rows reach.
    fn route(mut self, seed: u64) -> Vec<Visit> {
        let rows = 0..self.rows.offsets.len() as u32 - 1;
        let node = match self.tree.root() {
            Child::Node(node) => node,
            Child::Leaf(leaf) => {
                return rows.map(|row| Visit { row, leaf, weight: 1.0 }).collect();
            }
        };
        if !self.nodes_differ && !self.projector.is_identity() {
            let seed = derive(seed, FEATURES);
            self.shared = Some(self.projector.project(self.rows, rows.clone(), seed));
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
        self.visits
    }

    /// Sends the rows at a node on to its children.
    fn pass(&mut self, stop: Stop, next: &mut Vec<Stop>) {
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
                own.view()
            }
            None => self.rows,
        };
        let children = self.tree.child_range(node);
        let nearness = stored_nearness(self.tree, children.clone());
        let (sent, beam) = (&mut self.sent, self.beam);
        let mut send = |at: usize, products: &Lanes| {
            let (near, path) = (nearness.of(products), paths[at]);
            if beam == 1 {
                return sent[best_lane(&near, children.len())].push(path);
            }
            for (child, share) in shares(&near, children.len()) {
                sent[child].push(Path { row: path.row, weight: path.weight * share });
            }
        };
        let wanted: usize = self.ids.iter().map(|&row| entries.row(row).0.len()).sum();
        if marks::pays(paths.len(), wanted, self.tree.words_of(node)) {
            for (at, &row) in self.ids.iter().enumerate() {
                send(at, &marks::products(self.tree, node, entries.row(row), &mut self.hits));
            }
        } else {
            self.slot_of.resize(self.projector.dimensions, 0);
            let scratch = (&mut self.slot_of[..], &mut self.table, &mut self.used);
            unpack(self.tree, node, entries, &self.ids, wanted, scratch);
            let table = Table { slot_of: &self.slot_of, lanes: &self.table };
            similarities(&table, entries, &self.ids, send);
            for &feature in &self.used {
                self.slot_of[feature as usize] = 0;
            }
        }
        let sent = self.sent.iter_mut().enumerate().filter(|(_, paths)| !paths.is_empty());
        for (at, paths) in sent {
            match self.tree.child(children.start + at) {
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

fn stored_nearness(tree: &Tree, children: std::ops::Range<usize>) -> Nearness {
    let lanes = |stored: &[f32]| {
        let mut lanes = Lanes::ZERO;
        lanes.0[..stored.len()].copy_from_slice(stored);
        lanes
    };
    Nearness {
        scales: lanes(&tree.scales[children.clone()]),
        biases: (!tree.biases.is_empty()).then(|| lanes(&tree.biases[children])),
    }
}

/// Unpacks a node's centroids, as far as the rows have their features, of which they have `wanted`,
/// into `table`, maps the features in `slot_of` and lists those mapped in `used`.
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
    let few = wanted < tree.words_of(node);
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
        // A feature beyond the model's is a damaged file that was not verified.
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

/// Puts a feature's stored values into the lanes of the children that it touches.
#[inline(always)]
pub(super) fn fill(lanes: &mut Lanes, touches: u16, values: &[u8], precision: Precision) {
    let mut bits = u32::from(touches);
    let mut next = || {
        let lane = bits.trailing_zeros() as usize % LANES;
        bits &= bits.wrapping_sub(1);
        lane
    };
    match precision {
        Precision::Byte => {
            values.iter().for_each(|&value| lanes.0[next()] = f32::from(value as i8));
        }
        Precision::Half => values.chunks_exact(2).for_each(|pair| {
            lanes.0[next()] = half::f16::from_le_bytes([pair[0], pair[1]]).to_f32();
        }),
    }
}

/// The children worth following, with their shares of the row's weight, which add up to 1.
fn shares(near: &Lanes, count: usize) -> impl Iterator<Item = (usize, f32)> {
    let best = best_lane(near, count);
    let near = &near.0[..count];
    let mean = near.iter().sum::<f32>() / count as f32;
    let variance =
        near.iter().map(|value| (value - mean) * (value - mean)).sum::<f32>() / count as f32;
    let mut weights = [0.0f32; LANES];
    weights[best] = 1.0;
    if variance > 0.0 {
        let slope = SHARPNESS / variance.sqrt();
        for (weight, value) in weights.iter_mut().zip(near) {
            let exponent = slope * (value - near[best]);
            // Further away than this it cannot reach the least share, and does not count.
            if exponent > -2.5 {
                *weight = libm::expf(exponent);
            }
        }
    }
    let total: f32 = weights.iter().sum();
    let mut kept = 0.0;
    for weight in &mut weights {
        if *weight < LEAST_SHARE * total {
            *weight = 0.0;
        }
        kept += *weight;
    }
    weights
        .into_iter()
        .enumerate()
        .filter(|&(_, weight)| weight > 0.0)
        .map(move |(at, weight)| (at, weight / kept))
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
    // The paths of crowded rows: row, weight and a number that tells them apart.
    let crowded = |row: u32| held[row as usize] as usize > beam;
    let mut paths: Vec<(u32, f32, u64)> = Vec::new();
    for stop in level.iter() {
        let crowded = stop.paths.iter().filter(|path| crowded(path.row));
        paths.extend(crowded.map(|path| (path.row, path.weight, u64::from(stop.node))));
    }
    let finished = visits.iter().filter(|visit| crowded(visit.row));
    paths.extend(finished.map(|visit| (visit.row, visit.weight, 1 << 32 | u64::from(visit.leaf))));
    paths.sort_unstable_by(|left, right| {
        left.0.cmp(&right.0).then(right.1.total_cmp(&left.1)).then(left.2.cmp(&right.2))
    });
    // For each crowded row, its lightest path that is kept and what the kept ones weigh.
    let mut limits = vec![None; rows];
    for row in paths.chunk_by(|left, right| left.0 == right.0) {
        let kept = &row[..beam];
        let weight: f32 = kept.iter().map(|path| path.1).sum();
        limits[row[0].0 as usize] = Some((kept[beam - 1].1, kept[beam - 1].2, weight));
    }
    let keep = |row: u32, weight: &mut f32, place: u64| match limits[row as usize] {
        None => true,
        Some((least, last, total)) => {
            let kept = *weight > least || (*weight == least && place <= last);
            *weight /= total;
            kept
        }
    };
    for stop in level.iter_mut() {
        let place = u64::from(stop.node);
        stop.paths.retain_mut(|path| keep(path.row, &mut path.weight, place));
    }
    level.retain(|stop| !stop.paths.is_empty());
    visits.retain_mut(|visit| keep(visit.row, &mut visit.weight, 1 << 32 | u64::from(visit.leaf)));
}
