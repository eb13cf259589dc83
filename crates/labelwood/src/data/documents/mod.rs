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
pub(in crate::data) use blocks::{TextBlock, TextBlocks};
pub use csv::Header;
pub(in crate::data) use csv::{QuoteCheckedReader, find_name};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
/// Upper and lower case and blanks in a name make no difference unless several names differ by them
/// only. TSV knows no field names; a `.tsv` file whose first line has those of the text and the labels
/// is read as CSV.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The format of standard input and of files with another ending.
    #[serde(skip_serializing_if = "Format::is_tsv")]
    pub format: Format,
    /// The fields that make up the text, joined by a space.
    pub text: Vec<String>,
    /// The fields of the labels.
    #[serde(serialize_with = "write_names", deserialize_with = "read_names")]
    pub labels: Vec<String>,
    /// The field of the document's id; by default `id`, if there is one.
    pub id: Option<String>,
    /// The separator of labels in one field. By default it is `|`, `;` or `,` if the first labels of a
    /// TSV or CSV file have one of them. Else a space separates the labels of a TSV file, and a field of
    /// a CSV file is one label. A string in JSONL is one label.
    pub separator: Option<Separator>,
    /// Gives the documents of standard input as they arrive, instead of when a whole batch of them is
    /// there. The first ones alone then decide on the separator of labels.
    #[serde(skip)]
    pub live: bool,
}

impl Default for Options {
    fn default() -> Self {
        let (text, labels) = (vec!["text".to_owned()], vec!["labels".to_owned()]);
        Options { format: Format::Tsv, text, labels, id: None, separator: None, live: false }
    }
}

/// One name is written as it is, so that models of a single field are what they always were.
fn write_names<S: Serializer>(names: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    match names {
        [name] => name.serialize(serializer),
        several => several.serialize(serializer),
    }
}

fn read_names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Names::deserialize(deserializer)? {
        Names::One(name) => vec![name],
        Names::Several(names) => names,
    })
}

/// Whether documents have to say which labels they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// As for training: a document may have no labels, but the place for them must be there.
    Required,
    /// As for prediction: a line without a TAB, a table without the column or an object without the
    /// key is a document without labels.
    Optional,
    /// As for comparing with predictions: labels must be there, texts need not.
    Alone,
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
    /// The files after this one, and how they are opened.
    following: VecDeque<PathBuf>,
    opening: Opening,
    /// The file that is being read.
    path: String,
    format: Format,
    separator: Option<Separator>,
    /// The documents so far, and those of the files before.
    rows: u64,
    rows_before: u64,
    /// Which documents are given, if not all.
    chosen: Option<Arc<[bool]>>,
    task: &'a Task,
    /// Counts two batches: one is read while the last is being used.
    meter: MemoryMeter,
    last: usize,
    /// Counts what the caller keeps of the batches.
    kept: MemoryMeter,
}

/// How files are opened.
struct Opening {
    format: Option<Format>,
    options: Options,
    labels: Labels,
    size: usize,
    keeps_fields: bool,
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
        Self::open_all(&[path], format, options, labels, task)
    }

    /// Opens files that follow one after the other, each as [`open`](Self::open) does.
    ///
    /// # Panics
    ///
    /// If there is no file.
    pub fn open_all<P: AsRef<Path>>(
        paths: &[P],
        format: Option<Format>,
        options: &Options,
        labels: Labels,
        task: &'a Task,
    ) -> Result<Self, ReadError> {
        let (first, following) = paths.split_first().expect("there is a file");
        let opening =
            Opening { format, options: options.clone(), labels, size: BATCH, keeps_fields: false };
        let (source, format) = opening.open(first.as_ref(), task)?;
        let mut documents = Self::new(source, format, opening, task)?;
        documents.following = following.iter().map(|path| path.as_ref().to_owned()).collect();
        Ok(documents)
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
        Self::with_size(bytes, name, format, options, labels, BATCH, task)
    }

    fn with_size(
        bytes: &'a [u8],
        name: &str,
        format: Format,
        options: &Options,
        labels: Labels,
        size: usize,
        task: &'a Task,
    ) -> Result<Self, ReadError> {
        let source = Source::from_bytes(name, bytes, task.memory())?;
        let (stated, options) = (Some(format), options.clone());
        let opening = Opening { format: stated, options, labels, size, keeps_fields: false };
        Self::new(source, format, opening, task)
    }

    fn new(
        source: Source<'a>,
        format: Format,
        opening: Opening,
        task: &'a Task,
    ) -> Result<Self, ReadError> {
        let (meter, kept, path) = (source.meter(), source.meter(), source.name.clone());
        let (reader, format) = opening.reader(source, format)?;
        let separator = opening.options.separator.clone();
        Ok(Documents {
            reader,
            following: VecDeque::new(),
            opening,
            path,
            format,
            separator,
            rows: 0,
            rows_before: 0,
            chosen: None,
            task,
            meter,
            last: 0,
            kept,
        })
    }

    /// The same documents, whose batches also keep all [fields](Batch::fields) of the file.
    #[must_use]
    pub fn keeping_fields(mut self) -> Self {
        self.opening.keeps_fields = true;
        self
    }

    /// Only those of the documents for which `chosen`, by their places, is true.
    #[must_use]
    pub fn only(self, chosen: Arc<[bool]>) -> Self {
        Documents { chosen: Some(chosen), ..self }
    }

    /// The next documents, never none; nothing at the end. A file without any is an error.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, ReadError> {
        loop {
            self.task.check()?;
            let keeps_fields = self.opening.keeps_fields;
            let batch = match &mut self.reader {
                Reader::Tsv(reader) => reader.next(keeps_fields)?,
                Reader::Csv(reader) => reader.next(keeps_fields)?,
                Reader::Jsonl(reader) => reader.next(keeps_fields, self.task)?,
            };
            let Some(mut batch) = batch else {
                if self.open_following()? {
                    continue;
                }
                return Ok(None);
            };
            if batch.is_empty() {
                continue;
            }
            if self.separator.is_none() {
                let fallback = match self.reader.format() {
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
            let first = self.rows as usize;
            self.rows += batch.len() as u64;
            if let Some(chosen) = &self.chosen {
                batch = batch.only(|row| chosen.get(first + row).is_some_and(|&chosen| chosen));
                if batch.is_empty() {
                    continue;
                }
            }
            return Ok(Some(batch));
        }
    }

    /// Opens the next file, if there is one. One without any document is an error.
    fn open_following(&mut self) -> Result<bool, ReadError> {
        if self.rows == self.rows_before {
            let expected = match self.reader.format() {
                Format::Tsv => "lines of a text, a TAB and labels",
                Format::Csv => "a line that names the columns, and rows",
                Format::Jsonl => "lines such as `{\"text\": \"Birds\", \"labels\": [\"zoology\"]}`",
            };
            return Err(ReadError::empty(&self.path, expected));
        }
        let Some(path) = self.following.pop_front() else { return Ok(false) };
        let (source, format) = self.opening.open(&path, self.task)?;
        self.path = source.name.clone();
        self.rows_before = self.rows;
        self.reader = self.opening.reader(source, format)?.0;
        Ok(true)
    }

    /// Writes the documents as they stand in the file, below the header if it is a table. The fields must
    /// be [kept](Self::keeping_fields).
    pub fn copy_to(mut self, out: &mut dyn Write) -> io::Result<()> {
        let Some(header) = self.header().cloned() else {
            return self.each_kept(|mut line| line.try_for_each(|line| writeln!(out, "{line}")));
        };
        let mut table = header.writer(out)?;
        table.write_record(&header.names)?;
        self.each_kept(|fields| Ok(table.write_record(fields)?))?;
        table.flush()
    }

    /// Calls `take` with the fields of every document.
    fn each_kept(&mut self, mut take: impl FnMut(Fields<'_>) -> io::Result<()>) -> io::Result<()> {
        while let Some(batch) = self.next_batch().map_err(io::Error::other)? {
            (0..batch.len()).try_for_each(|row| take(Box::new(batch.fields(row))))?;
        }
        Ok(())
    }

    /// Sets how many bytes the caller keeps of all documents so far; too many are an error.
    pub fn keep(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.kept.set(bytes)
    }

    /// Counts the memory of data that are made of the documents, from 0.
    pub(crate) fn meter(&self) -> MemoryMeter {
        self.meter.another()
    }

    /// The format of the file, of the first if there are several.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The first line of a CSV file.
    pub fn header(&self) -> Option<&Header> {
        match &self.reader {
            Reader::Csv(reader) => Some(reader.header()),
            Reader::Tsv(_) | Reader::Jsonl(_) => None,
        }
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

/// The fields of a document.
type Fields<'b> = Box<dyn Iterator<Item = &'b str> + 'b>;

impl Opening {
    /// Opens a file; gives the format that it has by all that is stated.
    fn open(&self, path: &Path, task: &Task) -> Result<(Source<'static>, Format), ReadError> {
        let known = self.options.format;
        let format = match self.format.or_else(|| Format::of_path(path)) {
            Some(format) => format,
            None if !known.is_tsv() || plain_ending(path).is_none() => known,
            None => {
                let problem = "the ending does not tell the format: name the file .tsv (text, TAB, \
                               labels), .csv (columns with a header) or .jsonl (JSON objects), each \
                               also with .gz or .zst, or state the format";
                return Err(ReadError::file(path.display(), problem));
            }
        };
        Ok((Source::open_live(path, self.options.live, task.memory())?, format))
    }

    /// A reader of the documents, and the format that the first line shows: what is named TSV and not
    /// stated to be that is a table if the first line names the columns.
    fn reader<'a>(
        &self,
        source: Source<'a>,
        format: Format,
    ) -> Result<(Reader<'a>, Format), ReadError> {
        let (options, labels) = (&self.options, self.labels);
        let mut blocks = TextBlocks::new(source, self.size);
        let mut first = None;
        let mut is_table = format == Format::Csv;
        if format == Format::Tsv && self.format.is_none() {
            first = blocks.next()?;
            let line = first.as_ref().and_then(|block| block.text.lines().next());
            let header: Vec<&str> = line.unwrap_or_default().split('\t').collect();
            is_table = csv::is_header(&header, options, labels)
                .map_err(|problem| blocks.fault((1, 1), problem))?;
        }
        let format = if is_table { Format::Csv } else { format };
        let reader = match format {
            Format::Tsv => Reader::Tsv(tsv::Reader::new(blocks, first, labels)),
            Format::Csv => {
                let reader = csv::Reader::new(blocks, first, options, labels, self.size)?;
                Reader::Csv(Box::new(reader))
            }
            Format::Jsonl => Reader::Jsonl(jsonl::Reader::new(blocks, options, labels)),
        };
        Ok((reader, format))
    }
}

impl Reader<'_> {
    fn format(&self) -> Format {
        match self {
            Reader::Tsv(_) => Format::Tsv,
            Reader::Csv(_) => Format::Csv,
            Reader::Jsonl(_) => Format::Jsonl,
        }
    }
}

#[cfg(test)]
mod tests;
