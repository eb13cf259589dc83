//! The rows of the XC and the LIBSVM format, which differ only in where features start to count.
//!
//! A block of whole lines is cut into chunks that are parsed side by side and appended in order, so
//! the result and the first error are the same on any number of threads.

use super::Dataset;
use super::error::excerpt;
use super::number::{Cursor, is_blank};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::Csr;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How ids are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// The id of the first feature in the file: 0 or 1.
    pub first_feature: u64,
    /// The numbers of features and labels in the header, if ids must stay below them.
    pub header: Option<(u64, u64)>,
    /// About how many bytes one thread parses at a time.
    pub chunk: usize,
}

/// The rows that were read so far.
#[derive(Debug)]
pub(super) struct Rows {
    feature_offsets: Vec<u64>,
    features: Vec<u32>,
    values: Vec<f32>,
    label_offsets: Vec<u64>,
    labels: Vec<u32>,
    /// One more than the highest feature, zeros included.
    pub feature_width: u64,
    /// One more than the highest label.
    pub label_width: u64,
    /// How many lines at the end have nothing in them.
    pub empty_tail: usize,
}

/// A problem at a byte of a row.
pub(super) struct Fault {
    /// The row, counted from 0 within what was parsed.
    pub row: usize,
    /// The byte within its line, counted from 1.
    pub column: u64,
    pub problem: String,
}

/// Why parsing a block stopped.
pub(super) enum ParseFailure {
    Fault(Fault),
    Stopped(Stopped),
}

impl Rows {
    pub(super) fn new() -> Self {
        Rows {
            feature_offsets: vec![0],
            features: Vec::new(),
            values: Vec::new(),
            label_offsets: vec![0],
            labels: Vec::new(),
            feature_width: 0,
            label_width: 0,
            empty_tail: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.feature_offsets.len() - 1
    }

    /// The memory that they take.
    pub(super) fn bytes(&self) -> usize {
        8 * (self.feature_offsets.len() + self.label_offsets.len())
            + 4 * (self.features.len() + self.values.len() + self.labels.len())
    }

    /// Parses whole lines on the threads of the pool it is called in, and appends them.
    pub(super) fn parse(
        &mut self,
        text: &[u8],
        rules: Rules,
        task: &Task,
    ) -> Result<(), ParseFailure> {
        let chunks = split_at_lines(text, rules.chunk);
        let first_failed = AtomicUsize::new(usize::MAX);
        let parsed: Vec<_> = chunks
            .par_iter()
            .enumerate()
            .map(|(at, chunk)| {
                task.check().map_err(ParseFailure::Stopped)?;
                if at > first_failed.load(Ordering::Relaxed) {
                    return Ok((Rows::new(), None));
                }
                let mut rows = Rows::new();
                let fault = rows.parse_lines(chunk, rules).err();
                if fault.is_some() {
                    first_failed.fetch_min(at, Ordering::Relaxed);
                }
                Ok((rows, fault))
            })
            .collect();
        let before = self.len();
        for part in parsed {
            let (rows, fault) = part?;
            self.append(rows);
            if let Some(fault) = fault {
                // The rows before the fault stay.
                return Err(ParseFailure::Fault(Fault { row: self.len() - before, ..fault }));
            }
        }
        Ok(())
    }

    fn append(&mut self, mut other: Rows) {
        let (features, labels) = (self.features.len() as u64, self.labels.len() as u64);
        self.feature_offsets.extend(other.feature_offsets[1..].iter().map(|at| features + at));
        self.label_offsets.extend(other.label_offsets[1..].iter().map(|at| labels + at));
        self.features.append(&mut other.features);
        self.values.append(&mut other.values);
        self.labels.append(&mut other.labels);
        self.feature_width = self.feature_width.max(other.feature_width);
        self.label_width = self.label_width.max(other.label_width);
        let earlier = if other.empty_tail == other.len() { self.empty_tail } else { 0 };
        self.empty_tail = earlier + other.empty_tail;
    }

    /// Takes the first `count` rows off; the widths stay those of all.
    pub(super) fn split_front(&mut self, count: usize) -> Rows {
        fn split<T>(from: &mut Vec<T>, at: usize) -> Vec<T> {
            let rest = from.split_off(at);
            std::mem::replace(from, rest)
        }
        fn split_offsets(from: &mut Vec<u64>, count: usize) -> Vec<u64> {
            let mut front = split(from, count);
            let first = from[0];
            front.push(first);
            from.iter_mut().for_each(|offset| *offset -= first);
            front
        }
        debug_assert!(count + self.empty_tail <= self.len());
        let feature_offsets = split_offsets(&mut self.feature_offsets, count);
        let label_offsets = split_offsets(&mut self.label_offsets, count);
        let (entries, labels) = (feature_offsets[count] as usize, label_offsets[count] as usize);
        Rows {
            features: split(&mut self.features, entries),
            values: split(&mut self.values, entries),
            labels: split(&mut self.labels, labels),
            feature_offsets,
            label_offsets,
            feature_width: self.feature_width,
            label_width: self.label_width,
            empty_tail: 0,
        }
    }

    /// Takes `count` empty lines off the end.
    pub(super) fn drop_empty_tail(&mut self, count: usize) {
        debug_assert!(count <= self.empty_tail);
        self.feature_offsets.truncate(self.len() + 1 - count);
        self.label_offsets.truncate(self.feature_offsets.len());
        self.empty_tail -= count;
    }

    /// The rows as matrices of at least the given widths.
    pub(super) fn into_dataset(self, features: u64, labels: u64) -> Dataset {
        const SOUND: &str = "parsed rows are sorted, merged, finite and within their widths";
        let columns = features.max(self.feature_width) as usize;
        let no_values = vec![(); self.labels.len()];
        let label_columns = labels.max(self.label_width) as usize;
        Dataset {
            features: Csr::try_new(columns, self.feature_offsets, self.features, self.values)
                .expect(SOUND),
            labels: Csr::try_new(label_columns, self.label_offsets, self.labels, no_values)
                .expect(SOUND),
            label_names: None,
            named: None,
        }
    }

    fn parse_lines(&mut self, text: &[u8], rules: Rules) -> Result<(), Fault> {
        // An entry takes about twelve bytes, a row some hundred.
        self.features.reserve(text.len() / 12);
        self.values.reserve(text.len() / 12);
        self.labels.reserve(text.len() / 32);
        self.feature_offsets.reserve(text.len() / 128);
        self.label_offsets.reserve(text.len() / 128);
        let mut cursor = Cursor::new(text);
        while !cursor.is_at_end() {
            let start = cursor.at;
            if let Err((at, problem)) = self.parse_line(&mut cursor, rules) {
                self.drop_unfinished();
                return Err(Fault { row: self.len(), column: (at - start) as u64 + 1, problem });
            }
        }
        Ok(())
    }

    /// Removes what was parsed of a row that is wrong.
    fn drop_unfinished(&mut self) {
        let [features, labels] = [&self.feature_offsets, &self.label_offsets]
            .map(|offsets| offsets.last().map_or(0, |&end| end as usize));
        self.features.truncate(features);
        self.values.truncate(features);
        self.labels.truncate(labels);
    }

    /// One line: labels, if it does not start with a blank, then features.
    #[inline]
    fn parse_line(&mut self, cursor: &mut Cursor, rules: Rules) -> Result<(), (usize, String)> {
        let start = cursor.at;
        let first_byte = cursor.peek();
        let (first_feature, first_label) = (self.features.len(), self.labels.len());
        let mut is_sorted = true;
        let mut next = if is_blank(first_byte) || first_byte == b'\n' {
            None
        } else {
            self.parse_labels(cursor, rules)?
        };
        loop {
            let id = match next.take() {
                Some(id) => id,
                None => {
                    cursor.skip_blanks();
                    if cursor.peek() == b'\n' {
                        break;
                    }
                    let at = cursor.at;
                    match cursor.integer() {
                        Some(id) if cursor.peek() == b':' => (id, at),
                        _ => return Err((at, no_feature(cursor.field_from(at)))),
                    }
                }
            };
            is_sorted &= self.parse_feature(cursor, id, first_feature, rules)?;
        }
        let is_empty = cursor.at == start || (cursor.at == start + 1 && first_byte == b'\r');
        cursor.at += 1;
        if !is_sorted {
            self.merge_features(first_feature).map_err(|problem| (start, problem))?;
        }
        if !self.labels[first_label..].is_sorted_by(|left, right| left < right) {
            self.merge_labels(first_label);
        }
        self.feature_offsets.push(self.features.len() as u64);
        self.label_offsets.push(self.labels.len() as u64);
        self.empty_tail = if is_empty { self.empty_tail + 1 } else { 0 };
        Ok(())
    }

    /// Labels up to the next blank. If the line starts with a feature instead, stops at its colon
    /// and gives its number and place.
    #[inline]
    fn parse_labels(
        &mut self,
        cursor: &mut Cursor,
        rules: Rules,
    ) -> Result<Option<(u64, usize)>, (usize, String)> {
        let start = cursor.at;
        loop {
            let at = cursor.at;
            let Some(id) = cursor.integer() else {
                return Err((at, no_label(cursor.field_from(at))));
            };
            let after = cursor.peek();
            if after == b':' && at == start {
                return Ok(Some((id, at)));
            }
            if after != b',' && !cursor.ends_field() {
                return Err((at, no_label(cursor.field_from(at))));
            }
            let width = rules.header.map(|(_, labels)| labels);
            check_id("label", id, width, || cursor.field_from(at)).map_err(|p| (at, p))?;
            self.labels.push(id as u32);
            self.label_width = self.label_width.max(id + 1);
            if after != b',' {
                return Ok(None);
            }
            cursor.at += 1;
        }
    }

    /// The value behind the colon; gives whether the row is still in order.
    #[inline]
    fn parse_feature(
        &mut self,
        cursor: &mut Cursor,
        (id, at): (u64, usize),
        first_feature: usize,
        rules: Rules,
    ) -> Result<bool, (usize, String)> {
        if id < rules.first_feature {
            let problem = "feature 0 in a LIBSVM file: its features count from 1; add 1 to every \
                           feature, or write a header `rows features labels` and read it as an XC \
                           file, which counts from 0";
            return Err((at, problem.to_owned()));
        }
        let index = id - rules.first_feature;
        let width = rules.header.map(|(features, _)| features);
        check_id("feature", index, width, || cursor.field_from(at)).map_err(|p| (at, p))?;
        cursor.at += 1;
        let start = cursor.at;
        let value = cursor.value();
        match value {
            Some(value) if value.is_finite() => {
                self.feature_width = self.feature_width.max(index + 1);
                let index = index as u32;
                let is_sorted =
                    self.features[first_feature..].last().is_none_or(|&last| last < index);
                if value != 0.0 {
                    self.features.push(index);
                    self.values.push(value);
                }
                Ok(is_sorted)
            }
            _ => Err((start, no_value(cursor.field_from(start), value.is_some()))),
        }
    }

    /// Sorts the last row and adds up repeated features. They are added in the order of their values, so
    /// that the sum does not depend on the order in the file.
    #[cold]
    fn merge_features(&mut self, first: usize) -> Result<(), String> {
        let mut entries: Vec<(u32, f32)> =
            self.features.drain(first..).zip(self.values.drain(first..)).collect();
        entries
            .sort_unstable_by(|left, right| left.0.cmp(&right.0).then(left.1.total_cmp(&right.1)));
        for same in entries.chunk_by(|left, right| left.0 == right.0) {
            let sum = same.iter().map(|entry| f64::from(entry.1)).sum::<f64>() as f32;
            if !sum.is_finite() {
                return Err(
                    "the values of a repeated feature in this row do not add up to a finite \
                            32-bit number: remove the repetition or scale the values"
                        .to_owned(),
                );
            }
            if sum != 0.0 {
                self.features.push(same[0].0);
                self.values.push(sum);
            }
        }
        Ok(())
    }

    #[cold]
    fn merge_labels(&mut self, first: usize) {
        let mut labels: Vec<u32> = self.labels.drain(first..).collect();
        labels.sort_unstable();
        labels.dedup();
        self.labels.append(&mut labels);
    }
}

#[inline]
fn check_id<'a>(
    what: &str,
    id: u64,
    width: Option<u64>,
    field: impl Fn() -> &'a [u8],
) -> Result<(), String> {
    if id < width.unwrap_or(u64::from(u32::MAX)) {
        Ok(())
    } else {
        Err(wrong_id(what, id, width, field()))
    }
}

#[cold]
fn wrong_id(what: &str, id: u64, width: Option<u64>, field: &[u8]) -> String {
    let most = u32::MAX;
    if let Some(width) = width.filter(|_| id < u64::from(most)) {
        return format!(
            "{what} {id} is out of range: the header declares {width} {what}s, so ids count from 0 \
             and stay below {width}; correct the header, or read leniently to widen it"
        );
    }
    let digits = field.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let found = excerpt(&field[..digits]);
    format!("{what} {found} is too large: ids stay below {most}; number them densely")
}

#[cold]
fn no_label(field: &[u8]) -> String {
    format!(
        "expected label ids separated by commas but found `{}`: labels are whole numbers from 0, such \
         as `3,17`, and a line without labels starts with a space",
        excerpt(field)
    )
}

#[cold]
fn no_feature(field: &[u8]) -> String {
    format!(
        "expected feature:value but found `{}`: features are whole numbers with a value, such as \
         `12:0.5`, separated by spaces",
        excerpt(field)
    )
}

#[cold]
fn no_value(field: &[u8], is_number: bool) -> String {
    let found = excerpt(field);
    if is_number {
        return format!(
            "`{found}` is not a finite 32-bit number: remove the entry or scale the values to below \
             3.4e38"
        );
    }
    format!("`{found}` is not a number: write the value as in `12:0.5`")
}

/// Cuts `text` behind line feeds into pieces of at least `size` bytes but for the last.
pub(super) fn split_at_lines(mut text: &[u8], size: usize) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while text.len() > size {
        let end = memchr::memchr(b'\n', &text[size..]).map_or(text.len(), |at| size + at + 1);
        let (piece, rest) = text.split_at(end);
        pieces.push(piece);
        text = rest;
    }
    if !text.is_empty() {
        pieces.push(text);
    }
    pieces
}
