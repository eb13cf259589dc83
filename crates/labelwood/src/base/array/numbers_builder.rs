//! Collects whole numbers in the narrowest type that holds those so far.

use super::Numbers;

/// [`Numbers`] that others can be appended to.
pub(crate) enum NumbersBuilder {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
}

impl Default for NumbersBuilder {
    fn default() -> Self {
        NumbersBuilder::U8(Vec::new())
    }
}

impl NumbersBuilder {
    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        match self {
            NumbersBuilder::U8(numbers) => numbers.len(),
            NumbersBuilder::U16(numbers) => numbers.len(),
            NumbersBuilder::U32(numbers) => numbers.len(),
        }
    }

    /// The number of elements that fit without reallocating.
    pub(crate) fn capacity(&self) -> usize {
        match self {
            NumbersBuilder::U8(numbers) => numbers.capacity(),
            NumbersBuilder::U16(numbers) => numbers.capacity(),
            NumbersBuilder::U32(numbers) => numbers.capacity(),
        }
    }

    /// Reserves memory for exactly so many elements more.
    pub(crate) fn reserve_exact(&mut self, more: usize) {
        match self {
            NumbersBuilder::U8(numbers) => numbers.reserve_exact(more),
            NumbersBuilder::U16(numbers) => numbers.reserve_exact(more),
            NumbersBuilder::U32(numbers) => numbers.reserve_exact(more),
        }
    }

    /// Appends a number.
    pub(crate) fn push(&mut self, number: u32) {
        match self {
            NumbersBuilder::U8(numbers) if number <= 0xff => numbers.push(number as u8),
            NumbersBuilder::U16(numbers) if number <= 0xffff => numbers.push(number as u16),
            NumbersBuilder::U32(numbers) => numbers.push(number),
            NumbersBuilder::U8(_) | NumbersBuilder::U16(_) => {
                self.widen(number);
                self.push(number);
            }
        }
    }

    /// Appends all numbers of another array.
    pub(crate) fn append(&mut self, other: &NumbersBuilder) {
        match other {
            NumbersBuilder::U8(numbers) => self.extend(numbers.iter().copied().map(u32::from)),
            NumbersBuilder::U16(numbers) => self.extend(numbers.iter().copied().map(u32::from)),
            NumbersBuilder::U32(numbers) => self.extend(numbers.iter().copied()),
        }
    }

    /// Widens all elements to the type that this number needs.
    #[cold]
    fn widen(&mut self, number: u32) {
        let room = self.capacity();
        let mut wide = if number <= 0xffff {
            NumbersBuilder::U16(Vec::new())
        } else {
            NumbersBuilder::U32(Vec::new())
        };
        wide.reserve_exact(room);
        wide.append(self);
        *self = wide;
    }
}

impl Extend<u32> for NumbersBuilder {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, numbers: I) {
        numbers.into_iter().for_each(|number| self.push(number));
    }
}

impl From<NumbersBuilder> for Numbers {
    fn from(grown: NumbersBuilder) -> Self {
        match grown {
            NumbersBuilder::U8(numbers) => Numbers::U8(numbers.into()),
            NumbersBuilder::U16(numbers) => Numbers::U16(numbers.into()),
            NumbersBuilder::U32(numbers) => Numbers::U32(numbers.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_grow_to_what_they_are_when_given_at_once(
            parts in proptest::collection::vec(
                proptest::collection::vec(prop_oneof![0u32..300, 0u32..70_000, any::<u32>()], 0..5), 0..5)) {
            let mut whole = NumbersBuilder::default();
            for part in &parts {
                let mut grown = NumbersBuilder::default();
                grown.extend(part.iter().copied());
                prop_assert_eq!(grown.len(), part.len());
                whole.append(&grown);
            }
            prop_assert_eq!(Numbers::from(whole), Numbers::from(parts.concat()));
        }
    }

    #[test]
    fn room_stays_when_numbers_become_wider() {
        let mut grown = NumbersBuilder::default();
        grown.reserve_exact(100);
        grown.extend([1, 300, 70_000]);
        assert!(grown.capacity() >= 100);
    }
}
