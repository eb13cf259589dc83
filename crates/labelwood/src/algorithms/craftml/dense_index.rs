//! An index of the features of a node that has most of them: each feature has a slot of its own.
//!
//! Slots hold the `child_bits` of the features, so that a lookup does not read the encoded words.

use super::encoding::{Decoder, ones_before};
use super::values::Hit;
use crate::base::array::prefetch;

/// The `child_bits` of every feature up to the node's last; 0 for features the node does not have.
#[derive(Debug)]
pub(super) struct DenseIndex(pub(super) Box<[EightFeatures]>);

/// Eight consecutive features, the first of which is a multiple of eight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EightFeatures {
    child_bits: [u16; 8],
    /// Where the values of the first feature start, in bytes.
    values_start: u32,
}

impl DenseIndex {
    /// Indexes the features of a node, the largest of which is `last`; values have `width` bytes.
    pub(super) fn new(words: Decoder<'_>, last: u32, width: usize) -> Self {
        let mut eights = vec![EightFeatures::default(); last as usize / 8 + 1];
        let (mut value, mut before) = (0u32, None);
        for (feature, child_bits) in words {
            let at = feature as usize / 8;
            // The words of a mapped file may have changed since `last` was determined.
            let Some(eight) = eights.get_mut(at) else { break };
            if before != Some(at) {
                (eight.values_start, before) = (value, Some(at));
            }
            eight.child_bits[feature as usize % 8] = child_bits;
            value = value.wrapping_add(child_bits.count_ones() * width as u32);
        }
        DenseIndex(eights.into())
    }

    /// Appends the entries of a row whose features the node has.
    #[inline(always)]
    pub(super) fn find(
        &self,
        (columns, factors): (&[u32], &[f32]),
        width: usize,
        hits: &mut Vec<Hit>,
    ) {
        // Branchless, because branches would be mispredicted: every entry is written, but `end`
        // advances only if the node has the feature.
        let mut end = hits.len();
        hits.resize(end + columns.len(), Hit::default());
        for (&column, &factor) in columns.iter().zip(factors) {
            let Some(eight) = self.0.get(column as usize / 8) else { continue };
            let at = column as usize % 8;
            let child_bits = eight.child_bits[at];
            let values = ones_before(&eight.child_bits, u16::MAX, at);
            let offset = eight.values_start as usize + values * width;
            hits[end] = Hit { factor, child_bits, offset };
            end += usize::from(child_bits != 0);
        }
        hits.truncate(end);
    }

    /// Prefetches the slot of a feature.
    #[inline(always)]
    pub(super) fn prefetch(&self, feature: u32) {
        prefetch(&self.0, feature as usize / 8);
    }
}
