//! Errors and warnings of reading and writing files: one line with the place and the remedy.

use crate::base::run::{Bytes, OutOfMemory, Stopped};
use std::io;
use thiserror::Error;

/// The message for a file name that does not show the format.
const UNKNOWN_FORMAT: &str = "the ending does not tell the format: name the file .txt (XC repository format), \
    .svm or .libsvm (LIBSVM multi-label format) or .lwd (binary), each also with .gz or .zst, or state the format";

/// Why a file could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The content is at fault.
    #[error("{path}:{line}:{column}: {problem}")]
    Content {
        /// The file as it was named.
        path: String,
        /// The line, counted from 1.
        line: u64,
        /// The byte within the line, counted from 1.
        column: u64,
        /// What is wrong there.
        problem: Problem,
    },
    /// The file could not be opened or read.
    #[error("{path}: {source}")]
    Io {
        /// The file as it was named.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The data take more memory than the task allows.
    #[error(
        "{path}: {source}, {} into the data: read fewer rows at a time, or allow more memory",
        Bytes(*read)
    )]
    Memory {
        /// The file as it was named.
        path: String,
        /// How many bytes were read, after decompression.
        read: u64,
        /// The limit.
        source: OutOfMemory,
    },
    /// The file name does not show the format.
    #[error("{path}: {UNKNOWN_FORMAT}")]
    UnknownFormat {
        /// The file as it was named.
        path: String,
    },
    /// The file name does not show the format of documents.
    #[error(
        "{path}: the ending does not tell the format: name the file .tsv (text, TAB, labels), .csv \
         (columns with a header) or .jsonl (JSON objects), each also with .gz or .zst, or state the \
         format"
    )]
    UnknownDocumentFormat {
        /// The file as it was named.
        path: String,
    },
    /// The file name does not show the format of a vocabulary.
    #[error(
        "{path}: the ending does not tell the format: a vocabulary is .txt (a label a line), .tsv or \
         .csv (code, name, further names), or SKOS as .ttl (Turtle), .nt (N-Triples) or .rdf, .xml or \
         .owl (RDF/XML), each also with .gz or .zst"
    )]
    UnknownVocabularyFormat {
        /// The file as it was named.
        path: String,
    },
    /// A file of SKOS has no concept.
    #[error(
        "{path}: there is no concept: a vocabulary in SKOS has subjects with skos:prefLabel that are \
         not deprecated"
    )]
    NoConcepts {
        /// The file as it was named.
        path: String,
    },
    /// A vocabulary has no name in the language that is asked for.
    #[error("{path}: there are no names in the language `{language}`, only in {known}")]
    NoSuchLanguage {
        /// The file as it was named.
        path: String,
        /// What was asked for.
        language: String,
        /// Those that are there.
        known: Excerpt,
    },
    /// What is asked for is no tag of a language.
    #[error("`{language}` is no tag of a language: expected one such as en, fi or pt-br")]
    NotALanguage {
        /// What was asked for.
        language: String,
    },
    /// The binary data are damaged or of another kind.
    #[error("{path}: these are not labelwood's binary data: {reason}; convert the data again")]
    Binary {
        /// The file as it was named.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// There are fewer label names than labels.
    #[error(
        "{path}: {names} label names for {labels} labels: line i must name label i, counted from 0; \
         add the missing lines or give another file of label names"
    )]
    TooFewNames {
        /// The file of label names.
        path: String,
        /// How many names it has.
        names: usize,
        /// How many labels the data have.
        labels: usize,
    },
    /// A split file has no such column.
    #[error("{path}: there is no column {column}: the splits are numbered from 1 to {columns}")]
    NoSuchSplit {
        /// The split file.
        path: String,
        /// The column asked for.
        column: usize,
        /// How many there are.
        columns: usize,
    },
    /// The task was stopped.
    #[error("{0}")]
    Stopped(#[from] Stopped),
}

impl ReadError {
    /// The content of `path` is at fault at `place`, a line and a column counted from 1.
    pub(super) fn content(path: &str, place: (u64, u64), problem: Problem) -> Self {
        ReadError::Content { path: path.to_owned(), line: place.0, column: place.1, problem }
    }
}

/// What is wrong at one place of a file, and what to do about it.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// There is nothing in the file.
    #[error("the file is empty: expected {expected}")]
    Empty {
        /// What should be there.
        expected: &'static str,
    },
    /// The first line of an XC file is no header.
    #[error(
        "expected a header of three whole numbers, `rows features labels`, but found `{found}`: add \
         the header, or state the format if this is no XC file"
    )]
    Header {
        /// The beginning of the line.
        found: Excerpt,
    },
    /// A number of the header is beyond what ids can count.
    #[error("the header declares {value} {what}: there can be at most {}", u32::MAX)]
    HeaderSize {
        /// Rows, features or labels.
        what: &'static str,
        /// The number.
        value: Excerpt,
    },
    /// The header's number of rows is wrong.
    #[error(
        "the header declares {declared} rows, but there are {found}: correct the header, or read \
         leniently to go by the rows"
    )]
    Rows {
        /// The header's number.
        declared: u64,
        /// The number of lines after the header.
        found: u64,
    },
    /// An id is not below the width that the header declares.
    #[error(
        "{what} {id} is out of range: the header declares {width} {what}s, so ids count from 0 and \
         stay below {width}; correct the header, or read leniently to widen it"
    )]
    OutOfRange {
        /// Feature or label.
        what: &'static str,
        /// The id.
        id: u64,
        /// The width that the header declares.
        width: u64,
    },
    /// An id does not fit into 32 bits.
    #[error("{what} {found} is too large: ids stay below {}; number them densely", u32::MAX)]
    IdTooLarge {
        /// Feature or label.
        what: &'static str,
        /// The id as written.
        found: Excerpt,
    },
    /// Feature 0 in a LIBSVM file.
    #[error(
        "feature 0 in a LIBSVM file: its features count from 1; add 1 to every feature, or write a \
         header `rows features labels` and read it as an XC file, which counts from 0"
    )]
    FeatureZero,
    /// There are no labels where labels should be.
    #[error(
        "expected label ids separated by commas but found `{found}`: labels are whole numbers from \
         0, such as `3,17`, and a line without labels starts with a space"
    )]
    Label {
        /// The text at that place.
        found: Excerpt,
    },
    /// There is no feature where a feature should be.
    #[error(
        "expected feature:value but found `{found}`: features are whole numbers with a value, such \
         as `12:0.5`, separated by spaces"
    )]
    Feature {
        /// The text at that place.
        found: Excerpt,
    },
    /// A value is no number.
    #[error("`{found}` is not a number: write the value as in `12:0.5`")]
    Value {
        /// The text at that place.
        found: Excerpt,
    },
    /// A value is NaN, infinite or beyond 32-bit floats.
    #[error(
        "`{found}` is not a finite 32-bit number: remove the entry or scale the values to below 3.4e38"
    )]
    NotFinite {
        /// The text at that place.
        found: Excerpt,
    },
    /// A feature occurs several times in a row and its values add up to infinity.
    #[error(
        "the values of a repeated feature in this row do not add up to a finite 32-bit number: \
         remove the repetition or scale the values"
    )]
    SumNotFinite,
    /// A line is too long.
    #[error("the line is longer than {limit} bytes: this is no text file with one row per line")]
    LineTooLong {
        /// The limit.
        limit: usize,
    },
    /// The compressed data break off or are damaged.
    #[error("the compressed data are damaged or cut short here ({reason}): copy the file again")]
    Damaged {
        /// What the decompressor said.
        reason: String,
    },
    /// A label name is not UTF-8.
    #[error(
        "the label name is not UTF-8 text: convert the file, for example with `iconv -t UTF-8`"
    )]
    Encoding,
    /// A byte is not part of UTF-8 text.
    #[error(
        "the byte `{found}` is not UTF-8 text: convert the file, for example with `iconv -f LATIN1 \
         -t UTF-8`"
    )]
    NotUtf8 {
        /// The byte.
        found: Excerpt,
    },
    /// A line of a TSV file has no TAB, so that it has no field for labels.
    #[error(
        "expected a text, a TAB and labels, but there is no TAB in this line: add the labels, or \
         only the TAB if there are none"
    )]
    NoTab,
    /// A line of a TSV file has several TABs.
    #[error(
        "expected a text, a TAB and labels, but found {found} fields: replace the TABs within the \
         text, or read the file as CSV if its first line names the columns"
    )]
    TooManyTabs {
        /// How many fields there are.
        found: usize,
    },
    /// A row of a CSV file is longer or shorter than the header.
    #[error(
        "expected {expected} columns as in the header but found {found}: put fields that hold the \
         column separator into double quotes"
    )]
    Columns {
        /// How many the header has.
        expected: usize,
        /// How many the row has.
        found: usize,
    },
    /// A quoted field does not end.
    #[error(
        "the double quote that opens here is never closed: close it, or write it twice and the \
         field within double quotes if it is part of the text"
    )]
    OpenQuote,
    /// There is text after the closing quote of a field.
    #[error(
        "the double quote that opens here is not closed before the next one opens, or something \
         follows the closing one: close it at the end of the field, and write double quotes that \
         are part of the text twice"
    )]
    StrayQuote,
    /// A line is no JSON object.
    #[error(
        "this is no JSON object ({reason}): every line must be one, such as `{{\"text\": \"Birds\"}}`"
    )]
    Json {
        /// What the parser said.
        reason: String,
    },
    /// There is no such column or field.
    #[error("there is no {what} `{name}`: there are {known}; name the {what} to take")]
    NoSuchField {
        /// Column or field.
        what: &'static str,
        /// What was asked for.
        name: Excerpt,
        /// Those that are there.
        known: Excerpt,
    },
    /// A field is a JSON object where a string or a list of strings should be.
    #[error(
        "the field `{name}` holds objects: name the key within that to take, as in `{name}[].uri`"
    )]
    FieldIsObject {
        /// The path of the field.
        name: Excerpt,
    },
    /// There is no whole number where one should be.
    #[error("expected a whole number but found `{found}`: {remedy}")]
    Integer {
        /// The text at that place.
        found: Excerpt,
        /// What the file should hold.
        remedy: &'static str,
    },
    /// A line has another number of fields than it should.
    #[error("expected {expected} numbers in this line but found {found}: {remedy}")]
    Fields {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
        /// What the file should hold.
        remedy: &'static str,
    },
    /// A vocabulary is not written as its ending says.
    #[error(
        "this is not valid {syntax} ({reason}): mend it here, or let an RDF tool such as riot write the \
         file anew"
    )]
    Rdf {
        /// How the file should be written.
        syntax: &'static str,
        /// What the parser said.
        reason: String,
    },
    /// A vocabulary goes beyond what fits into memory whatever the file.
    #[error(
        "there is {what}, which no vocabulary needs: let an RDF tool such as riot write the file anew \
         as N-Triples (.nt)"
    )]
    Unbounded {
        /// What is too much.
        what: &'static str,
    },
    /// A row or label of a split or filter file is not in the data.
    #[error(
        "{what} {found} is out of range: the data have {count} {what}s, counted from {first} here; \
         check that both files belong together"
    )]
    NotInData {
        /// Row or label.
        what: &'static str,
        /// The number as written.
        found: Excerpt,
        /// The number of the first row or label in this kind of file: 0 or 1.
        first: u64,
        /// How many the data have.
        count: usize,
    },
}

/// A piece of the file, made printable and cut short.
#[derive(Clone, Debug, PartialEq)]
pub struct Excerpt(String);

impl Excerpt {
    /// How many bytes of a file a message shows at most.
    const LIMIT: usize = 32;

    pub(super) fn new(bytes: &[u8]) -> Self {
        let shown = &bytes[..bytes.len().min(Self::LIMIT)];
        let mut text = match std::str::from_utf8(shown) {
            Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
            _ => shown.escape_ascii().to_string(),
        };
        if shown.len() < bytes.len() {
            text.push('…');
        }
        Excerpt(text)
    }

    /// The first of some names, each cut short.
    pub(crate) fn list<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> Self {
        const SHOWN: usize = 20;
        let more = names.len().saturating_sub(SHOWN);
        let mut shown: Vec<String> =
            names.take(SHOWN).map(|name| format!("`{}`", Excerpt::new(name.as_bytes()))).collect();
        match shown.len() {
            0 => shown.push("none".to_owned()),
            _ if more > 0 => shown.push(format!("{more} more")),
            _ => {}
        }
        Excerpt(shown.join(", "))
    }
}

impl std::fmt::Display for Excerpt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A doubtful place in a file that was read all the same.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// The header's number of rows was wrong; the rows in the file were read.
    #[error("{path}:1: the header declares {declared} rows, but there are {found}")]
    Rows {
        /// The file.
        path: String,
        /// The header's number.
        declared: u64,
        /// The number of rows read.
        found: u64,
    },
    /// Ids exceed the header's width, which was widened.
    #[error("{path}:1: the header declares {declared} {what}s, but the ids need {found}")]
    Width {
        /// The file.
        path: String,
        /// Feature or label.
        what: &'static str,
        /// The header's number.
        declared: u64,
        /// The width that fits.
        found: u64,
    },
    /// There are more label names than labels.
    #[error("{path}: {names} label names for {labels} labels: the last names are not used")]
    MoreNames {
        /// The file of label names.
        path: String,
        /// How many names it has.
        names: usize,
        /// How many labels the data have.
        labels: usize,
    },
    /// Concepts of a vocabulary are deprecated.
    #[error("{path}: {concepts} deprecated concepts are left out")]
    Deprecated {
        /// The vocabulary.
        path: String,
        /// How many.
        concepts: u64,
    },
    /// Concepts of a vocabulary are blank nodes.
    #[error("{path}: {names} preferred names are left out, because what they name has no URI")]
    NoAddress {
        /// The vocabulary.
        path: String,
        /// How many.
        names: u64,
    },
    /// Concepts of a vocabulary have no preferred name in the language of the labels.
    #[error(
        "{path}: {nameless} of {concepts} concepts have no preferred name{}",
        language.as_ref().map(|tag| format!(" in the language `{tag}`")).unwrap_or_default()
    )]
    Nameless {
        /// The vocabulary.
        path: String,
        /// How many.
        nameless: usize,
        /// Of how many.
        concepts: usize,
        /// The language, if names have one.
        language: Option<String>,
    },
    /// Label names were not UTF-8; the bytes that were not show as replacement characters.
    #[error("{path}: {lines} label names are not UTF-8 text")]
    Encoding {
        /// The file of label names.
        path: String,
        /// How many lines.
        lines: usize,
    },
}

/// Adds the remedy to a system error whose text has none.
pub(super) fn with_remedy(error: io::Error) -> io::Error {
    match error.kind() {
        kind @ io::ErrorKind::IsADirectory => io::Error::new(kind, "this is a folder: name a file"),
        _ => error,
    }
}

/// Why a file could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file as it was named.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The file name does not show the format.
    #[error("{path}: {UNKNOWN_FORMAT}")]
    UnknownFormat {
        /// The file as it was named.
        path: String,
    },
    /// There is a file of that name, and it may not be replaced.
    #[error(
        "{path}: the file is already there; add --overwrite to replace it or choose another name"
    )]
    Exists {
        /// The file as it was named.
        path: String,
    },
    /// The file is one of those that are read.
    #[error("{path}: this is also a file to read ({input}); choose another name to write to")]
    IsInput {
        /// The file as it was named.
        path: String,
        /// The name by which it is read.
        input: String,
    },
}
