//! Growing trees on many threads, in tasks that never wait for each other.
//!
//! A large node is a task: it grows, and each of its children becomes a task of its own. A smaller
//! node grows with all below it in one task. A finished subtree is handed to its parent's
//! [`Junction`]; the last one to arrive there hands on the whole, and so up to the root. No task
//! waits for another, so none ever runs on top of another's stack, whatever the shape of the trees.
//!
//! As many trees grow at a time as there are threads; whoever finishes one begins the next.

use super::Trainer;
use super::builder::Builder;
use super::grow::{Grower, Pending};
use super::tree::{Child, Tree};
use crate::base::run::{Stopped, Task};
use rayon::Scope;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The children of nodes with at least this many instances are tasks of their own.
const LARGE: usize = 1024;

/// Grows the given trees, several at a time, and hands each over as soon as it is done. The next
/// number is asked for when a thread is free for it.
pub(super) fn grow_each<E: From<Stopped> + Send>(
    trainer: &Trainer<'_>,
    trees: impl Iterator<Item = usize> + Send,
    run: &Task,
    done: impl Fn(usize, Tree) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let job = Job { trainer, run, trees: Mutex::new(trees), done, failure: Mutex::new(None) };
    run.install(|| {
        rayon::scope(|scope| {
            (0..run.threads()).for_each(|_| scope.spawn(|scope| job.begin_tree(scope)));
        });
    });
    job.failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// What all tasks share.
struct Job<'a, I, D, E> {
    trainer: &'a Trainer<'a>,
    run: &'a Task,
    /// The numbers of the trees that are still to begin.
    trees: Mutex<I>,
    done: D,
    /// Why no further task is begun.
    failure: Mutex<Option<E>>,
}

/// A tree that is being grown.
struct Growth<'a> {
    number: usize,
    grower: Grower<'a>,
}

/// Where a subtree belongs: the node above it, and which of its children it is. The root belongs
/// nowhere.
type Place = Option<(Arc<Junction>, usize)>;

/// A large node whose children are being grown.
struct Junction {
    joint: Mutex<Joint>,
    place: Place,
}

impl<I, D, E> Job<'_, I, D, E>
where
    I: Iterator<Item = usize> + Send,
    D: Fn(usize, Tree) -> Result<(), E> + Sync,
    E: From<Stopped> + Send,
{
    fn begin_tree<'s>(&'s self, scope: &Scope<'s>) {
        if lock(&self.failure).is_some() {
            return;
        }
        let Some(number) = lock(&self.trees).next() else { return };
        let Trainer { params, instances, features, .. } = self.trainer;
        let seed = super::tree_seed(params, number);
        let grower = Grower::new(params, self.run, instances, *features, seed);
        let (root, order) = grower.root(seed);
        self.grow(Arc::new(Growth { number, grower }), root, order, None, scope);
    }

    /// Grows a node: all below it, too, or, if it is large, leaving its children to further tasks.
    fn grow<'s>(
        &'s self,
        tree: Arc<Growth<'s>>,
        node: Pending,
        mut order: Vec<u32>,
        place: Place,
        scope: &Scope<'s>,
    ) {
        if lock(&self.failure).is_some() {
            return;
        }
        let (grower, rows) = (&tree.grower, order.len());
        let mut builder = Builder::new(self.trainer.params.branches, self.trainer.params.precision);
        let mut children = Vec::new();
        let grown = if rows < LARGE {
            grower.grow_subtree(&mut order, node, &mut builder)
        } else {
            let mut scratch = grower.take_scratch();
            let grown =
                grower.grow_node(&mut order, node, &mut builder, &mut children, &mut scratch);
            grower.give_back(scratch);
            grown
        };
        match grown {
            Err(cancelled) => self.fail(cancelled.into()),
            Ok(root) if children.is_empty() => {
                self.join(&tree, Grown { builder, root, rows }, place, scope);
            }
            Ok(_) => {
                let joint = Mutex::new(Joint::new(builder, children.len(), rows));
                let junction = Arc::new(Junction { joint, place });
                // Threads take up first what was spawned last: the first child, which is listed last.
                for child in children {
                    let at = child.place.map_or(0, |(_, at)| at);
                    let (tree, place) = (Arc::clone(&tree), Some((Arc::clone(&junction), at)));
                    let order = order[child.range.clone()].to_vec();
                    scope.spawn(move |scope| {
                        self.grow(tree, child.into_root(), order, place, scope);
                    });
                }
            }
        }
    }

    /// Puts a finished subtree into its place, then whatever this completes into its own.
    fn join<'s>(
        &'s self,
        tree: &Growth<'s>,
        mut grown: Grown,
        mut place: Place,
        scope: &Scope<'s>,
    ) {
        while let Some((junction, at)) = place {
            let Some(whole) = lock(&junction.joint).add(at, grown) else { return };
            grown = whole;
            place = junction.place.clone();
        }
        match (self.done)(tree.number, grown.builder.finish()) {
            Ok(()) => scope.spawn(|scope| self.begin_tree(scope)),
            Err(error) => self.fail(error),
        }
    }

    /// Lets no further task begin; of several failures the first is told.
    fn fail(&self, error: E) {
        lock(&self.failure).get_or_insert(error);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of a large node in the builder of its subtree.
const NODE: u32 = 0;

/// The subtree of a large node, to which its children's are added in any order.
///
/// They stand in it in the order of the children. Each is appended as soon as all before it are, so
/// that few of them are in memory beside it, and what they took is used again by those that grow
/// after them.
struct Joint {
    /// The node, and the subtrees that are appended.
    builder: Builder,
    children: usize,
    /// The instances of the node, and of the subtrees that are not yet appended.
    rows: usize,
    rows_left: usize,
    /// The child whose subtree is appended next.
    next: usize,
    /// Subtrees that were grown before one on their left.
    waiting: BTreeMap<usize, Grown>,
}

/// A grown subtree.
struct Grown {
    builder: Builder,
    root: Child,
    /// Its instances.
    rows: usize,
}

impl Joint {
    /// A node of so many children and instances, the only one in the builder.
    fn new(builder: Builder, children: usize, rows: usize) -> Self {
        Joint { builder, children, rows, rows_left: rows, next: 0, waiting: BTreeMap::new() }
    }

    /// Takes the subtree of the child at position `at`, and gives the whole once all are there.
    fn add(&mut self, at: usize, grown: Grown) -> Option<Grown> {
        self.waiting.insert(at, grown);
        while let Some(grown) = self.waiting.remove(&self.next) {
            // Those to come will be about as large for their rows as this one.
            let times = self.rows_left as f64 / grown.rows.max(1) as f64;
            self.builder.reserve(grown.builder.lengths(), times);
            let child = self.builder.append(grown.builder, grown.root);
            self.builder.set_child(NODE, self.next, child);
            self.next += 1;
            self.rows_left -= grown.rows;
        }
        (self.next == self.children).then(|| Grown {
            builder: self.builder.take(),
            root: Child::Node(NODE),
            rows: self.rows,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::NewNode;
    use super::super::params::Precision;
    use super::super::tree::Tree;
    use super::*;
    use crate::base::sparse::LabelRows;
    use crate::learn::cluster::lanes::Lanes;

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
        push_node(&mut builder, 0, &[0, 1, 2]);
        let mut joint = Joint::new(builder, 3, 4);
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
            let whole = joint.add(at, Grown { builder: subtree, root, rows });
            if let Some(whole) = whole {
                assert_eq!((added, whole.root, whole.rows), (2, Child::Node(0), 4));
                return whole.builder.finish();
            }
        }
        panic!("the whole is there once the last subtree is")
    }

    #[test]
    fn subtrees_stand_in_the_order_of_their_children_however_they_come() {
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
