//! A compact copy of the rows of one node.
//!
//! The rows of a node are scattered over the training data, and their columns over tables far larger
//! than the cache. So every node gets a copy of its rows whose columns are renumbered without gaps:
//! tables by column are then small and contiguous. A copy is dropped once the children have theirs.
//! The root borrows its rows, and its children copy theirs only when they are grown, so that few
//! copies are in memory at a time.

use crate::base::sparse::{Entries, OwnedEntries};
use std::borrow::Cow;

/// Rows of features or labels whose columns are numbered without gaps.
pub(in crate::algorithms) struct CompactRows<'a> {
    rows: Rows<'a>,
    /// The number of each column in the whole tree, increasing.
    pub columns: Cow<'a, [u32]>,
}

/// Rows that are borrowed or owned.
pub(super) enum Rows<'a> {
    Borrowed(Entries<'a>),
    Owned(OwnedEntries),
}

impl Rows<'_> {
    pub(super) fn view(&self) -> Entries<'_> {
        match self {
            Rows::Borrowed(rows) => *rows,
            Rows::Owned(rows) => rows.view(),
        }
    }
}

/// Scratch memory for renumbering columns.
#[derive(Default)]
pub(super) struct Renumbering {
    /// One bit for each column that occurs; all 0 between calls.
    occurs: Vec<u64>,
    /// The new number of each column that occurs.
    numbers: Vec<u32>,
}

impl<'a> CompactRows<'a> {
    /// Rows with all columns of a tree.
    pub(super) fn shared(rows: Entries<'a>, columns: &'a [u32]) -> Self {
        CompactRows { rows: Rows::Borrowed(rows), columns: Cow::Borrowed(columns) }
    }

    /// Borrows the rows.
    pub(in crate::algorithms) fn view(&self) -> Entries<'_> {
        self.rows.view()
    }

    /// Copies some of the rows, renumbering the columns that occur in them.
    pub(super) fn select(
        &self,
        rows: &[u32],
        renumbering: &mut Renumbering,
    ) -> CompactRows<'static> {
        let entries = self.view();
        let Renumbering { occurs, numbers } = renumbering;
        occurs.resize(occurs.len().max(self.columns.len().div_ceil(64)), 0);
        numbers.resize(numbers.len().max(self.columns.len()), 0);
        let mut len = 0;
        for &row in rows {
            let columns = entries.row(row).0;
            len += columns.len();
            for &column in columns {
                occurs[column as usize / 64] |= 1 << (column % 64);
            }
        }
        let mut kept = Vec::new();
        for (at, word) in occurs[..self.columns.len().div_ceil(64)].iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                let column = at * 64 + bits.trailing_zeros() as usize;
                numbers[column] = kept.len() as u32;
                kept.push(self.columns[column]);
                bits &= bits - 1;
            }
        }
        let mut copy = OwnedEntries::with_capacity(rows.len(), len);
        for &row in rows {
            let (columns, values) = entries.row(row);
            copy.columns.extend(columns.iter().map(|&column| numbers[column as usize]));
            copy.values.extend_from_slice(values);
            copy.end_row();
        }
        CompactRows { rows: Rows::Owned(copy), columns: Cow::Owned(kept) }
    }
}

/// The rows of one node.
pub(in crate::algorithms) struct NodeRows<'a> {
    pub features: CompactRows<'a>,
    /// `None` for a root whose labels are projected: it needs only those of its sample, and each child
    /// projects its own.
    pub labels: Option<CompactRows<'a>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_selection_of_a_selection_has_the_rows_with_their_columns(
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
            let first = whole.select(&chosen, &mut renumbering);
            let again: Vec<u32> = again.iter().filter(|_| !chosen.is_empty()).map(|at| at.index(chosen.len()) as u32).collect();
            let second = first.select(&again, &mut renumbering);
            prop_assert!(second.columns.is_sorted());
            let mut used = vec![false; second.columns.len()];
            for (at, &row) in again.iter().enumerate() {
                let (columns, values) = second.view().row(at as u32);
                columns.iter().for_each(|&column| used[column as usize] = true);
                let found: Vec<(u32, f32)> = columns.iter().map(|&column| second.columns[column as usize]).zip(values.iter().copied()).collect();
                let expected: Vec<(u32, f32)> = rows[chosen[row as usize] as usize].iter().map(|(&column, &value)| (column, value)).collect();
                prop_assert_eq!(found, expected);
            }
            prop_assert!(used.into_iter().all(|used| used), "every column occurs");
        }
    }
}
