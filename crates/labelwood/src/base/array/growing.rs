//! Whole numbers that are appended, stored as narrowly as those so far allow.

use super::Numbers;

/// An array of [`Numbers`] while it grows.
pub(crate) enum Growing {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
}

impl Default for Growing {
    fn default() -> Self {
        Growing::U8(Vec::new())
    }
}

impl Growing {
    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Growing::U8(numbers) => numbers.len(),
            Growing::U16(numbers) => numbers.len(),
            Growing::U32(numbers) => numbers.len(),
        }
    }

    /// For how many elements there is room.
    pub fn capacity(&self) -> usize {
        match self {
            Growing::U8(numbers) => numbers.capacity(),
            Growing::U16(numbers) => numbers.capacity(),
            Growing::U32(numbers) => numbers.capacity(),
        }
    }

    /// Makes room for so many elements more, and for no others.
    pub fn reserve_exact(&mut self, more: usize) {
        match self {
            Growing::U8(numbers) => numbers.reserve_exact(more),
            Growing::U16(numbers) => numbers.reserve_exact(more),
            Growing::U32(numbers) => numbers.reserve_exact(more),
        }
    }

    /// Appends a number.
    pub fn push(&mut self, number: u32) {
        match self {
            Growing::U8(numbers) if number <= 0xff => numbers.push(number as u8),
            Growing::U16(numbers) if number <= 0xffff => numbers.push(number as u16),
            Growing::U32(numbers) => numbers.push(number),
            Growing::U8(_) | Growing::U16(_) => {
                self.widen(number);
                self.push(number);
            }
        }
    }

    /// Appends all numbers of another array.
    pub fn append(&mut self, other: &Growing) {
        match other {
            Growing::U8(numbers) => self.extend(numbers.iter().copied().map(u32::from)),
            Growing::U16(numbers) => self.extend(numbers.iter().copied().map(u32::from)),
            Growing::U32(numbers) => self.extend(numbers.iter().copied()),
        }
    }

    /// Takes as many bytes for each element as this number needs.
    #[cold]
    fn widen(&mut self, number: u32) {
        let room = self.capacity();
        let mut wide =
            if number <= 0xffff { Growing::U16(Vec::new()) } else { Growing::U32(Vec::new()) };
        wide.reserve_exact(room);
        wide.append(self);
        *self = wide;
    }
}

impl Extend<u32> for Growing {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, numbers: I) {
        numbers.into_iter().for_each(|number| self.push(number));
    }
}

impl From<Growing> for Numbers {
    fn from(grown: Growing) -> Self {
        match grown {
            Growing::U8(numbers) => Numbers::U8(numbers.into()),
            Growing::U16(numbers) => Numbers::U16(numbers.into()),
            Growing::U32(numbers) => Numbers::U32(numbers.into()),
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
            let mut whole = Growing::default();
            for part in &parts {
                let mut grown = Growing::default();
                grown.extend(part.iter().copied());
                prop_assert_eq!(grown.len(), part.len());
                whole.append(&grown);
            }
            prop_assert_eq!(Numbers::from(whole), Numbers::from(parts.concat()));
        }
    }

    #[test]
    fn room_stays_when_numbers_become_wider() {
        let mut grown = Growing::default();
        grown.reserve_exact(100);
        grown.extend([1, 300, 70_000]);
        assert!(grown.capacity() >= 100);
    }
}
