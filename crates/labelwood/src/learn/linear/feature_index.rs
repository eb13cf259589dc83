//! An index of a node's features, so that a single row need not search for its own among them.

use crate::base::array::prefetch;
use crate::base::sparse::Bitmap32;

/// The features of a node as bitmaps with counts.
#[derive(Debug)]
pub(crate) struct FeatureIndex(Box<[Block]>);

/// A block of [`Bitmap32::WIDTH`] neighbouring features.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Which of them the node has.
    present: Bitmap32,
    /// How many features of the node come before this block.
    before: u32,
}

impl FeatureIndex {
    /// Indexes features, which are in increasing order; none if they are so few that the index would
    /// have more blocks than features.
    pub(super) fn new(features: &[u32]) -> Option<Self> {
        let count = Bitmap32::index_of(*features.last()?) + 1;
        if count > features.len() {
            return None;
        }
        let mut blocks = Vec::with_capacity(count);
        for (at, &feature) in features.iter().enumerate() {
            let block = Bitmap32::index_of(feature);
            // Features were in order when they were checked; a mapped file may have changed since.
            if block >= count {
                return None;
            }
            let next = Block { present: Bitmap32::default(), before: at as u32 };
            blocks.resize((block + 1).max(blocks.len()), next);
            blocks[block].present.insert(feature);
        }
        Some(FeatureIndex(blocks.into()))
    }

    /// Whether the node has a feature, and its position, or the one it would have.
    #[inline(always)]
    pub(super) fn position(&self, feature: u32) -> (bool, u32) {
        let none = Block { present: Bitmap32::default(), before: 0 };
        let Block { present, before } =
            self.0.get(Bitmap32::index_of(feature)).copied().unwrap_or(none);
        (present.contains(feature), before + present.rank(feature))
    }

    /// Requests the memory of a feature's block.
    #[inline(always)]
    pub(super) fn prefetch(&self, feature: u32) {
        prefetch(&self.0, Bitmap32::index_of(feature));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_index_finds_every_feature_at_its_position_and_no_other(
            features in proptest::collection::btree_set(0u32..600, 0..200)) {
            let sorted: Vec<u32> = features.into_iter().collect();
            if let Some(index) = FeatureIndex::new(&sorted) {
                prop_assert!(index.0.len() <= sorted.len());
                for feature in 0..700 {
                    let expected = sorted.binary_search(&feature).ok();
                    let (is_there, at) = index.position(feature);
                    prop_assert_eq!(is_there.then_some(at as usize), expected);
                }
            } else {
                prop_assert!(sorted.len() < 19);
            }
        }
    }
}
