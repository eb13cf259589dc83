//! Dot products of a sparse row with sixteen vectors at a time.
//!
//! The centres of at most [`LANES`] clusters are kept column-major: one [`Lanes`] per column holds
//! that column's value in every centre, so that one pass over a sparse row updates the similarities
//! to all centres with contiguous loads. Products and sums are element-wise, never fused, in the
//! order of the row's entries: each width of vector instruction gives the same bits.

use crate::base::sparse::Entries;
use multiversion::multiversion;

/// The most clusters a table can hold.
pub(crate) const LANES: usize = 16;

/// One value for each cluster, aligned to a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub(crate) struct Lanes(pub [f32; LANES]);

impl Lanes {
    /// All zeros.
    pub(crate) const ZERO: Lanes = Lanes([0.0; LANES]);

    /// Multiplies each lane by its own factor.
    #[inline(always)]
    pub(crate) fn scale(&mut self, factors: &Lanes) {
        for lane in 0..LANES {
            self.0[lane] *= factors.0[lane];
        }
    }

    /// The first `count` lanes, with zeros in the others.
    ///
    /// Writes all lanes: writing some only would stall the next read of all of them.
    #[inline(always)]
    pub(crate) fn first(mut self, count: usize) -> Self {
        for lane in 0..LANES {
            self.0[lane] = if lane < count { self.0[lane] } else { 0.0 };
        }
        self
    }

    /// One bit for each lane that is not zero.
    #[inline(always)]
    pub(crate) fn nonzero(&self) -> u16 {
        let mut bits = 0;
        for lane in 0..LANES {
            bits |= u16::from(self.0[lane] != 0.0) << lane;
        }
        bits
    }

    /// The sum of all lanes, added up by halves.
    #[inline(always)]
    pub(crate) fn sum(&self) -> f32 {
        let mut sums = self.0;
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                sums[lane] += sums[lane + half];
            }
        }
        sums[0]
    }

    /// Adds each of `other`'s lanes times a value.
    #[inline(always)]
    pub(crate) fn add_product(&mut self, value: f32, other: &Lanes) {
        for lane in 0..LANES {
            self.0[lane] += value * other.0[lane];
        }
    }

    /// Adds the square of each of `other`'s lanes.
    #[inline(always)]
    pub(crate) fn add_squares(&mut self, other: &Lanes) {
        for lane in 0..LANES {
            self.0[lane] += other.0[lane] * other.0[lane];
        }
    }

    /// One over the length of the vector in each lane, which is 0 if all its values are.
    #[inline(always)]
    pub(crate) fn over_lengths(values: &[Lanes]) -> Lanes {
        let mut squares = Lanes::ZERO;
        values.iter().for_each(|values| squares.add_squares(values));
        Lanes(squares.0.map(|square| if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 }))
    }
}

/// The centres of some clusters, addressed through a map from column to slot.
///
/// Slot 0 is always zero: a column that no centre has maps to it and adds nothing.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    /// The slot of every column.
    pub slot_of: &'a [u32],
    /// The centres' values by slot.
    pub lanes: &'a [Lanes],
}

/// A row's dot product with every centre; `lanes` has one element for each column.
#[inline(always)]
pub(crate) fn products(lanes: &[Lanes], (columns, values): (&[u32], &[f32])) -> Lanes {
    let mut sums = Lanes::ZERO;
    for (&column, &value) in columns.iter().zip(values) {
        sums.add_product(value, &lanes[column as usize]);
    }
    sums
}

/// Calls `each(position, products)` with every row's dot product with every centre, in order.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn similarities(
    table: &Table<'_>,
    entries: Entries<'_>,
    rows: &[u32],
    mut each: impl FnMut(usize, &Lanes),
) {
    for (position, &row) in rows.iter().enumerate() {
        let (columns, values) = entries.row(row);
        let mut sums = Lanes::ZERO;
        for (&column, &value) in columns.iter().zip(values) {
            sums.add_product(value, &table.lanes[table.slot_of[column as usize] as usize]);
        }
        each(position, &sums);
    }
}

/// The lane of the largest of the first `count` values; ties go to the lowest lane.
#[inline(always)]
pub(crate) fn best_lane(values: &Lanes, count: usize) -> usize {
    // No branches: the maximum by halves, then the first lane that has it.
    let mut used = [f32::NEG_INFINITY; LANES];
    for (lane, (used, &value)) in used.iter_mut().zip(&values.0).enumerate() {
        *used = if lane < count { value } else { f32::NEG_INFINITY };
    }
    let mut max = used;
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            max[lane] = if max[lane + half] > max[lane] { max[lane + half] } else { max[lane] };
        }
    }
    let mut best = 0u16;
    for (lane, &value) in used.iter().enumerate() {
        best |= u16::from(value == max[0]) << lane;
    }
    best.trailing_zeros() as usize % LANES
}
