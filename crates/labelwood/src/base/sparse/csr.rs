//! The CSR matrix, owned and borrowed.

use crate::base::array::Array;
use crate::base::words::plural;
use std::fmt::Debug;
use std::ops::Deref;
use thiserror::Error;

/// A sparse matrix whose arrays are owned or lie in a file.
///
/// ```
/// use labelwood::sparse::Csr;
/// let mut rows = Csr::new(4);
/// rows.push_row(&[0, 3], &[1.0, 2.0])?;
/// rows.push_row(&[], &[])?;
/// assert_eq!(rows.len(), 2);
/// assert_eq!(rows.row(0).indices, &[0, 3]);
/// # Ok::<(), labelwood::sparse::SparseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Csr<V: Entry = f32> {
    columns: usize,
    offsets: Array<u64>,
    indices: Array<u32>,
    values: V::Stored,
}

/// A sparse matrix over borrowed arrays; copying it copies three pointers.
#[derive(Clone, Copy, Debug)]
pub struct CsrView<'a, V = f32> {
    columns: usize,
    offsets: &'a [u64],
    indices: &'a [u32],
    values: &'a [V],
}

/// One row: parallel slices of column indices and values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'a, V = f32> {
    /// Column indices, strictly increasing.
    pub indices: &'a [u32],
    /// The value at each index.
    pub values: &'a [V],
}

/// Why arrays do not form a sparse matrix.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{0}")]
pub struct SparseError(String);

/// The type of a matrix's values: `f32` (which must be finite), `u32`, or `()` for none.
pub trait Entry: Copy + Send + Sync + 'static {
    /// What stores the values of a matrix.
    type Stored: Deref<Target = [Self]> + From<Vec<Self>> + Clone + Debug + PartialEq + Send + Sync;

    /// Whether this value may be stored.
    fn is_valid(self) -> bool;

    /// The stored values as a vector that can be changed.
    fn to_mut(stored: &mut Self::Stored) -> &mut Vec<Self>;
}

impl Entry for f32 {
    type Stored = Array<f32>;

    fn to_mut(stored: &mut Array<f32>) -> &mut Vec<f32> {
        stored.to_mut()
    }

    fn is_valid(self) -> bool {
        self.is_finite()
    }
}

impl Entry for u32 {
    type Stored = Array<u32>;

    fn to_mut(stored: &mut Array<u32>) -> &mut Vec<u32> {
        stored.to_mut()
    }

    fn is_valid(self) -> bool {
        true
    }
}

impl Entry for () {
    type Stored = Vec<()>;

    fn to_mut(stored: &mut Vec<()>) -> &mut Vec<()> {
        stored
    }

    fn is_valid(self) -> bool {
        true
    }
}

impl<V: Entry> Csr<V> {
    /// An empty matrix of the given width.
    pub fn new(columns: usize) -> Self {
        Self::empty(0, columns)
    }

    /// So many rows without entries.
    pub fn empty(rows: usize, columns: usize) -> Self {
        Self::owned(columns, vec![0; rows + 1], Vec::new(), Vec::new())
    }

    /// Takes the arrays over after checking that they form a matrix.
    pub fn try_new(
        columns: usize,
        offsets: Vec<u64>,
        indices: Vec<u32>,
        values: Vec<V>,
    ) -> Result<Self, SparseError> {
        Self::try_from_arrays(columns, offsets.into(), indices.into(), values.into())
    }

    /// [`Csr::try_new`] for arrays that may lie in a file.
    pub(crate) fn try_from_arrays(
        columns: usize,
        offsets: Array<u64>,
        indices: Array<u32>,
        values: V::Stored,
    ) -> Result<Self, SparseError> {
        CsrView::try_new(columns, &offsets, &indices, &values)?;
        Ok(Csr { columns, offsets, indices, values })
    }

    fn owned(columns: usize, offsets: Vec<u64>, indices: Vec<u32>, values: Vec<V>) -> Self {
        let (offsets, indices, values) = (offsets.into(), indices.into(), values.into());
        Csr { columns, offsets, indices, values }
    }

    /// Appends a row.
    pub fn push_row(&mut self, indices: &[u32], values: &[V]) -> Result<(), SparseError> {
        check_row(self.len(), self.columns, indices, values)?;
        self.indices.to_mut().extend_from_slice(indices);
        V::to_mut(&mut self.values).extend_from_slice(values);
        self.offsets.to_mut().push(self.indices.len() as u64);
        Ok(())
    }

    /// Takes off the rows from the given one on.
    pub(crate) fn split_off(&mut self, row: usize) -> Self {
        let row = row.min(self.len());
        let start = self.offsets[row];
        let tail = self.offsets.to_mut().split_off(row);
        self.offsets.to_mut().push(start);
        let offsets = tail.into_iter().map(|offset| offset - start).collect();
        let indices = self.indices.to_mut().split_off(start as usize);
        let values = V::to_mut(&mut self.values).split_off(start as usize);
        Self::owned(self.columns, offsets, indices, values)
    }

    /// Borrows the whole matrix.
    pub fn view(&self) -> CsrView<'_, V> {
        CsrView {
            columns: self.columns,
            offsets: &self.offsets,
            indices: &self.indices,
            values: &self.values,
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of stored entries.
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// One row.
    pub fn row(&self, row: usize) -> Row<'_, V> {
        self.view().row(row)
    }

    /// All rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_, V>> + Clone {
        self.view().rows()
    }

    /// Appends the rows of another matrix.
    pub(crate) fn append(&mut self, more: CsrView<'_, V>) {
        let before = self.entries() as u64;
        self.columns = self.columns.max(more.columns);
        self.offsets.to_mut().extend(more.offsets[1..].iter().map(|end| before + end));
        self.indices.to_mut().extend_from_slice(more.indices);
        V::to_mut(&mut self.values).extend_from_slice(more.values);
    }

    /// All values, to change in place. The caller keeps them valid (finite).
    pub fn values_mut(&mut self) -> &mut [V] {
        V::to_mut(&mut self.values)
    }

    /// Widens the matrix to at least `columns` columns.
    pub fn widen(&mut self, columns: usize) {
        self.columns = self.columns.max(columns);
    }
}

impl<'a, V: Entry> CsrView<'a, V> {
    /// Borrows the arrays after checking that they form a matrix.
    pub fn try_new(
        columns: usize,
        offsets: &'a [u64],
        indices: &'a [u32],
        values: &'a [V],
    ) -> Result<Self, SparseError> {
        let entries = indices.len();
        check_lengths(indices, values)?;
        let falls = || offsets.windows(2).position(|pair| pair[0] > pair[1]).map(|at| at + 1);
        let wrong = match offsets {
            [0, ..] if falls().is_some() => falls(),
            [0, .., end] | [end @ 0] if *end == entries as u64 => None,
            [0, ..] => Some(offsets.len() - 1),
            _ => Some(0),
        };
        if let Some(at) = wrong {
            return Err(SparseError(format!(
                "row offsets must start at 0, never decrease and end at the number of entries \
                 ({entries}); entry {at} does not"
            )));
        }
        let view = CsrView { columns, offsets, indices, values };
        if !view.has_sound_rows() {
            for (at, row) in view.rows().enumerate() {
                check_row(at, columns, row.indices, row.values)?;
            }
        }
        Ok(view)
    }

    /// Whether [`check_row`] accepts all rows, found faster than row by row: columns are in order if
    /// they fail to increase only where a new row starts.
    fn has_sound_rows(&self) -> bool {
        let stays_or_falls = |pair: &&[u32]| pair[0] >= pair[1];
        let all = self.indices.windows(2).filter(stays_or_falls).count();
        let (mut between, mut before) = (0, 0);
        for &offset in self.offsets {
            let at = offset as usize;
            if at != before && at < self.indices.len() {
                between += usize::from(self.indices[at - 1] >= self.indices[at]);
            }
            before = at;
        }
        let is_column = |sound, &index| sound & ((index as usize) < self.columns);
        all == between
            && self.indices.iter().fold(true, is_column)
            && self.values.iter().fold(true, |sound, value| sound & value.is_valid())
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of stored entries.
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// Where each row starts; the last element is the number of entries.
    pub fn offsets(&self) -> &'a [u64] {
        self.offsets
    }

    /// All column indices, row after row.
    pub fn indices(&self) -> &'a [u32] {
        self.indices
    }

    /// All values, row after row.
    pub fn values(&self) -> &'a [V] {
        self.values
    }

    /// One row.
    pub fn row(&self, row: usize) -> Row<'a, V> {
        let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        Row { indices: &self.indices[range.clone()], values: &self.values[range] }
    }

    /// All rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'a, V>> + Clone + use<'a, V> {
        let view = *self;
        (0..view.len()).map(move |row| view.row(row))
    }

    /// The rows `from..to` as a matrix of their own, copied.
    pub fn slice(&self, rows: std::ops::Range<usize>) -> Csr<V> {
        let entries = self.offsets[rows.start] as usize..self.offsets[rows.end] as usize;
        let start = self.offsets[rows.start];
        let offsets = self.offsets[rows.start..=rows.end].iter().map(|at| at - start).collect();
        let (indices, values) = (&self.indices[entries.clone()], &self.values[entries]);
        Csr::owned(self.columns, offsets, indices.to_vec(), values.to_vec())
    }

    /// The given rows, in the given order, copied.
    pub fn select(&self, rows: &[usize]) -> Csr<V> {
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows.iter().map(|&row| self.row(row)) {
            indices.extend_from_slice(row.indices);
            values.extend_from_slice(row.values);
            offsets.push(indices.len() as u64);
        }
        Csr::owned(self.columns, offsets, indices, values)
    }

    /// The matrix with rows and columns exchanged.
    pub fn transpose(&self) -> Csr<V> {
        let counts = self.column_counts();
        let mut offsets = vec![0u64; self.columns + 1];
        for (column, &count) in counts.iter().enumerate() {
            offsets[column + 1] = offsets[column] + u64::from(count);
        }
        let mut next = offsets.clone();
        let mut indices = vec![0u32; self.entries()];
        let mut values = self.values.to_vec();
        for (row, entries) in self.rows().enumerate() {
            for (&column, &value) in entries.indices.iter().zip(entries.values) {
                let at = next[column as usize] as usize;
                indices[at] = row as u32;
                values[at] = value;
                next[column as usize] += 1;
            }
        }
        Csr::owned(self.len(), offsets, indices, values)
    }

    /// How many rows have an entry in each column.
    pub fn column_counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.columns];
        for &column in self.indices {
            counts[column as usize] += 1;
        }
        counts
    }

    /// How many columns have an entry in any row.
    pub fn known_columns(&self) -> usize {
        self.column_counts().iter().filter(|&&count| count > 0).count()
    }

    /// A copy that owns its arrays.
    pub fn to_owned(&self) -> Csr<V> {
        self.slice(0..self.len())
    }
}

impl<'a, V: Copy> Row<'a, V> {
    /// The number of stored entries.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether the row has no entry.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Pairs of column index and value.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, V)> + Clone + use<'a, V> {
        self.indices.iter().copied().zip(self.values.iter().copied())
    }
}

fn check_row<V: Entry>(
    row: usize,
    columns: usize,
    indices: &[u32],
    values: &[V],
) -> Result<(), SparseError> {
    check_lengths(indices, values)?;
    let reason = match indices.last() {
        _ if indices.windows(2).any(|pair| pair[0] >= pair[1]) => {
            "column indices must be strictly increasing; sort them and merge repeated ones"
                .to_owned()
        }
        Some(&index) if index as usize >= columns => {
            format!("column {index} is out of range: the matrix has {}", plural(columns, "column"))
        }
        _ if !values.iter().all(|value| value.is_valid()) => {
            "a value is not a finite number".to_owned()
        }
        _ => return Ok(()),
    };
    Err(SparseError(format!("row {}: {reason}", row + 1)))
}

fn check_lengths<V>(indices: &[u32], values: &[V]) -> Result<(), SparseError> {
    let (indices, values) = (indices.len(), values.len());
    if indices == values {
        return Ok(());
    }
    let advice = "there must be one value for each index";
    Err(SparseError(format!("{indices} column indices but {values} values: {advice}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn small() -> Csr {
        let mut rows = Csr::new(3);
        rows.push_row(&[0, 2], &[1.0, 2.0]).unwrap();
        rows.push_row(&[], &[]).unwrap();
        rows.push_row(&[1, 2], &[3.0, 4.0]).unwrap();
        rows
    }

    #[test]
    fn transposing_turns_rows_into_columns() {
        let columns = small().view().transpose();
        assert_eq!((columns.len(), columns.columns()), (3, 3));
        assert_eq!(columns.row(0), Row { indices: &[0], values: &[1.0] });
        assert_eq!(columns.row(2), Row { indices: &[0, 2], values: &[2.0, 4.0] });
    }

    #[test]
    fn selecting_keeps_the_given_order_and_repeats() {
        let rows = small().view().select(&[2, 0, 2]);
        assert_eq!(rows.row(0).values, &[3.0, 4.0]);
        assert_eq!(rows.row(1).values, &[1.0, 2.0]);
        assert_eq!(rows.row(2).values, &[3.0, 4.0]);
    }

    #[test]
    fn arrays_that_do_not_form_a_matrix_are_refused() {
        let refused = |offsets: &[u64], indices: &[u32], values: &[f32]| {
            CsrView::try_new(3, offsets, indices, values).unwrap_err().to_string()
        };
        assert!(refused(&[], &[], &[]).contains("(0); entry 0 does not"));
        assert!(refused(&[1], &[0], &[1.0]).contains("entry 0 does not"));
        assert!(refused(&[0, 2, 1, 2], &[0, 1], &[1.0; 2]).contains("(2); entry 2 does not"));
        assert!(refused(&[0, 1], &[0, 1], &[1.0; 2]).contains("entry 1 does not"));
        assert!(refused(&[0], &[0], &[1.0]).contains("entry 0 does not"));
        assert!(refused(&[0, 1], &[0], &[]).contains("1 column indices but 0 values"));
        assert!(refused(&[0, 1], &[3], &[1.0]).contains("row 1: column 3 is out of range"));
        assert!(refused(&[0, 2], &[1, 1], &[1.0; 2]).contains("row 1: column indices must be"));
        assert!(refused(&[0, 1], &[1], &[f32::NAN]).contains("row 1: a value is not a finite"));
    }

    proptest! {
        #[test]
        fn all_rows_at_once_are_judged_like_one_by_one(
            rows in proptest::collection::vec(proptest::collection::btree_set(0u32..6, 0..4), 0..6),
            change in proptest::option::of((any::<prop::sample::Index>(), 0u32..7)),
            strange in proptest::option::of(any::<prop::sample::Index>())) {
            let ends = rows.iter().scan(0, |end, row| { *end += row.len() as u64; Some(*end) });
            let offsets: Vec<u64> = [0].into_iter().chain(ends).collect();
            let mut indices: Vec<u32> = rows.into_iter().flatten().collect();
            let mut values = vec![1.0; indices.len()];
            if let Some((at, index)) = change.filter(|_| !indices.is_empty()) {
                *at.get_mut(&mut indices) = index;
            }
            if let Some(at) = strange.filter(|_| !values.is_empty()) {
                *at.get_mut(&mut values) = f32::INFINITY;
            }
            let view = CsrView { columns: 6, offsets: &offsets, indices: &indices, values: &values };
            let is_sound = |row: Row<'_, f32>| check_row(0, 6, row.indices, row.values).is_ok();
            prop_assert_eq!(view.has_sound_rows(), view.rows().all(is_sound));
        }

        #[test]
        fn transposing_twice_gives_the_matrix_back(rows in proptest::collection::vec(
            proptest::collection::btree_map(0u32..20, -2.0f32..2.0, 0..8), 0..12)) {
            let mut matrix = Csr::<f32>::new(20);
            for row in &rows {
                let (indices, values): (Vec<_>, Vec<_>) = row.iter().unzip();
                matrix.push_row(&indices, &values).unwrap();
            }
            prop_assert_eq!(matrix.view().transpose().view().transpose(), matrix);
        }
    }
}
