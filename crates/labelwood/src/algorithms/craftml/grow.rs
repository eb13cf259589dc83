//! Growing one tree.
//!
//! A node clusters a sample of its instances by their labels, takes the centroid of each cluster's
//! features, and sends every instance to the child with the nearest centroid. Distances are taken to
//! the centroids as they are stored, rounding included, so that prediction routes an instance alike.
//!
//! Growing does not recurse, so that no tree is too deep for the stack: [`Grower::grow_node`] grows
//! one [`PendingNode`] and appends its children to a list. [`Grower::grow_subtree`] works until the
//! list is empty; [`super::tasks`] hands the children of large nodes to other threads.

use super::builder::{Builder, NewNode};
use super::centroids::Centroids;
use super::node_rows::{CompactRows, NodeRows, Renumbering};
use super::params::Params;
use super::project::Projector;
use super::tree::Child;
use crate::base::random::{Stream, derive};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{Entries, LabelRowsView, OwnedEntries};
use crate::data::DatasetView;
use crate::learn::cluster;
use crate::learn::cluster::lanes::LANES;
use crate::learn::weighting::{FeatureWeights, WeightedRows};
use std::ops::Range;
use std::sync::Mutex;

/// The depth at which every node of a tree over `rows` rows becomes a leaf, however many rows it has.
/// It bounds the depth where features hardly tell rows apart; ordinary data needs less than half.
pub(super) fn depth_limit(rows: usize) -> usize {
    16 + 2 * rows.max(1).ilog2() as usize
}

/// The training rows, prepared once for all trees.
pub(super) struct Instances<'a> {
    /// How many features there are.
    pub columns: usize,
    /// Weighted features of length 1, not yet projected.
    pub features: WeightedRows<'a>,
    /// The value of each label entry, which gives its row length 1.
    pub label_values: Vec<f32>,
    /// Labels as given.
    pub labels: LabelRowsView<'a>,
}

impl<'a> Instances<'a> {
    /// Weights the features, and scales the rows of both features and labels to length 1.
    pub fn new(rows: DatasetView<'a>, weights: &FeatureWeights) -> Self {
        let DatasetView { features, labels, .. } = rows;
        assert_eq!(features.len(), labels.len(), "one row of labels for each row of features");
        let mut label_values = Vec::with_capacity(labels.entries());
        for ends in labels.offsets().windows(2) {
            let count = (ends[1] - ends[0]) as usize;
            let value = (1.0 / (count as f64).sqrt()) as f32;
            label_values.extend(std::iter::repeat_n(value, count));
        }
        let (columns, features) = (features.columns(), weights.prepare(features));
        Instances { columns, features, label_values, labels }
    }

    /// Label rows of length 1, not yet projected.
    fn label_vectors(&self) -> Entries<'_> {
        let (offsets, columns) = (self.labels.offsets(), self.labels.indices());
        Entries { offsets, columns, values: &self.label_values }
    }
}

/// Derives the seed of the feature projection from that of a tree or node.
pub(super) const FEATURE_PROJECTION: u64 = u64::MAX;
/// Derives the seed of the label projection from that of a tree or node.
const LABEL_PROJECTION: u64 = u64::MAX - 1;

/// Grows the nodes of one tree; shared by all threads that do.
pub(super) struct Grower<'a> {
    params: &'a Params,
    task: &'a Task,
    instances: &'a Instances<'a>,
    feature_projector: Projector,
    label_projector: Projector,
    /// The projected features of all instances; `None` if each node has its own projection.
    features: Option<Projected<'a>>,
    /// All columns of projected features.
    feature_columns: Vec<u32>,
    /// All columns of projected labels.
    label_columns: Vec<u32>,
    /// The seed of the label projection; `None` if each node has its own.
    label_seed: Option<u64>,
    depth_limit: usize,
    scratch: Mutex<Vec<Scratch>>,
}

enum Projected<'a> {
    /// The projection is the identity: the rows are borrowed.
    Borrowed(Entries<'a>),
    Owned(OwnedEntries),
}

impl Projected<'_> {
    fn view(&self) -> Entries<'_> {
        match self {
            Projected::Borrowed(entries) => *entries,
            Projected::Owned(entries) => entries.view(),
        }
    }
}

/// Memory that is reused from node to node.
#[derive(Default)]
pub(super) struct Scratch {
    clustering: cluster::Workspace,
    renumbering: Renumbering,
    centroids: Centroids,
    /// The sampled rows of the node.
    sample: Vec<u32>,
    /// The cluster of each sampled row.
    clusters: Vec<u8>,
    /// The lane of the centroid nearest to each row of the node.
    row_lanes: Vec<u8>,
    /// The rows of the node, sorted by lane.
    sorted_rows: Vec<u32>,
    /// The instances of `sorted_rows`.
    sorted_instances: Vec<u32>,
    /// The labels of a leaf.
    labels: Vec<u32>,
}

/// A node that has not been grown.
pub(super) struct PendingNode {
    /// Where its instances are among those of the subtree that is being grown.
    pub range: Range<usize>,
    rows: PendingRows,
    seed: u64,
    depth: usize,
    /// The number of its parent in the subtree's builder, and which of the parent's children it is.
    pub parent: Option<(u32, usize)>,
}

impl PendingNode {
    /// Makes it the root of a subtree with a builder and instances of its own.
    pub fn into_root(self) -> PendingNode {
        PendingNode { range: 0..self.range.len(), parent: None, ..self }
    }
}

/// Where the rows of a pending node come from.
enum PendingRows {
    /// The node is a leaf and needs no rows.
    Leaf,
    /// Copied from the parent's.
    Copied(NodeRows<'static>),
    /// All rows of the tree, borrowed: the node is the root.
    All,
    /// Copied from the rows of the tree when the node is grown.
    CopyLater,
}

/// The children of a node; [`Scratch`] holds the centroids and the sorted rows.
struct Split {
    /// How many rows each child has; never 0.
    sizes: Vec<usize>,
    /// The lane of each child, increasing.
    lanes: Vec<usize>,
}

impl<'a> Grower<'a> {
    /// Prepares to grow the tree with the given seed. Projects the features of all instances, unless
    /// each node has its own projection.
    pub fn new(
        params: &'a Params,
        task: &'a Task,
        instances: &'a Instances<'a>,
        seed: u64,
    ) -> Self {
        let feature_projector =
            Projector::new(params.feature_projection, instances.columns, params.feature_dimensions);
        let label_projector = Projector::new(
            params.label_projection,
            instances.labels.columns(),
            params.label_dimensions,
        );
        let project_features = || {
            let (given, rows) = (instances.features.view(), 0..instances.labels.len() as u32);
            if feature_projector.is_identity() {
                return Projected::Borrowed(given);
            }
            Projected::Owned(feature_projector.project(
                given,
                rows,
                derive(seed, FEATURE_PROJECTION),
            ))
        };
        Grower {
            params,
            task,
            instances,
            feature_projector,
            label_projector,
            features: (!params.diversity.features_differ()).then(project_features),
            feature_columns: (0..feature_projector.dimensions as u32).collect(),
            label_columns: (0..label_projector.dimensions as u32).collect(),
            label_seed: (!params.diversity.labels_differ()).then(|| derive(seed, LABEL_PROJECTION)),
            depth_limit: depth_limit(instances.labels.len()),
            scratch: Mutex::default(),
        }
    }

    /// The root of the tree, and all instances.
    pub fn root(&self, seed: u64) -> (PendingNode, Vec<u32>) {
        let order: Vec<u32> = (0..self.instances.labels.len() as u32).collect();
        let rows = if self.is_leaf(&order) { PendingRows::Leaf } else { PendingRows::All };
        (PendingNode { range: 0..order.len(), rows, seed, depth: 0, parent: None }, order)
    }

    /// Grows the replacement of a leaf, at the leaf's depth and with its seed, from the instances that
    /// are in it now: a leaf again, or a subtree.
    pub fn regrow(
        &self,
        order: &mut [u32],
        seed: u64,
        depth: usize,
        builder: &mut Builder,
    ) -> Result<Child, Stopped> {
        let is_leaf = depth >= self.depth_limit || self.is_leaf(order);
        let rows = if is_leaf { PendingRows::Leaf } else { PendingRows::CopyLater };
        let root = PendingNode { range: 0..order.len(), rows, seed, depth, parent: None };
        self.grow_subtree(order, root, builder)
    }

    /// Grows a node and all its descendants.
    pub fn grow_subtree(
        &self,
        order: &mut [u32],
        root: PendingNode,
        builder: &mut Builder,
    ) -> Result<Child, Stopped> {
        let mut scratch = self.take_scratch();
        let mut pending = Vec::new();
        let grown = self.grow_node(order, root, builder, &mut pending, &mut scratch)?;
        while let Some(mut next) = pending.pop() {
            let parent = next.parent.take();
            let child = self.grow_node(order, next, builder, &mut pending, &mut scratch)?;
            if let Some((node, at)) = parent {
                builder.set_child(node, at, child);
            }
        }
        self.return_scratch(scratch);
        Ok(grown)
    }

    /// Grows one node: reorders its instances by child, appends it to the builder and its children,
    /// in reverse, to `pending`.
    pub fn grow_node(
        &self,
        order: &mut [u32],
        node: PendingNode,
        builder: &mut Builder,
        pending: &mut Vec<PendingNode>,
        scratch: &mut Scratch,
    ) -> Result<Child, Stopped> {
        self.task.check()?;
        let PendingNode { range, rows, seed, depth, .. } = node;
        let order = &mut order[range.clone()];
        let is_root = matches!(rows, PendingRows::All);
        let rows = match rows {
            PendingRows::Leaf => None,
            PendingRows::Copied(rows) => Some(rows),
            PendingRows::All => Some(self.root_rows(order, seed, scratch)),
            PendingRows::CopyLater => Some(self.child_rows(None, order, order, seed, scratch)),
        };
        let split = rows.and_then(|rows| Some((self.split(order, &rows, seed, scratch)?, rows)));
        let Some((Split { sizes, lanes }, rows)) = split else {
            return Ok(builder.push_leaf(self.instances.labels, order, &mut scratch.labels));
        };
        let node = builder.push_node(&NewNode {
            features: &rows.features.columns,
            table: &scratch.centroids.table,
            lanes: &lanes,
            scales: &scratch.centroids.nearness.scales,
            biases: scratch.centroids.nearness.biases.as_ref(),
        });
        let (first, mut start) = (pending.len(), 0);
        let sorted = std::mem::take(&mut scratch.sorted_rows);
        for (at, size) in sizes.into_iter().enumerate() {
            let within = start..start + size;
            let (order, seed) = (&order[within.clone()], derive(seed, at as u64));
            let rows = if depth + 1 >= self.depth_limit || self.is_leaf(order) {
                PendingRows::Leaf
            } else if is_root {
                PendingRows::CopyLater
            } else {
                let selected = &sorted[within.clone()];
                PendingRows::Copied(self.child_rows(Some(&rows), order, selected, seed, scratch))
            };
            let range = range.start + within.start..range.start + within.end;
            let parent = Some((node, at));
            pending.push(PendingNode { range, rows, seed, depth: depth + 1, parent });
            start += size;
        }
        scratch.sorted_rows = sorted;
        pending[first..].reverse();
        Ok(Child::Node(node))
    }

    /// Takes scratch memory that an earlier node has returned, or new.
    pub fn take_scratch(&self) -> Scratch {
        let mut kept = self.scratch.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        kept.pop().unwrap_or_default()
    }

    /// Returns scratch memory for further nodes.
    pub fn return_scratch(&self, scratch: Scratch) {
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
                None => Some(self.own_labels(order, derive(seed, LABEL_PROJECTION), renumbering)),
                Some(_) => self.shared_labels(),
            },
        }
    }

    /// The rows of a node below the root: copied from those of its parent or, if that is `None`, of
    /// the tree, or projected anew. `selected` are their positions in the parent, `order` their
    /// instances.
    fn child_rows(
        &self,
        parent: Option<&NodeRows<'_>>,
        order: &[u32],
        selected: &[u32],
        seed: u64,
        scratch: &mut Scratch,
    ) -> NodeRows<'static> {
        let renumbering = &mut scratch.renumbering;
        let features = match (parent, self.shared_features()) {
            (_, None) => self.own_features(order, seed, renumbering),
            (Some(parent), Some(_)) => parent.features.select(selected, renumbering),
            (None, Some(shared)) => shared.select(order, renumbering),
        };
        let parent_labels = parent.and_then(|parent| parent.labels.as_ref());
        let labels = match (self.label_seed, parent_labels, self.shared_labels()) {
            (None, ..) => self.own_labels(order, derive(seed, LABEL_PROJECTION), renumbering),
            (Some(_), Some(labels), _) => labels.select(selected, renumbering),
            (Some(_), None, Some(shared)) => shared.select(order, renumbering),
            (Some(seed), None, None) => self.own_labels(order, seed, renumbering),
        };
        NodeRows { features, labels: Some(labels) }
    }

    /// The features of all instances; `None` if each node has its own projection.
    fn shared_features(&self) -> Option<CompactRows<'_>> {
        let features = self.features.as_ref()?;
        Some(CompactRows::shared(features.view(), &self.feature_columns))
    }

    /// The labels of all instances; `None` if they are projected.
    fn shared_labels(&self) -> Option<CompactRows<'_>> {
        let given = || CompactRows::shared(self.instances.label_vectors(), &self.label_columns);
        self.label_projector.is_identity().then(given)
    }

    /// The features of a node, by its own projection.
    fn own_features(
        &self,
        order: &[u32],
        seed: u64,
        renumbering: &mut Renumbering,
    ) -> CompactRows<'static> {
        let given = self.instances.features.view();
        let seed = derive(seed, FEATURE_PROJECTION);
        let projected = self.feature_projector.project(given, order.iter().copied(), seed);
        compact(&projected, &self.feature_columns, renumbering)
    }

    /// The labels of a node, projected with the given seed.
    fn own_labels(
        &self,
        order: &[u32],
        seed: u64,
        renumbering: &mut Renumbering,
    ) -> CompactRows<'static> {
        let given = self.instances.label_vectors();
        let projected = self.label_projector.project(given, order.iter().copied(), seed);
        compact(&projected, &self.label_columns, renumbering)
    }

    /// The labels of some of the root's rows, by the projection that all nodes share.
    fn project_sample(&self, order: &[u32], sample: &[u32]) -> OwnedEntries {
        let seed =
            self.label_seed.expect("labels are left out only of a root with a shared projection");
        let instances = sample.iter().map(|&row| order[row as usize]);
        self.label_projector.project(self.instances.label_vectors(), instances, seed)
    }

    /// The paper's three stop conditions: few instances, equal labels, equal features.
    fn is_leaf(&self, order: &[u32]) -> bool {
        let Instances { features, labels, .. } = self.instances;
        let Some(&first) = order.first() else { return true };
        // Cheap: where rows differ, the second nearly always differs from the first.
        order.len() < self.params.leaf
            || order.iter().all(|&row| labels.row(row as usize) == labels.row(first as usize))
            || order.iter().all(|&row| features.given(row) == features.given(first))
    }

    /// Learns the centroids of the children and reorders the instances by child; `None` if all
    /// instances would go to one child.
    fn split(
        &self,
        order: &mut [u32],
        node: &NodeRows<'_>,
        seed: u64,
        scratch: &mut Scratch,
    ) -> Option<Split> {
        let Scratch { clustering, centroids, sample, clusters, row_lanes, .. } = scratch;
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
            Some(labels) => (labels.view(), labels.columns.len(), sample.as_slice()),
            None => {
                projected = self.project_sample(order, sample);
                all = (0..sample.len() as u32).collect::<Vec<u32>>();
                (projected.view(), self.label_projector.dimensions, all.as_slice())
            }
        };
        clustering.cluster(labels, columns, rows, params, &mut random, clusters);
        let features = &node.features;
        let columns = features.columns.len();
        centroids.assign(features.view(), columns, sample, clusters, self.params, row_lanes);
        partition(order, scratch)
    }
}

/// Renumbers the columns of all rows.
fn compact(
    rows: &OwnedEntries,
    columns: &[u32],
    renumbering: &mut Renumbering,
) -> CompactRows<'static> {
    let all: Vec<u32> = (0..rows.offsets.len() as u32 - 1).collect();
    CompactRows::shared(rows.view(), columns).select(&all, renumbering)
}

/// Reorders the instances by the lanes of their rows; `None` if all rows have the same.
fn partition(order: &mut [u32], scratch: &mut Scratch) -> Option<Split> {
    let Scratch { row_lanes, sorted_rows, sorted_instances, .. } = scratch;
    let mut sizes = [0usize; LANES];
    for &lane in row_lanes.iter() {
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
    sorted_rows.clear();
    sorted_rows.resize(order.len(), 0);
    for (row, &lane) in row_lanes.iter().enumerate() {
        sorted_rows[next[lane as usize]] = row as u32;
        next[lane as usize] += 1;
    }
    sorted_instances.clear();
    sorted_instances.extend(sorted_rows.iter().map(|&row| order[row as usize]));
    order.copy_from_slice(sorted_instances);
    Some(Split { sizes: lanes.iter().map(|&lane| sizes[lane]).collect(), lanes })
}
