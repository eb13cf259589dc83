//! Whole numbers in the narrowest type that holds them all.

use super::{Array, prefetch};
use std::ops::Range;

/// An array of whole numbers in the narrowest type that holds them all.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Numbers {
    /// All below 2^8.
    U8(Array<u8>),
    /// All below 2^16.
    U16(Array<u16>),
    /// All below 2^32.
    U32(Array<u32>),
}

impl Numbers {
    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        match self {
            Numbers::U8(numbers) => numbers.len(),
            Numbers::U16(numbers) => numbers.len(),
            Numbers::U32(numbers) => numbers.len(),
        }
    }

    /// Prefetches the element at a position.
    #[inline(always)]
    pub(crate) fn prefetch(&self, at: usize) {
        match self {
            Numbers::U8(numbers) => prefetch(numbers, at),
            Numbers::U16(numbers) => prefetch(numbers, at),
            Numbers::U32(numbers) => prefetch(numbers, at),
        }
    }

    /// Whether an element is 0.
    pub(crate) fn has_zero(&self) -> bool {
        match self {
            Numbers::U8(numbers) => numbers.contains(&0),
            Numbers::U16(numbers) => numbers.contains(&0),
            Numbers::U32(numbers) => numbers.contains(&0),
        }
    }

    /// The element at a position.
    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> u32 {
        match self {
            Numbers::U8(numbers) => u32::from(numbers[at]),
            Numbers::U16(numbers) => u32::from(numbers[at]),
            Numbers::U32(numbers) => numbers[at],
        }
    }
}

/// Calls `each` with the pairs of elements of two arrays at the positions of a range. Tells the types
/// apart once, not for each pair.
#[inline(always)]
pub(crate) fn each_pair(
    left: &Numbers,
    right: &Numbers,
    range: Range<usize>,
    mut each: impl FnMut(u32, u32),
) {
    macro_rules! arms {
        ($(($one:ident, $other:ident)),*) => {
            match (left, right) {
                $((Numbers::$one(left), Numbers::$other(right)) => {
                    for (&one, &other) in left[range.clone()].iter().zip(&right[range]) {
                        each(one.into(), other.into());
                    }
                })*
            }
        };
    }
    arms!(
        (U8, U8),
        (U8, U16),
        (U8, U32),
        (U16, U8),
        (U16, U16),
        (U16, U32),
        (U32, U8),
        (U32, U16),
        (U32, U32)
    )
}

impl From<Vec<u32>> for Numbers {
    fn from(wide: Vec<u32>) -> Self {
        match wide.iter().max() {
            Some(&most) if most > 0xffff => Numbers::U32(wide.into()),
            Some(&most) if most > 0xff => {
                Numbers::U16(wide.iter().map(|&number| number as u16).collect::<Vec<_>>().into())
            }
            _ => Numbers::U8(wide.iter().map(|&number| number as u8).collect::<Vec<_>>().into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_in_the_narrowest_type() {
        for (wide, bytes) in [(vec![], 1), (vec![3, 255], 1), (vec![256, 0], 2), (vec![65_536], 4)]
        {
            let narrow = Numbers::from(wide.clone());
            let found = match narrow {
                Numbers::U8(_) => 1,
                Numbers::U16(_) => 2,
                Numbers::U32(_) => 4,
            };
            assert_eq!(found, bytes);
            assert_eq!(narrow.has_zero(), wide.contains(&0));
            assert_eq!((0..wide.len()).map(|at| narrow.get(at)).collect::<Vec<_>>(), wide);
        }
    }

    #[test]
    fn pairs_are_those_at_the_same_positions_whatever_their_types() {
        let kinds = [[1, 2, 3], [1, 2, 300], [1, 2, 70_000]];
        for left in kinds {
            for right in kinds {
                let (one, other) = (Numbers::from(left.to_vec()), Numbers::from(right.to_vec()));
                let mut found = Vec::new();
                each_pair(&one, &other, 1..3, |one, other| found.push((one, other)));
                assert_eq!(found, [(left[1], right[1]), (left[2], right[2])]);
            }
        }
    }
}
