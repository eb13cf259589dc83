//! Updating trees with new rows.
//!
//! A tree keeps its shape. A label that is new to it is added to the node whose labels are most
//! similar to it. Every node that got a new row or a new name learns its classifiers again: the root always,
//! and below it the nodes that lead to labels of the new rows and names. The other nodes stay as they are.

use super::grow::{CHILDREN, Grower, Root};
use super::{LabelTrees, LabelVectors, Tree};
use crate::base::random::derive;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{LabelSet, OwnedEntries};
use crate::data::DatasetView;
use crate::learn::linear::{Builder, Child, Nodes, TrainingRows};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Updates trees from more rows than they were grown from.
pub(super) struct Updater<'a> {
    trees: &'a LabelTrees,
    training: TrainingRows,
    /// The mean of each label's rows.
    vectors: OwnedEntries,
    /// The labels that at least one row has.
    labels: Vec<u32>,
    touched: &'a LabelSet,
}

/// A tree after its update.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UpdatedTree {
    /// Its root.
    pub root: Root,
    /// The subtrees below it; `None` where a subtree did not change.
    pub subtrees: Vec<Option<Nodes>>,
}

/// A node of a tree: the subtree that it is in, or none for the root, and its number there.
type NodeRef = (Option<usize>, usize);

/// The labels that are new to a tree, by the node that they are added to.
type NewLabels = BTreeMap<NodeRef, Vec<u32>>;

impl<'a> Updater<'a> {
    /// Takes all rows, and the labels whose rows or names are new.
    pub(super) fn new(
        trees: &'a LabelTrees,
        rows: DatasetView<'_>,
        touched: &'a LabelSet,
        task: &Task,
    ) -> Result<Self, Stopped> {
        assert_eq!(rows.features.columns(), trees.features, "the features are those of the trees");
        let training = TrainingRows::new(
            rows,
            trees.weights.clone(),
            trees.params.tail_weight(),
            trees.params.names,
        );
        let with_rows = training.labels_with_rows();
        let all: LabelSet = with_rows.iter().copied().collect();
        let vectors = training.label_vectors(&all, trees.params.vector_threshold, task)?;
        Ok(Updater { trees, training, vectors, labels: with_rows, touched })
    }

    /// Updates one of the trees.
    pub(super) fn tree(&self, number: usize, task: &Task) -> Result<UpdatedTree, Stopped> {
        let tree = &self.trees.trees[number];
        let seed = derive(self.trees.params.seed, number as u64);
        let vectors = LabelVectors::new(&[]);
        let grower = Grower {
            training: &self.training,
            vectors: &vectors,
            params: &self.trees.params,
            task,
        };
        let new_labels = self.new_labels(tree);
        let subtrees = tree.subtrees.iter().enumerate();
        let subtrees: Vec<Subtree<'_>> =
            subtrees.map(|(number, nodes)| Subtree::new(nodes, number, &new_labels)).collect();
        let groups: Vec<Vec<u32>> = subtrees.iter().map(|subtree| subtree.labels(0)).collect();
        task.install(|| {
            let root = self.root(&tree.root, &groups, &new_labels, &grower, seed)?;
            let subtrees = subtrees.par_iter().enumerate().with_max_len(1).map(|(at, subtree)| {
                let seed = derive(derive(seed, CHILDREN), at as u64);
                let update = || self.subtree(subtree, &grower, seed);
                self.is_touched(&groups[at]).then(update).transpose()
            });
            Ok(UpdatedTree {
                subtrees: subtrees.collect::<Result<_, Stopped>>()?,
                root: Root { nodes: root, groups },
            })
        })
    }

    /// Whether something is new of any of the labels.
    fn is_touched(&self, labels: &[u32]) -> bool {
        labels.iter().any(|&label| self.touched.contains(label))
    }

    /// Adds each label that is new to a tree to a node that leads to labels: the one whose labels'
    /// mean is nearest to the label's, and of equally near ones the first.
    fn new_labels(&self, tree: &Tree) -> NewLabels {
        let mut candidates: Vec<NodeRef> = Vec::new();
        // The features of the means, each with the candidates that have it.
        let mut postings: BTreeMap<u32, Vec<(usize, f32)>> = BTreeMap::new();
        let mut known = vec![false; self.trees.labels.max(self.vectors.offsets.len() - 1)];
        let subtrees = (0..).map(Some).zip(&tree.subtrees);
        for (subtree, nodes) in [(None, &tree.root)].into_iter().chain(subtrees) {
            for node in 0..nodes.len() {
                let labels: Vec<u32> = child_labels(nodes, node).collect();
                // A tree that was grown without labels is a root without children.
                if labels.is_empty() && (subtree.is_some() || !tree.subtrees.is_empty()) {
                    continue;
                }
                for &label in &labels {
                    if let Some(known) = known.get_mut(label as usize) {
                        *known = true;
                    }
                }
                for (feature, value) in self.mean(&labels) {
                    postings.entry(feature).or_default().push((candidates.len(), value));
                }
                candidates.push((subtree, node));
            }
        }
        let mut new_labels = NewLabels::new();
        let mut cosines = vec![0.0f32; candidates.len()];
        for &label in self.labels.iter().filter(|&&label| !known[label as usize]) {
            cosines.fill(0.0);
            let (features, values) = self.vectors.view().row(label);
            for (feature, value) in features.iter().zip(values) {
                for &(candidate, weight) in postings.get(feature).into_iter().flatten() {
                    cosines[candidate] += value * weight;
                }
            }
            let nearer = |best, at| if cosines[at] > cosines[best] { at } else { best };
            if let Some(best) = (0..cosines.len()).reduce(nearer) {
                new_labels.entry(candidates[best]).or_default().push(label);
            }
        }
        new_labels
    }

    /// The sum of some labels' vectors, scaled to length 1.
    fn mean(&self, labels: &[u32]) -> Vec<(u32, f32)> {
        let mut sums: BTreeMap<u32, f32> = BTreeMap::new();
        for &label in
            labels.iter().filter(|&&label| (label as usize) + 1 < self.vectors.offsets.len())
        {
            let (features, values) = self.vectors.view().row(label);
            for (&feature, value) in features.iter().zip(values) {
                *sums.entry(feature).or_default() += value;
            }
        }
        let length =
            sums.values().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt() as f32;
        sums.into_iter()
            .map(|(feature, value)| (feature, value / length.max(f32::MIN_POSITIVE)))
            .collect()
    }

    /// Learns the root again, from all rows.
    fn root(
        &self,
        nodes: &Nodes,
        groups: &[Vec<u32>],
        new_labels: &NewLabels,
        grower: &Grower<'_>,
        seed: u64,
    ) -> Result<Nodes, Stopped> {
        let exists = |child: &Child| match *child {
            Child::Label(_) => true,
            Child::Node(subtree) => (subtree as usize) < groups.len(),
        };
        let mut children: Vec<Child> = nodes.children_of(0).filter(exists).collect();
        let new_labels = new_labels.get(&(None, 0)).into_iter().flatten();
        children.extend(new_labels.map(|&label| Child::Label(label)));
        let labels_below = |child: &Child| match *child {
            Child::Label(label) => vec![label],
            Child::Node(subtree) => groups[subtree as usize].clone(),
        };
        let labels: Vec<Vec<u32>> = children.iter().map(labels_below).collect();
        let mut builder = Builder::new(self.trees.params.precision);
        let positives = grower.positives(&[], Some(&labels), |row| row);
        let emphasis = self.emphasis(&children);
        grower.learn(&mut builder, &self.training.rows, &positives, &emphasis, seed)?;
        builder.set_children(0, children);
        Ok(builder.finish())
    }

    /// The weight of each child's positive rows.
    fn emphasis(&self, children: &[Child]) -> Vec<f32> {
        let of_child = |child: &Child| match *child {
            Child::Label(label) => self.training.emphasis_of(label),
            Child::Node(_) => 1.0,
        };
        children.iter().map(of_child).collect()
    }

    /// Learns those nodes of a subtree again that have new rows; `seed` is that of its first node.
    fn subtree(
        &self,
        subtree: &Subtree<'_>,
        grower: &Grower<'_>,
        seed: u64,
    ) -> Result<Nodes, Stopped> {
        let nodes = subtree.nodes;
        let mut builder = Builder::new(self.trees.params.precision);
        let mut scratch = grower.scratch();
        let mut seeds = vec![seed; nodes.len()];
        for node in 0..nodes.len() {
            for (at, child) in subtree.children[node].iter().enumerate() {
                if let &Child::Node(child) = child {
                    seeds[child as usize] = derive(derive(seeds[node], CHILDREN), at as u64);
                }
            }
            let groups = &subtree.groups[node];
            let labels = subtree.labels(node);
            if !self.is_touched(&labels) {
                builder.push_copy(nodes, node, |_| true);
                continue;
            }
            grower.task.check()?;
            let emphasis = self.emphasis(&subtree.children[node]);
            let (groups, seed) = (Some(&groups[..]), seeds[node]);
            grower.learn_node(&mut builder, &labels, groups, &emphasis, seed, &mut scratch)?;
            builder.set_children(node, subtree.children[node].iter().copied());
        }
        Ok(builder.finish())
    }
}

/// A subtree with the labels that are added to it.
struct Subtree<'a> {
    nodes: &'a Nodes,
    /// The children of each node, new labels last.
    children: Vec<Vec<Child>>,
    /// The labels that each child of each node leads to.
    groups: Vec<Vec<Vec<u32>>>,
}

impl<'a> Subtree<'a> {
    fn new(nodes: &'a Nodes, number: usize, new_labels: &NewLabels) -> Self {
        // Checked when the model was opened: each node has one parent and comes after it. A mapped
        // file may have changed since.
        let mut has_parent = vec![false; nodes.len()];
        let mut is_own = |node: usize, child: &Child| match *child {
            Child::Label(_) => true,
            Child::Node(child) => {
                let flag = has_parent.get_mut(child as usize).filter(|_| child as usize > node);
                flag.is_some_and(|has_parent| !std::mem::replace(has_parent, true))
            }
        };
        let children: Vec<Vec<Child>> = (0..nodes.len())
            .map(|node| {
                let new_labels = new_labels.get(&(Some(number), node)).into_iter().flatten();
                let own = nodes.children_of(node).filter(|child| is_own(node, child));
                own.chain(new_labels.map(|&label| Child::Label(label))).collect()
            })
            .collect();
        // From the last node to the first, since children come after their node.
        let mut groups: Vec<Vec<Vec<u32>>> = vec![Vec::new(); nodes.len()];
        for node in (0..nodes.len()).rev() {
            let labels_below = |child: &Child| match *child {
                Child::Label(label) => vec![label],
                Child::Node(child) => groups[child as usize].concat(),
            };
            groups[node] = children[node].iter().map(labels_below).collect();
        }
        Subtree { nodes, children, groups }
    }

    /// The labels that a node leads to, sorted as they were when it was grown.
    fn labels(&self, node: usize) -> Vec<u32> {
        let mut labels = self.groups[node].concat();
        labels.sort_unstable();
        labels
    }
}

/// The labels among a node's children.
fn child_labels(nodes: &Nodes, node: usize) -> impl Iterator<Item = u32> {
    nodes.children_of(node).filter_map(|child| match child {
        Child::Label(label) => Some(label),
        Child::Node(_) => None,
    })
}
