//! Adding rows to a grown forest.
//!
//! A new row is routed through each tree to one leaf, as in growing, and counted there. If the rows
//! that the tree was grown from are given, too, a leaf that has become too large is replaced by a
//! subtree, whose seeds are those that its nodes would have had in the first growing.

use super::builder::Builder;
use super::division::Division;
use super::grow::{Grower, Instances};
use super::tree::{Child, Tree};
use super::{Forest, by_group, tree_seed, vote};
use crate::base::random::derive;
use crate::base::run::{Stopped, Task};

/// A copy of a tree of a forest with rows added, which have the forest's features; labels may be new. With
/// `known`, the first `known` rows must be all that the forest was grown from, and leaves that become
/// too large are divided.
pub(super) fn with_rows(
    forest: &Forest,
    number: usize,
    (instances, division): (&Instances<'_>, &dyn Division),
    known: Option<usize>,
    task: &Task,
) -> Result<Tree, Stopped> {
    task.check()?;
    let (tree, params) = (&forest.trees[number], &forest.params);
    let seed = tree_seed(params, number);
    let reached = vote::leaves(forest, number, instances.features.view());
    let (starts, rows) = by_group(tree.leaves(), reached.into_iter());
    let grower = known.map(|_| Grower::new(params, division, instances, seed, task));
    let known_rows = known.unwrap_or(0);
    let mut builder = Builder::new(tree.branches, tree.precision);
    let mut copied = vec![false; tree.nodes()];
    let mut pending = vec![PendingCopy { child: tree.root(), seed, depth: 0, parent: None }];
    while let Some(PendingCopy { child, seed, depth, parent }) = pending.pop() {
        let copied_child = match child {
            Child::Node(node) if !std::mem::replace(&mut copied[node as usize], true) => {
                let copy = builder.push_copy(tree, node as usize);
                for (at, position) in tree.child_range(node as usize).enumerate().rev() {
                    let child = tree.child(node as usize, position);
                    let (seed, parent) = (derive(seed, at as u64), Some((copy, at)));
                    pending.push(PendingCopy { child, seed, depth: depth + 1, parent });
                }
                Child::Node(copy)
            }
            other => {
                // A mapped file that was changed after it was checked may have a node twice; the
                // second time it becomes a leaf.
                let leaf = if let Child::Leaf(leaf) = other { leaf as usize } else { 0 };
                let rows = &rows[starts[leaf] as usize..starts[leaf + 1] as usize];
                let known = rows.partition_point(|&row| (row as usize) < known_rows);
                match &grower {
                    Some(grower) if known < rows.len() => {
                        grower.regrow(&mut rows.to_vec(), seed, depth, &mut builder)?
                    }
                    _ => {
                        let labels = |&row: &u32| instances.labels.row(row as usize).indices;
                        builder.push_grown_leaf(tree, leaf, rows[known..].iter().map(labels))
                    }
                }
            }
        };
        if let Some((node, at)) = parent {
            builder.set_child(node, at, copied_child);
        }
    }
    Ok(builder.finish())
}

/// A node or leaf that has not been copied.
struct PendingCopy {
    child: Child,
    seed: u64,
    depth: usize,
    /// The number of its parent in the copy, and which of the parent's children it is.
    parent: Option<(u32, usize)>,
}
