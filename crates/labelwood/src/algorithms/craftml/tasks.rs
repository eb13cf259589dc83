//! Growing trees on many threads, in rayon tasks that never wait for each other.
//!
//! A node with many instances is grown by a task that then spawns one task for each child. A smaller
//! node is grown with all its descendants in one task. A finished subtree is handed to its
//! [`ParentNode`]; the task that delivers the last child hands on the joined subtree, up to the
//! root. Because no task waits for another, none runs on top of another's stack, whatever the shape
//! of the tree.
//!
//! As many trees grow at a time as there are threads. The task that finishes a tree starts the next.

use super::Trainer;
use super::builder::Builder;
use super::grow::{Grower, PendingNode};
use super::tree::{Child, Tree};
use crate::algorithms::Interrupted;
use crate::base::run::Task;
use rayon::Scope;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A node with at least this many instances grows each child in a task of its own.
const LARGE_NODE: usize = 1024;

/// Grows the given trees, several at a time, and calls `done` with each as soon as it is finished.
/// The iterator is asked for the next tree only when a thread is free to grow it.
pub(super) fn grow_each(
    trainer: &Trainer<'_>,
    trees: impl Iterator<Item = usize> + Send,
    task: &Task,
    done: impl Fn(usize, Tree) -> Result<(), Interrupted> + Sync,
) -> Result<(), Interrupted> {
    let job = Job { trainer, task, trees: Mutex::new(trees), done, failure: Mutex::new(None) };
    task.install(|| {
        rayon::scope(|scope| {
            (0..task.threads()).for_each(|_| scope.spawn(|scope| job.start_tree(scope)));
        });
    });
    job.failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// State shared by all tasks.
struct Job<'a, I, D> {
    trainer: &'a Trainer<'a>,
    task: &'a Task,
    /// The numbers of the trees that have not been started.
    trees: Mutex<I>,
    done: D,
    /// The first failure; while it is set, no task starts.
    failure: Mutex<Option<Interrupted>>,
}

/// A tree that is being grown.
struct GrowingTree<'a> {
    number: usize,
    grower: Grower<'a>,
}

/// The parent of a subtree and which of its children the subtree is; `None` for the root.
type ParentSlot = Option<(Arc<ParentNode>, usize)>;

/// A large node whose children are being grown by other tasks.
struct ParentNode {
    joiner: Mutex<SubtreeJoiner>,
    /// Where the joined subtree goes once all children are there.
    slot: ParentSlot,
}

impl<I, D> Job<'_, I, D>
where
    I: Iterator<Item = usize> + Send,
    D: Fn(usize, Tree) -> Result<(), Interrupted> + Sync,
{
    fn start_tree<'s>(&'s self, scope: &Scope<'s>) {
        if lock(&self.failure).is_some() {
            return;
        }
        let Some(number) = lock(&self.trees).next() else { return };
        let Trainer { params, instances, division, .. } = self.trainer;
        let seed = super::tree_seed(params, number);
        let grower = Grower::new(params, &**division, instances, seed, self.task);
        let (root, order) = grower.root(seed);
        self.grow(Arc::new(GrowingTree { number, grower }), root, order, None, scope);
    }

    /// Grows a node: with all its descendants if it is small, else spawning a task for each child.
    fn grow<'s>(
        &'s self,
        tree: Arc<GrowingTree<'s>>,
        node: PendingNode,
        mut order: Vec<u32>,
        slot: ParentSlot,
        scope: &Scope<'s>,
    ) {
        if lock(&self.failure).is_some() {
            return;
        }
        let (grower, rows) = (&tree.grower, order.len());
        let mut builder = Builder::new(self.trainer.params.branches, self.trainer.params.precision);
        let mut children = Vec::new();
        let is_small = rows < LARGE_NODE;
        let grown = grower.grow(&mut order, node, &mut builder, &mut children, is_small);
        match grown {
            Err(stopped) => self.fail(stopped.into()),
            Ok(root) if children.is_empty() => {
                self.join(&tree, Subtree { builder, root, rows }, slot, scope);
            }
            Ok(_) => {
                let joiner = Mutex::new(SubtreeJoiner::new(builder, children.len(), rows));
                let parent = Arc::new(ParentNode { joiner, slot });
                // Rayon runs the task that was spawned last first: the first child, which is last in
                // the list.
                for child in children {
                    let at = child.parent.map_or(0, |(_, at)| at);
                    let (tree, slot) = (Arc::clone(&tree), Some((Arc::clone(&parent), at)));
                    let order = order[child.range.clone()].to_vec();
                    scope.spawn(move |scope| {
                        self.grow(tree, child.into_root(), order, slot, scope);
                    });
                }
            }
        }
    }

    /// Hands a finished subtree to its parent, and the parent's to its own as far as they are
    /// complete; finishes the tree when the root is.
    fn join<'s>(
        &'s self,
        tree: &GrowingTree<'s>,
        mut subtree: Subtree,
        mut slot: ParentSlot,
        scope: &Scope<'s>,
    ) {
        while let Some((parent, at)) = slot {
            let Some(joined) = lock(&parent.joiner).add(at, subtree) else { return };
            subtree = joined;
            slot = parent.slot.clone();
        }
        match (self.done)(tree.number, subtree.builder.finish()) {
            Ok(()) => scope.spawn(|scope| self.start_tree(scope)),
            Err(error) => self.fail(error),
        }
    }

    /// Keeps further tasks from starting; only the first failure is reported.
    fn fail(&self, error: Interrupted) {
        lock(&self.failure).get_or_insert(error);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of a large node in the builder of its subtree.
const NODE: u32 = 0;

/// Joins a large node with the subtrees of its children, which arrive in any order.
///
/// Subtrees are appended in the order of the children, each as soon as all before it have been.
/// So few finished subtrees are in memory at a time, and later ones reuse the memory of those
/// appended.
struct SubtreeJoiner {
    /// The node and the subtrees appended so far.
    builder: Builder,
    children: usize,
    /// The number of the node's instances.
    rows: usize,
    /// How many of these are in subtrees that have not been appended.
    rows_left: usize,
    /// The child whose subtree is appended next.
    next: usize,
    /// Subtrees that arrived before that of an earlier child, by child.
    waiting: BTreeMap<usize, Subtree>,
}

/// A grown subtree.
struct Subtree {
    builder: Builder,
    root: Child,
    /// The number of its instances.
    rows: usize,
}

impl SubtreeJoiner {
    /// Starts with a builder that holds only the node.
    fn new(builder: Builder, children: usize, rows: usize) -> Self {
        SubtreeJoiner {
            builder,
            children,
            rows,
            rows_left: rows,
            next: 0,
            waiting: BTreeMap::new(),
        }
    }

    /// Takes the subtree of the child at position `at`; returns the joined subtree after the last.
    fn add(&mut self, at: usize, subtree: Subtree) -> Option<Subtree> {
        self.waiting.insert(at, subtree);
        while let Some(subtree) = self.waiting.remove(&self.next) {
            // The remaining subtrees are expected to need as much room per instance as this one.
            let times = self.rows_left as f64 / subtree.rows.max(1) as f64;
            self.builder.reserve(subtree.builder.lengths(), times);
            let child = self.builder.append(subtree.builder, subtree.root);
            self.builder.set_child(NODE, self.next, child);
            self.next += 1;
            self.rows_left -= subtree.rows;
        }
        (self.next == self.children).then(|| Subtree {
            builder: self.builder.take(),
            root: Child::Node(NODE),
            rows: self.rows,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::NewNode;
    use super::super::centroids::Nearness;
    use super::super::params::Precision;
    use super::super::tree::Tree;
    use super::*;
    use crate::base::sparse::LabelRows;
    use crate::learn::cluster::lanes::Lanes;

    /// Appends a node with one feature and a child, not yet set, for each lane.
    fn push_node(builder: &mut Builder, feature: u32, lanes: &[usize]) -> u32 {
        let table = [Lanes(std::array::from_fn(|lane| lane as f32 + 1.0))];
        let nearness = &Nearness { scales: Lanes([1.0; 16]), biases: None };
        builder.push_node(&NewNode { features: &[feature], table: &table, lanes, nearness })
    }

    /// A root with three children (a leaf, a node with two leaves, a leaf) that are added in the
    /// given order.
    fn joined(order: [usize; 3]) -> Tree {
        let labels = LabelRows::try_new(9, vec![0, 1, 2, 4, 5], vec![3, 1, 4, 8, 0], vec![(); 5]);
        let labels = labels.unwrap();
        let leaf =
            |subtree: &mut Builder, row| subtree.push_leaf(labels.view(), &[row], &mut vec![]);
        let mut builder = Builder::new(4, Precision::Byte);
        push_node(&mut builder, 0, &[0, 1, 2]);
        let mut joiner = SubtreeJoiner::new(builder, 3, 4);
        for (added, at) in order.into_iter().enumerate() {
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
            let joined = joiner.add(at, Subtree { builder: subtree, root, rows });
            if let Some(joined) = joined {
                assert_eq!((added, joined.root, joined.rows), (2, Child::Node(0), 4));
                return joined.builder.finish();
            }
        }
        panic!("the last subtree completes the node")
    }

    #[test]
    fn subtrees_added_in_any_order_are_joined_in_the_order_of_the_children() {
        let expected = joined([0, 1, 2]);
        let children: Vec<Child> =
            expected.child_range(0).map(|at| expected.child(0, at)).collect();
        assert_eq!(children, [Child::Leaf(0), Child::Node(1), Child::Leaf(3)]);
        let labels = (0..4).map(|leaf| expected.leaf(leaf).map(|(label, _)| label).collect());
        assert_eq!(labels.collect::<Vec<Vec<u32>>>(), [vec![3], vec![1], vec![4, 8], vec![0]]);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(joined(order), expected, "{order:?}");
        }
    }
}
