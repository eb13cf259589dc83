//! A tree as a handful of flat arrays, and the builder that fills them.

use super::block::{Decoder, Encoder};
use super::marks::Marks;
use super::params::Precision;
use crate::array::{Array, Numbers, each_pair, prefetch};
use crate::cluster::lanes::{LANES, Lanes};
use crate::sparse::LabelRowsView;
use std::collections::BTreeMap;

/// Where a node's child is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Child {
    Node(u32),
    Leaf(u32),
}

/// A child reference with this bit set names a leaf, otherwise a node.
const LEAF: u32 = 1 << 31;

impl Child {
    fn from_reference(reference: u32) -> Self {
        if reference & LEAF == 0 { Child::Node(reference) } else { Child::Leaf(reference & !LEAF) }
    }

    /// A number of its own: nodes before leaves, each in their order.
    pub(super) fn reference(self) -> u32 {
        match self {
            Child::Node(node) => node,
            Child::Leaf(leaf) => leaf | LEAF,
        }
    }
}

/// One grown tree.
///
/// Nodes stand in preorder, leaves in the same walk; node `i`'s children, scales and (for the
/// Euclidean metric) biases lie in `children_start[i]..children_start[i + 1]`, the words of its
/// centroids in `words_start[i]..`, their values in `values_start[i]..`. A leaf has the number of
/// its instances and, for each label among them, how many have it. A tree without nodes is one leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub(crate) branches: usize,
    pub(crate) precision: Precision,
    pub(crate) children_start: Array<u32>,
    pub(crate) children: Array<u32>,
    pub(crate) scales: Array<f32>,
    pub(crate) biases: Array<f32>,
    pub(crate) words_start: Array<u64>,
    pub(crate) words: Array<u16>,
    pub(crate) values_start: Array<u64>,
    pub(crate) values: Array<u8>,
    pub(crate) leaf_start: Array<u64>,
    pub(crate) leaf_instances: Numbers,
    pub(crate) leaf_labels: Numbers,
    pub(crate) leaf_counts: Numbers,
    pub(crate) marks: Marks,
}

/// What a tree looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct TreeFigures {
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
    pub fn nodes(&self) -> usize {
        self.children_start.len() - 1
    }

    /// The number of leaves.
    pub fn leaves(&self) -> usize {
        self.leaf_instances.len()
    }

    /// Counts what is in the tree.
    pub fn figures(&self) -> TreeFigures {
        let mut depth = vec![1u64; self.nodes()];
        for node in 0..self.nodes() {
            for at in self.child_range(node) {
                if let Child::Node(child) = self.child(at) {
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

    /// The bytes of all arrays.
    pub fn bytes(&self) -> usize {
        let numbers = |numbers: &Numbers| match numbers {
            Numbers::U8(some) => some.len(),
            Numbers::U16(some) => some.len() * 2,
            Numbers::U32(some) => some.len() * 4,
        };
        self.children_start.len() * 4
            + self.children.len() * 4
            + (self.scales.len() + self.biases.len()) * 4
            + (self.words_start.len() + self.values_start.len() + self.leaf_start.len()) * 8
            + self.words.len() * 2
            + self.values.len()
            + [&self.leaf_instances, &self.leaf_labels, &self.leaf_counts]
                .map(numbers)
                .iter()
                .sum::<usize>()
    }

    /// The root of the tree.
    pub(super) fn root(&self) -> Child {
        if self.nodes() == 0 { Child::Leaf(0) } else { Child::Node(0) }
    }

    /// Where a node's children are.
    pub(super) fn child_range(&self, node: usize) -> std::ops::Range<usize> {
        self.children_start[node] as usize..self.children_start[node + 1] as usize
    }

    /// The child at a place of [`Tree::child_range`].
    pub(super) fn child(&self, at: usize) -> Child {
        Child::from_reference(self.children[at])
    }

    /// A node's features with the children they touch, and the bytes of their values.
    pub(super) fn centroids(&self, node: usize) -> (Decoder<'_>, &[u8]) {
        let words = self.words_start[node] as usize..self.words_start[node + 1] as usize;
        let values = self.values_start[node] as usize..self.values_start[node + 1] as usize;
        (Decoder::new(&self.words[words], self.branches), &self.values[values])
    }

    /// How many words a node's centroids take.
    pub(super) fn words_of(&self, node: usize) -> usize {
        self.words_start[node + 1] as usize - self.words_start[node] as usize
    }

    /// The labels of a leaf with how many of its instances have each.
    pub(super) fn leaf(&self, leaf: usize) -> impl Iterator<Item = (u32, u32)> {
        self.leaf_range(leaf).map(|at| (self.leaf_labels.get(at), self.leaf_counts.get(at)))
    }

    /// Calls `each(label, count)` with what [`Tree::leaf`] gives.
    #[inline(always)]
    pub(super) fn each_label(&self, leaf: usize, each: impl FnMut(u32, u32)) {
        each_pair(&self.leaf_labels, &self.leaf_counts, self.leaf_range(leaf), each);
    }

    /// Asks for the memory that says where a leaf is.
    pub(super) fn fetch_leaf_place(&self, leaf: usize) {
        prefetch(&self.leaf_start, leaf);
        self.leaf_instances.fetch(leaf);
    }

    /// Asks for the memory of a leaf's labels.
    pub(super) fn fetch_leaf(&self, leaf: usize) {
        let first = self.leaf_range(leaf).start;
        self.leaf_labels.fetch(first);
        self.leaf_counts.fetch(first);
    }

    fn leaf_range(&self, leaf: usize) -> std::ops::Range<usize> {
        self.leaf_start[leaf] as usize..self.leaf_start[leaf + 1] as usize
    }

    /// Says what does not fit together, so that walking the tree can neither leave the arrays nor
    /// go round in circles. Only the small arrays are read; words, values and the labels of leaves
    /// are checked where they are used.
    pub(crate) fn check(&self) -> Result<(), String> {
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
        // Every node but the root and every leaf has one parent, and nodes come after theirs.
        let (mut node_seen, mut leaf_seen) = (vec![false; nodes], vec![false; leaves]);
        // Borrowed once: finding an array in its file again for each node took longer than the rest.
        let (starts, all) = (&self.children_start[..], &self.children[..]);
        for node in 0..nodes {
            let children = &all[starts[node] as usize..starts[node + 1] as usize];
            let mut is_new = |&child: &u32| {
                let seen = match Child::from_reference(child) {
                    Child::Node(child) if child as usize <= node => None,
                    Child::Node(child) => node_seen.get_mut(child as usize),
                    Child::Leaf(leaf) => leaf_seen.get_mut(leaf as usize),
                };
                seen.is_some_and(|seen| !std::mem::replace(seen, true))
            };
            if children.len() < 2
                || children.len() > self.branches
                || !children.iter().all(&mut is_new)
            {
                return Err(format!("node {node} has impossible children"));
            }
        }
        if leaves == 0 || self.leaf_instances.has_zero() {
            return Err("there are leaves without instances".into());
        }
        Ok(())
    }
}

/// A tree, or a part of one, while it grows.
pub(super) struct Builder {
    branches: usize,
    precision: Precision,
    children_start: Vec<u32>,
    children: Vec<u32>,
    scales: Vec<f32>,
    biases: Vec<f32>,
    words_start: Vec<u64>,
    words: Vec<u16>,
    values_start: Vec<u64>,
    values: Vec<u8>,
    leaf_start: Vec<u64>,
    leaf_instances: Vec<u32>,
    leaf_labels: Vec<u32>,
    leaf_counts: Vec<u32>,
}

/// A node to store: its centroids in lanes, one lane for each child.
pub(super) struct NewNode<'a> {
    /// The features that the centroids have, increasing.
    pub features: &'a [u32],
    /// The stored form of each feature's values.
    pub table: &'a [Lanes],
    /// The lane of each child.
    pub lanes: &'a [usize],
    /// What each lane's stored values are multiplied with.
    pub scales: &'a Lanes,
    /// What is then added, for the Euclidean metric.
    pub biases: Option<&'a Lanes>,
}

impl Builder {
    pub fn new(branches: usize, precision: Precision) -> Self {
        Builder {
            branches,
            precision,
            children_start: vec![0],
            children: Vec::new(),
            scales: Vec::new(),
            biases: Vec::new(),
            words_start: vec![0],
            words: Vec::new(),
            values_start: vec![0],
            values: Vec::new(),
            leaf_start: vec![0],
            leaf_instances: Vec::new(),
            leaf_labels: Vec::new(),
            leaf_counts: Vec::new(),
        }
    }

    /// Appends a leaf of the given instances; `gathered` is scratch memory.
    pub fn push_leaf(
        &mut self,
        labels: LabelRowsView<'_>,
        instances: &[u32],
        gathered: &mut Vec<u32>,
    ) -> Child {
        gathered.clear();
        for &instance in instances {
            gathered.extend_from_slice(labels.row(instance as usize).indices);
        }
        gathered.sort_unstable();
        for same in gathered.chunk_by(|left, right| left == right) {
            self.leaf_labels.push(same[0]);
            self.leaf_counts.push(same.len() as u32);
        }
        self.leaf_start.push(self.leaf_labels.len() as u64);
        self.leaf_instances.push(instances.len() as u32);
        Child::Leaf(self.leaf_instances.len() as u32 - 1)
    }

    /// Appends a copy of a leaf to which rows with these labels have been added.
    pub fn push_grown_leaf<'l>(
        &mut self,
        tree: &Tree,
        leaf: usize,
        added: impl ExactSizeIterator<Item = &'l [u32]>,
    ) -> Child {
        let instances = tree.leaf_instances.get(leaf).saturating_add(added.len() as u32);
        let mut counts: BTreeMap<u32, u32> = tree.leaf(leaf).collect();
        for &label in added.flatten() {
            let count = counts.entry(label).or_default();
            *count = count.saturating_add(1);
        }
        self.leaf_labels.extend(counts.keys());
        self.leaf_counts.extend(counts.values());
        self.leaf_start.push(self.leaf_labels.len() as u64);
        self.leaf_instances.push(instances);
        Child::Leaf(self.leaf_instances.len() as u32 - 1)
    }

    /// Appends a copy of a node, whose children are set later.
    pub fn push_copy(&mut self, tree: &Tree, node: usize) -> u32 {
        let children = tree.child_range(node);
        let words = tree.words_start[node] as usize..tree.words_start[node + 1] as usize;
        let values = tree.values_start[node] as usize..tree.values_start[node + 1] as usize;
        self.words.extend_from_slice(&tree.words[words]);
        self.words_start.push(self.words.len() as u64);
        self.values.extend_from_slice(&tree.values[values]);
        self.values_start.push(self.values.len() as u64);
        self.scales.extend_from_slice(&tree.scales[children.clone()]);
        self.biases.extend_from_slice(tree.biases.get(children.clone()).unwrap_or_default());
        self.children.resize(self.children.len() + children.len(), 0);
        self.children_start.push(self.children.len() as u32);
        self.children_start.len() as u32 - 2
    }

    /// Appends a node whose children are set later.
    pub fn push_node(&mut self, node: &NewNode<'_>) -> u32 {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as just asked.
            unsafe { self.push_centroids_avx2(node) };
        } else {
            self.push_centroids(node);
        }
        #[cfg(not(target_arch = "x86_64"))]
        self.push_centroids(node);
        self.words_start.push(self.words.len() as u64);
        self.values_start.push(self.values.len() as u64);
        self.scales.extend(node.lanes.iter().map(|&lane| node.scales.0[lane]));
        if let Some(biases) = node.biases {
            self.biases.extend(node.lanes.iter().map(|&lane| biases.0[lane]));
        }
        self.children.resize(self.children.len() + node.lanes.len(), 0);
        self.children_start.push(self.children.len() as u32);
        self.children_start.len() as u32 - 2
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn push_centroids_avx2(&mut self, node: &NewNode<'_>) {
        self.push_centroids(node);
    }

    #[inline(always)]
    fn push_centroids(&mut self, node: &NewNode<'_>) {
        let mut encoder = Encoder::new(&mut self.words, self.branches);
        let (mut kept, mut child_bit) = (0u16, [0u16; LANES]);
        for (child, &lane) in node.lanes.iter().enumerate() {
            kept |= 1 << lane;
            child_bit[lane] = 1 << child;
        }
        for (&feature, row) in node.features.iter().zip(node.table) {
            let mut touched = u32::from(row.nonzero() & kept);
            let mut touches = 0;
            while touched != 0 {
                let lane = touched.trailing_zeros() as usize % LANES;
                touched &= touched - 1;
                touches |= child_bit[lane];
                match self.precision {
                    Precision::Byte => self.values.push(row.0[lane] as i32 as u8),
                    Precision::Half => {
                        self.values.extend(half::f16::from_f32(row.0[lane]).to_le_bytes());
                    }
                }
            }
            if touches != 0 {
                encoder.push(feature, touches);
            }
        }
    }

    /// Says where the child at position `at` of a node is.
    pub fn set_child(&mut self, node: u32, at: usize, child: Child) {
        let start = self.children_start[node as usize] as usize;
        self.children[start + at] = child.reference();
    }

    /// Makes room for a subtree, and where there is none, for `times` as much and a little more, so
    /// that large arrays are hardly ever moved. Room that is not used takes no memory.
    pub fn reserve(&mut self, subtree: &Builder, times: f64) {
        fn room<T>(array: &mut Vec<T>, more: &[T], times: f64) {
            if array.capacity() - array.len() < more.len() {
                array.reserve_exact((more.len() as f64 * times.max(1.0) * 1.05) as usize + 1);
            }
        }
        room(&mut self.children_start, &subtree.children_start, times);
        room(&mut self.children, &subtree.children, times);
        room(&mut self.scales, &subtree.scales, times);
        room(&mut self.biases, &subtree.biases, times);
        room(&mut self.words_start, &subtree.words_start, times);
        room(&mut self.words, &subtree.words, times);
        room(&mut self.values_start, &subtree.values_start, times);
        room(&mut self.values, &subtree.values, times);
        room(&mut self.leaf_start, &subtree.leaf_start, times);
        room(&mut self.leaf_instances, &subtree.leaf_instances, times);
        room(&mut self.leaf_labels, &subtree.leaf_labels, times);
        room(&mut self.leaf_counts, &subtree.leaf_counts, times);
    }

    /// Appends a subtree and returns where its root is now.
    pub fn append(&mut self, subtree: Builder, root: Child) -> Child {
        fn shift<T: Copy + std::ops::Add<Output = T>>(to: &mut Vec<T>, starts: &[T], by: T) {
            to.extend(starts[1..].iter().map(|&start| start + by));
        }
        let nodes = self.children_start.len() as u32 - 1;
        let leaves = self.leaf_instances.len() as u32;
        let moved = |child| match child {
            Child::Node(node) => Child::Node(node + nodes),
            Child::Leaf(leaf) => Child::Leaf(leaf + leaves),
        };
        shift(&mut self.children_start, &subtree.children_start, self.children.len() as u32);
        shift(&mut self.words_start, &subtree.words_start, self.words.len() as u64);
        shift(&mut self.values_start, &subtree.values_start, self.values.len() as u64);
        shift(&mut self.leaf_start, &subtree.leaf_start, self.leaf_labels.len() as u64);
        let reference = |&child: &u32| moved(Child::from_reference(child)).reference();
        self.children.extend(subtree.children.iter().map(reference));
        self.scales.extend(subtree.scales);
        self.biases.extend(subtree.biases);
        self.words.extend(subtree.words);
        self.values.extend(subtree.values);
        self.leaf_instances.extend(subtree.leaf_instances);
        self.leaf_labels.extend(subtree.leaf_labels);
        self.leaf_counts.extend(subtree.leaf_counts);
        moved(root)
    }

    /// The finished tree.
    pub fn finish(self) -> Tree {
        Tree {
            branches: self.branches,
            precision: self.precision,
            children_start: self.children_start.into(),
            children: self.children.into(),
            scales: self.scales.into(),
            biases: self.biases.into(),
            words_start: self.words_start.into(),
            words: self.words.into(),
            values_start: self.values_start.into(),
            values: self.values.into(),
            leaf_start: self.leaf_start.into(),
            leaf_instances: self.leaf_instances.into(),
            leaf_labels: self.leaf_labels.into(),
            leaf_counts: self.leaf_counts.into(),
            marks: Marks::default(),
        }
    }
}
