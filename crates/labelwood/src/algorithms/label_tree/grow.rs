//! Growing: labels are divided into groups, and each group learns to be told from the others.

use super::{Params, Tree};
use crate::base::random::{Stream, derive};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, LabelRows, LabelRowsView, LabelSet, OwnedEntries};
use crate::learn::cluster::wide;
use crate::learn::favour::Emphasis;
use crate::learn::linear::{Builder, Child, Learn, Nodes};
use crate::learn::solver::{Loss, Rows};
use crate::learn::weighting::FeatureWeights;
use rayon::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the streams of a node are for.
const CLUSTERS: u64 = 1;
const WEIGHTS: u64 = 2;
pub(super) const CHILDREN: u64 = 3;

/// The rows as every tree sees them: shared by all trees, whichever labels those know.
pub(crate) struct Ground {
    pub weights: FeatureWeights,
    pub features: usize,
    /// The rows' weighted features, each row of length 1.
    pub(super) rows: Rows,
    /// The rows of each label.
    rows_of: LabelRows,
    emphasis: Emphasis,
}

/// The mean of the rows of each of some labels, of length 1, once labels are to be grouped.
pub(crate) struct LabelVectors(Mutex<Vectors>);

struct Vectors {
    of: LabelSet,
    made: Option<Arc<OwnedEntries>>,
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
    /// Of all labels that grow here.
    pub vectors: &'a LabelVectors,
    pub params: &'a Params,
    pub run: &'a Task,
}

/// Scratch memory that is the same before and after each node.
pub(super) struct Scratch {
    /// The position of each row among those of the node, else `u32::MAX`.
    position_of: Vec<u32>,
    /// For [`Rows::select`].
    column_of: Vec<u32>,
}

impl Ground {
    pub fn new(features: CsrView<'_>, labels: LabelRowsView<'_>, params: &Params) -> Self {
        let weights = FeatureWeights::learn(params.weighting, features);
        Self::weighted(features, labels, weights, params)
    }

    /// The rows by weights that are known already.
    pub fn weighted(
        features: CsrView<'_>,
        labels: LabelRowsView<'_>,
        weights: FeatureWeights,
        params: &Params,
    ) -> Self {
        let rows = Rows::all(weights.prepare(features).view(), features.columns());
        let rows_of = labels.transpose();
        let emphasis = Emphasis::of_rows(rows_of.view(), labels.len(), params.tail_weight());
        Ground { weights, features: features.columns(), rows, rows_of, emphasis }
    }

    /// The labels that occur.
    pub fn known_labels(&self) -> Vec<u32> {
        let has_rows = |&label: &u32| !self.rows_of.row(label as usize).indices.is_empty();
        (0..self.rows_of.len() as u32).filter(has_rows).collect()
    }

    pub(super) fn rows_of(&self, label: u32) -> &[u32] {
        // A label that does not exist is a damaged file's.
        if label as usize >= self.rows_of.len() {
            return &[];
        }
        self.rows_of.row(label as usize).indices
    }

    /// How much the positive rows of a label count.
    pub(super) fn emphasis_of(&self, label: u32) -> f32 {
        self.emphasis.of(self.rows_of(label).len())
    }

    /// For each label the sum of its rows, scaled to length 1; then entries below `threshold` are
    /// left out, and the rest scaled again. Labels that are not asked for have no entries.
    pub(super) fn mean_rows(
        &self,
        labels: &LabelSet,
        threshold: f32,
        run: &Task,
    ) -> Result<OwnedEntries, Stopped> {
        let mut means = OwnedEntries::with_capacity(self.rows_of.len(), 0);
        let mut sums = vec![0.0f32; self.rows.columns()];
        let mut touched = Vec::new();
        for label in 0..self.rows_of.len() as u32 {
            run.check()?;
            let rows = if labels.contains(label) { self.rows_of(label) } else { &[] };
            for entry in rows.iter().flat_map(|&row| self.rows.row(row)) {
                let sum = &mut sums[entry.column as usize];
                if *sum == 0.0 {
                    touched.push(entry.column);
                }
                *sum += entry.value;
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
        means.columns.shrink_to_fit();
        means.values.shrink_to_fit();
        Ok(means)
    }
}

impl LabelVectors {
    /// Nothing is made yet.
    pub fn new(labels: &[u32]) -> Self {
        LabelVectors(Mutex::new(Vectors { of: labels.iter().copied().collect(), made: None }))
    }

    /// Says which labels will be asked for: only theirs are made, unless they have been.
    pub fn want(&self, labels: &[u32]) {
        let mut vectors = self.lock();
        let is_made = labels.iter().all(|&label| vectors.of.contains(label));
        if vectors.made.is_none() || !is_made {
            *vectors = Vectors { of: labels.iter().copied().collect(), made: None };
        }
    }

    /// Frees them until somebody asks again.
    pub fn forget(&self) {
        self.lock().made = None;
    }

    /// Whoever comes first makes them, and others wait for it.
    fn get(&self, grower: &Grower<'_>) -> Result<Arc<OwnedEntries>, Stopped> {
        let mut vectors = self.lock();
        if let Some(made) = &vectors.made {
            return Ok(made.clone());
        }
        let threshold = grower.params.vector_threshold;
        let made = Arc::new(grower.ground.mean_rows(&vectors.of, threshold, grower.run)?);
        vectors.made = Some(made.clone());
        Ok(made)
    }

    fn lock(&self) -> MutexGuard<'_, Vectors> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Grower<'_> {
    /// Groups of labels that are alike, each of at most `most` labels: halves of halves.
    pub fn small_groups(
        &self,
        labels: Vec<u32>,
        most: usize,
        seed: u64,
    ) -> Result<Vec<Vec<u32>>, Stopped> {
        if labels.len() <= most {
            return Ok(vec![labels]);
        }
        let passes = self.params.passes;
        let halves = wide::Params { clusters: 2, passes, balanced: true, smallest: 1 };
        let half = self.group(&labels, halves, seed)?;
        let part = |of: u32| {
            let labels = labels.iter().zip(&half).filter(|(_, half)| **half == of);
            let labels = labels.map(|(&label, _)| label).collect();
            self.small_groups(labels, most, derive(seed, u64::from(of)))
        };
        let (groups, rest) = rayon::join(|| part(0), || part(1));
        let mut groups = groups?;
        groups.extend(rest?);
        Ok(groups)
    }

    fn group(&self, labels: &[u32], params: wide::Params, seed: u64) -> Result<Vec<u32>, Stopped> {
        let vectors = self.vectors.get(self)?;
        let (columns, mut random) = (self.ground.rows.columns(), Stream::new(seed));
        wide::group(vectors.view(), labels, columns, params, &mut random, self.run)
    }

    /// Grows the root over `labels`, which all occur. With `all_rows`, rows that have none of the
    /// labels are negative for all of them; without, they are left out.
    pub fn root(&self, labels: &[u32], all_rows: bool, seed: u64) -> Result<Root, Stopped> {
        let mut builder = Builder::new(self.params.precision);
        let groups = self.divide(labels, 1, seed)?;
        let emphasis = self.emphasis(labels, groups.as_deref());
        if all_rows {
            let positives = self.positives(labels, groups.as_deref(), |row| row);
            self.learn(&mut builder, &self.ground.rows, &positives, &emphasis, seed)?;
        } else {
            let (groups, scratch) = (groups.as_deref(), &mut self.scratch());
            self.learn_own(&mut builder, labels, groups, &emphasis, seed, scratch)?;
        }
        match groups {
            None => {
                set_labels(&mut builder, 0, labels);
                Ok(Root { nodes: builder.finish(), groups: Vec::new() })
            }
            Some(groups) => {
                for at in 0..groups.len() {
                    builder.set_child(0, at, Child::Node(at as u32));
                }
                Ok(Root { nodes: builder.finish(), groups })
            }
        }
    }

    /// A root with one subtree, whose one classifier tells rows that have any of `labels` from all
    /// others.
    pub fn gate(&self, labels: &[u32], seed: u64) -> Result<Root, Stopped> {
        let mut builder = Builder::new(self.params.precision);
        let group = labels.to_vec();
        let positives = self.positives(labels, Some(std::slice::from_ref(&group)), |row| row);
        self.learn(&mut builder, &self.ground.rows, &positives, &[1.0], seed)?;
        builder.set_child(0, 0, Child::Node(0));
        Ok(Root { nodes: builder.finish(), groups: vec![group] })
    }

    /// Grows the subtrees of a root, whose seed is given.
    pub fn tree(&self, root: Root, seed: u64) -> Result<Tree, Stopped> {
        let groups = root.groups.par_iter().enumerate().with_max_len(1);
        let subtrees = groups.map(|(number, labels)| self.subtree(labels, number, seed));
        Ok(Tree { subtrees: subtrees.collect::<Result<_, _>>()?, root: root.nodes })
    }

    /// Grows the subtree of one of the root's groups; `seed` is the root's.
    pub fn subtree(&self, labels: &[u32], number: usize, seed: u64) -> Result<Nodes, Stopped> {
        let mut builder = Builder::new(self.params.precision);
        let seed = derive(derive(seed, CHILDREN), number as u64);
        self.nodes(&mut builder, labels, 2, seed, &mut self.scratch())?;
        Ok(builder.finish())
    }

    pub(super) fn scratch(&self) -> Scratch {
        Scratch {
            position_of: vec![u32::MAX; self.ground.rows.len()],
            column_of: vec![0; self.ground.rows.columns()],
        }
    }

    /// Grows the node of some labels and all nodes below it, each before those below it.
    ///
    /// A list of what is left to grow, rather than calls within calls: how deep a tree becomes is up
    /// to its settings and the data.
    ///
    /// A group of one label gets a node of its own, too: its classifier has positive rows only and
    /// says how much a row is like them, which keeps rare labels from being given away.
    fn nodes(
        &self,
        builder: &mut Builder,
        labels: &[u32],
        level: usize,
        seed: u64,
        scratch: &mut Scratch,
    ) -> Result<(), Stopped> {
        let mut left = vec![Step { labels: labels.to_vec(), level, seed, parent: None }];
        while let Some(Step { labels, level, seed, parent }) = left.pop() {
            self.run.check()?;
            let groups = self.divide(&labels, level, seed)?;
            let emphasis = self.emphasis(&labels, groups.as_deref());
            let node =
                self.learn_own(builder, &labels, groups.as_deref(), &emphasis, seed, scratch)?;
            if let Some((parent, at)) = parent {
                builder.set_child(parent, at, Child::Node(node as u32));
            }
            match groups {
                None => set_labels(builder, node, &labels),
                Some(groups) => {
                    left.extend(groups.into_iter().enumerate().rev().map(|(at, labels)| Step {
                        labels,
                        level: level + 1,
                        seed: derive(derive(seed, CHILDREN), at as u64),
                        parent: Some((node, at)),
                    }));
                }
            }
        }
        Ok(())
    }

    /// The groups that the labels of a node on some level fall into; none if they stay together.
    fn divide(
        &self,
        labels: &[u32],
        level: usize,
        seed: u64,
    ) -> Result<Option<Vec<Vec<u32>>>, Stopped> {
        if level >= self.params.depth {
            return Ok(None);
        }
        let mut groups = vec![labels.to_vec()];
        for layer in 0..=self.params.collapse {
            let before = groups.len();
            // Apart from the places of weights and children, whichever layer it is.
            let seed = derive(seed, CLUSTERS + layer as u64 * 8);
            let divided = groups.into_iter().enumerate();
            let divided =
                divided.map(|(at, group)| self.divide_once(group, derive(seed, at as u64)));
            groups = divided.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
            if groups.len() == before {
                break;
            }
        }
        Ok((groups.len() > 1).then_some(groups))
    }

    fn divide_once(&self, labels: Vec<u32>, seed: u64) -> Result<Vec<Vec<u32>>, Stopped> {
        let params = self.params;
        if labels.len() <= params.leaf() || params.branches() == 1 {
            return Ok(vec![labels]);
        }
        let group = wide::Params {
            clusters: params.branches(),
            passes: params.passes,
            balanced: params.balanced,
            smallest: params.smallest_group,
        };
        let assigned = self.group(&labels, group, seed)?;
        let mut groups = vec![Vec::new(); params.branches()];
        for (&label, &group) in labels.iter().zip(&assigned) {
            groups[group as usize].push(label);
        }
        groups.retain(|group| !group.is_empty());
        Ok(groups)
    }

    /// Learns a node from the rows that have any of its labels.
    pub(super) fn learn_own(
        &self,
        builder: &mut Builder,
        labels: &[u32],
        groups: Option<&[Vec<u32>]>,
        emphasis: &[f32],
        seed: u64,
        scratch: &mut Scratch,
    ) -> Result<usize, Stopped> {
        let mut rows = Vec::new();
        for &row in labels.iter().flat_map(|&label| self.ground.rows_of(label)) {
            let position = &mut scratch.position_of[row as usize];
            if *position == u32::MAX {
                *position = rows.len() as u32;
                rows.push(row);
            }
        }
        let positives = self.positives(labels, groups, |row| scratch.position_of[row as usize]);
        for &row in &rows {
            scratch.position_of[row as usize] = u32::MAX;
        }
        let rows = self.ground.rows.select(&rows, &mut scratch.column_of);
        self.learn(builder, &rows, &positives, emphasis, seed)
    }

    /// How much the positive rows of each group count, or of each label if there are no groups. All
    /// groups count alike: otherwise rows would be led to rare labels that none of them has.
    fn emphasis(&self, labels: &[u32], groups: Option<&[Vec<u32>]>) -> Vec<f32> {
        match groups {
            Some(groups) => vec![1.0; groups.len()],
            None => labels.iter().map(|&label| self.ground.emphasis_of(label)).collect(),
        }
    }

    /// The positions of the rows of each group, or of each label if there are no groups.
    pub(super) fn positives(
        &self,
        labels: &[u32],
        groups: Option<&[Vec<u32>]>,
        position_of: impl Fn(u32) -> u32,
    ) -> Vec<Vec<u32>> {
        let positions = |labels: &[u32]| {
            let rows = labels.iter().flat_map(|&label| self.ground.rows_of(label));
            let mut positions: Vec<u32> = rows.map(|&row| position_of(row)).collect();
            positions.sort_unstable();
            positions.dedup();
            positions
        };
        match groups {
            Some(groups) => groups.iter().map(|group| positions(group)).collect(),
            None => labels.iter().map(|label| positions(std::slice::from_ref(label))).collect(),
        }
    }

    /// Learns a node's classifiers; the positive rows of each count as much as `emphasis` says.
    pub(super) fn learn(
        &self,
        builder: &mut Builder,
        rows: &Rows,
        positives: &[Vec<u32>],
        emphasis: &[f32],
        seed: u64,
    ) -> Result<usize, Stopped> {
        let mut solver = self.params.solver;
        if self.params.scale_cost && solver.loss == Loss::Logistic {
            solver.cost *= self.ground.rows.len() as f32 / rows.len().max(1) as f32;
        }
        let learn = Learn { solver, threshold: self.params.weight_threshold };
        builder.learn(rows, positives, emphasis, learn, derive(seed, WEIGHTS), self.run)
    }
}

/// A node that is left to grow.
struct Step {
    labels: Vec<u32>,
    level: usize,
    seed: u64,
    /// The node that it is a child of, and which of its children.
    parent: Option<(usize, usize)>,
}

/// Makes the children of a node lead to labels.
fn set_labels(builder: &mut Builder, node: usize, labels: &[u32]) {
    for (at, &label) in labels.iter().enumerate() {
        builder.set_child(node, at, Child::Label(label));
    }
}
