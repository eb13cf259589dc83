//! Nodes and their children's weights, in flat arrays.

use super::feature_index::FeatureIndex;
use crate::base::array::{Array, LazyPerNode, Numbers, section};
use crate::base::settings::choices;
use half::f16;
use serde::Serialize;
use std::ops::Range;

choices! {
    /// How weights are stored.
    #[derive(Default)]
    pub enum Precision {
        /// Sixteen-bit floating point.
        #[default]
        Half = "half",
        /// Thirty-two bits.
        Single = "single",
    }
}

/// What a child of a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Child {
    /// A label.
    Label(u32),
    /// Another node.
    Node(u32),
}

/// The bit that tells nodes from labels among stored children.
const NODE_BIT: u32 = 1 << 31;

impl Child {
    pub(super) fn pack(self) -> u32 {
        match self {
            Child::Label(label) => label,
            Child::Node(node) => node | NODE_BIT,
        }
    }

    fn unpack(packed: u32) -> Self {
        if packed & NODE_BIT == 0 { Child::Label(packed) } else { Child::Node(packed & !NODE_BIT) }
    }
}

/// The stored weights.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Half(Array<u16>),
    Single(Array<f32>),
}

/// The most levels that a tree may have: as many as its settings allow.
const MAX_LEVELS: u32 = 1000;

/// The ids that a model's children and features must stay below.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How many labels the model has.
    pub labels: usize,
    /// How many features the model has.
    pub features: usize,
    /// The number of subtrees, if a [`Child::Node`] is the number of a subtree, as in a root; none if
    /// it is the number of a node in the same array.
    pub subtrees: Option<usize>,
}

/// Some nodes of a label tree, or a block of labels.
///
/// Each node has children; each feature of a node lists the children that have a weight for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Nodes {
    /// Where each node's children start; the last element is the number of all children.
    pub(crate) children_start: Array<u32>,
    pub(crate) children: Array<u32>,
    /// The score of each child for a row without features.
    pub(crate) biases: Array<f32>,
    /// Where each node's features start; the last element is the number of all features.
    pub(crate) features_start: Array<u64>,
    /// The features of each node, in increasing order.
    pub(crate) features: Array<u32>,
    /// Where each node's weights start; the last element is the number of all weights.
    pub(crate) weights_start: Array<u64>,
    /// Where each feature's weights end, counted from the first weight of its node.
    pub(crate) ends: Array<u32>,
    /// The child that each weight belongs to, counted from the node's first.
    pub(crate) owners: Numbers,
    pub(crate) values: Values,
    /// Speed up the scoring of few rows; built per node when needed.
    pub(crate) feature_indexes: LazyPerNode<FeatureIndex>,
}

/// The size of some nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct NodesFigures {
    /// How many nodes there are.
    pub nodes: u64,
    /// How many labels they lead to.
    pub labels: u64,
    /// How many weights they hold.
    pub weights: u64,
}

impl std::iter::Sum for NodesFigures {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(NodesFigures::default(), |sum, next| NodesFigures {
            nodes: sum.nodes + next.nodes,
            labels: sum.labels + next.labels,
            weights: sum.weights + next.weights,
        })
    }
}

impl Nodes {
    /// The number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.children_start.len() - 1
    }

    /// Whether there are no nodes.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The positions of a node's children.
    pub(crate) fn children(&self, node: usize) -> Range<usize> {
        section(&self.children_start, node, self.children.len())
    }

    /// The features of a node, in increasing order.
    pub(super) fn features_of(&self, node: usize) -> &[u32] {
        &self.features[self.feature_range(node)]
    }

    /// Where the weights of each of the node's features end, counted from the node's first weight.
    pub(super) fn ends_of(&self, node: usize) -> &[u32] {
        &self.ends[self.feature_range(node)]
    }

    fn feature_range(&self, node: usize) -> Range<usize> {
        section(&self.features_start, node, self.features.len())
    }

    /// The positions of a node's weights.
    pub(super) fn weight_range(&self, node: usize) -> Range<usize> {
        section(&self.weights_start, node, self.owners.len())
    }

    /// The features of a node with the positions of their weights.
    pub(super) fn weights_by_feature(
        &self,
        node: usize,
    ) -> impl Iterator<Item = (u32, Range<usize>)> {
        let Range { start, end } = self.weight_range(node);
        let mut next = start;
        self.features_of(node).iter().zip(self.ends_of(node)).map(move |(&feature, &last)| {
            let last = (start + last as usize).min(end);
            (feature, std::mem::replace(&mut next, last)..last)
        })
    }

    /// The feature index of a node, built at the first call; none if the node has too few features.
    pub(super) fn feature_index_of(&self, node: usize) -> Option<&FeatureIndex> {
        let build = || FeatureIndex::new(self.features_of(node));
        self.feature_indexes.get_or_init(self.len(), node, build)
    }

    /// The child at a position.
    pub(crate) fn child(&self, at: usize) -> Child {
        Child::unpack(self.children[at])
    }

    /// A node's children in their order.
    pub(crate) fn children_of(&self, node: usize) -> impl Iterator<Item = Child> {
        self.children[self.children(node)].iter().map(|&packed| Child::unpack(packed))
    }

    /// The labels that a node leads to, sorted.
    pub(crate) fn labels_below(&self, node: usize) -> Vec<u32> {
        let (mut labels, mut is_below) = (Vec::new(), vec![false; self.len()]);
        // Children come after their node.
        for at in node..self.len() {
            if at != node && !is_below[at] {
                continue;
            }
            for child in self.children_of(at) {
                match child {
                    Child::Label(label) => labels.push(label),
                    Child::Node(child) => {
                        if let Some(below) = is_below.get_mut(child as usize) {
                            *below = true;
                        }
                    }
                }
            }
        }
        labels.sort_unstable();
        labels
    }

    /// The sizes of these nodes.
    pub(crate) fn figures(&self) -> NodesFigures {
        let labels = self.children.iter().filter(|&&packed| packed & NODE_BIT == 0).count();
        NodesFigures {
            nodes: self.len() as u64,
            labels: labels as u64,
            weights: self.owners.len() as u64,
        }
    }

    /// How the weights are stored.
    pub(crate) fn precision(&self) -> Precision {
        match self.values {
            Values::Half(_) => Precision::Half,
            Values::Single(_) => Precision::Single,
        }
    }

    /// The largest magnitude of all weights; 0 if there is none.
    pub(crate) fn largest_weight(&self) -> f32 {
        let weights = (0..self.values.len()).map(|at| self.values.get(at).abs());
        weights.fold(0.0, f32::max)
    }

    /// Refuses arrays that do not fit together, so that no walk from node to node leaves the arrays,
    /// is endless or reaches a node twice.
    ///
    /// Looks at every child and feature, but not at every weight: an owner is checked where it is
    /// used.
    pub(crate) fn check(&self, limits: Limits) -> Result<(), String> {
        let nodes = self.children_start.len().saturating_sub(1);
        if nodes == 0 {
            return Err("it has no nodes".to_owned());
        }
        self.check_lengths(nodes)?;
        // Borrowed once: dereferencing a mapped array for each node would take longer than the rest.
        let (features, ends) = (&self.features[..], &self.ends[..]);
        let (starts, weights) = (&self.features_start[..], &self.weights_start[..]);
        for node in 0..nodes {
            let range = starts[node] as usize..starts[node + 1] as usize;
            let (features, ends) = (&features[range.clone()], &ends[range]);
            let last = u64::from(ends.last().copied().unwrap_or(0));
            let is_whole = ends.is_sorted() && last == weights[node + 1] - weights[node];
            if !is_whole || !features.is_sorted_by(|left, right| left < right) {
                return Err(format!("the features of node {node} are not in order"));
            }
            if let Some(&feature) =
                features.last().filter(|&&last| last as usize >= limits.features)
            {
                return Err(format!(
                    "node {node} has feature {feature}, but the model has {}",
                    limits.features
                ));
            }
        }
        self.check_children(nodes, limits)
    }

    /// Whether all arrays have the lengths that this number of nodes asks for.
    fn check_lengths(&self, nodes: usize) -> Result<(), String> {
        fn divides<T: Copy + PartialOrd + Into<u64>>(
            starts: &[T],
            nodes: usize,
            total: usize,
        ) -> bool {
            starts.len() == nodes + 1
                && starts[0].into() == 0
                && starts.is_sorted()
                && starts[nodes].into() == total as u64
        }
        if !divides(&self.children_start, nodes, self.children.len())
            || self.biases.len() != self.children.len()
        {
            return Err("its children do not fit its nodes".to_owned());
        }
        if !divides(&self.features_start, nodes, self.features.len())
            || self.ends.len() != self.features.len()
            || !divides(&self.weights_start, nodes, self.owners.len())
            || self.values.len() != self.owners.len()
        {
            return Err("its weights do not fit its nodes".to_owned());
        }
        if !self.biases.iter().all(|bias| bias.is_finite()) {
            return Err("a bias is not a number".to_owned());
        }
        Ok(())
    }

    /// Whether every child is a label of the model or an existing node, and every node has exactly
    /// one parent.
    fn check_children(&self, nodes: usize, limits: Limits) -> Result<(), String> {
        // The level of each node or subtree that a child may name, 0 until it has a parent.
        let mut levels = vec![0u32; limits.subtrees.unwrap_or(nodes)];
        if limits.subtrees.is_none() {
            levels[0] = 1;
        }
        let (starts, children) = (&self.children_start[..], &self.children[..]);
        for node in 0..nodes {
            // Children come after their node, so that no walk is endless.
            let (first, level) = match limits.subtrees {
                Some(_) => (0, 2),
                None => (node + 1, levels[node] + 1),
            };
            if level > MAX_LEVELS + 1 {
                return Err(format!("it has more than {MAX_LEVELS} levels"));
            }
            for &packed in &children[starts[node] as usize..starts[node + 1] as usize] {
                match Child::unpack(packed) {
                    Child::Label(label) if (label as usize) < limits.labels => {}
                    Child::Label(label) => {
                        let labels = limits.labels;
                        return Err(format!("it has label {label}, but the model has {labels}"));
                    }
                    Child::Node(child) => {
                        let found =
                            levels.get_mut(child as usize).filter(|_| child as usize >= first);
                        let Some(found) = found else {
                            return Err(format!("a child of node {node} does not exist"));
                        };
                        if std::mem::replace(found, level) != 0 {
                            return Err(format!("node {child} has two parents"));
                        }
                    }
                }
            }
        }
        match levels.iter().position(|&level| level == 0) {
            Some(node) => Err(format!("node {node} has no parent")),
            None => Ok(()),
        }
    }
}

impl Values {
    /// Numbers in the given precision.
    pub(crate) fn new(values: Vec<f32>, precision: Precision) -> Self {
        match precision {
            Precision::Single => Values::Single(values.into()),
            Precision::Half => {
                Values::Half(values.into_iter().map(f32_to_f16).collect::<Vec<_>>().into())
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Values::Half(values) => values.len(),
            Values::Single(values) => values.len(),
        }
    }

    pub(crate) fn get(&self, at: usize) -> f32 {
        match self {
            Values::Half(values) => f16_to_f32(values[at]),
            Values::Single(values) => values[at],
        }
    }
}

/// A single-precision number as a half-precision one.
fn f32_to_f16(weight: f32) -> u16 {
    // Clamped, since a weight beyond the largest half would become infinite.
    let max = f16::MAX.to_f32();
    f16::from_f32(weight.clamp(-max, max)).to_bits()
}

/// A half-precision number as a single-precision one, without a branch; exact for finite numbers.
#[inline(always)]
pub(super) fn f16_to_f32(bits: u16) -> f32 {
    // Shifted to the bits of a single; then times 2^112, the difference of the exponents' biases.
    let magnitude = f32::from_bits(u32::from(bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000);
    f32::from_bits(magnitude.to_bits() | u32::from(bits & 0x8000) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_half_is_widened_exactly() {
        for bits in 0..=u16::MAX {
            let half = f16::from_bits(bits);
            if half.is_finite() {
                assert_eq!(f16_to_f32(bits).to_bits(), half.to_f32().to_bits(), "{bits:#x}");
            }
        }
    }

    #[test]
    fn children_are_labels_or_nodes() {
        for child in [Child::Label(7), Child::Node(7), Child::Label(NODE_BIT - 1), Child::Node(0)] {
            assert_eq!(Child::unpack(child.pack()), child);
        }
    }
}
