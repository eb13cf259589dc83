//! The rows of one node, side by side.
//!
//! The rows that meet in a node lie scattered over the training data, and their columns over tables
//! far larger than the cache. So every node gets a copy of its rows in which only the columns that
//! occur have numbers: whatever a node counts is then as small as can be, and lies together. A copy
//! goes once its children have theirs; the root borrows its rows, and its children copy theirs one
//! after the other, so that a growing tree holds the rows of a few of them at a time.

use crate::base::sparse::Entries;
use crate::base::sparse::OwnedEntries;
use std::borrow::Cow;

/// Rows of features or labels whose columns are numbered without gaps.
pub(super) struct CompactRows<'a> {
    rows: Rows<'a>,
    /// What each column is called in the whole tree, increasing.
    pub names: Cow<'a, [u32]>,
}

enum Rows<'a> {
    Shared(Entries<'a>),
    Own(OwnedEntries),
}

/// Scratch memory for numbering columns anew.
#[derive(Default)]
pub(super) struct Renumbering {
    /// One bit for each column that occurs; all 0 between calls.
    occurs: Vec<u64>,
    /// The new number of each column that occurs.
    numbers: Vec<u32>,
}

impl<'a> CompactRows<'a> {
    /// All rows of a tree; `names` are the numbers of all columns.
    pub fn shared(rows: Entries<'a>, names: &'a [u32]) -> Self {
        CompactRows { rows: Rows::Shared(rows), names: Cow::Borrowed(names) }
    }

    /// Borrows the rows.
    pub fn view(&self) -> Entries<'_> {
        match &self.rows {
            Rows::Shared(rows) => *rows,
            Rows::Own(rows) => rows.view(),
        }
    }

    /// Copies some of the rows, with the columns that occur in them.
    pub fn part(&self, rows: &[u32], renumbering: &mut Renumbering) -> CompactRows<'static> {
        let entries = self.view();
        let Renumbering { occurs, numbers } = renumbering;
        occurs.resize(occurs.len().max(self.names.len().div_ceil(64)), 0);
        numbers.resize(numbers.len().max(self.names.len()), 0);
        let mut len = 0;
        for &row in rows {
            let columns = entries.row(row).0;
            len += columns.len();
            for &column in columns {
                occurs[column as usize / 64] |= 1 << (column % 64);
            }
        }
        let mut names = Vec::new();
        for (at, word) in occurs[..self.names.len().div_ceil(64)].iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                let column = at * 64 + bits.trailing_zeros() as usize;
                numbers[column] = names.len() as u32;
                names.push(self.names[column]);
                bits &= bits - 1;
            }
        }
        let mut part = OwnedEntries::with_capacity(rows.len(), len);
        for &row in rows {
            let (columns, values) = entries.row(row);
            part.columns.extend(columns.iter().map(|&column| numbers[column as usize]));
            part.values.extend_from_slice(values);
            part.end_row();
        }
        CompactRows { rows: Rows::Own(part), names: Cow::Owned(names) }
    }
}

/// The rows of one node.
pub(super) struct NodeRows<'a> {
    pub features: CompactRows<'a>,
    /// None for a root whose labels are projected: only those of its sample are needed, and each
    /// child has its own projected.
    pub labels: Option<CompactRows<'a>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_part_of_a_part_has_the_rows_under_their_names(
            rows in proptest::collection::vec(proptest::collection::btree_map(0u32..200, -1f32..1.0, 0..8), 1..20),
            chosen in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
            again in proptest::collection::vec(any::<prop::sample::Index>(), 0..12)) {
            let mut entries = OwnedEntries::with_capacity(0, 0);
            for row in &rows {
                entries.columns.extend(row.keys());
                entries.values.extend(row.values());
                entries.end_row();
            }
            let mut renumbering = Renumbering::default();
            let all: Vec<u32> = (0..200).collect();
            let whole = CompactRows::shared(entries.view(), &all);
            let chosen: Vec<u32> = chosen.iter().map(|at| at.index(rows.len()) as u32).collect();
            let part = whole.part(&chosen, &mut renumbering);
            let again: Vec<u32> = again.iter().filter(|_| !chosen.is_empty()).map(|at| at.index(chosen.len()) as u32).collect();
            let part_of_part = part.part(&again, &mut renumbering);
            prop_assert!(part_of_part.names.is_sorted());
            let mut used = vec![false; part_of_part.names.len()];
            for (at, &row) in again.iter().enumerate() {
                let (columns, values) = part_of_part.view().row(at as u32);
                columns.iter().for_each(|&column| used[column as usize] = true);
                let found: Vec<(u32, f32)> = columns.iter().map(|&column| part_of_part.names[column as usize]).zip(values.iter().copied()).collect();
                let expected: Vec<(u32, f32)> = rows[chosen[row as usize] as usize].iter().map(|(&column, &value)| (column, value)).collect();
                prop_assert_eq!(found, expected);
            }
            prop_assert!(used.into_iter().all(|used| used), "every name occurs");
        }
    }
}
