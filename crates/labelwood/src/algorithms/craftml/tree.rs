//! A tree as a handful of flat arrays.

use super::centroids::Nearness;
use super::encoding::Decoder;
use super::node_index::NodeIndexes;
use super::params::{Params, Precision};
use crate::base::array::{Array, Numbers, each_pair, prefetch, section};
use crate::base::store::{ArrayRef, FormatError, Unit};
use crate::learn::cluster::lanes::Lanes;

/// A child of a node: the number of a node or of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Child {
    Node(u32),
    Leaf(u32),
}

/// Set in the stored number of a child that is a leaf.
const LEAF_BIT: u32 = 1 << 31;

/// A stored tree with more levels is refused, so that a damaged file cannot make prediction slow.
/// Growing stops at far fewer.
const MOST_LEVELS: u32 = 1000;

impl Child {
    pub(super) fn from_reference(reference: u32) -> Self {
        if reference & LEAF_BIT == 0 {
            Child::Node(reference)
        } else {
            Child::Leaf(reference & !LEAF_BIT)
        }
    }

    /// The stored number of the child: unique, with nodes before leaves.
    pub(super) fn reference(self) -> u32 {
        match self {
            Child::Node(node) => node,
            Child::Leaf(leaf) => leaf | LEAF_BIT,
        }
    }
}

/// Declares the arrays of a tree: how they are stored and read, how they are built, and with what they
/// start.
macro_rules! arrays {
    ($($name:ident: $Stored:ty, $read:ident, $Built:ty = $start:expr;)*) => {
        /// One grown tree.
        ///
        /// Nodes and leaves are each numbered in preorder. The children, scales and biases of node `i`
        /// are at `children_start[i]..children_start[i + 1]`, the words of its centroids at
        /// `words_start[i]..`, their values at `values_start[i]..`. Biases are empty for the cosine. A
        /// leaf has the number of its instances and, for each label among them, how many have it. A
        /// tree without nodes is one leaf.
        #[derive(Clone, Debug, PartialEq)]
        pub(super) struct Tree {
            pub branches: usize,
            pub precision: Precision,
            $(pub $name: $Stored,)*
            /// Computed from the arrays, not stored.
            pub indexes: NodeIndexes,
        }

        /// The arrays of a tree or subtree that is being grown.
        pub(super) struct Builder {
            pub branches: usize,
            pub precision: Precision,
            $(pub $name: $Built,)*
        }

        impl Builder {
            /// A builder without nodes and leaves.
            pub(super) fn new(branches: usize, precision: Precision) -> Self {
                Builder { branches, precision, $($name: $start,)* }
            }

            /// Finishes the tree.
            pub(super) fn finish(self) -> Tree {
                let Builder { branches, precision, .. } = self;
                let indexes = NodeIndexes::default();
                Tree { branches, precision, $($name: self.$name.into(),)* indexes }
            }
        }

        impl Tree {
            /// The arrays by their names.
            pub(super) fn arrays(&self) -> Vec<(&'static str, ArrayRef<'_>)> {
                vec![$((stringify!($name), (&self.$name).into()),)*]
            }

            /// Reads a tree back.
            pub(super) fn read(unit: &Unit, params: &Params) -> Result<Self, FormatError> {
                let &Params { branches, precision, .. } = params;
                $(let $name = unit.$read(stringify!($name))?;)*
                let indexes = NodeIndexes::default();
                let tree = Tree { branches, precision, $($name,)* indexes };
                if !unit.is_own() {
                    tree.check().map_err(|reason| unit.refused(reason))?;
                }
                Ok(tree)
            }
        }
    };
}

arrays! {
    children_start: Array<u32>, array, Vec<u32> = vec![0];
    children: Array<u32>, array, Vec<u32> = Vec::new();
    scales: Array<f32>, array, Vec<f32> = Vec::new();
    biases: Array<f32>, array, Vec<f32> = Vec::new();
    words_start: Array<u64>, array, Vec<u64> = vec![0];
    words: Array<u16>, array, Vec<u16> = Vec::new();
    values_start: Array<u64>, array, Vec<u64> = vec![0];
    values: Array<u8>, array, Vec<u8> = Vec::new();
    leaf_start: Array<u64>, array, Vec<u64> = vec![0];
    leaf_instances: Numbers, numbers, Numbers = Numbers::default();
    leaf_labels: Numbers, numbers, Numbers = Numbers::default();
    leaf_counts: Numbers, numbers, Numbers = Numbers::default();
}

/// The size and shape of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub(super) struct TreeFigures {
    /// Nodes with children.
    pub nodes: u64,
    /// Leaves.
    pub leaves: u64,
    /// The longest path, in nodes.
    pub depth: u64,
    /// Stored values of centroids.
    pub centroid_entries: u64,
    /// Stored labels of leaves.
    pub leaf_labels: u64,
    /// The instances of the largest leaf.
    pub largest_leaf: u64,
}

impl Tree {
    /// The number of nodes with children.
    pub(super) fn nodes(&self) -> usize {
        self.children_start.len() - 1
    }

    /// The number of leaves.
    pub(super) fn leaves(&self) -> usize {
        self.leaf_instances.len()
    }

    /// The size and shape of the tree.
    pub(super) fn figures(&self) -> TreeFigures {
        let mut depth = vec![1u64; self.nodes()];
        for node in 0..self.nodes() {
            for at in self.child_range(node) {
                if let Child::Node(child) = self.child(node, at) {
                    depth[child as usize] = depth[node] + 1;
                }
            }
        }
        let largest = (0..self.leaves()).map(|leaf| self.leaf_instances.get(leaf)).max();
        TreeFigures {
            nodes: self.nodes() as u64,
            leaves: self.leaves() as u64,
            depth: depth.into_iter().max().unwrap_or(0),
            centroid_entries: (self.values.len() / self.precision.bytes()) as u64,
            leaf_labels: self.leaf_labels.len() as u64,
            largest_leaf: u64::from(largest.unwrap_or(0)),
        }
    }

    /// The root of the tree.
    pub(super) fn root(&self) -> Child {
        if self.nodes() == 0 { Child::Leaf(0) } else { Child::Node(0) }
    }

    /// Where a node's children are in the arrays; at most as many as there are branches.
    pub(super) fn child_range(&self, node: usize) -> std::ops::Range<usize> {
        let range = section(&self.children_start, node, self.children.len());
        range.start..range.end.min(range.start + self.branches)
    }

    /// The child of a node at a position in its [`Tree::child_range`].
    ///
    /// If a mapped file was changed after it was checked, a child may not exist or may be an earlier
    /// node. The first leaf is returned instead, so that routing always ends.
    pub(super) fn child(&self, node: usize, at: usize) -> Child {
        let child = self.children.get(at).map(|&reference| Child::from_reference(reference));
        let exists = match child {
            Some(Child::Node(child)) => node < child as usize && (child as usize) < self.nodes(),
            Some(Child::Leaf(leaf)) => (leaf as usize) < self.leaves(),
            None => false,
        };
        child.filter(|_| exists).unwrap_or(Child::Leaf(0))
    }

    /// The features of a node's centroids, and the bytes of their values.
    pub(super) fn centroids(&self, node: usize) -> (Decoder<'_>, &[u8]) {
        (Decoder::new(self.words_of(node), self.branches), self.values_of(node))
    }

    /// The scales and biases of a node's children.
    pub(super) fn nearness(&self, children: std::ops::Range<usize>) -> Nearness {
        let count = children.len();
        // Copies a whole chunk, where the array has as many numbers left, because copies of constant
        // length are faster; `first` clears the numbers of later nodes.
        let lanes = |stored: &[f32]| match stored[children.start..].first_chunk() {
            Some(stored) => Lanes(*stored).first(count),
            None => {
                let mut lanes = Lanes::ZERO;
                lanes.0[..count].copy_from_slice(&stored[children.clone()]);
                lanes
            }
        };
        Nearness {
            scales: lanes(&self.scales),
            biases: (!self.biases.is_empty()).then(|| lanes(&self.biases)),
        }
    }

    /// The encoded features of a node.
    pub(super) fn words_of(&self, node: usize) -> &[u16] {
        &self.words[section(&self.words_start, node, self.words.len())]
    }

    /// The bytes of a node's values.
    pub(super) fn values_of(&self, node: usize) -> &[u8] {
        &self.values[section(&self.values_start, node, self.values.len())]
    }

    /// The labels of a leaf, each with the number of the leaf's instances that have it.
    pub(super) fn leaf(&self, leaf: usize) -> impl Iterator<Item = (u32, u32)> {
        self.leaf_range(leaf).map(|at| (self.leaf_labels.get(at), self.leaf_counts.get(at)))
    }

    /// Calls `each(label, count)` with what [`Tree::leaf`] gives.
    #[inline(always)]
    pub(super) fn each_label(&self, leaf: usize, each: impl FnMut(u32, u32)) {
        each_pair(&self.leaf_labels, &self.leaf_counts, self.leaf_range(leaf), each);
    }

    /// Prefetches what [`Tree::prefetch_leaf_labels`] reads.
    pub(super) fn prefetch_leaf_bounds(&self, leaf: u32) {
        prefetch(&self.leaf_start, leaf as usize);
        self.leaf_instances.prefetch(leaf as usize);
    }

    /// Prefetches the labels of a leaf.
    pub(super) fn prefetch_leaf_labels(&self, leaf: u32) {
        let first = self.leaf_range(leaf as usize).start;
        self.leaf_labels.prefetch(first);
        self.leaf_counts.prefetch(first);
    }

    fn leaf_range(&self, leaf: usize) -> std::ops::Range<usize> {
        section(&self.leaf_start, leaf, self.leaf_labels.len())
    }

    /// Checks that the arrays fit together, so that routing neither leaves them nor goes in circles.
    /// Reads only the small arrays; words, values and the labels of leaves are checked when they are
    /// used.
    pub(super) fn check(&self) -> Result<(), String> {
        fn rises<T: Copy + Into<u64>>(
            name: &str,
            starts: &[T],
            len: usize,
            end: usize,
        ) -> Result<(), String> {
            let rising = starts.is_sorted_by(|left, right| (*left).into() <= (*right).into());
            let ends =
                |at: Option<&T>, value: usize| at.is_some_and(|&at| at.into() == value as u64);
            if starts.len() == len && ends(starts.first(), 0) && ends(starts.last(), end) && rising
            {
                Ok(())
            } else {
                Err(format!("`{name}` does not divide its array"))
            }
        }
        let (nodes, leaves) = (self.children_start.len().saturating_sub(1), self.leaves());
        rises("children_start", &self.children_start, nodes + 1, self.children.len())?;
        rises("words_start", &self.words_start, nodes + 1, self.words.len())?;
        rises("values_start", &self.values_start, nodes + 1, self.values.len())?;
        rises("leaf_start", &self.leaf_start, leaves + 1, self.leaf_labels.len())?;
        if self.leaf_counts.len() != self.leaf_labels.len() {
            return Err("`leaf_counts` and `leaf_labels` differ in length".into());
        }
        if self.scales.len() != self.children.len()
            || ![0, self.children.len()].contains(&self.biases.len())
        {
            return Err("`scales` or `biases` do not match `children`".into());
        }
        // Every leaf and every node but the root has one parent; nodes come after their parents. The
        // level of a node is 0 until its parent has been seen.
        let (mut levels, mut leaf_seen) = (vec![0u32; nodes], vec![false; leaves]);
        levels.iter_mut().take(1).for_each(|root| *root = 1);
        if self.children.len() + 1 != nodes + leaves {
            return Err("there are nodes or leaves that no node leads to".into());
        }
        // Borrowed once: locating a mapped array for each node took longer than the checks.
        let (starts, all) = (&self.children_start[..], &self.children[..]);
        for node in 0..nodes {
            let children = &all[starts[node] as usize..starts[node + 1] as usize];
            let below = levels[node] + 1;
            let mut is_new = |&child: &u32| match Child::from_reference(child) {
                Child::Node(child) if child as usize <= node => false,
                Child::Node(child) => levels
                    .get_mut(child as usize)
                    .is_some_and(|level| std::mem::replace(level, below) == 0),
                Child::Leaf(leaf) => leaf_seen
                    .get_mut(leaf as usize)
                    .is_some_and(|seen| !std::mem::replace(seen, true)),
            };
            if children.len() < 2
                || children.len() > self.branches
                || !children.iter().all(&mut is_new)
            {
                return Err(format!("node {node} has impossible children"));
            }
            if levels[node] > MOST_LEVELS {
                return Err(format!("it has more than {MOST_LEVELS} levels"));
            }
        }
        if leaves == 0 || self.leaf_instances.has_zero() {
            return Err("there are leaves without instances".into());
        }
        Ok(())
    }
}
