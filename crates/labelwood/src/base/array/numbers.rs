//! Whole numbers in the narrowest type that holds them all.

use super::{Array, prefetch};
use std::ops::Range;

/// An array of whole numbers in the narrowest type that holds them all; it widens as it grows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Numbers {
    /// All below 2^8.
    U8(Array<u8>),
    /// All below 2^16.
    U16(Array<u16>),
    /// All below 2^32.
    U32(Array<u32>),
}

/// The same expression for the array of some [`Numbers`], whatever its type.
macro_rules! of_any_width {
    ($numbers:expr, $array:ident => $result:expr) => {
        match $numbers {
            Numbers::U8($array) => $result,
            Numbers::U16($array) => $result,
            Numbers::U32($array) => $result,
        }
    };
}

// Elements that are 32 bits wide are converted, too.
#[allow(clippy::useless_conversion)]
impl Numbers {
    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        of_any_width!(self, numbers => numbers.len())
    }

    /// Prefetches the element at a position.
    #[inline(always)]
    pub(crate) fn prefetch(&self, at: usize) {
        of_any_width!(self, numbers => prefetch(numbers, at))
    }

    /// Whether an element is 0.
    pub(crate) fn has_zero(&self) -> bool {
        of_any_width!(self, numbers => numbers.contains(&0))
    }

    /// The element at a position.
    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> u32 {
        of_any_width!(self, numbers => numbers[at].into())
    }

    /// The number of elements that fit without reallocating.
    pub(crate) fn capacity(&mut self) -> usize {
        of_any_width!(self, numbers => numbers.to_mut().capacity())
    }

    /// Reserves memory for exactly so many elements more.
    pub(crate) fn reserve_exact(&mut self, more: usize) {
        of_any_width!(self, numbers => numbers.to_mut().reserve_exact(more))
    }

    /// Appends a number.
    pub(crate) fn push(&mut self, number: u32) {
        match self {
            Numbers::U8(numbers) if number <= 0xff => numbers.to_mut().push(number as u8),
            Numbers::U16(numbers) if number <= 0xffff => numbers.to_mut().push(number as u16),
            Numbers::U32(numbers) => numbers.to_mut().push(number),
            Numbers::U8(_) | Numbers::U16(_) => {
                self.widen(number);
                self.push(number);
            }
        }
    }

    /// Appends all numbers of another array.
    pub(crate) fn append(&mut self, other: &Numbers) {
        of_any_width!(other, numbers => self.extend(numbers.iter().map(|&number| number.into())))
    }

    /// Widens all elements to the type that this number needs.
    #[cold]
    fn widen(&mut self, number: u32) {
        let room = self.capacity();
        let mut wide = match number {
            0..=0xffff => Numbers::U16(Array::default()),
            _ => Numbers::U32(Array::default()),
        };
        wide.reserve_exact(room);
        wide.append(self);
        *self = wide;
    }
}

impl Default for Numbers {
    fn default() -> Self {
        Numbers::U8(Array::default())
    }
}

impl Extend<u32> for Numbers {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, numbers: I) {
        numbers.into_iter().for_each(|number| self.push(number));
    }
}

impl From<Vec<u32>> for Numbers {
    fn from(wide: Vec<u32>) -> Self {
        let mut narrow = Numbers::default();
        narrow.reserve_exact(wide.len());
        narrow.extend(wide);
        narrow
    }
}

/// Calls `each` with the pairs of elements of two arrays at the positions of a range. Tells the types
/// apart once, not for each pair.
#[inline(always)]
#[allow(clippy::useless_conversion)]
pub(crate) fn each_pair(
    left: &Numbers,
    right: &Numbers,
    range: Range<usize>,
    mut each: impl FnMut(u32, u32),
) {
    of_any_width!(left, left => of_any_width!(right, right => {
        for (&one, &other) in left[range.clone()].iter().zip(&right[range]) {
            each(one.into(), other.into());
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn numbers_grow_to_what_they_are_when_given_at_once(
            parts in proptest::collection::vec(
                proptest::collection::vec(prop_oneof![0u32..300, 0u32..70_000, any::<u32>()], 0..5), 0..5)) {
            let mut whole = Numbers::default();
            for part in &parts {
                let mut grown = Numbers::default();
                grown.extend(part.iter().copied());
                prop_assert_eq!(grown.len(), part.len());
                whole.append(&grown);
            }
            prop_assert_eq!(whole, Numbers::from(parts.concat()));
        }
    }

    #[test]
    fn room_stays_when_numbers_become_wider() {
        let mut grown = Numbers::default();
        grown.reserve_exact(100);
        grown.extend([1, 300, 70_000]);
        assert!(grown.capacity() >= 100);
    }
}
