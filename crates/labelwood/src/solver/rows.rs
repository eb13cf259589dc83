//! Rows to learn from, their columns numbered without gaps.

use crate::sparse::Entries;

/// Some rows of a larger matrix, copied, with only the columns that occur in them.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub(super) offsets: Vec<u64>,
    pub(super) entries: Vec<Entry>,
    /// The squared length of each row.
    pub(super) squares: Vec<f32>,
    /// The sum of all rows, by column.
    pub(super) sums: Vec<f64>,
    /// The larger matrix's column behind each column.
    features: Vec<u32>,
}

impl Rows {
    /// Copies the given rows of `entries`.
    ///
    /// `column_of` is scratch memory with one 0 for each column of `entries`, and is left so.
    pub fn gather(entries: Entries<'_>, rows: &[u32], column_of: &mut [u32]) -> Self {
        let total = rows.iter().map(|&row| entries.row(row).0.len()).sum();
        let mut gathered = Rows {
            offsets: Vec::with_capacity(rows.len() + 1),
            entries: Vec::with_capacity(total),
            squares: Vec::with_capacity(rows.len()),
            ..Rows::default()
        };
        gathered.offsets.push(0);
        for &row in rows {
            let (columns, values) = entries.row(row);
            let mut square = 0.0;
            for (&feature, &value) in columns.iter().zip(values) {
                if value == 0.0 {
                    continue;
                }
                let column = &mut column_of[feature as usize];
                if *column == 0 {
                    gathered.features.push(feature);
                    gathered.sums.push(0.0);
                    *column = gathered.features.len() as u32;
                }
                gathered.entries.push(Entry { column: *column - 1, value });
                gathered.sums[*column as usize - 1] += f64::from(value);
                square += value * value;
            }
            gathered.offsets.push(gathered.entries.len() as u64);
            gathered.squares.push(square);
        }
        for &feature in &gathered.features {
            column_of[feature as usize] = 0;
        }
        gathered
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.squares.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.squares.is_empty()
    }

    /// The larger matrix's column behind each column, in no particular order.
    pub fn features(&self) -> &[u32] {
        &self.features
    }

    /// One row's entries.
    #[inline(always)]
    pub(super) fn row(&self, row: u32) -> &[Entry] {
        &self.entries[self.offsets[row as usize] as usize..self.offsets[row as usize + 1] as usize]
    }
}

/// One entry of a row; column and value side by side, since they are always read together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub column: u32,
    pub value: f32,
}
