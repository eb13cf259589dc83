//! Learning again what new rows touch.
//!
//! A tree keeps its nodes. A label that is new to it comes under the node whose labels are most like
//! it, and every node with a row that is new to it learns its classifiers again: the root always,
//! and below it the nodes on the way to the labels of the new rows. The other nodes stay.

use super::grow::{CHILDREN, Ground, Grower, Root};
use super::{LabelTrees, LabelVectors, Tree};
use crate::base::random::derive;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, LabelRowsView, LabelSet, OwnedEntries};
use crate::learn::linear::{Builder, Child, Nodes};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Learns trees again from more rows than they were grown from.
///
/// ```
/// use labelwood::data::generate::{Generator, Profile};
/// use labelwood::label_tree::{Params, Trainer, Updater};
/// use labelwood::run::Pool;
/// let run = Pool::new(2)?.task();
/// let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").unwrap() };
/// let (features, labels) = Generator::new(profile, 1)?.rows(0..300, &run)?;
/// let (first, first_labels) = (features.view().slice(0..290), labels.view().slice(0..290));
/// let trees = Trainer::new(first.view(), first_labels.view(), Params::default())?.trees(&run)?;
/// let updater = Updater::new(&trees, features.view(), labels.view(), 290, &run)?;
/// let renewed = updater.tree(0, &run)?;
/// assert_eq!(renewed.subtrees.len(), renewed.root.groups.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Updater<'a> {
    trees: &'a LabelTrees,
    ground: Ground,
    /// The mean of the rows of each label.
    vectors: OwnedEntries,
    /// The labels that occur.
    labels: Vec<u32>,
    /// The labels of new rows.
    touched: LabelSet,
}

/// A tree that was learned again.
#[derive(Clone, Debug, PartialEq)]
pub struct Renewed {
    /// Its root.
    pub root: Root,
    /// The subtrees below it; none where it is as it was.
    pub subtrees: Vec<Option<Nodes>>,
}

/// A node of a tree: the subtree that it is in, or none for the root, and its number there.
type Place = (Option<usize>, usize);

impl<'a> Updater<'a> {
    /// Takes all rows, of which the trees were grown from the first `known`; there must be as many
    /// rows of labels as of features.
    pub fn new(
        trees: &'a LabelTrees,
        features: CsrView<'_>,
        labels: LabelRowsView<'_>,
        known: usize,
        run: &Task,
    ) -> Result<Self, Stopped> {
        assert_eq!(features.len(), labels.len(), "one row of labels for each row of features");
        assert_eq!(features.columns(), trees.features, "the features are those of the trees");
        let ground = Ground::weighted(features, labels, trees.weights.clone(), &trees.params);
        let occurring = ground.known_labels();
        let all: LabelSet = occurring.iter().copied().collect();
        let vectors = ground.mean_rows(&all, trees.params.vector_threshold, run)?;
        let new_rows = labels.rows().skip(known);
        let touched = new_rows.flat_map(|row| row.indices.iter().copied()).collect();
        Ok(Updater { trees, ground, vectors, labels: occurring, touched })
    }

    /// Learns one of the trees again.
    pub fn tree(&self, number: usize, run: &Task) -> Result<Renewed, Stopped> {
        let tree = &self.trees.trees[number];
        let seed = derive(self.trees.params.seed, number as u64);
        let vectors = LabelVectors::new(&[]);
        let grower =
            Grower { ground: &self.ground, vectors: &vectors, params: &self.trees.params, run };
        let joining = self.joining(tree);
        let parts: Vec<Part<'_>> = tree
            .subtrees
            .iter()
            .enumerate()
            .map(|(part, nodes)| Part::new(nodes, Some(part), &joining))
            .collect();
        let groups: Vec<Vec<u32>> = parts.iter().map(|part| part.labels(0)).collect();
        run.install(|| {
            let root = self.root(&tree.root, &groups, &joining, &grower, seed)?;
            let subtrees = parts.par_iter().enumerate().with_max_len(1).map(|(at, part)| {
                let is_touched = groups[at].iter().any(|&label| self.touched.contains(label));
                let seed = derive(derive(seed, CHILDREN), at as u64);
                is_touched.then(|| self.subtree(part, &grower, seed)).transpose()
            });
            Ok(Renewed {
                subtrees: subtrees.collect::<Result<_, Stopped>>()?,
                root: Root { nodes: root, groups },
            })
        })
    }

    /// The labels that each node gets that are new to a tree: those under the node, of the nodes
    /// that lead to labels, whose labels' mean is nearest to theirs; of several the first.
    fn joining(&self, tree: &Tree) -> BTreeMap<Place, Vec<u32>> {
        let mut places: Vec<Place> = Vec::new();
        // The features of the means, each with the places that have it.
        let mut postings: BTreeMap<u32, Vec<(usize, f32)>> = BTreeMap::new();
        let mut known = vec![false; self.trees.labels.max(self.vectors.offsets.len() - 1)];
        let parts = tree.subtrees.iter().enumerate().map(|(part, nodes)| (Some(part), nodes));
        for (part, nodes) in [(None, &tree.root)].into_iter().chain(parts) {
            for node in 0..nodes.len() {
                let labels: Vec<u32> = labels_of(nodes, node).collect();
                // A tree that was grown without labels is a root without children.
                if labels.is_empty() && (part.is_some() || !tree.subtrees.is_empty()) {
                    continue;
                }
                for &label in &labels {
                    if let Some(known) = known.get_mut(label as usize) {
                        *known = true;
                    }
                }
                for (feature, value) in self.mean(&labels) {
                    postings.entry(feature).or_default().push((places.len(), value));
                }
                places.push((part, node));
            }
        }
        let mut joining: BTreeMap<Place, Vec<u32>> = BTreeMap::new();
        let mut near = vec![0.0f32; places.len()];
        for &label in self.labels.iter().filter(|&&label| !known[label as usize]) {
            near.fill(0.0);
            let (features, values) = self.vectors.view().row(label);
            for (feature, value) in features.iter().zip(values) {
                for &(place, weight) in postings.get(feature).into_iter().flatten() {
                    near[place] += value * weight;
                }
            }
            let best =
                (0..near.len()).reduce(|best, at| if near[at] > near[best] { at } else { best });
            if let Some(best) = best {
                joining.entry(places[best]).or_default().push(label);
            }
        }
        joining
    }

    /// The sum of the vectors of some labels, of length 1.
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
        joining: &BTreeMap<Place, Vec<u32>>,
        grower: &Grower<'_>,
        seed: u64,
    ) -> Result<Nodes, Stopped> {
        let exists = |child: &Child| match *child {
            Child::Label(_) => true,
            Child::Node(part) => (part as usize) < groups.len(),
        };
        let mut children: Vec<Child> = nodes.children_of(0).filter(exists).collect();
        children.extend(
            joining.get(&(None, 0)).into_iter().flatten().map(|&label| Child::Label(label)),
        );
        let leads_to = |child: &Child| match *child {
            Child::Label(label) => vec![label],
            Child::Node(part) => groups[part as usize].clone(),
        };
        let theirs: Vec<Vec<u32>> = children.iter().map(leads_to).collect();
        let mut builder = Builder::new(self.trees.params.precision);
        let positives = grower.positives(&[], Some(&theirs), |row| row);
        let emphasis = self.emphasis(&children);
        grower.learn(&mut builder, &self.ground.rows, &positives, &emphasis, seed)?;
        for (at, &child) in children.iter().enumerate() {
            builder.set_child(0, at, child);
        }
        Ok(builder.finish())
    }

    /// How much the positive rows of each child count.
    fn emphasis(&self, children: &[Child]) -> Vec<f32> {
        let of_child = |child: &Child| match *child {
            Child::Label(label) => self.ground.emphasis_of(label),
            Child::Node(_) => 1.0,
        };
        children.iter().map(of_child).collect()
    }

    /// Learns the nodes of a subtree again that new rows touch; `seed` is that of its first node.
    fn subtree(&self, part: &Part<'_>, grower: &Grower<'_>, seed: u64) -> Result<Nodes, Stopped> {
        let nodes = part.nodes;
        let mut builder = Builder::new(self.trees.params.precision);
        let mut scratch = grower.scratch();
        let mut seeds = vec![seed; nodes.len()];
        for node in 0..nodes.len() {
            for (at, child) in part.children[node].iter().enumerate() {
                if let &Child::Node(child) = child {
                    seeds[child as usize] = derive(derive(seeds[node], CHILDREN), at as u64);
                }
            }
            let groups = &part.groups[node];
            let labels = part.labels(node);
            if !labels.iter().any(|&label| self.touched.contains(label)) {
                builder.push_copy(nodes, node);
                continue;
            }
            grower.run.check()?;
            let emphasis = self.emphasis(&part.children[node]);
            let (groups, seed) = (Some(&groups[..]), seeds[node]);
            grower.learn_own(&mut builder, &labels, groups, &emphasis, seed, &mut scratch)?;
            for (at, &child) in part.children[node].iter().enumerate() {
                builder.set_child(node, at, child);
            }
        }
        Ok(builder.finish())
    }
}

/// A subtree with the labels that join it.
struct Part<'a> {
    nodes: &'a Nodes,
    /// The children of each node, those that join it last.
    children: Vec<Vec<Child>>,
    /// The labels that each child of each node leads to.
    groups: Vec<Vec<Vec<u32>>>,
}

impl<'a> Part<'a> {
    fn new(nodes: &'a Nodes, part: Option<usize>, joining: &BTreeMap<Place, Vec<u32>>) -> Self {
        // A mapped file may have changed since it was checked that each node comes after its parent,
        // and has one.
        let mut has_parent = vec![false; nodes.len()];
        let mut is_own = |node: usize, child: &Child| match *child {
            Child::Label(_) => true,
            Child::Node(child) => {
                let place = has_parent.get_mut(child as usize).filter(|_| child as usize > node);
                place.is_some_and(|has_parent| !std::mem::replace(has_parent, true))
            }
        };
        let children: Vec<Vec<Child>> = (0..nodes.len())
            .map(|node| {
                let joining = joining.get(&(part, node)).into_iter().flatten();
                let own = nodes.children_of(node).filter(|child| is_own(node, child));
                own.chain(joining.map(|&label| Child::Label(label))).collect()
            })
            .collect();
        // Children come after their node.
        let mut groups: Vec<Vec<Vec<u32>>> = vec![Vec::new(); nodes.len()];
        for node in (0..nodes.len()).rev() {
            let leads_to = |child: &Child| match *child {
                Child::Label(label) => vec![label],
                Child::Node(child) => groups[child as usize].concat(),
            };
            groups[node] = children[node].iter().map(leads_to).collect();
        }
        Part { nodes, children, groups }
    }

    /// The labels that a node leads to, in the order in which growing has them.
    fn labels(&self, node: usize) -> Vec<u32> {
        let mut labels = self.groups[node].concat();
        labels.sort_unstable();
        labels
    }
}

/// The labels that a node leads to without another node between.
fn labels_of(nodes: &Nodes, node: usize) -> impl Iterator<Item = u32> {
    nodes.children(node).filter_map(|at| match nodes.child(at) {
        Child::Label(label) => Some(label),
        Child::Node(_) => None,
    })
}
