//! Growing: labels are divided into groups, and each group learns to be told from the others.

use super::Params;
use crate::cluster::lanes::Entries;
use crate::cluster::wide;
use crate::craftml::{FeatureWeights, OwnedEntries};
use crate::linear::{Builder, Child, Learn, Nodes};
use crate::random::{Stream, derive};
use crate::run::{Cancelled, Run};
use crate::solver::Rows;
use crate::sparse::{CsrView, LabelRows, LabelRowsView};

/// What the streams of a node are for.
const CLUSTERS: u64 = 1;
const WEIGHTS: u64 = 2;
const CHILDREN: u64 = 3;

/// The rows as every tree sees them: shared by all trees, whichever labels those know.
pub(crate) struct Ground {
    pub weights: FeatureWeights,
    pub features: usize,
    /// The rows' weighted features, each row of length 1.
    instances: OwnedEntries,
    /// The rows of each label.
    rows_of: LabelRows,
    /// The mean of the rows of each label, of length 1.
    vectors: OwnedEntries,
}

/// The first node of a tree, and the labels of each subtree below it.
#[derive(Clone, Debug, PartialEq)]
pub struct Root {
    /// One node; its [`Child::Node`] are numbers of subtrees.
    pub nodes: Nodes,
    /// The labels of each subtree.
    pub groups: Vec<Vec<u32>>,
}

/// Grows the parts of a tree.
pub(crate) struct Grower<'a> {
    pub ground: &'a Ground,
    pub params: &'a Params,
    pub run: &'a Run,
}

/// Scratch memory that is the same before and after each node.
struct Scratch {
    /// The position of each row among those of the node, else `u32::MAX`.
    position_of: Vec<u32>,
    /// For [`Rows::gather`].
    column_of: Vec<u32>,
}

impl Ground {
    pub fn new(features: CsrView<'_>, labels: LabelRowsView<'_>, params: &Params) -> Self {
        let weights = FeatureWeights::learn(params.weighting, features);
        let instances = weights.apply(features, features.columns());
        let rows_of = labels.transpose();
        let vectors =
            mean_rows(instances.view(), &rows_of, features.columns(), params.vector_threshold);
        Ground { weights, features: features.columns(), instances, rows_of, vectors }
    }

    /// The labels that occur.
    pub fn known_labels(&self) -> Vec<u32> {
        let has_rows = |&label: &u32| !self.rows_of.row(label as usize).indices.is_empty();
        (0..self.rows_of.len() as u32).filter(has_rows).collect()
    }

    fn rows(&self) -> usize {
        self.instances.len()
    }

    fn rows_of(&self, label: u32) -> &[u32] {
        self.rows_of.row(label as usize).indices
    }
}

/// For each label the sum of its rows, scaled to length 1; then entries below `threshold` are left
/// out, and the rest scaled again.
fn mean_rows(
    entries: Entries<'_>,
    rows_of: &LabelRows,
    columns: usize,
    threshold: f32,
) -> OwnedEntries {
    let mut means = OwnedEntries::with_capacity(rows_of.len(), 0);
    let mut sums = vec![0.0f32; columns];
    let mut touched = Vec::new();
    for label in rows_of.rows() {
        for &row in label.indices {
            let (columns, values) = entries.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                let sum = &mut sums[column as usize];
                if *sum == 0.0 {
                    touched.push(column);
                }
                *sum += value;
            }
        }
        touched.sort_unstable();
        touched.dedup();
        let square: f64 = touched.iter().map(|&at| f64::from(sums[at as usize]).powi(2)).sum();
        let least = (f64::from(threshold) * square.sqrt()) as f32;
        for column in touched.drain(..) {
            let sum = std::mem::take(&mut sums[column as usize]);
            if sum != 0.0 && sum.abs() >= least {
                means.columns.push(column);
                means.values.push(sum);
            }
        }
        means.end_unit_row();
    }
    means
}

impl Grower<'_> {
    /// Grows the root over `labels`, which all occur. With `all_rows`, rows that have none of the
    /// labels are negative for all of them; without, they are left out.
    pub fn root(&self, labels: &[u32], all_rows: bool, seed: u64) -> Result<Root, Cancelled> {
        let mut scratch = self.scratch();
        let mut builder = Builder::new(self.params.precision);
        let groups = self.divide(labels, 1, seed);
        let mut rows = self.rows_with(labels, &mut scratch);
        if all_rows {
            for (row, position) in (0..).zip(&mut scratch.position_of) {
                if *position == u32::MAX {
                    *position = rows.len() as u32;
                    rows.push(row);
                }
            }
        }
        self.learn(&mut builder, labels, groups.as_deref(), rows, seed, &mut scratch)?;
        let mut subtrees = Vec::new();
        match groups {
            None => (0..).zip(labels).for_each(|(at, &label)| {
                builder.set_child(0, at, Child::Label(label));
            }),
            Some(groups) => {
                for at in 0..groups.len() {
                    builder.set_child(0, at, Child::Node(at as u32));
                }
                subtrees = groups;
            }
        }
        Ok(Root { nodes: builder.finish(), groups: subtrees })
    }

    /// Grows the subtree of one of the root's groups; `seed` is the root's.
    pub fn subtree(&self, labels: &[u32], number: usize, seed: u64) -> Result<Nodes, Cancelled> {
        let mut builder = Builder::new(self.params.precision);
        let seed = derive(derive(seed, CHILDREN), number as u64);
        self.node(&mut builder, labels, 2, seed, &mut self.scratch())?;
        Ok(builder.finish())
    }

    fn scratch(&self) -> Scratch {
        Scratch {
            position_of: vec![u32::MAX; self.ground.rows()],
            column_of: vec![0; self.ground.features],
        }
    }

    /// Grows the node of some labels and all nodes below it; returns its number.
    ///
    /// A group of one label gets a node of its own, too: its classifier has positive rows only and
    /// says how much a row is like them, which keeps rare labels from being given away.
    fn node(
        &self,
        builder: &mut Builder,
        labels: &[u32],
        level: usize,
        seed: u64,
        scratch: &mut Scratch,
    ) -> Result<u32, Cancelled> {
        self.run.check()?;
        let groups = self.divide(labels, level, seed);
        let rows = self.rows_with(labels, scratch);
        let node = self.learn(builder, labels, groups.as_deref(), rows, seed, scratch)?;
        match groups {
            None => (0..).zip(labels).for_each(|(at, &label)| {
                builder.set_child(node, at, Child::Label(label));
            }),
            Some(groups) => {
                for (at, group) in groups.iter().enumerate() {
                    let seed = derive(derive(seed, CHILDREN), at as u64);
                    let child = self.node(builder, group, level + 1, seed, scratch)?;
                    builder.set_child(node, at, Child::Node(child));
                }
            }
        }
        Ok(node as u32)
    }

    /// The groups that the labels of a node on some level fall into; none if they stay together.
    fn divide(&self, labels: &[u32], level: usize, seed: u64) -> Option<Vec<Vec<u32>>> {
        if level >= self.params.depth {
            return None;
        }
        let mut groups = vec![labels.to_vec()];
        for layer in 0..=self.params.collapse {
            let before = groups.len();
            let divided = groups.into_iter().enumerate().flat_map(|(at, group)| {
                self.divide_once(
                    group,
                    derive(derive(seed, CLUSTERS + layer as u64 * 8), at as u64),
                )
            });
            groups = divided.collect();
            if groups.len() == before {
                break;
            }
        }
        (groups.len() > 1).then_some(groups)
    }

    fn divide_once(&self, labels: Vec<u32>, seed: u64) -> Vec<Vec<u32>> {
        let params = self.params;
        if labels.len() <= params.leaf || params.branches == 1 {
            return vec![labels];
        }
        let group = wide::Params {
            clusters: params.branches,
            passes: params.passes,
            balanced: params.balanced,
            smallest: params.smallest_group,
        };
        let vectors = self.ground.vectors.view();
        let mut random = Stream::new(seed);
        let assigned = wide::group(vectors, &labels, self.ground.features, group, &mut random);
        let mut groups = vec![Vec::new(); params.branches];
        for (&label, &group) in labels.iter().zip(&assigned) {
            groups[group as usize].push(label);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }

    /// The rows that have any of the labels, numbered in `scratch`.
    fn rows_with(&self, labels: &[u32], scratch: &mut Scratch) -> Vec<u32> {
        let mut rows = Vec::new();
        for &row in labels.iter().flat_map(|&label| self.ground.rows_of(label)) {
            let position = &mut scratch.position_of[row as usize];
            if *position == u32::MAX {
                *position = rows.len() as u32;
                rows.push(row);
            }
        }
        rows
    }

    /// Learns a node's classifiers, one for each group, or for each label if there are no groups.
    fn learn(
        &self,
        builder: &mut Builder,
        labels: &[u32],
        groups: Option<&[Vec<u32>]>,
        rows: Vec<u32>,
        seed: u64,
        scratch: &mut Scratch,
    ) -> Result<usize, Cancelled> {
        let positions = |labels: &[u32]| {
            let rows = labels.iter().flat_map(|&label| self.ground.rows_of(label));
            let mut positions: Vec<u32> =
                rows.map(|&row| scratch.position_of[row as usize]).collect();
            positions.sort_unstable();
            positions.dedup();
            positions
        };
        let positives: Vec<Vec<u32>> = match groups {
            Some(groups) => groups.iter().map(|group| positions(group)).collect(),
            None => labels.iter().map(|label| positions(std::slice::from_ref(label))).collect(),
        };
        for &row in &rows {
            scratch.position_of[row as usize] = u32::MAX;
        }
        let rows = Rows::gather(self.ground.instances.view(), &rows, &mut scratch.column_of);
        let learn = Learn { solver: self.params.solver, threshold: self.params.weight_threshold };
        builder.learn(&rows, &positives, learn, derive(seed, WEIGHTS), self.run)
    }
}
