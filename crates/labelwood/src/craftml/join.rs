//! Joining the subtrees of a node that grow at the same time.
//!
//! Subtrees stand in the tree in the order of the node's children, whichever is grown first. Each is
//! appended as soon as all before it are, so that few of them are in memory beside the tree, and
//! what they took is used again by those that grow after them.

use super::tree::{Builder, Child};
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
            self.builder.reserve(&grown.subtree, times);
            let child = self.builder.append(grown.subtree, grown.root);
            self.builder.set_child(self.node, self.next, child);
            self.next += 1;
            self.rows -= grown.rows;
        }
    }
}
