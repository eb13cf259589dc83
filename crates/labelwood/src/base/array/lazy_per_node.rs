//! Values that are computed from stored arrays when they are first needed.

use std::sync::OnceLock;

/// An optional value for each node of a model: computed on first use, kept in memory, never stored.
#[derive(Debug)]
pub(crate) struct LazyPerNode<T>(OnceLock<Box<[OnceLock<Option<T>>]>>);

impl<T> LazyPerNode<T> {
    /// The value of a node, computed by `init` on the first call; `nodes` is how many nodes the
    /// model has.
    pub(crate) fn get_or_init(
        &self,
        nodes: usize,
        node: usize,
        init: impl FnOnce() -> Option<T>,
    ) -> Option<&T> {
        let all = self.0.get_or_init(|| (0..nodes).map(|_| OnceLock::new()).collect());
        all[node].get_or_init(init).as_ref()
    }

    /// The value of a node if it has been computed.
    pub(crate) fn get(&self, node: usize) -> Option<&T> {
        self.slots()?[node].get()?.as_ref()
    }

    /// One slot for each node; `None` before the first value is asked for.
    pub(crate) fn slots(&self) -> Option<&[OnceLock<Option<T>>]> {
        self.0.get().map(|all| &all[..])
    }
}

impl<T> Default for LazyPerNode<T> {
    fn default() -> Self {
        LazyPerNode(OnceLock::new())
    }
}

/// A clone starts empty, because its arrays may be changed before it is used.
impl<T> Clone for LazyPerNode<T> {
    fn clone(&self) -> Self {
        LazyPerNode::default()
    }
}

/// Always equal: the arrays that the values follow from are compared instead.
impl<T> PartialEq for LazyPerNode<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
