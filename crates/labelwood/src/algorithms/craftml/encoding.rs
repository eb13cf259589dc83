//! The encoding of the features that a node's centroids have.
//!
//! Features are in increasing order, each in a 16-bit word. The low bits of the word, one for each
//! branch, are the `child_bits`: which children's centroids have a value for the feature. The high
//! bits are the gap to the feature before. A gap that does not fit leaves the high bits 0 and
//! follows in the next word or, if that is 0, in the two words after it. The values themselves are
//! in another array, in the same order (see [`super::values`]).

use crate::base::array::prefetch;

/// Encodes the features of one node.
pub(super) struct Encoder<'a> {
    words: &'a mut Vec<u16>,
    branches: u32,
    /// One more than the last feature.
    next: u32,
}

impl<'a> Encoder<'a> {
    /// Appends a node to `words`; `branches` is that of the tree, at most 16.
    pub(super) fn new(words: &'a mut Vec<u16>, branches: usize) -> Self {
        Encoder { words, branches: branches as u32, next: 0 }
    }

    /// Appends a feature, larger than the last, with its `child_bits`.
    #[inline]
    pub(super) fn push(&mut self, feature: u32, child_bits: u16) {
        let gap = feature - self.next + 1;
        self.next = feature + 1;
        if gap < 1 << (16 - self.branches) {
            // With 16 branches no gap gets here, so the shift is less than 16.
            return self.words.push((gap << self.branches) as u16 | child_bits);
        }
        self.words.push(child_bits);
        if gap <= 0xffff {
            self.words.push(gap as u16);
        } else {
            self.words.extend([0, gap as u16, (gap >> 16) as u16]);
        }
    }
}

/// Decodes the features of one node. If the words end within a feature, the feature is left out.
#[derive(Clone)]
pub(super) struct Decoder<'a> {
    words: std::slice::Iter<'a, u16>,
    branches: u32,
    mask: u16,
    next: u32,
}

impl<'a> Decoder<'a> {
    /// Decodes the words of a node; `branches` is that of the tree, at most 16.
    pub(super) fn new(words: &'a [u16], branches: usize) -> Self {
        let mask = ((1u32 << branches) - 1) as u16;
        Decoder { words: words.iter(), branches: branches as u32, mask, next: 0 }
    }

    /// How many words have not been read.
    pub(super) fn remaining(&self) -> usize {
        self.words.len()
    }

    /// Decodes from a later word on; `next` is one more than the last feature before it.
    pub(super) fn after(&self, words: usize, next: u32) -> Self {
        let rest = self.words.as_slice().get(words..).unwrap_or_default();
        Decoder { words: rest.iter(), next, ..*self }
    }

    /// The `child_bits` of one of the eight words at `from`, and how many values the words before it
    /// have from `from` on. Each of the words up to it must be a whole feature.
    #[inline(always)]
    pub(super) fn among_eight(&self, from: usize, word: usize) -> Option<(u16, usize)> {
        let eight: &[u16; 8] = self.words.as_slice().get(from..)?.first_chunk()?;
        Some((eight[word % 8] & self.mask, ones_before(eight, self.mask, word)))
    }

    /// What [`Decoder::among_eight`] gives, for the feature that comes `before` features after the word
    /// at `from`; features may take several words.
    #[cold]
    pub(super) fn nth_feature(&self, from: usize, before: usize) -> Option<(u16, usize)> {
        let mut words = self.after(from, 0);
        let others = words.by_ref().take(before);
        let values = others.map(|(_, child_bits)| child_bits.count_ones() as usize).sum();
        Some((words.next()?.1, values))
    }

    /// Prefetches a word.
    #[inline(always)]
    pub(super) fn prefetch(&self, word: usize) {
        prefetch(self.words.as_slice(), word);
    }

    /// Reads a gap that does not fit in 16 bits.
    #[cold]
    fn long_gap(&mut self) -> Option<u32> {
        let low = u32::from(*self.words.next()?);
        Some(low | u32::from(*self.words.next()?) << 16)
    }
}

impl Iterator for Decoder<'_> {
    /// A feature and its `child_bits`.
    type Item = (u32, u16);

    #[inline(always)]
    fn next(&mut self) -> Option<(u32, u16)> {
        let word = *self.words.next()?;
        let gap = match u32::from(word) >> self.branches {
            0 => match *self.words.next()? {
                0 => self.long_gap()?,
                gap => u32::from(gap),
            },
            gap => gap,
        };
        self.next = self.next.wrapping_add(gap);
        Some((self.next.wrapping_sub(1), word & self.mask))
    }
}

/// For each position in an array of eight 16-bit numbers, a mask over the numbers before it.
const BELOW: [[u64; 2]; 8] = {
    let mut below = [[0; 2]; 8];
    let mut at = 1;
    while at < 8 {
        below[at] = below[at - 1];
        below[at][(at - 1) / 4] |= 0xffff << ((at - 1) % 4 * 16);
        at += 1;
    }
    below
};

/// How many bits under `mask` are set in the numbers before position `at`.
#[inline(always)]
pub(super) fn ones_before(eight: &[u16; 8], mask: u16, at: usize) -> usize {
    let together = |[a, b, c, d]: [u16; 4]| {
        u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48
    };
    let [a, b, c, d, e, f, g, h] = *eight;
    let [below_low, below_high] = BELOW[at % 8];
    let mask = u64::from(mask) * 0x0001_0001_0001_0001;
    let low = together([a, b, c, d]) & mask & below_low;
    let high = together([e, f, g, h]) & mask & below_high;
    (low.count_ones() + high.count_ones()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn near_features_take_one_word_and_far_ones_two_or_four() {
        let mut words = Vec::new();
        let mut encoder = Encoder::new(&mut words, 10);
        for feature in [0, 62, 1000, 100_000] {
            encoder.push(feature, 1);
        }
        assert_eq!(words.len(), 1 + 1 + 2 + 4);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            features in proptest::collection::btree_map(0u32..1 << 30, 1u16.., 0..50),
            near in proptest::collection::btree_map(0u32..300, 1u16.., 0..50),
            branches in 2usize..=16) {
            let mask = ((1u32 << branches) - 1) as u16;
            for features in [features, near] {
                let mut words = Vec::new();
                let mut encoder = Encoder::new(&mut words, branches);
                features.iter().for_each(|(&feature, &child_bits)| encoder.push(feature, child_bits & mask));
                let found: Vec<_> = Decoder::new(&words, branches).collect();
                let expected: Vec<_> = features.iter().map(|(&feature, &child_bits)| (feature, child_bits & mask)).collect();
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn any_words_are_read_to_their_end(words in proptest::collection::vec(any::<u16>(), 0..40), branches in 2usize..=16) {
            prop_assert!(Decoder::new(&words, branches).count() <= words.len());
        }
    }
}
