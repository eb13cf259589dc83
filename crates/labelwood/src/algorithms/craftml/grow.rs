//! Growing one tree.
//!
//! A [`Division`] gives each child of a node a centroid, and sends every instance to the child with the
//! nearest. Distances are taken to the centroids as they are stored, rounding included, so that
//! prediction routes an instance alike.
//!
//! Growing does not recurse, so that no tree is too deep for the stack: [`Grower::grow_node`] grows
//! one [`PendingNode`] and appends its children to a list. [`Grower::grow`] works until the list is
//! empty; [`super::tasks`] hands the children of large nodes to other threads.

use super::builder::{Builder, NewNode};
use super::by_group;
use super::centroids::Centroids;
use super::division::Division;
use super::node_rows::{CompactRows, NodeRows, Renumbering, Rows};
use super::params::Params;
use super::project::Projector;
use super::tasks::lock;
use super::tree::Child;
use crate::base::random::derive;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{Entries, LabelRowsView};
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
pub(in crate::algorithms) struct Instances<'a> {
    /// How many features there are.
    pub columns: usize,
    /// Weighted features of length 1, not yet projected.
    pub features: WeightedRows<'a>,
    /// The value of each label entry; one that gives its row length 1 where rows are clustered.
    pub label_values: Vec<f32>,
    /// Labels as given.
    pub labels: LabelRowsView<'a>,
}

impl<'a> Instances<'a> {
    /// Weights the features, and scales the rows of both features and labels to length 1.
    pub(super) fn new(rows: DatasetView<'a>, weights: &FeatureWeights) -> Self {
        let labels = rows.labels;
        let mut label_values = Vec::with_capacity(labels.entries());
        for ends in labels.offsets().windows(2) {
            let count = (ends[1] - ends[0]) as usize;
            let value = (1.0 / (count as f64).sqrt()) as f32;
            label_values.extend(std::iter::repeat_n(value, count));
        }
        Self::with_values(rows, weights, label_values)
    }

    /// Weights the features and scales their rows to length 1; label entries have the given values.
    pub(in crate::algorithms) fn with_values(
        rows: DatasetView<'a>,
        weights: &FeatureWeights,
        label_values: Vec<f32>,
    ) -> Self {
        let DatasetView { features, labels, .. } = rows;
        assert_eq!(features.len(), labels.len(), "one row of labels for each row of features");
        let (columns, features) = (features.columns(), weights.prepare(features));
        Instances { columns, features, label_values, labels }
    }

    /// Label rows, not yet projected.
    fn label_vectors(&self) -> Entries<'_> {
        let (offsets, columns) = (self.labels.offsets(), self.labels.indices());
        Entries { offsets, columns, values: &self.label_values }
    }
}

/// Derives the seed of the feature projection from that of a tree or node.
pub(super) const FEATURE_PROJECTION: u64 = u64::MAX;
/// Derives the seed of the label projection from that of a tree or node.
const LABEL_PROJECTION: u64 = u64::MAX - 1;

/// The features or the labels of all instances, and how nodes get theirs.
pub(super) struct Side<'a> {
    /// As they are before projecting.
    pub given: Entries<'a>,
    pub projector: Projector,
    /// Derives the seed of a projection from that of a tree or node.
    salt: u64,
    /// The seed of the tree's projection; `None` if each node has its own.
    pub seed: Option<u64>,
    /// The projected rows of all instances; `None` if each node projects its own.
    projected: Option<Rows<'a>>,
    /// All columns of projected rows.
    columns: Vec<u32>,
}

impl<'a> Side<'a> {
    /// Rows with a projection for each node or, without, for the tree with this seed.
    fn new(
        given: Entries<'a>,
        projector: Projector,
        salt: u64,
        nodes_differ: bool,
        seed: u64,
    ) -> Self {
        let seed = (!nodes_differ).then(|| derive(seed, salt));
        let is_given = seed.is_some() && projector.is_identity();
        let projected = is_given.then_some(Rows::Borrowed(given));
        let columns = (0..projector.dimensions as u32).collect();
        Side { given, projector, salt, seed, projected, columns }
    }

    /// The rows of all instances, borrowed, if they are projected.
    fn all(&self) -> Option<CompactRows<'_>> {
        Some(CompactRows::shared(self.projected.as_ref()?.view(), &self.columns))
    }

    /// The rows of a node below the root: copied from those of its parent or, if that is `None`, of
    /// the tree, or projected anew. `selected` are their positions in the parent, `order` their
    /// instances.
    fn below(
        &self,
        parent: Option<&CompactRows<'_>>,
        order: &[u32],
        selected: &[u32],
        seed: u64,
        renumbering: &mut Renumbering,
    ) -> CompactRows<'static> {
        match (parent, self.all()) {
            (Some(parent), _) if self.seed.is_some() => parent.select(selected, renumbering),
            (_, Some(all)) => all.select(order, renumbering),
            _ => self.project_node(order, seed, renumbering),
        }
    }

    /// Projects the rows of a node that has this seed.
    fn project_node(
        &self,
        order: &[u32],
        seed: u64,
        renumbering: &mut Renumbering,
    ) -> CompactRows<'static> {
        let seed = self.seed.unwrap_or_else(|| derive(seed, self.salt));
        let projected = self.projector.project(self.given, order.iter().copied(), seed);
        let all: Vec<u32> = (0..order.len() as u32).collect();
        CompactRows::shared(projected.view(), &self.columns).select(&all, renumbering)
    }
}

/// Grows the nodes of one tree; shared by all threads that do.
pub(in crate::algorithms) struct Grower<'a> {
    pub(super) params: &'a Params,
    division: &'a dyn Division,
    task: &'a Task,
    instances: &'a Instances<'a>,
    features: Side<'a>,
    pub(super) labels: Side<'a>,
    depth_limit: usize,
    scratch: Mutex<Vec<Scratch>>,
}

/// Memory that is reused from node to node.
#[derive(Default)]
pub(in crate::algorithms) struct Scratch {
    pub(super) clustering: cluster::Workspace,
    renumbering: Renumbering,
    pub(super) centroids: Centroids,
    /// The sampled rows of the node.
    pub(super) sample: Vec<u32>,
    /// The cluster of each sampled row.
    pub(super) clusters: Vec<u8>,
    /// The lane of the centroid nearest to each row of the node.
    pub(super) row_lanes: Vec<u8>,
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
    pub(super) fn into_root(self) -> PendingNode {
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

/// The children of a node; [`Scratch`] holds the centroids.
struct Split {
    /// The rows, sorted by lane.
    rows: Vec<u32>,
    /// Where the rows of each lane start.
    starts: Vec<u32>,
    /// The lane of each child, increasing.
    lanes: Vec<usize>,
}

impl<'a> Grower<'a> {
    /// Prepares to grow the tree with the given seed. Projects the features of all instances, unless
    /// each node has its own projection.
    pub(super) fn new(
        params: &'a Params,
        division: &'a dyn Division,
        instances: &'a Instances<'a>,
        seed: u64,
        task: &'a Task,
    ) -> Self {
        let labels = instances.labels;
        let to = Projector::of_features(params, instances.columns);
        let given = instances.features.view();
        let nodes_differ = params.diversity.features_differ();
        let mut features = Side::new(given, to, FEATURE_PROJECTION, nodes_differ, seed);
        if let (None, Some(seed)) = (&features.projected, features.seed) {
            let projected = to.project(given, 0..labels.len() as u32, seed);
            features.projected = Some(Rows::Owned(projected));
        }
        let to = Projector::of_labels(params, labels.columns());
        let nodes_differ = params.diversity.labels_differ();
        let given = instances.label_vectors();
        let labels = Side::new(given, to, LABEL_PROJECTION, nodes_differ, seed);
        let depth_limit = depth_limit(instances.labels.len());
        let scratch = Mutex::default();
        Grower { params, division, task, instances, features, labels, depth_limit, scratch }
    }

    /// The root of the tree, and all instances.
    pub(super) fn root(&self, seed: u64) -> (PendingNode, Vec<u32>) {
        let order: Vec<u32> = (0..self.instances.labels.len() as u32).collect();
        let rows = if self.is_leaf(&order) { PendingRows::Leaf } else { PendingRows::All };
        (PendingNode { range: 0..order.len(), rows, seed, depth: 0, parent: None }, order)
    }

    /// Grows the replacement of a leaf, at the leaf's depth and with its seed, from the instances that
    /// are in it now: a leaf again, or a subtree.
    pub(super) fn regrow(
        &self,
        order: &mut [u32],
        seed: u64,
        depth: usize,
        builder: &mut Builder,
    ) -> Result<Child, Stopped> {
        let is_leaf = depth >= self.depth_limit || self.is_leaf(order);
        let rows = if is_leaf { PendingRows::Leaf } else { PendingRows::CopyLater };
        let root = PendingNode { range: 0..order.len(), rows, seed, depth, parent: None };
        self.grow(order, root, builder, &mut Vec::new(), true)
    }

    /// Grows a node and, if `with_descendants`, all below it; else `pending` gets its children.
    pub(super) fn grow(
        &self,
        order: &mut [u32],
        root: PendingNode,
        builder: &mut Builder,
        pending: &mut Vec<PendingNode>,
        with_descendants: bool,
    ) -> Result<Child, Stopped> {
        let mut scratch = lock(&self.scratch).pop().unwrap_or_default();
        let grown = self.grow_node(order, root, builder, pending, &mut scratch)?;
        while with_descendants && let Some(mut next) = pending.pop() {
            let parent = next.parent.take();
            let child = self.grow_node(order, next, builder, pending, &mut scratch)?;
            if let Some((node, at)) = parent {
                builder.set_child(node, at, child);
            }
        }
        lock(&self.scratch).push(scratch);
        Ok(grown)
    }

    /// Grows one node: reorders its instances by child, appends it to the builder and its children,
    /// in reverse, to `pending`.
    fn grow_node(
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
        let split = rows.and_then(|rows| {
            self.division.divide(self, order, &rows, seed, scratch);
            Some((partition(order, &scratch.row_lanes)?, rows))
        });
        let Some((split, rows)) = split else {
            return Ok(builder.push_leaf(self.instances.labels, order, &mut scratch.labels));
        };
        let node = builder.push_node(&NewNode {
            features: &rows.features.columns,
            table: &scratch.centroids.table,
            lanes: &split.lanes,
            nearness: &scratch.centroids.nearness,
        });
        let first = pending.len();
        for (at, &lane) in split.lanes.iter().enumerate() {
            let within = split.starts[lane] as usize..split.starts[lane + 1] as usize;
            let (order, seed) = (&order[within.clone()], derive(seed, at as u64));
            let rows = if depth + 1 >= self.depth_limit || self.is_leaf(order) {
                PendingRows::Leaf
            } else if is_root {
                PendingRows::CopyLater
            } else {
                let selected = &split.rows[within.clone()];
                PendingRows::Copied(self.child_rows(Some(&rows), order, selected, seed, scratch))
            };
            let range = range.start + within.start..range.start + within.end;
            let parent = Some((node, at));
            pending.push(PendingNode { range, rows, seed, depth: depth + 1, parent });
        }
        pending[first..].reverse();
        Ok(Child::Node(node))
    }

    /// The rows of the root.
    fn root_rows(&self, order: &[u32], seed: u64, scratch: &mut Scratch) -> NodeRows<'_> {
        let renumbering = &mut scratch.renumbering;
        let Grower { features, labels, .. } = self;
        NodeRows {
            features: match features.all() {
                Some(all) => all,
                None => features.project_node(order, seed, renumbering),
            },
            labels: match labels.seed {
                None => Some(labels.project_node(order, seed, renumbering)),
                Some(_) => labels.all(),
            },
        }
    }

    /// The rows of a node below the root, as [`Side::below`] gets them.
    fn child_rows(
        &self,
        parent: Option<&NodeRows<'_>>,
        order: &[u32],
        selected: &[u32],
        seed: u64,
        scratch: &mut Scratch,
    ) -> NodeRows<'static> {
        let renumbering = &mut scratch.renumbering;
        let features = parent.map(|parent| &parent.features);
        let features = self.features.below(features, order, selected, seed, renumbering);
        let labels = parent.and_then(|parent| parent.labels.as_ref());
        let labels = self.labels.below(labels, order, selected, seed, renumbering);
        NodeRows { features, labels: Some(labels) }
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
}

/// Reorders the instances by the lanes of their rows; `None` if all rows have the same.
fn partition(order: &mut [u32], row_lanes: &[u8]) -> Option<Split> {
    let (starts, rows) = by_group(LANES, row_lanes.iter().map(|&lane| u32::from(lane)));
    let lanes: Vec<usize> = (0..LANES).filter(|&lane| starts[lane] < starts[lane + 1]).collect();
    if lanes.len() < 2 {
        return None;
    }
    let sorted: Vec<u32> = rows.iter().map(|&row| order[row as usize]).collect();
    order.copy_from_slice(&sorted);
    Some(Split { rows, starts, lanes })
}
