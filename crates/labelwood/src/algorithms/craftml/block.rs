//! The centroids of one node, as they are stored.
//!
//! Features come in increasing order. For each there is a 16-bit word: in its low bits, one for
//! each branch, which children the feature touches; in its high bits the gap to the feature before.
//! A gap that does not fit leaves the high bits 0 and follows in the next word, or, when that is 0,
//! in the two words after it. The values of the touched children follow in an array of their own.

use crate::base::array::prefetch;

/// Appends the words of one node.
pub(super) struct Encoder<'a> {
    words: &'a mut Vec<u16>,
    branches: u32,
    /// One more than the last feature.
    next: u32,
}

impl<'a> Encoder<'a> {
    /// Starts a node whose trees have the given number of branches, at most 16.
    pub fn new(words: &'a mut Vec<u16>, branches: usize) -> Self {
        Encoder { words, branches: branches as u32, next: 0 }
    }

    /// Appends a feature, larger than the last, and the children it touches.
    #[inline]
    pub fn push(&mut self, feature: u32, touches: u16) {
        let gap = feature - self.next + 1;
        self.next = feature + 1;
        if gap < 1 << (16 - self.branches) {
            // With 16 branches every gap is escaped, so the shift never reaches the type's width.
            return self.words.push((gap << self.branches) as u16 | touches);
        }
        self.words.push(touches);
        if gap <= 0xffff {
            self.words.push(gap as u16);
        } else {
            self.words.extend([0, gap as u16, (gap >> 16) as u16]);
        }
    }
}

/// Reads the words of one node back; words that end too early end the features.
#[derive(Clone)]
pub(super) struct Decoder<'a> {
    words: std::slice::Iter<'a, u16>,
    branches: u32,
    mask: u16,
    next: u32,
}

impl<'a> Decoder<'a> {
    /// The features of a node whose trees have the given number of branches, at most 16.
    pub fn new(words: &'a [u16], branches: usize) -> Self {
        let mask = ((1u32 << branches) - 1) as u16;
        Decoder { words: words.iter(), branches: branches as u32, mask, next: 0 }
    }

    /// How many words are still to be read.
    pub fn remaining(&self) -> usize {
        self.words.len()
    }

    /// The features after some of the words; `next` is one more than the last feature of these.
    pub fn after(&self, words: usize, next: u32) -> Self {
        let rest = self.words.as_slice().get(words..).unwrap_or_default();
        Decoder { words: rest.iter(), next, ..*self }
    }

    /// The children that the feature of a word touches and how many values precede its own, counted
    /// from an earlier word on. It is one of eight words, each of which is a feature.
    #[inline(always)]
    pub fn among_eight(&self, from: usize, word: usize) -> Option<(u16, usize)> {
        let eight: &[u16; 8] = self.words.as_slice().get(from..)?.first_chunk()?;
        Some((eight[word % 8] & self.mask, ones_before(eight, self.mask, word)))
    }

    /// The same of the feature after so many others, from any word on.
    #[cold]
    pub fn skim(&self, from: usize, before: usize) -> Option<(u16, usize)> {
        let mut words = self.after(from, 0);
        let others = words.by_ref().take(before);
        let values = others.map(|(_, touches)| touches.count_ones() as usize).sum();
        Some((words.next()?.1, values))
    }

    /// Asks for the memory of a word.
    #[inline(always)]
    pub fn fetch(&self, word: usize) {
        prefetch(self.words.as_slice(), word);
    }

    /// A gap that does not fit in 16 bits.
    #[cold]
    fn long_gap(&mut self) -> Option<u32> {
        let low = u32::from(*self.words.next()?);
        Some(low | u32::from(*self.words.next()?) << 16)
    }
}

impl Iterator for Decoder<'_> {
    /// A feature and the children it touches.
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

/// The bits of eight numbers, four of them in one, that come before each of them.
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

/// How many bits, of those in the mask, the numbers before one of eight have set.
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
                features.iter().for_each(|(&feature, &touches)| encoder.push(feature, touches & mask));
                let found: Vec<_> = Decoder::new(&words, branches).collect();
                let expected: Vec<_> = features.iter().map(|(&feature, &touches)| (feature, touches & mask)).collect();
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn any_words_are_read_to_their_end(words in proptest::collection::vec(any::<u16>(), 0..40), branches in 2usize..=16) {
            prop_assert!(Decoder::new(&words, branches).count() <= words.len());
        }
    }
}
