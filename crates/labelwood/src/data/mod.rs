//! Data sets and the files they come from.
//!
//! A [`Dataset`] is features and labels of the same rows, and the names of the labels if they are
//! known. [`read`] takes it from a file in any [`Format`], compressed or not, [`Batches`] some rows at
//! a time; [`write()`] is the way back. [`documents`] are texts that have no features yet.
//! [`LabelIndex`], [`Splits`] and [`read_filter`] take the small files that travel with data sets;
//! a [`Vocabulary`] names labels in several languages.
//! A [`ReadError`] says in one line what is wrong with a file, where, and how to mend it.
//! [`write_binary`] writes a file that is mapped into memory instead of parsed.
//! [`corpus`] is a small set of texts that needs no file; [`generate`] draws rows of any number.
//!
//! Files are read in blocks while the last block is parsed on all threads, so the text of a file is
//! never in memory as a whole, and no header makes the reader reserve memory. Memory is counted while
//! it grows: more than the [`Task`](crate::base::run::Task) allows is a [`ReadError::Memory`].

mod arriving;
mod error;
pub(crate) mod source;
mod number;
mod rows;
mod read;
mod binary;
mod batches;
mod label_index;
mod tables;
mod write;
mod vocabulary;
pub mod corpus;
pub mod documents;
pub mod generate;
pub mod predictions;

pub use batches::Batches;
pub use binary::write_binary;
pub(crate) use binary::write_own_binary;
pub(crate) use error::first_of;
pub use error::{ReadError, WriteError};
pub(crate) use label_index::letters;
pub use label_index::{LabelIndex, LabelIndexBuilder};
pub use read::{Format, Read, ReadOptions, names_beside, names_file, read, read_bytes};
pub use tables::{Splits, read_filter};
pub use vocabulary::Vocabulary;
pub use write::{check_output, write, write_atomically, write_header, write_own, write_row};

use crate::base::sparse::{Csr, CsrView, LabelRows, LabelRowsView, RowsView};
use xxhash_rust::xxh3::Xxh3;

/// Rows with their features and labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// The features of each row.
    pub features: Csr,
    /// The labels of each row. Labels have no values: a row has a label or has not.
    pub labels: LabelRows,
    /// The names of the labels, at least as many as there are labels.
    pub label_names: Option<LabelIndex>,
    /// What the names of the labels tell of the rows, if these were texts.
    pub named: Option<Named>,
}

/// What the names of labels tell of rows that were texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The names of each label, read as a text: a row for each label, empty where it has no name.
    pub names: Csr,
    /// The labels whose names are in each text, with packed [matches](crate::text::Match).
    pub matches: Csr<u32>,
}

/// Borrowed [`Named`].
#[derive(Clone, Copy, Debug)]
pub struct NamedView<'a> {
    /// The names of each label, read as a text.
    pub names: CsrView<'a>,
    /// The labels whose names are in each text.
    pub matches: CsrView<'a, u32>,
}

/// A borrowed [`Dataset`], wherever its arrays lie.
///
/// ```
/// use labelwood::data::DatasetView;
/// use labelwood::sparse::{CsrView, LabelRowsView};
/// let features = CsrView::try_new(2, &[0, 1], &[1], &[0.5])?;
/// let labels = LabelRowsView::try_new(3, &[0, 2], &[0, 2], &[(), ()])?;
/// let view = DatasetView { features, labels, label_names: None, named: None };
/// assert_eq!(view.len(), 1);
/// # Ok::<(), labelwood::sparse::SparseError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DatasetView<'a> {
    /// The features of each row.
    pub features: CsrView<'a>,
    /// The labels of each row; as many rows as there are of features.
    pub labels: LabelRowsView<'a>,
    /// The names of the labels, at least as many as there are labels.
    pub label_names: Option<&'a LabelIndex>,
    /// What the names of the labels tell of the rows, if these were texts.
    pub named: Option<NamedView<'a>>,
}

impl<'a> From<&'a Dataset> for DatasetView<'a> {
    fn from(dataset: &'a Dataset) -> Self {
        dataset.view()
    }
}

impl Named {
    /// Borrows all of it.
    pub fn view(&self) -> NamedView<'_> {
        NamedView { names: self.names.view(), matches: self.matches.view() }
    }
}

impl Dataset {
    /// Borrows all of it.
    pub fn view(&self) -> DatasetView<'_> {
        DatasetView {
            features: self.features.view(),
            labels: self.labels.view(),
            label_names: self.label_names.as_ref(),
            named: self.named.as_ref().map(Named::view),
        }
    }

    /// What a model predicts these rows from.
    pub fn rows(&self) -> RowsView<'_> {
        self.view().rows()
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The given rows, in the given order, copied.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn select(&self, rows: &[usize]) -> Dataset {
        self.view().select(rows)
    }

    /// Appends rows of the same labels with the same names; an error says why that cannot be done.
    ///
    /// ```
    /// use labelwood::{data, run::Pool};
    /// let (task, options) = (Pool::new(1)?.task(), data::ReadOptions::default());
    /// let read = |text: &[u8]| data::read_bytes(text, "a.svm", &options, &task);
    /// let (mut all, more) = (read(b"0 1:1\n")?.dataset, read(b"4 2:1 3:1\n")?.dataset);
    /// all.append(&more)?;
    /// assert_eq!((all.len(), all.features.columns(), all.labels.columns()), (2, 3, 5));
    /// assert_eq!(all.select(&[1]).features.row(0), more.features.row(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append(&mut self, more: &Dataset) -> Result<(), &'static str> {
        if self.label_names != more.label_names {
            return Err("its labels have other names than those of the files before");
        }
        if self.named.is_some() || more.named.is_some() {
            return Err(
                "rows with names found in their texts stand in one file: convert the texts together",
            );
        }
        self.features.append(more.features.view());
        self.labels.append(more.labels.view());
        Ok(())
    }

    /// A fingerprint of widths and rows; it does not depend on the file's format, on the order in
    /// which a row lists its entries, or on the names of labels.
    ///
    /// ```
    /// use labelwood::{data, run::Pool};
    /// let (task, options) = (Pool::new(1)?.task(), data::ReadOptions::default());
    /// let xc = data::read_bytes(b"1 3 2\n1,0 2:0.5 0:1\n", "a.txt", &options, &task)?;
    /// let libsvm = data::read_bytes(b"0,1 1:1 3:.5\n", "a.svm", &options, &task)?;
    /// assert_eq!(xc.dataset.digest(), libsvm.dataset.digest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn digest(&self) -> u128 {
        self.view().digest()
    }
}

impl<'a> DatasetView<'a> {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same as [`Dataset::select`].
    pub fn select(&self, rows: &[usize]) -> Dataset {
        Dataset {
            features: self.features.select(rows),
            labels: self.labels.select(rows),
            label_names: self.label_names.cloned(),
            named: self.named.map(|named| Named {
                names: named.names.to_owned(),
                matches: named.matches.select(rows),
            }),
        }
    }

    /// What a model predicts these rows from.
    pub fn rows(&self) -> RowsView<'a> {
        RowsView { features: self.features, matches: self.named.map(|named| named.matches) }
    }

    /// The same as [`Dataset::digest`].
    pub fn digest(&self) -> u128 {
        let &DatasetView { features, labels, .. } = self;
        let mut hasher = Xxh3::new();
        let sizes = [self.len(), features.columns(), labels.columns()].map(|size| size as u64);
        update(&mut hasher, &sizes, u64::to_le_bytes);
        update(&mut hasher, features.offsets(), u64::to_le_bytes);
        update(&mut hasher, features.indices(), u32::to_le_bytes);
        update(&mut hasher, features.values(), f32::to_le_bytes);
        update(&mut hasher, labels.offsets(), u64::to_le_bytes);
        update(&mut hasher, labels.indices(), u32::to_le_bytes);
        hasher.digest128()
    }
}

/// A fingerprint of rows of features.
pub(crate) fn digest_of_features(features: CsrView<'_>) -> u128 {
    let mut hasher = Xxh3::new();
    update(&mut hasher, features.offsets(), u64::to_le_bytes);
    update(&mut hasher, features.indices(), u32::to_le_bytes);
    update(&mut hasher, features.values(), f32::to_le_bytes);
    hasher.digest128()
}

/// Hashes numbers as little-endian bytes on every machine.
fn update<T: Copy, const N: usize>(hasher: &mut Xxh3, numbers: &[T], bytes: fn(T) -> [u8; N]) {
    let mut buffer = Vec::with_capacity(1024 * N);
    for chunk in numbers.chunks(1024) {
        buffer.clear();
        buffer.extend(chunk.iter().flat_map(|&number| bytes(number)));
        hasher.update(&buffer);
    }
}
