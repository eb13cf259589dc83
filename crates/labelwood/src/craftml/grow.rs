//! Growing one tree.
//!
//! A node clusters a sample of its instances by their labels, takes the centroid of each cluster's
//! features, and sends every instance to the child with the nearest centroid. Centroids are used in
//! the very form in which they are stored, so that an instance finds the same way in prediction.

use super::params::{Metric, Params, Precision};
use super::project::{OwnedEntries, Projector};
use super::tree::{Builder, Child, NewNode, Tree};
use crate::cluster::lanes::{Entries, LANES, Lanes, Table, best_lane, similarities};
use crate::cluster::{self, NOWHERE};
use crate::random::{Stream, derive};
use crate::run::{Cancelled, Run};
use crate::sparse::LabelRowsView;
use rayon::prelude::*;
use std::sync::Mutex;

/// Nodes at this depth become leaves, so that no data can exhaust the stack.
const MAX_DEPTH: usize = 200;
/// The children of nodes with at least this many instances grow in parallel.
const PARALLEL: usize = 1024;

/// The training rows, prepared once for all trees.
pub(super) struct Instances<'a> {
    /// Weighted features of length 1, not yet projected.
    pub features: OwnedEntries,
    /// Labels as vectors of length 1, not yet projected.
    pub label_vectors: OwnedEntries,
    /// Labels as given.
    pub labels: LabelRowsView<'a>,
    /// Equal rows of features have equal numbers.
    pub feature_hashes: Vec<u64>,
    /// Equal sets of labels have equal numbers.
    pub label_hashes: Vec<u64>,
}

/// The place, below a node's or tree's seed, of its feature projection.
pub(super) const FEATURES: u64 = u64::MAX;
/// The place, below a node's or tree's seed, of its label projection.
const LABELS: u64 = u64::MAX - 1;

/// Everything that the nodes of one tree share.
pub(super) struct Grower<'a> {
    params: &'a Params,
    run: &'a Run,
    instances: &'a Instances<'a>,
    feature_projector: Projector,
    label_projector: Projector,
    /// The features of all instances, unless each node projects its own.
    features: Option<Projected<'a>>,
    /// The labels of all instances, unless each node projects its own.
    label_vectors: Option<Projected<'a>>,
    scratch: Mutex<Vec<Scratch>>,
}

enum Projected<'a> {
    AsGiven(Entries<'a>),
    Own(OwnedEntries),
}

impl Projected<'_> {
    fn view(&self) -> Entries<'_> {
        match self {
            Projected::AsGiven(entries) => *entries,
            Projected::Own(entries) => entries.view(),
        }
    }
}

/// Memory that nodes use one after the other.
struct Scratch {
    clustering: cluster::Workspace,
    /// Positions in the node's order of the sampled instances.
    sample: Vec<u32>,
    /// The sampled rows of the label vectors.
    label_rows: Vec<u32>,
    /// The cluster of each sampled instance.
    clusters: Vec<u8>,
    /// One bit for each feature that the sample has; all 0 between nodes.
    marks: Vec<u64>,
    /// The slot of each feature that the sample has, else 0; all 0 between nodes.
    slot_of: Vec<u32>,
    /// The features that the sample has, increasing.
    features: Vec<u32>,
    /// The centroids by slot.
    table: Vec<Lanes>,
    /// The lane that each instance goes to.
    chosen: Vec<u8>,
    reordered: Vec<u32>,
    labels: Vec<u32>,
    magnitudes: [Vec<f32>; LANES],
}

impl Scratch {
    fn new(features: usize, labels: usize) -> Self {
        Scratch {
            clustering: cluster::Workspace::new(labels),
            sample: Vec::new(),
            label_rows: Vec::new(),
            clusters: Vec::new(),
            marks: vec![0; features.div_ceil(64)],
            slot_of: vec![0; features],
            features: Vec::new(),
            table: Vec::new(),
            chosen: Vec::new(),
            reordered: Vec::new(),
            labels: Vec::new(),
            magnitudes: Default::default(),
        }
    }
}

/// How a node divides its instances; the centroids are in the scratch memory.
struct Split {
    /// How many instances each child has, in the order of the lanes; none is empty.
    sizes: Vec<usize>,
    /// The lane of each child.
    lanes: Vec<usize>,
    nearness: Nearness,
}

/// What turns the stored products of a row into nearness.
pub(super) struct Nearness {
    pub scales: Lanes,
    /// For the Euclidean metric only.
    pub biases: Option<Lanes>,
}

impl Nearness {
    /// The nearness of a row to each centroid.
    #[inline(always)]
    pub fn of(&self, products: &Lanes) -> Lanes {
        let mut near = *products;
        near.scale(&self.scales);
        if let Some(biases) = &self.biases {
            for lane in 0..LANES {
                near.0[lane] += biases.0[lane];
            }
        }
        near
    }
}

impl<'a> Grower<'a> {
    /// Prepares to grow the tree with the given seed: projects the instances.
    pub fn new(
        params: &'a Params,
        run: &'a Run,
        instances: &'a Instances<'a>,
        features: usize,
        seed: u64,
    ) -> Self {
        let feature_projector =
            Projector::new(params.feature_projection, features, params.feature_dimensions);
        let label_projector = Projector::new(
            params.label_projection,
            instances.labels.columns(),
            params.label_dimensions,
        );
        let project = |projector: Projector, entries: &'a OwnedEntries, place| {
            if projector.is_identity() {
                return Projected::AsGiven(entries.view());
            }
            let rows = 0..instances.labels.len() as u32;
            Projected::Own(projector.project(entries.view(), rows, derive(seed, place)))
        };
        Grower {
            params,
            run,
            instances,
            feature_projector,
            label_projector,
            features: (!params.diversity.features_differ())
                .then(|| project(feature_projector, &instances.features, FEATURES)),
            label_vectors: (!params.diversity.labels_differ())
                .then(|| project(label_projector, &instances.label_vectors, LABELS)),
            scratch: Mutex::default(),
        }
    }

    /// Grows the tree.
    pub fn grow(&self, seed: u64) -> Result<Tree, Cancelled> {
        let mut order: Vec<u32> = (0..self.instances.labels.len() as u32).collect();
        let mut builder = Builder::new(self.params.branches, self.params.precision);
        let mut scratch = self.take_scratch();
        self.grow_node(&mut order, seed, 0, &mut builder, &mut scratch)?;
        Ok(builder.finish())
    }

    fn take_scratch(&self) -> Scratch {
        let kept = self.scratch.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        kept.unwrap_or_else(|| {
            Scratch::new(self.feature_projector.dimensions, self.label_projector.dimensions)
        })
    }

    fn give_back(&self, scratch: Scratch) {
        self.scratch.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(scratch);
    }

    /// Grows the node of the instances in `order`, which it reorders, and says where it is.
    fn grow_node(
        &self,
        order: &mut [u32],
        seed: u64,
        depth: usize,
        builder: &mut Builder,
        scratch: &mut Scratch,
    ) -> Result<Child, Cancelled> {
        self.run.check()?;
        let split = if depth >= MAX_DEPTH || self.is_leaf(order) {
            None
        } else {
            self.split(order, seed, scratch)
        };
        let Some(split) = split else {
            return Ok(builder.push_leaf(self.instances.labels, order, &mut scratch.labels));
        };
        let node = builder.push_node(&NewNode {
            features: &scratch.features,
            table: &scratch.table,
            lanes: &split.lanes,
            scales: &split.nearness.scales,
            biases: split.nearness.biases.as_ref(),
        });
        let parallel = order.len() >= PARALLEL && self.run.threads() > 1;
        let mut rest = order;
        let parts = split.sizes.iter().enumerate().map(|(at, &size)| {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(size);
            rest = after;
            (derive(seed, at as u64), part)
        });
        if parallel {
            let parts: Vec<_> = parts.collect();
            let grown = parts.into_par_iter().map(|(seed, part)| {
                let mut scratch = self.take_scratch();
                let mut subtree = Builder::new(self.params.branches, self.params.precision);
                let root = self.grow_node(part, seed, depth + 1, &mut subtree, &mut scratch)?;
                self.give_back(scratch);
                Ok((subtree, root))
            });
            let grown = grown.collect::<Result<Vec<_>, Cancelled>>()?;
            for (at, (subtree, root)) in grown.into_iter().enumerate() {
                let child = builder.append(subtree, root);
                builder.set_child(node, at, child);
            }
        } else {
            for (at, (seed, part)) in parts.enumerate() {
                let child = self.grow_node(part, seed, depth + 1, builder, scratch)?;
                builder.set_child(node, at, child);
            }
        }
        Ok(Child::Node(node))
    }

    /// The paper's three stop conditions: few instances, equal labels, equal features.
    fn is_leaf(&self, order: &[u32]) -> bool {
        let equal = |hashes: &[u64]| {
            order.iter().all(|&instance| hashes[instance as usize] == hashes[order[0] as usize])
        };
        order.len() < self.params.leaf
            || equal(&self.instances.label_hashes)
            || equal(&self.instances.feature_hashes)
    }

    /// Learns how to divide the instances and reorders them by child; `None` when all of them
    /// would go to one child.
    fn split(&self, order: &mut [u32], seed: u64, scratch: &mut Scratch) -> Option<Split> {
        let mut random = Stream::new(seed);
        scratch.sample.clear();
        scratch.sample.extend(0..order.len() as u32);
        if order.len() > self.params.sample {
            random.sample_to_front(&mut scratch.sample, self.params.sample);
            scratch.sample.truncate(self.params.sample);
            scratch.sample.sort_unstable();
        }
        self.cluster(order, derive(seed, LABELS), &mut random, scratch);
        let own;
        let own_rows: Vec<u32>;
        let (features, rows): (Entries<'_>, &[u32]) = match &self.features {
            Some(shared) => (shared.view(), order),
            None => {
                let given = self.instances.features.view();
                let seed = derive(seed, FEATURES);
                own = self.feature_projector.project(given, order.iter().copied(), seed);
                own_rows = (0..order.len() as u32).collect();
                (own.view(), &own_rows)
            }
        };
        let (lanes, nearness) = self.centroids(features, rows, scratch);
        let table = Table { slot_of: &scratch.slot_of, lanes: &scratch.table };
        scratch.chosen.clear();
        similarities(&table, features, rows, |_, products| {
            scratch.chosen.push(best_lane(&nearness.of(products), lanes) as u8);
        });
        for &feature in &scratch.features {
            scratch.slot_of[feature as usize] = 0;
        }
        partition(order, lanes, nearness, scratch)
    }

    /// Clusters the sampled instances by their labels.
    fn cluster(&self, order: &[u32], seed: u64, random: &mut Stream, scratch: &mut Scratch) {
        let Scratch { clustering, sample, label_rows, clusters, .. } = scratch;
        let sampled = sample.iter().map(|&at| order[at as usize]);
        label_rows.clear();
        let own;
        let vectors = match &self.label_vectors {
            Some(shared) => {
                label_rows.extend(sampled);
                shared.view()
            }
            None => {
                label_rows.extend(0..sample.len() as u32);
                let given = self.instances.label_vectors.view();
                own = self.label_projector.project(given, sampled, seed);
                own.view()
            }
        };
        let params = cluster::Params {
            clusters: self.params.branches,
            starts: self.params.starts,
            passes: self.params.iterations,
            more_passes: self.params.more_iterations,
        };
        clustering.cluster(vectors, label_rows, params, random, clusters);
    }

    /// Puts the centroid of every cluster into the table, in its stored form, and maps its
    /// features. Returns how many lanes are in use and what turns products into nearness.
    fn centroids(
        &self,
        entries: Entries<'_>,
        rows: &[u32],
        scratch: &mut Scratch,
    ) -> (usize, Nearness) {
        let Scratch { sample, clusters, marks, slot_of, features, table, .. } = scratch;
        let mut sizes = [0usize; LANES];
        for &cluster in clusters.iter().filter(|&&cluster| cluster != NOWHERE) {
            sizes[cluster as usize] += 1;
        }
        // Clusters without members get no lane.
        let mut lane_of = [0usize; LANES];
        let mut members = [0usize; LANES];
        let mut lanes = 0;
        for cluster in (0..LANES).filter(|&cluster| sizes[cluster] > 0) {
            lane_of[cluster] = lanes;
            members[lanes] = sizes[cluster];
            lanes += 1;
        }
        for &at in sample.iter() {
            for &feature in entries.row(rows[at as usize]).0 {
                marks[feature as usize / 64] |= 1 << (feature % 64);
            }
        }
        features.clear();
        for (at, word) in marks.iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                let feature = at as u32 * 64 + bits.trailing_zeros();
                features.push(feature);
                slot_of[feature as usize] = features.len() as u32;
                bits &= bits - 1;
            }
        }
        table.clear();
        table.resize(features.len() + 1, Lanes::ZERO);
        for (&at, &cluster) in sample.iter().zip(clusters.iter()) {
            if cluster != NOWHERE {
                let lane = lane_of[cluster as usize] % LANES;
                let (columns, values) = entries.row(rows[at as usize]);
                for (&column, &value) in columns.iter().zip(values) {
                    table[slot_of[column as usize] as usize].0[lane] += value;
                }
            }
        }
        if let Some(keep) = self.params.keep.filter(|&keep| keep < 1.0) {
            prune(table, keep, self.params.keep_at_least, &mut scratch.magnitudes);
        }
        (lanes, store(table, &members, self.params))
    }
}

/// Sets all but the largest entries of each centroid to zero, sparing those that are as large as
/// the last one kept; `magnitudes` is scratch memory.
fn prune(table: &mut [Lanes], keep: f64, at_least: usize, magnitudes: &mut [Vec<f32>; LANES]) {
    magnitudes.iter_mut().for_each(Vec::clear);
    for row in table.iter() {
        for (lane, &value) in row.0.iter().enumerate() {
            if value != 0.0 {
                magnitudes[lane].push(value.abs());
            }
        }
    }
    let mut least = Lanes::ZERO;
    for (least, magnitudes) in least.0.iter_mut().zip(magnitudes) {
        let share = (keep * magnitudes.len() as f64).ceil() as usize;
        let kept = share.max(at_least);
        if kept < magnitudes.len() {
            *least =
                *magnitudes.select_nth_unstable_by(kept, |left, right| right.total_cmp(left)).1;
        }
    }
    for row in table.iter_mut() {
        for lane in 0..LANES {
            let value = row.0[lane];
            row.0[lane] = if value.abs() >= least.0[lane] { value } else { 0.0 };
        }
    }
}

/// Turns sums of features into centroids in the form in which they are stored: unit vectors for
/// the cosine, means for the Euclidean metric.
fn store(table: &mut [Lanes], members: &[usize; LANES], params: &Params) -> Nearness {
    let (mut squares, mut largest) = (Lanes::ZERO, Lanes::ZERO);
    for row in table.iter() {
        squares.add_squares(row);
        for lane in 0..LANES {
            largest.0[lane] = largest.0[lane].max(row.0[lane].abs());
        }
    }
    let (mut to_stored, mut scales) = (Lanes::ZERO, Lanes::ZERO);
    for lane in (0..LANES).filter(|&lane| squares.0[lane] > 0.0) {
        let length = match params.metric {
            Metric::Cosine => squares.0[lane].sqrt(),
            Metric::Euclidean => members[lane] as f32,
        };
        (to_stored.0[lane], scales.0[lane]) = match params.precision {
            Precision::Byte => (127.0 / largest.0[lane], largest.0[lane] / (127.0 * length)),
            Precision::Half => (1.0 / length, 1.0),
        };
    }
    for row in table.iter_mut() {
        row.scale(&to_stored);
        match params.precision {
            Precision::Byte => row.0.iter_mut().for_each(|value| *value = rounded(*value)),
            Precision::Half => row
                .0
                .iter_mut()
                .filter(|value| **value != 0.0)
                .for_each(|value| *value = half::f16::from_f32(*value).to_f32()),
        }
    }
    // |x - c|^2 = |x|^2 - 2 (x . c - |c|^2 / 2): the nearest has the largest x . c - |c|^2 / 2.
    let biases = (params.metric == Metric::Euclidean).then(|| {
        let mut squares = Lanes::ZERO;
        table.iter().for_each(|row| squares.add_squares(row));
        for lane in 0..LANES {
            squares.0[lane] *= -0.5 * scales.0[lane] * scales.0[lane];
        }
        squares
    });
    Nearness { scales, biases }
}

/// Rounds a number of small magnitude to the nearest whole number, with additions alone, which
/// every processor does in vectors.
#[inline(always)]
fn rounded(value: f32) -> f32 {
    const SHIFT: f32 = 12_582_912.0;
    (value + SHIFT) - SHIFT
}

/// Reorders the instances by the lane they chose; `None` when all chose the same.
fn partition(
    order: &mut [u32],
    lanes: usize,
    nearness: Nearness,
    scratch: &mut Scratch,
) -> Option<Split> {
    let mut sizes = [0usize; LANES];
    for &lane in &scratch.chosen {
        sizes[lane as usize] += 1;
    }
    let lanes: Vec<usize> = (0..lanes).filter(|&lane| sizes[lane] > 0).collect();
    if lanes.len() < 2 {
        return None;
    }
    let mut next = [0usize; LANES];
    for lane in 1..LANES {
        next[lane] = next[lane - 1] + sizes[lane - 1];
    }
    scratch.reordered.clear();
    scratch.reordered.resize(order.len(), 0);
    for (&instance, &lane) in order.iter().zip(&scratch.chosen) {
        scratch.reordered[next[lane as usize]] = instance;
        next[lane as usize] += 1;
    }
    order.copy_from_slice(&scratch.reordered);
    Some(Split { sizes: lanes.iter().map(|&lane| sizes[lane]).collect(), lanes, nearness })
}
