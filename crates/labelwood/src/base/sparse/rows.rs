//! Rows that are to be predicted.

use super::{Csr, CsrView};
use std::ops::Range;

/// Rows that are to be predicted: their features and, of rows that were texts, which labels' names
/// were found in them.
///
/// ```
/// use labelwood::sparse::{Csr, Rows};
/// let mut features = Csr::new(2);
/// features.push_row(&[1], &[0.5])?;
/// let rows = Rows::from(features);
/// assert_eq!(rows.view().len(), 1);
/// # Ok::<(), labelwood::sparse::SparseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The features of each row.
    pub features: Csr,
    /// The labels whose names are in each text, with packed [matches](crate::text::Match).
    pub matches: Option<Csr<u32>>,
}

/// Borrowed [`Rows`].
#[derive(Clone, Copy, Debug)]
pub struct RowsView<'a> {
    /// The features of each row.
    pub features: CsrView<'a>,
    /// The labels whose names are in each text; as many rows as there are of features.
    pub matches: Option<CsrView<'a, u32>>,
}

impl From<Csr> for Rows {
    fn from(features: Csr) -> Self {
        Rows { features, matches: None }
    }
}

impl<'a> From<CsrView<'a>> for RowsView<'a> {
    fn from(features: CsrView<'a>) -> Self {
        RowsView { features, matches: None }
    }
}

impl Rows {
    /// Borrows all of it.
    pub fn view(&self) -> RowsView<'_> {
        RowsView { features: self.features.view(), matches: self.matches.as_ref().map(Csr::view) }
    }

    /// Appends rows of the same kind.
    pub(crate) fn append(&mut self, more: RowsView<'_>) {
        self.features.append(more.features);
        if let Some((matches, more)) = self.matches.as_mut().zip(more.matches) {
            matches.append(more);
        }
    }

    /// The memory that they take.
    pub(crate) fn bytes(&self) -> usize {
        let of_matches = self.matches.as_ref().map_or(0, |it| 8 * (it.len() + it.entries()));
        8 * (self.features.len() + self.features.entries()) + of_matches
    }
}

impl RowsView<'_> {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether nothing is known of a row: it has no feature, and no name was found in it.
    ///
    /// ```
    /// use labelwood::sparse::{Csr, Rows};
    /// let mut features = Csr::new(2);
    /// features.push_row(&[1], &[0.5])?;
    /// features.push_row(&[], &[])?;
    /// let rows = Rows::from(features);
    /// assert!(!rows.view().is_unknown(0) && rows.view().is_unknown(1));
    /// # Ok::<(), labelwood::sparse::SparseError>(())
    /// ```
    pub fn is_unknown(&self, row: usize) -> bool {
        let has_name = self.matches.is_some_and(|matches| !matches.row(row).is_empty());
        self.features.row(row).is_empty() && !has_name
    }

    /// Some rows, copied.
    pub(crate) fn slice(&self, rows: Range<usize>) -> Rows {
        Rows {
            features: self.features.slice(rows.clone()),
            matches: self.matches.map(|matches| matches.slice(rows)),
        }
    }

    /// The given rows, in the given order, copied.
    pub(crate) fn select(&self, rows: &[usize]) -> Rows {
        Rows {
            features: self.features.select(rows),
            matches: self.matches.map(|matches| matches.select(rows)),
        }
    }
}
