//! What follows from stored arrays, made when it is needed.

use std::sync::OnceLock;

/// Something for each node of a model, made when it is first asked for and never stored; of some
/// nodes nothing can be made.
#[derive(Debug)]
pub(crate) struct OnDemand<T>(OnceLock<Box<[OnceLock<Option<T>>]>>);

impl<T> OnDemand<T> {
    /// What there is for one of so many nodes, made if nobody has asked before.
    pub fn get_or_make(
        &self,
        nodes: usize,
        node: usize,
        make: impl FnOnce() -> Option<T>,
    ) -> Option<&T> {
        let all = self.0.get_or_init(|| (0..nodes).map(|_| OnceLock::new()).collect());
        all[node].get_or_init(make).as_ref()
    }

    /// What there is for a node if somebody has asked for it before.
    pub fn made_for(&self, node: usize) -> Option<&T> {
        self.made()?[node].get()?.as_ref()
    }

    /// One place for each node; none before the first was asked for.
    pub fn made(&self) -> Option<&[OnceLock<Option<T>>]> {
        self.0.get().map(|all| &all[..])
    }
}

impl<T> Default for OnDemand<T> {
    fn default() -> Self {
        OnDemand(OnceLock::new())
    }
}

/// A copy, whose arrays may be changed, makes its own.
impl<T> Clone for OnDemand<T> {
    fn clone(&self) -> Self {
        OnDemand::default()
    }
}

/// The arrays that it follows from are compared.
impl<T> PartialEq for OnDemand<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
