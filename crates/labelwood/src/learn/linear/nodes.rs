//! Nodes and their children's weights, in flat arrays.

use super::ranks::Ranks;
use crate::base::array::{Array, Numbers, OnDemand, joined, section};
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

/// Where a node's child leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// To a label.
    Label(u32),
    /// To another node.
    Node(u32),
}

/// The bit that tells nodes from labels among stored children.
const NODE: u32 = 1 << 31;

impl Child {
    /// The most labels, and nodes, that can be told apart.
    pub const MOST: usize = NODE as usize;

    pub(super) fn pack(self) -> u32 {
        match self {
            Child::Label(label) => label,
            Child::Node(node) => node | NODE,
        }
    }

    fn unpack(packed: u32) -> Self {
        if packed & NODE == 0 { Child::Label(packed) } else { Child::Node(packed & !NODE) }
    }
}

/// The stored weights.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Half(Array<u16>),
    Single(Array<f32>),
}

/// The most levels that a tree may have, which is the most that its settings allow.
const MOST_LEVELS: u32 = 1000;

/// What the children and features of some nodes may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within {
    /// How many labels the model has.
    pub labels: usize,
    /// How many features the model has.
    pub features: usize,
    /// How many parts the children of a root, or of a block of labels, may name; none if children are
    /// nodes beside their own.
    pub parts: Option<usize>,
}

/// Some nodes of a label tree, or a block of labels.
///
/// Each node has children; each feature of a node lists the children that have a weight for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Nodes {
    /// Where each node's children start, and last their number.
    pub(crate) children_start: Array<u32>,
    pub(crate) children: Array<u32>,
    /// The score of each child for a row without features.
    pub(crate) biases: Array<f32>,
    /// Where each node's features start, and last their number.
    pub(crate) features_start: Array<u64>,
    /// The features of each node, in increasing order.
    pub(crate) features: Array<u32>,
    /// Where each node's weights start, and last their number.
    pub(crate) weights_start: Array<u64>,
    /// Where each feature's weights end, counted from the start of its node's.
    pub(crate) ends: Array<u32>,
    /// The child, counted from the node's first, that each weight belongs to.
    pub(crate) owners: Numbers,
    pub(crate) values: Values,
    /// For single rows.
    pub(crate) ranks: OnDemand<Ranks>,
}

/// The size of some nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NodesFigures {
    /// How many nodes there are.
    pub nodes: u64,
    /// How many labels they lead to.
    pub labels: u64,
    /// How many weights they hold.
    pub weights: u64,
}

impl std::iter::Sum for NodesFigures {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(NodesFigures::default(), |sum, part| NodesFigures {
            nodes: sum.nodes + part.nodes,
            labels: sum.labels + part.labels,
            weights: sum.weights + part.weights,
        })
    }
}

impl Nodes {
    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.children_start.len() - 1
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The positions of a node's children.
    pub fn children(&self, node: usize) -> Range<usize> {
        section(&self.children_start, node, self.children.len())
    }

    /// The features of a node, in increasing order.
    pub(super) fn features_of(&self, node: usize) -> &[u32] {
        &self.features[self.feature_range(node)]
    }

    /// Where the weights of each of these end.
    pub(super) fn ends_of(&self, node: usize) -> &[u32] {
        &self.ends[self.feature_range(node)]
    }

    fn feature_range(&self, node: usize) -> Range<usize> {
        section(&self.features_start, node, self.features.len())
    }

    /// Where a node's weights are.
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

    /// Where the features of a node are, if these are many.
    pub(super) fn ranks_of(&self, node: usize) -> Option<&Ranks> {
        self.ranks.get_or_make(self.len(), node, || Ranks::new(self.features_of(node)))
    }

    /// The child at a position.
    pub fn child(&self, at: usize) -> Child {
        Child::unpack(self.children[at])
    }

    /// A node's children in their order.
    pub fn children_of(&self, node: usize) -> impl Iterator<Item = Child> {
        self.children[self.children(node)].iter().map(|&packed| Child::unpack(packed))
    }

    /// The labels that a node leads to, sorted.
    pub fn labels_below(&self, node: usize) -> Vec<u32> {
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
                        is_below
                            .get_mut(child as usize)
                            .into_iter()
                            .for_each(|below| *below = true);
                    }
                }
            }
        }
        labels.sort_unstable();
        labels
    }

    /// How much there is.
    pub fn figures(&self) -> NodesFigures {
        let labels = self.children.iter().filter(|&&packed| packed & NODE == 0).count();
        NodesFigures {
            nodes: self.len() as u64,
            labels: labels as u64,
            weights: self.owners.len() as u64,
        }
    }

    /// The bytes of its arrays.
    pub fn bytes(&self) -> usize {
        let owner = match self.owners {
            Numbers::U8(_) => 1,
            Numbers::U16(_) => 2,
            Numbers::U32(_) => 4,
        };
        let weight = owner
            + match self.precision() {
                Precision::Half => 2,
                Precision::Single => 4,
            };
        (self.children.len() + self.biases.len() + self.children_start.len()) * 4
            + (self.features_start.len() + self.weights_start.len()) * 8
            + (self.features.len() + self.ends.len()) * 4
            + self.owners.len() * weight
    }

    /// How the weights are stored.
    pub fn precision(&self) -> Precision {
        match self.values {
            Values::Half(_) => Precision::Half,
            Values::Single(_) => Precision::Single,
        }
    }

    /// The weights of a label as (feature, weight), largest first; none if the label is not here.
    pub fn weights_of(&self, label: u32) -> Vec<(u32, f32)> {
        let mut found = Vec::new();
        for node in 0..self.len() {
            let children = self.children(node);
            let owner = children.clone().position(|at| self.child(at) == Child::Label(label));
            let Some(owner) = owner else { continue };
            for (feature, weights) in self.weights_by_feature(node) {
                for weight in weights {
                    if self.owners.get(weight) as usize == owner {
                        found.push((feature, self.values.get(weight)));
                    }
                }
            }
        }
        found.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
        found
    }

    /// Says what does not fit together, so that no walk leaves the arrays, goes round in circles or
    /// comes to a node twice.
    ///
    /// Costs a look at every child and every feature, but not at every weight: what a wrong owner
    /// could do is checked where it is used.
    pub(crate) fn check(&self, within: Within) -> Result<(), String> {
        let nodes = self.children_start.len().saturating_sub(1);
        if nodes == 0 {
            return Err("it has no nodes".to_owned());
        }
        self.check_lengths(nodes)?;
        // Borrowed once: finding an array in its file again for each node takes longer than the rest.
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
                features.last().filter(|&&last| last as usize >= within.features)
            {
                return Err(format!(
                    "node {node} has feature {feature}, but the model has {}",
                    within.features
                ));
            }
        }
        self.check_children(nodes, within)
    }

    /// Whether all arrays have the lengths that go with so many nodes.
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

    /// Whether every child is a label of the model or a node with this one parent, and every node has
    /// a parent.
    fn check_children(&self, nodes: usize, within: Within) -> Result<(), String> {
        // The level of each node that a child may name, 0 until it has a parent.
        let mut levels = vec![0u32; within.parts.unwrap_or(nodes)];
        if within.parts.is_none() {
            levels[0] = 1;
        }
        let (starts, children) = (&self.children_start[..], &self.children[..]);
        for node in 0..nodes {
            // Children come after their node, so that no walk goes in circles.
            let (first, level) = match within.parts {
                Some(_) => (0, 2),
                None => (node + 1, levels[node] + 1),
            };
            if level > MOST_LEVELS + 1 {
                return Err(format!("it has more than {MOST_LEVELS} levels"));
            }
            for &packed in &children[starts[node] as usize..starts[node + 1] as usize] {
                match Child::unpack(packed) {
                    Child::Label(label) if (label as usize) < within.labels => {}
                    Child::Label(label) => {
                        let labels = within.labels;
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
    pub fn new(values: Vec<f32>, precision: Precision) -> Self {
        match precision {
            Precision::Single => Values::Single(values.into()),
            Precision::Half => {
                Values::Half(values.into_iter().map(narrowed).collect::<Vec<_>>().into())
            }
        }
    }

    /// The numbers of some arrays, one after the other.
    pub fn join<'a>(parts: impl Iterator<Item = &'a Values> + Clone, precision: Precision) -> Self {
        match precision {
            Precision::Single => Values::Single(joined(parts, Values::len, Values::get).into()),
            Precision::Half => {
                Values::Half(joined(parts, Values::len, |part, at| narrowed(part.get(at))).into())
            }
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Values::Half(values) => values.len(),
            Values::Single(values) => values.len(),
        }
    }

    pub fn get(&self, at: usize) -> f32 {
        match self {
            Values::Half(values) => widened(values[at]),
            Values::Single(values) => values[at],
        }
    }
}

/// A single-precision number as a half-precision one.
fn narrowed(weight: f32) -> u16 {
    // The largest half: a weight beyond it would become infinite.
    let most = f16::MAX.to_f32();
    f16::from_f32(weight.clamp(-most, most)).to_bits()
}

/// A half-precision number as a single-precision one, without a branch; exact for finite numbers.
#[inline(always)]
pub(super) fn widened(bits: u16) -> f32 {
    // The bits fall into the place of a single's, whose exponent counts from 112 less.
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
                assert_eq!(widened(bits).to_bits(), half.to_f32().to_bits(), "{bits:#x}");
            }
        }
    }

    #[test]
    fn children_are_labels_or_nodes() {
        for child in [Child::Label(7), Child::Node(7), Child::Label(NODE - 1), Child::Node(0)] {
            assert_eq!(Child::unpack(child.pack()), child);
        }
    }
}
