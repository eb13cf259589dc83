//! Builds a [`Tree`] by appending nodes and leaves to the arrays of a [`Builder`].

use super::centroids::Nearness;
use super::encoding::Encoder;
use super::params::Precision;
pub(super) use super::tree::Builder;
use super::tree::{Child, Tree};
use super::values::set_bits;
use crate::base::sparse::LabelRowsView;
use crate::learn::cluster::lanes::{LANES, Lanes};
use multiversion::multiversion;
use std::collections::BTreeMap;

/// A node to append: its centroids in lanes, one lane for each child.
pub(super) struct NewNode<'a> {
    /// The features that the centroids have, increasing.
    pub features: &'a [u32],
    /// For each feature, the value to store for every lane.
    pub table: &'a [Lanes],
    /// The lane of each child.
    pub lanes: &'a [usize],
    /// The scale and bias of each lane.
    pub nearness: &'a Nearness,
}

impl Builder {
    /// Appends a leaf of the given instances; `gathered` is scratch memory.
    pub(super) fn push_leaf(
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
        self.end_leaf(instances.len() as u32)
    }

    /// Ends the leaf whose labels were pushed last.
    fn end_leaf(&mut self, instances: u32) -> Child {
        self.leaf_start.push(self.leaf_labels.len() as u64);
        self.leaf_instances.push(instances);
        Child::Leaf(self.leaf_instances.len() as u32 - 1)
    }

    /// Appends a copy of a tree's leaf with further instances; `added` are the labels of each.
    pub(super) fn push_grown_leaf<'l>(
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
        self.leaf_labels.extend(counts.keys().copied());
        self.leaf_counts.extend(counts.values().copied());
        self.end_leaf(instances)
    }

    /// Appends a copy of a tree's node; [`Builder::set_child`] sets its children later.
    pub(super) fn push_copy(&mut self, tree: &Tree, node: usize) -> u32 {
        let children = tree.child_range(node);
        self.words.extend_from_slice(tree.words_of(node));
        self.values.extend_from_slice(tree.values_of(node));
        self.scales.extend_from_slice(&tree.scales[children.clone()]);
        self.biases.extend_from_slice(tree.biases.get(children).unwrap_or_default());
        self.end_node()
    }

    /// Appends a node; [`Builder::set_child`] sets its children later.
    pub(super) fn push_node(&mut self, node: &NewNode<'_>) -> u32 {
        push_centroids(self, node);
        self.scales.extend(node.lanes.iter().map(|&lane| node.nearness.scales.0[lane]));
        if let Some(biases) = &node.nearness.biases {
            self.biases.extend(node.lanes.iter().map(|&lane| biases.0[lane]));
        }
        self.end_node()
    }

    /// Ends the node whose words, values and scales were pushed last; returns its number.
    fn end_node(&mut self) -> u32 {
        self.words_start.push(self.words.len() as u64);
        self.values_start.push(self.values.len() as u64);
        self.children.resize(self.scales.len(), 0);
        self.children_start.push(self.children.len() as u32);
        self.children_start.len() as u32 - 2
    }

    /// Sets the child at position `at` of a node.
    pub(super) fn set_child(&mut self, node: u32, at: usize, child: Child) {
        let start = self.children_start[node as usize] as usize;
        self.children[start + at] = child.reference();
    }

    /// The lengths of the large arrays, as [`Builder::reserve`] takes them.
    pub(super) fn lengths(&self) -> [usize; 3] {
        [self.words.len(), self.values.len(), self.leaf_labels.len()]
    }

    /// Makes room for a subtree of the given lengths. An array that has to grow gets room for `times`
    /// as much and 5 % more, so that large arrays are rarely moved: memory they leave behind is not
    /// returned to the system, while reserved room takes no memory until it is used.
    pub(super) fn reserve(&mut self, [words, values, labels]: [usize; 3], times: f64) {
        let room = |free: usize, more: usize| {
            let all = (more as f64 * times) as usize;
            if free < more.min(all) { all + all / 20 } else { 0 }
        };
        self.words.reserve_exact(room(self.words.capacity() - self.words.len(), words));
        self.values.reserve_exact(room(self.values.capacity() - self.values.len(), values));
        for array in [&mut self.leaf_labels, &mut self.leaf_counts] {
            let free = array.capacity() - array.len();
            array.reserve_exact(room(free, labels));
        }
    }

    /// Returns what was built and leaves the builder empty.
    pub(super) fn take(&mut self) -> Builder {
        let empty = Builder::new(self.branches, self.precision);
        std::mem::replace(self, empty)
    }

    /// Appends a subtree and returns its root.
    pub(super) fn append(&mut self, subtree: Builder, root: Child) -> Child {
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
        self.leaf_instances.append(&subtree.leaf_instances);
        self.leaf_labels.append(&subtree.leaf_labels);
        self.leaf_counts.append(&subtree.leaf_counts);
        moved(root)
    }
}

/// Appends the words and values of a node.
#[multiversion(targets("x86_64+avx2"))]
fn push_centroids(builder: &mut Builder, node: &NewNode<'_>) {
    let mut encoder = Encoder::new(&mut builder.words, builder.branches);
    let (mut kept, mut child_bit) = (0u16, [0u16; LANES]);
    for (child, &lane) in node.lanes.iter().enumerate() {
        kept |= 1 << lane;
        child_bit[lane] = 1 << child;
    }
    for (&feature, row) in node.features.iter().zip(node.table) {
        let mut child_bits = 0;
        for lane in set_bits(row.nonzero() & kept) {
            child_bits |= child_bit[lane];
            match builder.precision {
                Precision::Byte => builder.values.push(row.0[lane] as i32 as u8),
                Precision::Half => {
                    builder.values.extend(half::f16::from_f32(row.0[lane]).to_le_bytes());
                }
            }
        }
        if child_bits != 0 {
            encoder.push(feature, child_bits);
        }
    }
}
