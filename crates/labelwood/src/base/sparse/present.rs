//! Which of some columns next to one another are there.

/// One bit for each of the [`Present::WIDTH`] columns from a multiple of that number on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Present(u32);

impl Present {
    /// How many columns it tells of.
    pub const WIDTH: u32 = u32::BITS;

    /// Which of them a column belongs to.
    #[inline(always)]
    pub fn at(column: u32) -> usize {
        (column / Self::WIDTH) as usize
    }

    /// Says that a column is there.
    pub fn insert(&mut self, column: u32) {
        self.0 |= 1 << (column % Self::WIDTH);
    }

    /// Whether a column is there.
    #[inline(always)]
    pub fn has(self, column: u32) -> bool {
        self.0 >> (column % Self::WIDTH) & 1 == 1
    }

    /// How many columns come before one.
    #[inline(always)]
    pub fn before(self, column: u32) -> u32 {
        (self.0 & ((1 << (column % Self::WIDTH)) - 1)).count_ones()
    }
}
