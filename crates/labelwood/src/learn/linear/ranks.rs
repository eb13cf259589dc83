//! Where each feature is among those of a node, so that a single row need not search for it.

use crate::base::array::prefetch;
use crate::base::sparse::Present;

/// The features of a node that has many of them.
#[derive(Debug)]
pub(crate) struct Ranks(Box<[Span]>);

/// Some features next to one another.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Which of them the node has.
    present: Present,
    /// How many features of the node come before these.
    before: u32,
}

impl Ranks {
    /// None of so few features, in increasing order, that they take less room than this would.
    pub(super) fn new(features: &[u32]) -> Option<Self> {
        let spans = Present::at(*features.last()?) + 1;
        if spans > features.len() {
            return None;
        }
        let mut ranks = Vec::with_capacity(spans);
        for (at, &feature) in features.iter().enumerate() {
            let span = Present::at(feature);
            // Features were in order when they were checked; a mapped file may have changed since.
            if span >= spans {
                return None;
            }
            let next = Span { present: Present::default(), before: at as u32 };
            ranks.resize((span + 1).max(ranks.len()), next);
            ranks[span].present.insert(feature);
        }
        Some(Ranks(ranks.into()))
    }

    /// Whether a feature is among the node's, and where it is or would be.
    #[inline(always)]
    pub(super) fn of(&self, feature: u32) -> (bool, u32) {
        let none = Span { present: Present::default(), before: 0 };
        let Span { present, before } = self.0.get(Present::at(feature)).copied().unwrap_or(none);
        (present.has(feature), before + present.before(feature))
    }

    /// Asks for the memory of what tells where a feature is.
    #[inline(always)]
    pub(super) fn fetch(&self, feature: u32) {
        prefetch(&self.0, Present::at(feature));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_feature_is_where_it_is(
            features in proptest::collection::btree_set(0u32..600, 0..200)) {
            let sorted: Vec<u32> = features.into_iter().collect();
            if let Some(ranks) = Ranks::new(&sorted) {
                prop_assert!(ranks.0.len() <= sorted.len());
                for feature in 0..700 {
                    let expected = sorted.binary_search(&feature).ok();
                    let (is_there, at) = ranks.of(feature);
                    prop_assert_eq!(is_there.then_some(at as usize), expected);
                }
            } else {
                prop_assert!(sorted.len() < 19);
            }
        }
    }
}
