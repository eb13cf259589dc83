//! Growing a tree: labels are divided into groups, level by level, and each node learns one
//! classifier for each of its groups.

use super::{Params, Tree};
use crate::base::random::{Stream, derive};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{LabelSet, OwnedEntries};
use crate::learn::cluster::parallel_kmeans;
use crate::learn::linear::{Builder, Child, ClassifierParams, Nodes, TrainingRows};
use crate::learn::solver::{Loss, Rows};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keep apart the random streams of one node: those that cluster its labels, those that learn its
/// weights, and the seeds of its children.
const CLUSTERS: u64 = 1;
const WEIGHTS: u64 = 2;
pub(super) const CHILDREN: u64 = 3;

/// The mean of each label's rows, scaled to length 1. Made at the first use, since a tree that
/// never groups labels needs none.
pub(crate) struct LabelVectors(Mutex<Vectors>);

struct Vectors {
    labels: LabelSet,
    made: Option<Arc<OwnedEntries>>,
}

/// The first node of a tree, and the labels of each subtree below it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Root {
    /// One node; its [`Child::Node`] are numbers of subtrees.
    pub nodes: Nodes,
    /// The labels of each subtree.
    pub groups: Vec<Vec<u32>>,
}

/// Grows roots and subtrees.
pub(crate) struct Grower<'a> {
    pub training: &'a TrainingRows,
    /// Has all labels that are grown.
    pub vectors: &'a LabelVectors,
    pub params: &'a Params,
    pub task: &'a Task,
}

/// Scratch memory for growing nodes; each node leaves it as it was before.
pub(super) struct Scratch {
    /// The position of each row among those of the node, else `u32::MAX`.
    position_of: Vec<u32>,
    /// For [`Rows::select`].
    column_of: Vec<u32>,
}

impl TrainingRows {
    /// The sum of each label's rows, scaled to length 1; then entries below `threshold` are dropped,
    /// and the rest is scaled again. Labels that are not in `labels` get no entries.
    pub(super) fn label_vectors(
        &self,
        labels: &LabelSet,
        threshold: f32,
        task: &Task,
    ) -> Result<OwnedEntries, Stopped> {
        let mut means = OwnedEntries::with_capacity(self.label_count(), 0);
        let mut sums = vec![0.0f32; self.rows.columns()];
        let mut touched = Vec::new();
        for label in 0..self.label_count() as u32 {
            task.check()?;
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
    /// The vectors of these labels; none is made yet.
    pub(crate) fn new(labels: &[u32]) -> Self {
        LabelVectors(Mutex::new(Vectors { labels: labels.iter().copied().collect(), made: None }))
    }

    /// Makes only the vectors of these labels from now on. Vectors that are made already are kept
    /// if they include these.
    pub(crate) fn restrict_to(&self, labels: &[u32]) {
        let mut vectors = self.lock();
        let is_made = labels.iter().all(|&label| vectors.labels.contains(label));
        if vectors.made.is_none() || !is_made {
            *vectors = Vectors { labels: labels.iter().copied().collect(), made: None };
        }
    }

    /// Frees the vectors; the next use makes them again.
    pub(crate) fn clear(&self) {
        self.lock().made = None;
    }

    /// The vectors; the first thread that asks makes them, and others wait for it.
    fn get(&self, grower: &Grower<'_>) -> Result<Arc<OwnedEntries>, Stopped> {
        let mut vectors = self.lock();
        if let Some(made) = &vectors.made {
            return Ok(made.clone());
        }
        let threshold = grower.params.vector_threshold;
        let made =
            Arc::new(grower.training.label_vectors(&vectors.labels, threshold, grower.task)?);
        vectors.made = Some(made.clone());
        Ok(made)
    }

    fn lock(&self) -> MutexGuard<'_, Vectors> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Grower<'_> {
    /// Groups of similar labels, each of at most `max_size` labels, found by halving again and again.
    pub(crate) fn small_groups(
        &self,
        labels: Vec<u32>,
        max_size: usize,
        seed: u64,
    ) -> Result<Vec<Vec<u32>>, Stopped> {
        if labels.len() <= max_size {
            return Ok(vec![labels]);
        }
        let passes = self.params.passes;
        let halves = parallel_kmeans::Params { clusters: 2, passes, balanced: true, smallest: 1 };
        let half_of = self.cluster(&labels, halves, seed)?;
        let groups_of_half = |half: u32| {
            let labels = labels.iter().zip(&half_of).filter(|(_, of)| **of == half);
            let labels = labels.map(|(&label, _)| label).collect();
            self.small_groups(labels, max_size, derive(seed, u64::from(half)))
        };
        let (groups, rest) = rayon::join(|| groups_of_half(0), || groups_of_half(1));
        let mut groups = groups?;
        groups.extend(rest?);
        Ok(groups)
    }

    /// The cluster of each label, by the label vectors.
    fn cluster(
        &self,
        labels: &[u32],
        params: parallel_kmeans::Params,
        seed: u64,
    ) -> Result<Vec<u32>, Stopped> {
        let vectors = self.vectors.get(self)?;
        let (columns, mut random) = (self.training.rows.columns(), Stream::new(seed));
        parallel_kmeans::cluster(vectors.view(), labels, columns, params, &mut random, self.task)
    }

    /// Grows the root over `labels`, each of which has a row. With `all_rows`, rows that have none of
    /// the labels are negative for all of them; without, they are left out.
    pub(crate) fn root(&self, labels: &[u32], all_rows: bool, seed: u64) -> Result<Root, Stopped> {
        let mut builder = Builder::new(self.params.precision);
        let groups = self.divide(labels, 1, seed)?;
        let emphasis = self.emphasis(labels, groups.as_deref());
        if all_rows {
            let positives = self.positives(labels, groups.as_deref(), |row| row);
            self.learn(&mut builder, &self.training.rows, &positives, &emphasis, seed)?;
        } else {
            let (groups, scratch) = (groups.as_deref(), &mut self.scratch());
            self.learn_node(&mut builder, labels, groups, &emphasis, seed, scratch)?;
        }
        match &groups {
            None => builder.set_children(0, labels.iter().copied().map(Child::Label)),
            Some(groups) => builder.set_children(0, (0..groups.len() as u32).map(Child::Node)),
        }
        Ok(Root { nodes: builder.finish(), groups: groups.unwrap_or_default() })
    }

    /// A root with one subtree. Its only classifier tells rows that have any of `labels` from all
    /// other rows.
    pub(crate) fn gate(&self, labels: &[u32], seed: u64) -> Result<Root, Stopped> {
        let mut builder = Builder::new(self.params.precision);
        let group = labels.to_vec();
        let positives = self.positives(labels, Some(std::slice::from_ref(&group)), |row| row);
        self.learn(&mut builder, &self.training.rows, &positives, &[1.0], seed)?;
        builder.set_child(0, 0, Child::Node(0));
        Ok(Root { nodes: builder.finish(), groups: vec![group] })
    }

    /// Grows all subtrees of a root; `seed` is the root's.
    pub(crate) fn tree(&self, root: Root, seed: u64) -> Result<Tree, Stopped> {
        let groups = root.groups.par_iter().enumerate().with_max_len(1);
        let subtrees = groups.map(|(number, labels)| self.subtree(labels, number, seed));
        Ok(Tree { subtrees: subtrees.collect::<Result<_, _>>()?, root: root.nodes })
    }

    /// Grows the subtree of one of the root's groups; `seed` is the root's.
    pub(crate) fn subtree(
        &self,
        labels: &[u32],
        number: usize,
        seed: u64,
    ) -> Result<Nodes, Stopped> {
        let mut builder = Builder::new(self.params.precision);
        let seed = derive(derive(seed, CHILDREN), number as u64);
        self.grow_nodes(&mut builder, labels, 2, seed, &mut self.scratch())?;
        Ok(builder.finish())
    }

    pub(super) fn scratch(&self) -> Scratch {
        Scratch {
            position_of: vec![u32::MAX; self.training.rows.len()],
            column_of: vec![0; self.training.rows.columns()],
        }
    }

    /// Grows the node of some labels and all nodes below it, parents before their children.
    ///
    /// Keeps a list of pending nodes instead of recursing: settings and data decide how deep a tree
    /// becomes, and the stack must not overflow.
    ///
    /// A group of one label gets a node of its own, too. Its classifier has positive rows only and
    /// scores how similar a row is to them; without it, rare labels would be predicted too often.
    fn grow_nodes(
        &self,
        builder: &mut Builder,
        labels: &[u32],
        level: usize,
        seed: u64,
        scratch: &mut Scratch,
    ) -> Result<(), Stopped> {
        let mut pending = vec![PendingNode { labels: labels.to_vec(), level, seed, parent: None }];
        while let Some(PendingNode { labels, level, seed, parent }) = pending.pop() {
            self.task.check()?;
            let groups = self.divide(&labels, level, seed)?;
            let emphasis = self.emphasis(&labels, groups.as_deref());
            let node =
                self.learn_node(builder, &labels, groups.as_deref(), &emphasis, seed, scratch)?;
            if let Some((parent, at)) = parent {
                builder.set_child(parent, at, Child::Node(node as u32));
            }
            match groups {
                None => builder.set_children(node, labels.into_iter().map(Child::Label)),
                Some(groups) => {
                    let children = groups.into_iter().enumerate().rev();
                    pending.extend(children.map(|(at, labels)| PendingNode {
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

    /// Divides the labels of a node on the given level into groups; none if they stay together.
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
            // Steps of 8, so that no layer shares a stream with WEIGHTS or CHILDREN.
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

    /// Divides labels into as many groups as a node has branches, unless they are few.
    fn divide_once(&self, labels: Vec<u32>, seed: u64) -> Result<Vec<Vec<u32>>, Stopped> {
        let params = self.params;
        if labels.len() <= params.leaf() || params.branches() == 1 {
            return Ok(vec![labels]);
        }
        let kmeans = parallel_kmeans::Params {
            clusters: params.branches(),
            passes: params.passes,
            balanced: params.balanced,
            smallest: params.smallest_group,
        };
        let assigned = self.cluster(&labels, kmeans, seed)?;
        let mut groups = vec![Vec::new(); params.branches()];
        for (&label, &group) in labels.iter().zip(&assigned) {
            groups[group as usize].push(label);
        }
        groups.retain(|group| !group.is_empty());
        Ok(groups)
    }

    /// Learns a node from those rows only that have any of its labels.
    pub(super) fn learn_node(
        &self,
        builder: &mut Builder,
        labels: &[u32],
        groups: Option<&[Vec<u32>]>,
        emphasis: &[f32],
        seed: u64,
        scratch: &mut Scratch,
    ) -> Result<usize, Stopped> {
        let mut rows = Vec::new();
        for &row in labels.iter().flat_map(|&label| self.training.rows_of(label)) {
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
        let rows = self.training.rows.select(&rows, &mut scratch.column_of);
        self.learn(builder, &rows, &positives, emphasis, seed)
    }

    /// The weight of the positive rows of each group, or of each label if there are no groups. All
    /// groups weigh the same: otherwise rows would be sent towards rare labels that they do not have.
    fn emphasis(&self, labels: &[u32], groups: Option<&[Vec<u32>]>) -> Vec<f32> {
        match groups {
            Some(groups) => vec![1.0; groups.len()],
            None => labels.iter().map(|&label| self.training.emphasis_of(label)).collect(),
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
            let rows = labels.iter().flat_map(|&label| self.training.rows_of(label));
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

    /// Learns a node's classifiers; `emphasis` is the weight of each one's positive rows.
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
            solver.cost *= self.training.rows.len() as f32 / rows.len().max(1) as f32;
        }
        let params = ClassifierParams { solver, threshold: self.params.weight_threshold };
        builder.learn(rows, positives, emphasis, params, derive(seed, WEIGHTS), self.task)
    }
}

/// A node that is still to be grown.
struct PendingNode {
    labels: Vec<u32>,
    level: usize,
    seed: u64,
    /// The parent node, and which of its children this is.
    parent: Option<(usize, usize)>,
}
