//! Joining the subtrees of a node that grow at the same time.
//!
//! Subtrees stand in the tree in the order of the node's children, whichever is grown first. Each is
//! appended as soon as all before it are, so that few of them are in memory beside the tree, and
//! what they took is used again by those that grow after them.

use super::builder::Builder;
use super::tree::Child;
use std::collections::BTreeMap;

/// A node whose subtrees are added in any order.
pub(super) struct Joint<'a> {
    builder: &'a mut Builder,
    node: u32,
    /// The instances of the subtrees that are not yet appended.
    rows: usize,
    /// The child whose subtree is appended next.
    next: usize,
    /// Subtrees that were grown before one on their left.
    waiting: BTreeMap<usize, Grown>,
}

/// A grown subtree.
pub(super) struct Grown {
    pub subtree: Builder,
    pub root: Child,
    /// Its instances.
    pub rows: usize,
}

impl<'a> Joint<'a> {
    /// A node of so many instances that has been pushed to a tree.
    pub fn new(builder: &'a mut Builder, node: u32, rows: usize) -> Self {
        Joint { builder, node, rows, next: 0, waiting: BTreeMap::new() }
    }

    /// Takes the subtree of the child at position `at`.
    pub fn add(&mut self, at: usize, grown: Grown) {
        self.waiting.insert(at, grown);
        while let Some(grown) = self.waiting.remove(&self.next) {
            // Those to come will be about as large for their rows as this one.
            let times = self.rows as f64 / grown.rows.max(1) as f64;
            self.builder.reserve(grown.subtree.lengths(), times);
            let child = self.builder.append(grown.subtree, grown.root);
            self.builder.set_child(self.node, self.next, child);
            self.next += 1;
            self.rows -= grown.rows;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::NewNode;
    use super::super::params::Precision;
    use super::super::tree::Tree;
    use super::*;
    use crate::cluster::lanes::Lanes;
    use crate::sparse::LabelRows;

    /// A node over features that stand in no other, with as many children as are not yet set.
    fn push_node(builder: &mut Builder, feature: u32, lanes: &[usize]) -> u32 {
        let table = [Lanes(std::array::from_fn(|lane| lane as f32 + 1.0))];
        let scales = &Lanes([1.0; 16]);
        builder.push_node(&NewNode {
            features: &[feature],
            table: &table,
            lanes,
            scales,
            biases: None,
        })
    }

    /// A root with three children: a leaf, a node with two leaves, and a leaf.
    fn joined(order: [usize; 3]) -> Tree {
        let labels = LabelRows::try_new(9, vec![0, 1, 2, 4, 5], vec![3, 1, 4, 8, 0], vec![(); 5]);
        let labels = labels.unwrap();
        let leaf =
            |subtree: &mut Builder, row| subtree.push_leaf(labels.view(), &[row], &mut vec![]);
        let mut builder = Builder::new(4, Precision::Byte);
        let root = push_node(&mut builder, 0, &[0, 1, 2]);
        let mut joint = Joint::new(&mut builder, root, 4);
        for at in order {
            let mut subtree = Builder::new(4, Precision::Byte);
            let (root, rows) = match at {
                0 => (leaf(&mut subtree, 0), 1),
                1 => {
                    let node = push_node(&mut subtree, 7, &[0, 1]);
                    for (at, row) in [1, 2].into_iter().enumerate() {
                        let child = leaf(&mut subtree, row);
                        subtree.set_child(node, at, child);
                    }
                    (Child::Node(node), 2)
                }
                _ => (leaf(&mut subtree, 3), 1),
            };
            joint.add(at, Grown { subtree, root, rows });
        }
        builder.finish()
    }

    #[test]
    fn subtrees_stand_in_the_order_of_their_children_however_they_come() {
        let expected = joined([0, 1, 2]);
        let children: Vec<Child> = expected.child_range(0).map(|at| expected.child(at)).collect();
        assert_eq!(children, [Child::Leaf(0), Child::Node(1), Child::Leaf(3)]);
        let labels = (0..4).map(|leaf| expected.leaf(leaf).map(|(label, _)| label).collect());
        assert_eq!(labels.collect::<Vec<Vec<u32>>>(), [vec![3], vec![1], vec![4, 8], vec![0]]);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(joined(order), expected, "{order:?}");
        }
    }
}
