//! Growing one tree.
//!
//! A node clusters a sample of its instances by their labels, takes the centroid of each cluster's
//! features, and sends every instance to the child with the nearest centroid. Centroids are used in
//! the very form in which they are stored, so that an instance finds the same way in prediction.

use super::builder::{Builder, NewNode};
use super::centroids::Centroids;
use super::join::{Grown, Joint};
use super::params::Params;
use super::plot::{Plot, Renaming, Strip};
use super::project::Projector;
use super::tree::{Child, Tree};
use crate::cluster;
use crate::cluster::lanes::LANES;
use crate::random::{Stream, derive};
use crate::run::{Cancelled, Run};
use crate::sparse::{CsrView, Entries, LabelRowsView, OwnedEntries};
use crate::weighting::{FeatureWeights, WeightedRows};
use rayon::prelude::*;
use std::sync::Mutex;

/// Nodes at this depth become leaves, so that no data can exhaust the stack.
const MAX_DEPTH: usize = 200;
/// The children of nodes with at least this many instances grow in parallel.
const PARALLEL: usize = 1024;

/// The training rows, prepared once for all trees.
pub(super) struct Instances<'a> {
    /// Weighted features of length 1, not yet projected.
    pub features: WeightedRows<'a>,
    /// What each label of a row counts, so that the row has length 1.
    pub label_values: Vec<f32>,
    /// Labels as given.
    pub labels: LabelRowsView<'a>,
}

impl<'a> Instances<'a> {
    /// Weighs the features, and scales both features and labels.
    pub fn new(features: CsrView<'a>, labels: LabelRowsView<'a>, weights: &FeatureWeights) -> Self {
        let mut label_values = Vec::with_capacity(labels.entries());
        for ends in labels.offsets().windows(2) {
            let count = (ends[1] - ends[0]) as usize;
            let value = (1.0 / (count as f64).sqrt()) as f32;
            label_values.extend(std::iter::repeat_n(value, count));
        }
        Instances { features: weights.prepare(features), label_values, labels }
    }

    /// Labels as vectors of length 1, not yet projected.
    fn label_vectors(&self) -> Entries<'_> {
        let (offsets, columns) = (self.labels.offsets(), self.labels.indices());
        Entries { offsets, columns, values: &self.label_values }
    }
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
    /// The seed of the projection of all labels, unless each node has its own.
    label_seed: Option<u64>,
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
#[derive(Default)]
struct Scratch {
    clustering: cluster::Workspace,
    renaming: Renaming,
    centroids: Centroids,
    /// The sampled rows.
    sample: Vec<u32>,
    /// The cluster of each sampled row.
    clusters: Vec<u8>,
    /// The lane that each row goes to.
    chosen: Vec<u8>,
    /// The rows in the order of their lanes.
    sorted: Vec<u32>,
    instances: Vec<u32>,
    labels: Vec<u32>,
}

/// What a child grows from.
struct Part<'a> {
    order: &'a mut [u32],
    land: Land,
    seed: u64,
}

/// The rows of a child.
enum Land {
    /// None are needed: it is a leaf.
    Leaf,
    /// Its own copy.
    Plot(Plot<'static>),
    /// Rows of its parent, to be copied when its turn comes.
    Rows(Vec<u32>),
}

/// How a node divides its rows; the centroids and the sorted rows are in the scratch memory.
struct Split {
    /// How many rows each child has, in the order of the lanes; none is empty.
    sizes: Vec<usize>,
    /// The lane of each child.
    lanes: Vec<usize>,
}

impl<'a> Grower<'a> {
    /// Prepares to grow the tree with the given seed: projects the features.
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
        let project_features = || {
            let (given, rows) = (instances.features.view(), 0..instances.labels.len() as u32);
            if feature_projector.is_identity() {
                return Projected::AsGiven(given);
            }
            Projected::Own(feature_projector.project(given, rows, derive(seed, FEATURES)))
        };
        Grower {
            params,
            run,
            instances,
            feature_projector,
            label_projector,
            features: (!params.diversity.features_differ()).then(project_features),
            label_seed: (!params.diversity.labels_differ()).then(|| derive(seed, LABELS)),
            scratch: Mutex::default(),
        }
    }

    /// Grows the tree.
    pub fn grow(&self, seed: u64) -> Result<Tree, Cancelled> {
        let mut order: Vec<u32> = (0..self.instances.labels.len() as u32).collect();
        let mut builder = Builder::new(self.params.branches, self.params.precision);
        let mut scratch = self.take_scratch();
        let plot = (!self.is_leaf(&order)).then(|| self.root(&order, seed, &mut scratch));
        self.grow_node(&mut order, plot, seed, 0, &mut builder, &mut scratch)?;
        Ok(builder.finish())
    }

    /// Grows what takes the place of a leaf at some depth, from the instances that are in it now:
    /// a leaf again, or nodes, with the very seeds that they would have had at first. `all` is what
    /// [`Grower::all`] gives.
    pub fn regrow(
        &self,
        all: &Plot<'_>,
        order: &mut [u32],
        seed: u64,
        depth: usize,
        builder: &mut Builder,
    ) -> Result<Child, Cancelled> {
        let mut scratch = self.take_scratch();
        let grows = depth < MAX_DEPTH && !self.is_leaf(order);
        let plot = grows.then(|| {
            let rows = order.to_vec();
            self.plot(all, order, &rows, seed, &mut scratch)
        });
        let grown = self.grow_node(order, plot, seed, depth, builder, &mut scratch);
        self.give_back(scratch);
        grown
    }

    /// All rows as far as the nodes of the tree share them.
    pub fn all(&self) -> Plot<'_> {
        let none = Entries { offsets: &[0], columns: &[], values: &[] };
        let features = self.features.as_ref().map_or(none, Projected::view);
        let given = self.instances.label_vectors();
        let labels = match self.label_seed {
            None => Strip::shared(none, 0),
            Some(_) if self.label_projector.is_identity() => {
                Strip::shared(given, self.label_projector.dimensions)
            }
            Some(seed) => {
                let rows = 0..self.instances.labels.len() as u32;
                let projected = self.label_projector.project(given, rows, seed);
                Strip::own(projected, self.label_projector.dimensions)
            }
        };
        Plot {
            features: Strip::shared(features, self.feature_projector.dimensions),
            labels: Some(labels),
        }
    }

    fn take_scratch(&self) -> Scratch {
        let mut kept = self.scratch.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        kept.pop().unwrap_or_default()
    }

    fn give_back(&self, scratch: Scratch) {
        self.scratch.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(scratch);
    }

    /// Grows the node of the instances in `order`, which it reorders, and says where it is;
    /// without a plot, it is a leaf.
    fn grow_node(
        &self,
        order: &mut [u32],
        plot: Option<Plot<'_>>,
        seed: u64,
        depth: usize,
        builder: &mut Builder,
        scratch: &mut Scratch,
    ) -> Result<Child, Cancelled> {
        self.run.check()?;
        let split = plot.and_then(|plot| Some((self.split(order, &plot, seed, scratch)?, plot)));
        let Some((split, plot)) = split else {
            return Ok(builder.push_leaf(self.instances.labels, order, &mut scratch.labels));
        };
        let node = builder.push_node(&NewNode {
            features: &plot.features.names,
            table: &scratch.centroids.table,
            lanes: &split.lanes,
            scales: &scratch.centroids.nearness.scales,
            biases: scratch.centroids.nearness.biases.as_ref(),
        });
        let rows = order.len();
        let parallel = rows >= PARALLEL && self.run.threads() > 1;
        // Rows that all trees share stay, so that copies can wait until they are needed.
        let waits = plot.is_shared();
        let parts = self.parts(order, &plot, waits, split, seed, depth, scratch);
        let parent = waits.then_some(plot);
        let grow = |part: Part<'_>, builder: &mut Builder, scratch: &mut Scratch| {
            let Part { order, land, seed } = part;
            let plot = match (land, &parent) {
                (Land::Plot(plot), _) => Some(plot),
                (Land::Rows(rows), Some(parent)) => {
                    Some(self.plot(parent, order, &rows, seed, scratch))
                }
                _ => None,
            };
            self.grow_node(order, plot, seed, depth + 1, builder, scratch)
        };
        if parallel {
            // It serves one of the children, instead of lying idle while they grow.
            self.give_back(std::mem::take(scratch));
            let joint = Mutex::new(Joint::new(builder, node, rows));
            parts.into_par_iter().enumerate().try_for_each(|(at, part)| {
                let mut scratch = self.take_scratch();
                let mut subtree = Builder::new(self.params.branches, self.params.precision);
                let rows = part.order.len();
                let root = grow(part, &mut subtree, &mut scratch)?;
                self.give_back(scratch);
                let mut joint = joint.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                joint.add(at, Grown { subtree, root, rows });
                Ok(())
            })?;
            *scratch = self.take_scratch();
        } else {
            let (before, mut grown) = (builder.lengths(), 0);
            for (at, part) in parts.into_iter().enumerate() {
                grown += part.order.len();
                let child = grow(part, builder, scratch)?;
                builder.set_child(node, at, child);
                if rows >= PARALLEL {
                    builder.reserve_rest(before, grown as f64 / rows as f64);
                }
            }
        }
        Ok(Child::Node(node))
    }

    /// What the children of a node grow from; with `waits`, their rows are only listed.
    #[expect(clippy::too_many_arguments, reason = "all that is known of a node")]
    fn parts<'o>(
        &self,
        order: &'o mut [u32],
        plot: &Plot<'_>,
        waits: bool,
        split: Split,
        seed: u64,
        depth: usize,
        scratch: &mut Scratch,
    ) -> Vec<Part<'o>> {
        let sorted = std::mem::take(&mut scratch.sorted);
        let (mut order, mut rows) = (order, sorted.as_slice());
        let part = |(at, size): (usize, usize)| {
            let (part, after) = std::mem::take(&mut order).split_at_mut(size);
            let (part_rows, rows_after) = rows.split_at(size);
            (order, rows) = (after, rows_after);
            let seed = derive(seed, at as u64);
            let land = if depth + 1 >= MAX_DEPTH || self.is_leaf(part) {
                Land::Leaf
            } else if waits {
                Land::Rows(part_rows.to_vec())
            } else {
                Land::Plot(self.plot(plot, part, part_rows, seed, scratch))
            };
            Part { order: part, land, seed }
        };
        let parts = split.sizes.into_iter().enumerate().map(part).collect();
        scratch.sorted = sorted;
        parts
    }

    /// The rows of a child: some of its parent's, or projected anew.
    fn plot(
        &self,
        parent: &Plot<'_>,
        order: &[u32],
        rows: &[u32],
        seed: u64,
        scratch: &mut Scratch,
    ) -> Plot<'static> {
        let renaming = &mut scratch.renaming;
        Plot {
            features: match self.features {
                Some(_) => parent.features.part(rows, renaming),
                None => self.own_features(order, seed, renaming),
            },
            labels: Some(match (self.label_seed, &parent.labels) {
                (Some(_), Some(labels)) => labels.part(rows, renaming),
                (Some(shared), None) => self.own_labels(order, shared, renaming),
                (None, _) => self.own_labels(order, derive(seed, LABELS), renaming),
            }),
        }
    }

    /// The rows of the root.
    fn root(&self, order: &[u32], seed: u64, scratch: &mut Scratch) -> Plot<'_> {
        let renaming = &mut scratch.renaming;
        Plot {
            features: match &self.features {
                Some(shared) => Strip::shared(shared.view(), self.feature_projector.dimensions),
                None => self.own_features(order, seed, renaming),
            },
            labels: match self.label_seed {
                None => Some(self.own_labels(order, derive(seed, LABELS), renaming)),
                Some(_) => self.label_projector.is_identity().then(|| {
                    let given = self.instances.label_vectors();
                    Strip::shared(given, self.label_projector.dimensions)
                }),
            },
        }
    }

    /// The features of a node that has its own projection.
    fn own_features(&self, order: &[u32], seed: u64, renaming: &mut Renaming) -> Strip<'static> {
        let given = self.instances.features.view();
        own(self.feature_projector, given, order, derive(seed, FEATURES), renaming)
    }

    /// The labels of a node, projected for it.
    fn own_labels(&self, order: &[u32], seed: u64, renaming: &mut Renaming) -> Strip<'static> {
        own(self.label_projector, self.instances.label_vectors(), order, seed, renaming)
    }

    /// The labels of some of a root's rows, by the projection that all nodes share.
    fn project_sample(&self, order: &[u32], sample: &[u32]) -> OwnedEntries {
        let seed = self.label_seed.expect("only roots with a shared projection wait for it");
        let instances = sample.iter().map(|&row| order[row as usize]);
        self.label_projector.project(self.instances.label_vectors(), instances, seed)
    }

    /// The paper's three stop conditions: few instances, equal labels, equal features.
    fn is_leaf(&self, order: &[u32]) -> bool {
        let Instances { features, labels, .. } = self.instances;
        let Some(&first) = order.first() else { return true };
        // Nearly always the second row tells whether all are equal.
        order.len() < self.params.leaf
            || order.iter().all(|&row| labels.row(row as usize) == labels.row(first as usize))
            || order.iter().all(|&row| features.given(row) == features.given(first))
    }

    /// Learns how to divide the rows and reorders the instances by child; `None` when all of them
    /// would go to one child.
    fn split(
        &self,
        order: &mut [u32],
        plot: &Plot<'_>,
        seed: u64,
        scratch: &mut Scratch,
    ) -> Option<Split> {
        let Scratch { clustering, centroids, sample, clusters, chosen, .. } = scratch;
        let mut random = Stream::new(seed);
        sample.clear();
        sample.extend(0..order.len() as u32);
        if order.len() > self.params.sample {
            random.sample_to_front(sample, self.params.sample);
            sample.truncate(self.params.sample);
            sample.sort_unstable();
        }
        let params = cluster::Params {
            clusters: self.params.branches,
            starts: self.params.starts,
            passes: self.params.iterations,
            more_passes: self.params.more_iterations,
        };
        let (projected, all);
        let (labels, columns, rows) = match &plot.labels {
            Some(labels) => (labels.view(), labels.names.len(), sample.as_slice()),
            None => {
                projected = self.project_sample(order, sample);
                all = (0..sample.len() as u32).collect::<Vec<u32>>();
                (projected.view(), self.label_projector.dimensions, all.as_slice())
            }
        };
        clustering.cluster(labels, columns, rows, params, &mut random, clusters);
        let features = &plot.features;
        let columns = features.names.len();
        centroids.divide(features.view(), columns, sample, clusters, self.params, chosen);
        partition(order, scratch)
    }
}

/// The rows of a node with a projection of its own.
fn own(
    projector: Projector,
    given: Entries<'_>,
    order: &[u32],
    seed: u64,
    renaming: &mut Renaming,
) -> Strip<'static> {
    let projected = projector.project(given, order.iter().copied(), seed);
    let rows: Vec<u32> = (0..order.len() as u32).collect();
    Strip::shared(projected.view(), projector.dimensions).part(&rows, renaming)
}

/// Reorders the instances by the lane they chose; `None` when all chose the same.
fn partition(order: &mut [u32], scratch: &mut Scratch) -> Option<Split> {
    let Scratch { chosen, sorted, instances, .. } = scratch;
    let mut sizes = [0usize; LANES];
    for &lane in chosen.iter() {
        sizes[lane as usize] += 1;
    }
    let lanes: Vec<usize> = (0..LANES).filter(|&lane| sizes[lane] > 0).collect();
    if lanes.len() < 2 {
        return None;
    }
    let mut next = [0usize; LANES];
    for lane in 1..LANES {
        next[lane] = next[lane - 1] + sizes[lane - 1];
    }
    sorted.clear();
    sorted.resize(order.len(), 0);
    for (row, &lane) in chosen.iter().enumerate() {
        sorted[next[lane as usize]] = row as u32;
        next[lane as usize] += 1;
    }
    instances.clear();
    instances.extend(sorted.iter().map(|&row| order[row as usize]));
    order.copy_from_slice(instances);
    Some(Split { sizes: lanes.iter().map(|&lane| sizes[lane]).collect(), lanes })
}
