//! Rows to learn from, their columns numbered without gaps.

use crate::base::sparse::Entries;

/// Some rows of a larger matrix, copied, with only the columns that occur in them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rows {
    pub(super) offsets: Vec<u64>,
    pub(super) entries: Vec<Entry>,
    /// The squared length of each row.
    pub(super) squares: Vec<f32>,
    /// The sum of all rows, by column.
    pub(super) sums: Vec<f64>,
    /// The larger matrix's number of each column.
    features: Vec<u32>,
}

impl Rows {
    /// Copies the given rows of `entries`.
    ///
    /// `column_of` is scratch memory with a 0 for each column of `entries`; it is all 0 afterwards.
    pub(crate) fn gather(entries: Entries<'_>, rows: &[u32], column_of: &mut [u32]) -> Self {
        let of_row = |row| {
            let (columns, values) = entries.row(row);
            columns.iter().copied().zip(values.iter().copied())
        };
        Self::copy(rows, of_row, column_of)
    }

    /// Copies all rows of `entries`, whose columns are below `columns`.
    pub(crate) fn all(entries: Entries<'_>, columns: usize) -> Self {
        let rows: Vec<u32> = (0..entries.offsets.len() as u32 - 1).collect();
        Self::gather(entries, &rows, &mut vec![0; columns])
    }

    /// Copies some of these rows. `column_of` is as in [`Rows::gather`], with a 0 for each of
    /// [`Rows::columns`].
    pub(crate) fn select(&self, rows: &[u32], column_of: &mut [u32]) -> Self {
        let of_row = |row| self.row(row).iter().map(|entry| (entry.column, entry.value));
        let mut selected = Self::copy(rows, of_row, column_of);
        for feature in &mut selected.features {
            *feature = self.features[*feature as usize];
        }
        selected
    }

    fn copy<I: ExactSizeIterator<Item = (u32, f32)>>(
        rows: &[u32],
        of_row: impl Fn(u32) -> I,
        column_of: &mut [u32],
    ) -> Self {
        let total = rows.iter().map(|&row| of_row(row).len()).sum();
        let mut copied = Rows {
            offsets: Vec::with_capacity(rows.len() + 1),
            entries: Vec::with_capacity(total),
            squares: Vec::with_capacity(rows.len()),
            ..Rows::default()
        };
        copied.offsets.push(0);
        for &row in rows {
            let mut square = 0.0;
            for (feature, value) in of_row(row).filter(|(_, value)| *value != 0.0) {
                let column = &mut column_of[feature as usize];
                if *column == 0 {
                    copied.features.push(feature);
                    copied.sums.push(0.0);
                    *column = copied.features.len() as u32;
                }
                copied.entries.push(Entry { column: *column - 1, value });
                copied.sums[*column as usize - 1] += f64::from(value);
                square += value * value;
            }
            copied.offsets.push(copied.entries.len() as u64);
            copied.squares.push(square);
        }
        for &feature in &copied.features {
            column_of[feature as usize] = 0;
        }
        copied
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.squares.len()
    }

    /// The larger matrix's number of each column, in no particular order.
    pub(crate) fn features(&self) -> &[u32] {
        &self.features
    }

    /// The number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.features.len()
    }

    /// One row's entries.
    #[inline(always)]
    pub(crate) fn row(&self, row: u32) -> &[Entry] {
        &self.entries[self.offsets[row as usize] as usize..self.offsets[row as usize + 1] as usize]
    }
}

/// One entry of a row; column and value side by side, since they are always read together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub column: u32,
    pub value: f32,
}
