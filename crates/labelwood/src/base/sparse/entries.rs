//! Sparse rows as flat arrays, which is how clustering, solving and scoring read them.

/// Sparse rows as flat arrays; a row's columns need be neither sorted nor distinct.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entries<'a> {
    /// Where each row starts; the last element is the number of entries.
    pub offsets: &'a [u64],
    /// The column of each entry.
    pub columns: &'a [u32],
    /// The value of each entry.
    pub values: &'a [f32],
}

/// The most columns for which an array with an element for each column is allocated: 256 MB of
/// 32-bit numbers. With more columns other lookups are used, so that a large number in a file's
/// header alone takes no memory.
pub(crate) const MAX_DENSE_COLUMNS: usize = 1 << 26;

impl<'a> Entries<'a> {
    /// One more than the highest column; 0 without entries.
    pub(crate) fn width(&self) -> usize {
        self.columns.iter().max().map_or(0, |&column| column as usize + 1)
    }

    /// The columns and values of one row.
    #[inline(always)]
    pub(crate) fn row(&self, row: u32) -> (&'a [u32], &'a [f32]) {
        let range = self.offsets[row as usize] as usize..self.offsets[row as usize + 1] as usize;
        (&self.columns[range.clone()], &self.values[range])
    }
}

/// [`Entries`] that own their arrays.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnedEntries {
    pub offsets: Vec<u64>,
    pub columns: Vec<u32>,
    pub values: Vec<f32>,
}

impl OwnedEntries {
    /// No rows yet, with memory reserved for some.
    pub(crate) fn with_capacity(rows: usize, entries: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        OwnedEntries {
            offsets,
            columns: Vec::with_capacity(entries),
            values: Vec::with_capacity(entries),
        }
    }

    /// Borrows the rows.
    pub(crate) fn view(&self) -> Entries<'_> {
        Entries { offsets: &self.offsets, columns: &self.columns, values: &self.values }
    }

    /// Scales the entries that were pushed last to length 1 and ends their row.
    pub(crate) fn end_unit_row(&mut self) {
        let start = self.offsets[self.offsets.len() - 1] as usize;
        scale_to_unit(&mut self.values[start..]);
        self.end_row();
    }

    /// Ends the row of the entries that were pushed last.
    pub(crate) fn end_row(&mut self) {
        self.offsets.push(self.columns.len() as u64);
    }
}

/// The Euclidean length of a row, summed in `f64` so that no finite row overflows.
pub(crate) fn l2_norm(values: &[f32]) -> f64 {
    values.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>().sqrt()
}

/// Scales values to length 1, unless all are 0.
pub(crate) fn scale_to_unit(values: &mut [f32]) {
    let norm = l2_norm(values);
    if norm > 0.0 {
        // In f64, since one over the length of a tiny row is beyond f32.
        let scale = 1.0 / norm;
        values.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_scaled_to_length_one_and_zeros_stay() {
        let scaled = |mut values: Vec<f32>| {
            scale_to_unit(&mut values);
            values
        };
        assert_eq!(scaled(vec![3.0, 4.0]), [0.6, 0.8]);
        assert_eq!(scaled(vec![0.0]), [0.0]);
        for extreme in [f32::MAX, f32::MIN_POSITIVE] {
            assert!((l2_norm(&scaled(vec![extreme, extreme])) - 1.0).abs() < 1e-6);
        }
    }
}
