//! The features of a node that has most of them, each found at its own place.
//!
//! The children that a feature touches are read out of the words: of eight features together, with
//! where the values of these start. A row that comes alone need not read the words then.

use super::block::{Decoder, ones_before};
use super::values::Hit;
use crate::base::array::prefetch;

/// Which children each feature touches: none where the node does not have it.
#[derive(Debug)]
pub(super) struct Touches(Box<[Eight]>);

/// What eight features next to one another have in a node.
#[derive(Clone, Copy, Debug, Default)]
struct Eight {
    /// The children that each of them touches.
    touches: [u16; 8],
    /// Where their values start.
    value: u32,
}

impl Touches {
    /// The features of some words, which rise up to the last; values are so many bytes wide.
    pub fn new(words: Decoder<'_>, last: u32, width: usize) -> Self {
        let mut eights = vec![Eight::default(); last as usize / 8 + 1];
        let (mut value, mut before) = (0u32, None);
        for (feature, touches) in words {
            let at = feature as usize / 8;
            // Words of a mapped file may change between the look for the last feature and this one.
            let Some(eight) = eights.get_mut(at) else { break };
            if before != Some(at) {
                (eight.value, before) = (value, Some(at));
            }
            eight.touches[feature as usize % 8] = touches;
            value = value.wrapping_add(touches.count_ones() * width as u32);
        }
        Touches(eights.into())
    }

    /// Appends the entries of a row that the node has.
    #[inline(always)]
    pub fn find(&self, (columns, factors): (&[u32], &[f32]), width: usize, hits: &mut Vec<Hit>) {
        // Whether a column is there is anyone's guess, the processor's too: so all are written down,
        // each over the one before if that was not there.
        let mut end = hits.len();
        hits.resize(end + columns.len(), Hit::default());
        for (&column, &factor) in columns.iter().zip(factors) {
            let Some(eight) = self.0.get(column as usize / 8) else { continue };
            let at = column as usize % 8;
            let touches = eight.touches[at];
            let values = ones_before(&eight.touches, u16::MAX, at);
            hits[end] = Hit { factor, touches, place: eight.value as usize + values * width };
            end += usize::from(touches != 0);
        }
        hits.truncate(end);
    }

    /// Asks for the memory of what leads to a feature.
    #[inline(always)]
    pub fn fetch(&self, feature: u32) {
        prefetch(&self.0, feature as usize / 8);
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
