//! Where each feature is among those of a node, so that a single row need not search for it.

use crate::base::array::prefetch;
use crate::base::sparse::Bitmap32;

/// The features of a node that has many of them.
#[derive(Debug)]
pub(crate) struct Ranks(Box<[Span]>);

/// Some features next to one another.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Which of them the node has.
    bitmap: Bitmap32,
    /// How many features of the node come before these.
    before: u32,
}

impl Ranks {
    /// None of so few features, in increasing order, that they take less room than this would.
    pub(super) fn new(features: &[u32]) -> Option<Self> {
        let spans = Bitmap32::index_of(*features.last()?) + 1;
        if spans > features.len() {
            return None;
        }
        let mut ranks = Vec::with_capacity(spans);
        for (at, &feature) in features.iter().enumerate() {
            let span = Bitmap32::index_of(feature);
            // Features were in order when they were checked; a mapped file may have changed since.
            if span >= spans {
                return None;
            }
            let next = Span { bitmap: Bitmap32::default(), before: at as u32 };
            ranks.resize((span + 1).max(ranks.len()), next);
            ranks[span].bitmap.insert(feature);
        }
        Some(Ranks(ranks.into()))
    }

    /// Whether a feature is among the node's, and where it is or would be.
    #[inline(always)]
    pub(super) fn of(&self, feature: u32) -> (bool, u32) {
        let none = Span { bitmap: Bitmap32::default(), before: 0 };
        let Span { bitmap, before } =
            self.0.get(Bitmap32::index_of(feature)).copied().unwrap_or(none);
        (bitmap.contains(feature), before + bitmap.rank(feature))
    }

    /// Asks for the memory of what tells where a feature is.
    #[inline(always)]
    pub(super) fn fetch(&self, feature: u32) {
        prefetch(&self.0, Bitmap32::index_of(feature));
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
