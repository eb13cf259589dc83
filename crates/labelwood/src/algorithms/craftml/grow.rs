//! Growing one tree.
//!
//! A node clusters a sample of its instances by their labels, takes the centroid of each cluster's
//! features, and sends every instance to the child with the nearest centroid. Centroids are used in
//! the very form in which they are stored, so that an instance finds the same way in prediction.
//!
//! Nodes wait in a list, not on the stack: [`Grower::grow_node`] takes one and puts its children on
//! the list. [`Grower::grow_subtree`] goes on until the list is empty, [`super::tasks`] hands the
//! children of large nodes to other threads.

use super::builder::{Builder, NewNode};
use super::centroids::Centroids;
use super::node_rows::{CompactRows, NodeRows, Renumbering};
use super::params::Params;
use super::project::Projector;
use super::tree::Child;
use crate::base::random::{Stream, derive};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, Entries, LabelRowsView, OwnedEntries};
use crate::learn::cluster;
use crate::learn::cluster::lanes::LANES;
use crate::learn::weighting::{FeatureWeights, WeightedRows};
use std::ops::Range;
use std::sync::Mutex;

/// Nodes at this depth of a tree over so many rows become leaves, even if that leaves many rows
/// together: features that do not tell rows apart must not cost depth. Trees over ordinary data
/// have less than half of it.
pub(super) fn depth_limit(rows: usize) -> usize {
    16 + 2 * rows.max(1).ilog2() as usize
}

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
    run: &'a Task,
    instances: &'a Instances<'a>,
    feature_projector: Projector,
    label_projector: Projector,
    /// The features of all instances, unless each node projects its own.
    features: Option<Projected<'a>>,
    /// The numbers of all columns of projected features, and of projected labels.
    feature_names: Vec<u32>,
    label_names: Vec<u32>,
    /// The seed of the projection of all labels, unless each node has its own.
    label_seed: Option<u64>,
    depth_limit: usize,
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
pub(super) struct Scratch {
    clustering: cluster::Workspace,
    renumbering: Renumbering,
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

/// A node that is not grown yet.
pub(super) struct Pending {
    /// Where its instances are in the order of its subtree's.
    pub range: Range<usize>,
    rows: PendingRows,
    seed: u64,
    depth: usize,
    /// Its parent in the builder of its subtree, and which of that one's children it is.
    pub place: Option<(u32, usize)>,
}

impl Pending {
    /// A node that becomes the root of a subtree with a builder and an order of its own.
    pub fn into_root(self) -> Pending {
        Pending { range: 0..self.range.len(), place: None, ..self }
    }
}

/// The rows of a node that is not grown yet.
enum PendingRows {
    /// None are needed: it is a leaf.
    Leaf,
    /// Its own copy.
    Own(NodeRows<'static>),
    /// All rows of the tree, of which no copy is made: it is the root.
    Root,
    /// Some rows of the tree, to be copied when its turn comes.
    Some,
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
        run: &'a Task,
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
            feature_names: (0..feature_projector.dimensions as u32).collect(),
            label_names: (0..label_projector.dimensions as u32).collect(),
            label_seed: (!params.diversity.labels_differ()).then(|| derive(seed, LABELS)),
            depth_limit: depth_limit(instances.labels.len()),
            scratch: Mutex::default(),
        }
    }

    /// The root of the whole tree, and the order of its instances.
    pub fn root(&self, seed: u64) -> (Pending, Vec<u32>) {
        let order: Vec<u32> = (0..self.instances.labels.len() as u32).collect();
        let rows = if self.is_leaf(&order) { PendingRows::Leaf } else { PendingRows::Root };
        (Pending { range: 0..order.len(), rows, seed, depth: 0, place: None }, order)
    }

    /// Grows what takes the place of a leaf at some depth, from the instances that are in it now:
    /// a leaf again, or nodes, with the very seeds that they would have had at first.
    pub fn regrow(
        &self,
        order: &mut [u32],
        seed: u64,
        depth: usize,
        builder: &mut Builder,
    ) -> Result<Child, Stopped> {
        let is_leaf = depth >= self.depth_limit || self.is_leaf(order);
        let rows = if is_leaf { PendingRows::Leaf } else { PendingRows::Some };
        let root = Pending { range: 0..order.len(), rows, seed, depth, place: None };
        self.grow_subtree(order, root, builder)
    }

    /// Grows a node and all below it.
    pub fn grow_subtree(
        &self,
        order: &mut [u32],
        root: Pending,
        builder: &mut Builder,
    ) -> Result<Child, Stopped> {
        let mut scratch = self.take_scratch();
        let mut pending = Vec::new();
        let grown = self.grow_node(order, root, builder, &mut pending, &mut scratch)?;
        while let Some(mut next) = pending.pop() {
            let place = next.place.take();
            let child = self.grow_node(order, next, builder, &mut pending, &mut scratch)?;
            if let Some((node, at)) = place {
                builder.set_child(node, at, child);
            }
        }
        self.give_back(scratch);
        Ok(grown)
    }

    /// Grows one node, reordering its instances, and says where it is. Its children are put on the
    /// list, the first one last.
    pub fn grow_node(
        &self,
        order: &mut [u32],
        node: Pending,
        builder: &mut Builder,
        pending: &mut Vec<Pending>,
        scratch: &mut Scratch,
    ) -> Result<Child, Stopped> {
        self.run.check()?;
        let Pending { range, rows, seed, depth, .. } = node;
        let order = &mut order[range.clone()];
        let is_root = matches!(rows, PendingRows::Root);
        let rows = match rows {
            PendingRows::Leaf => None,
            PendingRows::Own(rows) => Some(rows),
            PendingRows::Root => Some(self.root_rows(order, seed, scratch)),
            PendingRows::Some => Some(self.child_rows(None, order, order, seed, scratch)),
        };
        let split = rows.and_then(|rows| Some((self.split(order, &rows, seed, scratch)?, rows)));
        let Some((Split { sizes, lanes }, rows)) = split else {
            return Ok(builder.push_leaf(self.instances.labels, order, &mut scratch.labels));
        };
        let node = builder.push_node(&NewNode {
            features: &rows.features.names,
            table: &scratch.centroids.table,
            lanes: &lanes,
            scales: &scratch.centroids.nearness.scales,
            biases: scratch.centroids.nearness.biases.as_ref(),
        });
        let (first, mut start) = (pending.len(), 0);
        let sorted = std::mem::take(&mut scratch.sorted);
        for (at, size) in sizes.into_iter().enumerate() {
            let within = start..start + size;
            let (order, seed) = (&order[within.clone()], derive(seed, at as u64));
            let rows = if depth + 1 >= self.depth_limit || self.is_leaf(order) {
                PendingRows::Leaf
            } else if is_root {
                PendingRows::Some
            } else {
                let chosen = &sorted[within.clone()];
                PendingRows::Own(self.child_rows(Some(&rows), order, chosen, seed, scratch))
            };
            let range = range.start + within.start..range.start + within.end;
            let place = Some((node, at));
            pending.push(Pending { range, rows, seed, depth: depth + 1, place });
            start += size;
        }
        scratch.sorted = sorted;
        pending[first..].reverse();
        Ok(Child::Node(node))
    }

    pub fn take_scratch(&self) -> Scratch {
        let mut kept = self.scratch.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        kept.pop().unwrap_or_default()
    }

    pub fn give_back(&self, scratch: Scratch) {
        self.scratch.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(scratch);
    }

    /// The rows of the root.
    fn root_rows(&self, order: &[u32], seed: u64, scratch: &mut Scratch) -> NodeRows<'_> {
        let renumbering = &mut scratch.renumbering;
        NodeRows {
            features: match self.shared_features() {
                Some(shared) => shared,
                None => self.own_features(order, seed, renumbering),
            },
            labels: match self.label_seed {
                None => Some(self.own_labels(order, derive(seed, LABELS), renumbering)),
                Some(_) => self.shared_labels(),
            },
        }
    }

    /// The rows of any other node: some of its parent's or, without one, of the tree's, or
    /// projected anew. `chosen` says which they are there, `order` which instances they belong to.
    fn child_rows(
        &self,
        parent: Option<&NodeRows<'_>>,
        order: &[u32],
        chosen: &[u32],
        seed: u64,
        scratch: &mut Scratch,
    ) -> NodeRows<'static> {
        let renumbering = &mut scratch.renumbering;
        let features = match (parent, self.shared_features()) {
            (_, None) => self.own_features(order, seed, renumbering),
            (Some(parent), Some(_)) => parent.features.part(chosen, renumbering),
            (None, Some(shared)) => shared.part(order, renumbering),
        };
        let parent_labels = parent.and_then(|parent| parent.labels.as_ref());
        let labels = match (self.label_seed, parent_labels, self.shared_labels()) {
            (None, ..) => self.own_labels(order, derive(seed, LABELS), renumbering),
            (Some(_), Some(labels), _) => labels.part(chosen, renumbering),
            (Some(_), None, Some(shared)) => shared.part(order, renumbering),
            (Some(seed), None, None) => self.own_labels(order, seed, renumbering),
        };
        NodeRows { features, labels: Some(labels) }
    }

    /// The features of all instances, unless each node projects its own.
    fn shared_features(&self) -> Option<CompactRows<'_>> {
        let features = self.features.as_ref()?;
        Some(CompactRows::shared(features.view(), &self.feature_names))
    }

    /// The labels of all instances, unless they are projected.
    fn shared_labels(&self) -> Option<CompactRows<'_>> {
        let given = || CompactRows::shared(self.instances.label_vectors(), &self.label_names);
        self.label_projector.is_identity().then(given)
    }

    /// The features of a node that has its own projection.
    fn own_features(
        &self,
        order: &[u32],
        seed: u64,
        renumbering: &mut Renumbering,
    ) -> CompactRows<'static> {
        let given = self.instances.features.view();
        let seed = derive(seed, FEATURES);
        let projected = self.feature_projector.project(given, order.iter().copied(), seed);
        whole(&projected, &self.feature_names, renumbering)
    }

    /// The labels of a node, projected for it.
    fn own_labels(
        &self,
        order: &[u32],
        seed: u64,
        renumbering: &mut Renumbering,
    ) -> CompactRows<'static> {
        let given = self.instances.label_vectors();
        let projected = self.label_projector.project(given, order.iter().copied(), seed);
        whole(&projected, &self.label_names, renumbering)
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
        node: &NodeRows<'_>,
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
        let (labels, columns, rows) = match &node.labels {
            Some(labels) => (labels.view(), labels.names.len(), sample.as_slice()),
            None => {
                projected = self.project_sample(order, sample);
                all = (0..sample.len() as u32).collect::<Vec<u32>>();
                (projected.view(), self.label_projector.dimensions, all.as_slice())
            }
        };
        clustering.cluster(labels, columns, rows, params, &mut random, clusters);
        let features = &node.features;
        let columns = features.names.len();
        centroids.divide(features.view(), columns, sample, clusters, self.params, chosen);
        partition(order, scratch)
    }
}

/// All of these rows, with the columns that occur in them.
fn whole(
    rows: &OwnedEntries,
    names: &[u32],
    renumbering: &mut Renumbering,
) -> CompactRows<'static> {
    let all: Vec<u32> = (0..rows.offsets.len() as u32 - 1).collect();
    CompactRows::shared(rows.view(), names).part(&all, renumbering)
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
