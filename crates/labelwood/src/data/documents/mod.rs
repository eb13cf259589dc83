//! Documents: texts with their labels, from TSV, CSV and JSONL files.
//!
//! [`Documents`] reads them from a file in any [`Format`], compressed or not, a [`Batch`] of some
//! megabytes at a time, so that the text is never in memory as a whole. [`Options`] says which
//! fields to take. Labels come as they are written; a
//! [`LabelIndexBuilder`](super::LabelIndexBuilder) turns them into ids.
//!
//! All of a file must be UTF-8. A line, or a row of a CSV file, may have up to 256 MiB, and up to a
//! thirty-second of the memory that input may take.

mod batch;
mod blocks;
mod csv;
mod jsonl;
mod quotes;
mod separator;
mod tsv;

pub use batch::Batch;
pub use blocks::read_lines;
pub use separator::Separator;

use super::error::ReadError;
use super::read::plain_ending;
use super::source::{MemoryMeter, Source};
use crate::base::run::Task;
pub(in crate::data) use blocks::TextBlocks;
pub(in crate::data) use csv::QuoteCheckedReader;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// How documents are written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Format {
    /// A line is a text, a TAB and labels. Nothing is quoted. An empty line is a document without
    /// text and labels, except at the end of the file, where it is ignored.
    #[default]
    Tsv,
    /// A table whose first line names the columns. Commas, semicolons or TABs separate them, whichever
    /// the header has most of; fields in double quotes may hold these and line breaks.
    Csv,
    /// A line is a JSON object; empty lines are ignored.
    Jsonl,
}

impl Format {
    /// The format that a file name ends in, with `.gz` and `.zst` looked through.
    ///
    /// ```
    /// use labelwood::data::documents::Format;
    /// use std::path::Path;
    /// assert_eq!(Format::of_path(Path::new("books.tsv.gz")), Some(Format::Tsv));
    /// assert_eq!(Format::of_path(Path::new("books.jsonl")), Some(Format::Jsonl));
    /// assert_eq!(Format::of_path(Path::new("books.txt")), None);
    /// ```
    pub fn of_path(path: &Path) -> Option<Self> {
        match plain_ending(path)?.as_str() {
            "tsv" => Some(Format::Tsv),
            "csv" => Some(Format::Csv),
            "jsonl" | "ndjson" => Some(Format::Jsonl),
            _ => None,
        }
    }

    fn is_tsv(&self) -> bool {
        *self == Format::Tsv
    }
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Format::Tsv => "TSV",
            Format::Csv => "CSV",
            Format::Jsonl => "JSONL",
        })
    }
}

/// How files are read: which of their fields are text, labels and id. The default takes `text`,
/// `labels` and, if it is there, `id`.
///
/// In a CSV file a field is a column. In JSONL it is a key, or a path of keys such as `record.title`
/// or `subjects[].uri`; lists on the way are followed, whether or not the path marks them by `[]`.
/// TSV knows no field names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The format of standard input and of files with another ending.
    #[serde(skip_serializing_if = "Format::is_tsv")]
    pub format: Format,
    /// The fields that make up the text, joined by a space.
    pub text: Vec<String>,
    /// The field of the labels.
    pub labels: String,
    /// The field of the document's id; by default `id`, if there is one.
    pub id: Option<String>,
    /// The separator of labels in one field. By default it is `|`, `;` or `,` if the first labels of a
    /// TSV or CSV file have one of them. Else a space separates the labels of a TSV file, and a field of
    /// a CSV file is one label. A string in JSONL is one label.
    pub separator: Option<Separator>,
}

impl Default for Options {
    fn default() -> Self {
        let (text, labels) = (vec!["text".to_owned()], "labels".to_owned());
        Options { format: Format::Tsv, text, labels, id: None, separator: None }
    }
}

/// Whether documents have to say which labels they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// As for training: a document may have no labels, but the place for them must be there.
    Required,
    /// As for prediction: a line without a TAB, a table without the column or an object without the
    /// key is a document without labels.
    Optional,
}

/// How much of a file makes a batch. It is the same on every machine, because the first batch
/// decides on the separator.
const BATCH: usize = 8 << 20;

/// A file of documents that is being read.
///
/// ```
/// use labelwood::data::documents::{Documents, Format, Labels, Options};
/// use labelwood::run::Pool;
/// let task = Pool::new(1)?.task();
/// let text = b"Birds of the north\tornithology; arctic\nCats\t\n";
/// let options = Options::default();
/// let mut documents =
///     Documents::from_bytes(text, "books.tsv", Format::Tsv, &options, Labels::Required, &task)?;
/// let batch = documents.next_batch()?.expect("there are documents");
/// assert_eq!(batch.texts().collect::<Vec<_>>(), ["Birds of the north", "Cats"]);
/// assert_eq!(batch.labels(0).collect::<Vec<_>>(), ["ornithology", "arctic"]);
/// assert_eq!(batch.labels(1).count(), 0);
/// assert_eq!(documents.separator().and_then(|separator| separator.text()), Some(";"));
/// assert!(documents.next_batch()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Documents<'a> {
    reader: Reader<'a>,
    path: String,
    format: Format,
    separator: Option<Separator>,
    rows: u64,
    task: &'a Task,
    /// Counts two batches: one is read while the last is being used.
    meter: MemoryMeter,
    last: usize,
    /// Counts what the caller keeps of the batches.
    kept: MemoryMeter,
}

enum Reader<'a> {
    Tsv(tsv::Reader<'a>),
    Csv(Box<csv::Reader<'a>>),
    Jsonl(jsonl::Reader<'a>),
}

impl<'a> Documents<'a> {
    /// Opens a file, or standard input for `-`; gzip and zstd are decompressed. Without a `format` the
    /// file's ending decides, then the options. A file with an unknown ending is refused if the options
    /// say TSV, which is their default: any text could be read as TSV.
    pub fn open(
        path: &Path,
        format: Option<Format>,
        options: &Options,
        labels: Labels,
        task: &'a Task,
    ) -> Result<Self, ReadError> {
        let format = match format.or_else(|| Format::of_path(path)) {
            Some(format) => format,
            None if !options.format.is_tsv() || plain_ending(path).is_none() => options.format,
            None => {
                let problem = "the ending does not tell the format: name the file .tsv (text, TAB, \
                               labels), .csv (columns with a header) or .jsonl (JSON objects), each \
                               also with .gz or .zst, or state the format";
                return Err(ReadError::file(path.display(), problem));
            }
        };
        Self::new(Source::open(path, task.memory())?, format, options, labels, BATCH, task)
    }

    /// Reads documents from the bytes of a file; `name` appears in messages.
    pub fn from_bytes(
        bytes: &'a [u8],
        name: &str,
        format: Format,
        options: &Options,
        labels: Labels,
        task: &'a Task,
    ) -> Result<Self, ReadError> {
        let source = Source::from_bytes(name, bytes, task.memory())?;
        Self::new(source, format, options, labels, BATCH, task)
    }

    fn new(
        source: Source<'a>,
        format: Format,
        options: &Options,
        labels: Labels,
        size: usize,
        task: &'a Task,
    ) -> Result<Self, ReadError> {
        let (meter, kept) = (source.meter(), source.meter());
        let blocks = TextBlocks::new(source, size);
        let path = blocks.name().to_owned();
        let reader = match format {
            Format::Tsv => Reader::Tsv(tsv::Reader::new(blocks, labels)),
            Format::Csv => Reader::Csv(Box::new(csv::Reader::new(blocks, options, labels, size)?)),
            Format::Jsonl => Reader::Jsonl(jsonl::Reader::new(blocks, options, labels)),
        };
        let separator = options.separator.clone();
        Ok(Documents { reader, path, format, separator, rows: 0, task, meter, last: 0, kept })
    }

    /// The next documents, never none; nothing at the end. A file without any is an error.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, ReadError> {
        loop {
            self.task.check()?;
            let batch = match &mut self.reader {
                Reader::Tsv(reader) => reader.next()?,
                Reader::Csv(reader) => reader.next()?,
                Reader::Jsonl(reader) => reader.next(self.task)?,
            };
            let Some(mut batch) = batch else { break };
            if batch.is_empty() {
                continue;
            }
            if self.separator.is_none() {
                let fallback = match self.format {
                    Format::Tsv => Some(Separator::Text(" ".to_owned())),
                    Format::Csv => Some(Separator::None),
                    Format::Jsonl => None,
                };
                let decide = |fallback| separator::decide(batch.raw_labels(), fallback);
                self.separator = fallback.and_then(decide);
            }
            batch.split_labels(self.separator.as_ref().and_then(Separator::text));
            self.meter.set(self.last + batch.bytes())?;
            self.last = batch.bytes();
            batch.first_row = self.rows;
            self.rows += batch.len() as u64;
            return Ok(Some(batch));
        }
        if self.rows == 0 {
            let expected = match self.format {
                Format::Tsv => "lines of a text, a TAB and labels",
                Format::Csv => "a line that names the columns, and rows",
                Format::Jsonl => "lines such as `{\"text\": \"Birds\", \"labels\": [\"zoology\"]}`",
            };
            return Err(ReadError::empty(&self.path, expected));
        }
        Ok(None)
    }

    /// Sets how many bytes the caller keeps of all documents so far; too many are an error.
    pub fn keep(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.kept.set(bytes)
    }

    /// Counts the memory of data that are made of the documents, from 0.
    pub(crate) fn meter(&self) -> MemoryMeter {
        self.meter.another()
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The separator of labels: that of the options or, once labels were read, the one found in them.
    pub fn separator(&self) -> Option<&Separator> {
        self.separator.as_ref()
    }

    /// How many documents were read so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

#[cfg(test)]
mod tests;
