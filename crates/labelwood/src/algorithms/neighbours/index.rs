//! The training rows by feature, and their labels.
//!
//! A value of a row of length 1 is stored as a whole number of 16 bits, in steps of 1 / [`ONE`]; what
//! comes to 0 is left out. Products of such numbers add up without rounding, so that no order of sums
//! matters, and an entry takes six bytes: two for the value and four for the row. The rows that
//! `--keep-rows` keeps are no substitute, since they are as they were read, in order to learn from them
//! again: unweighted, in single precision, and by row.

use crate::base::array::{Array, Numbers, section};
use crate::base::sparse::{Entries, LabelRowsView};
use crate::base::store::{ArrayRef, FormatError, Unit};
use std::ops::Range;

/// What the value 1 is stored as.
pub(super) const ONE: f32 = 32_767.0;

/// Rows by feature, with their labels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Index {
    /// The features that any row has, in order.
    features: Array<u32>,
    /// Where each feature's rows start, and where those of the last one end.
    starts: Array<u64>,
    /// For each feature the rows that have it, in order.
    rows: Array<u32>,
    /// Their values, whole numbers with a sign.
    values: Array<u16>,
    /// Where each row's labels start, and where those of the last one end.
    label_starts: Array<u64>,
    labels: Numbers,
}

/// The rows that have a feature.
#[derive(Clone, Copy, Debug)]
pub(super) struct Postings<'a> {
    /// The rows, in order.
    pub rows: &'a [u32],
    /// Their values, as [`number`] reads them.
    pub values: &'a [u16],
}

/// A value as it is stored.
pub(super) fn stored(value: f32) -> i16 {
    (value * ONE).round() as i16
}

/// A stored value.
#[inline(always)]
pub(super) fn number(stored: u16) -> i32 {
    i32::from(stored.cast_signed())
}

impl<'a> Postings<'a> {
    /// Takes off the rows before `end`, with their values: finds where they end in growing steps, then
    /// by halves.
    pub(super) fn split_off(&mut self, end: usize) -> (&'a [u32], &'a [u16]) {
        let is_before = |&row: &u32| (row as usize) < end;
        let mut most = 1;
        while self.rows.get(most - 1).is_some_and(is_before) {
            most *= 2;
        }
        let known = most / 2;
        let open = &self.rows[known..most.min(self.rows.len())];
        let count = known + open.partition_point(is_before);
        let (rows, later) = self.rows.split_at(count);
        let (values, later_values) = self.values.split_at(count);
        *self = Postings { rows: later, values: later_values };
        (rows, values)
    }
}

impl Index {
    /// Indexes rows whose length is 1, and their labels.
    pub(super) fn new(entries: Entries<'_>, labels: LabelRowsView<'_>) -> Self {
        // Where the next row of each feature goes, once all are counted.
        let mut next = vec![0u64; entries.width()];
        let kept = || entries.columns.iter().zip(entries.values).filter(|(_, v)| stored(**v) != 0);
        kept().for_each(|(&column, _)| next[column as usize] += 1);
        let (mut features, mut starts, mut total) = (Vec::new(), vec![0], 0);
        for (feature, next) in next.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            let count = std::mem::replace(next, total);
            total += count;
            features.push(feature as u32);
            starts.push(total);
        }
        let (mut rows, mut values) = (vec![0; total as usize], vec![0; total as usize]);
        for row in 0..entries.offsets.len() as u32 - 1 {
            let (columns, of_row) = entries.row(row);
            for (&column, value) in columns.iter().zip(of_row.iter().copied().map(stored)) {
                if value != 0 {
                    let at = &mut next[column as usize];
                    rows[*at as usize] = row;
                    values[*at as usize] = value.cast_unsigned();
                    *at += 1;
                }
            }
        }
        Index {
            features: features.into(),
            starts: starts.into(),
            rows: rows.into(),
            values: values.into(),
            label_starts: labels.offsets().to_vec().into(),
            labels: labels.indices().to_vec().into(),
        }
    }

    /// These rows and after them those of another index.
    pub(super) fn joined(&self, more: &Index) -> Self {
        let (mut features, mut starts) = (Vec::new(), vec![0]);
        let (mut rows, mut values) = (Vec::new(), Vec::new());
        rows.reserve_exact(self.rows.len() + more.rows.len());
        values.reserve_exact(self.rows.len() + more.rows.len());
        let known = self.rows() as u32;
        let (mut at, mut other) = (0, 0);
        loop {
            let next = [self.features.get(at), more.features.get(other)];
            let Some(&feature) = next.into_iter().flatten().min() else { break };
            if next[0] == Some(&feature) {
                let own = self.range(at);
                rows.extend_from_slice(&self.rows[own.clone()]);
                values.extend_from_slice(&self.values[own]);
                at += 1;
            }
            if next[1] == Some(&feature) {
                let new = more.range(other);
                rows.extend(more.rows[new.clone()].iter().map(|row| known + row));
                values.extend_from_slice(&more.values[new]);
                other += 1;
            }
            features.push(feature);
            starts.push(rows.len() as u64);
        }
        // Row by row: where a mapped file has changed, starts need not follow each other.
        let (mut label_starts, mut labels) = (vec![0], Numbers::default());
        for index in [self, more] {
            for row in 0..index.rows() {
                index.each_label(row as u32, |label| labels.push(label));
                label_starts.push(labels.len() as u64);
            }
        }
        Index {
            features: features.into(),
            starts: starts.into(),
            rows: rows.into(),
            values: values.into(),
            label_starts: label_starts.into(),
            labels,
        }
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.label_starts.len().saturating_sub(1)
    }

    /// How many entries they have.
    pub(super) fn entries(&self) -> usize {
        self.rows.len()
    }

    /// How many features any row has.
    pub(super) fn features(&self) -> usize {
        self.features.len()
    }

    /// How many labels the rows have in sum.
    pub(super) fn labels(&self) -> usize {
        self.labels.len()
    }

    fn range(&self, at: usize) -> Range<usize> {
        section(&self.starts, at, self.rows.len())
    }

    /// Calls `each` with the rows of every feature of some columns that any row has, and the position
    /// of the column. Columns are in order.
    pub(super) fn each_postings<'a>(
        &'a self,
        columns: &[u32],
        mut each: impl FnMut(usize, Postings<'a>),
    ) {
        let mut from = 0;
        for (position, column) in columns.iter().enumerate() {
            from += self.features[from..].partition_point(|feature| feature < column);
            if self.features.get(from) == Some(column) {
                let range = self.range(from);
                let (rows, values) = (&self.rows[range.clone()], &self.values[range]);
                each(position, Postings { rows, values });
            }
        }
    }

    /// Calls `each` with the labels of a row; a row that does not exist has none.
    pub(super) fn each_label(&self, row: u32, each: impl FnMut(u32)) {
        let range = section(&self.label_starts, row as usize, self.labels.len());
        range.map(|at| self.labels.get(at)).for_each(each);
    }

    /// The arrays by their names.
    pub(super) fn arrays(&self) -> [(&'static str, ArrayRef<'_>); 6] {
        [
            ("features", self.features[..].into()),
            ("starts", self.starts[..].into()),
            ("rows", self.rows[..].into()),
            ("values", self.values[..].into()),
            ("label_starts", self.label_starts[..].into()),
            ("labels", (&self.labels).into()),
        ]
    }

    /// Reads an index of so many rows, features and labels back.
    pub(super) fn read(unit: &Unit, sizes: Sizes) -> Result<Self, FormatError> {
        let index = Index {
            features: unit.array("features")?,
            starts: unit.array("starts")?,
            rows: unit.array("rows")?,
            values: unit.array("values")?,
            label_starts: unit.array("label_starts")?,
            labels: unit.numbers("labels")?,
        };
        if !unit.is_own() {
            index.check(sizes).map_err(|reason| unit.refused(reason))?;
        }
        Ok(index)
    }

    /// Whether the arrays fit together and into a model of these sizes.
    fn check(&self, sizes: Sizes) -> Result<(), &'static str> {
        let rows = self.rows();
        if rows as u64 != sizes.rows || !is_divided(&self.label_starts, self.labels.len()) {
            return Err("its labels are not those of the model's rows");
        }
        if self.starts.len() != self.features.len() + 1
            || self.rows.len() != self.values.len()
            || !is_divided(&self.starts, self.rows.len())
        {
            return Err("its features, rows and values do not fit together");
        }
        if !is_increasing(&self.features, sizes.features) {
            return Err("its features are not in order or not those of the model");
        }
        let in_order = |at| is_increasing(&self.rows[self.range(at)], rows);
        if !(0..self.features.len()).all(in_order) {
            return Err("the rows of a feature are not in order or too many");
        }
        // Each of a row's labels once: a prediction would count it as often.
        let has_sound_labels = |row| {
            let mut next = 0;
            let mut is_sound = true;
            self.each_label(row, |label| {
                is_sound &= label >= next && (label as usize) < sizes.labels;
                next = label.saturating_add(1);
            });
            is_sound
        };
        match (0..rows as u32).all(has_sound_labels) {
            true => Ok(()),
            false => Err("a row has a label twice, or one that the model does not have"),
        }
    }
}

/// How many rows, features and labels a model has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub rows: u64,
    pub features: usize,
    pub labels: usize,
}

/// Whether sections that start here follow each other and fill so many elements.
fn is_divided(starts: &[u64], elements: usize) -> bool {
    starts.first() == Some(&0)
        && starts.is_sorted()
        && starts.last().is_some_and(|&end| end == elements as u64)
}

/// Whether numbers are strictly increasing and below `end`.
fn is_increasing(numbers: &[u32], end: usize) -> bool {
    numbers.is_sorted_by(|one, next| one < next)
        && numbers.last().is_none_or(|&last| (last as usize) < end)
}
