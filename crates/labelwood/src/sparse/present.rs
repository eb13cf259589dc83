//! Which of some columns next to one another are there.

/// One bit for each of the [`Present::WIDTH`] columns from a multiple of that number on.
#[derive(Clone, Copy, Debug, Default)]
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

    /// How many columns are there.
    #[inline(always)]
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// How many of the columns come before one of them, if that is there.
    #[inline(always)]
    pub fn rank(self, column: u32) -> Option<u32> {
        let bit = 1 << (column % Self::WIDTH);
        (self.0 & bit != 0).then(|| (self.0 & (bit - 1)).count_ones())
    }
}
