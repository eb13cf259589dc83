//! A bitmap over 32 columns, the building block of rank indexes.

/// One bit for each of [`Bitmap32::WIDTH`] columns, the first of which is a multiple of `WIDTH`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bitmap32(u32);

impl Bitmap32 {
    /// The number of columns in one bitmap.
    pub(crate) const WIDTH: u32 = u32::BITS;

    /// The position of a column's bitmap in an array of bitmaps that starts at column 0.
    #[inline(always)]
    pub(crate) fn index_of(column: u32) -> usize {
        (column / Self::WIDTH) as usize
    }

    /// Sets the bit of a column.
    pub(crate) fn insert(&mut self, column: u32) {
        self.0 |= 1 << (column % Self::WIDTH);
    }

    /// Whether the bit of a column is set.
    #[inline(always)]
    pub(crate) fn contains(self, column: u32) -> bool {
        self.0 >> (column % Self::WIDTH) & 1 == 1
    }

    /// How many bits are set below that of a column.
    #[inline(always)]
    pub(crate) fn rank(self, column: u32) -> u32 {
        (self.0 & ((1 << (column % Self::WIDTH)) - 1)).count_ones()
    }
}
