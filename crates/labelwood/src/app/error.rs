//! Why rows or labels for a model could not be read.

use crate::data::{Excerpt, ReadError, documents};
use crate::text::TextError;
use thiserror::Error;

/// What stands in the way of reading rows or labels for a model. A `String` is the file as it was
/// named.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InputError {
    /// The file could not be read, or its content is at fault.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The text could not become rows.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The first line is not of this format, which the training file had.
    #[error("{0}; this is read as {1}, as the training file was: add --from tsv for lines of text")]
    OtherFormat(#[source] ReadError, documents::Format),
    /// The name does not tell the format.
    #[error(
        "{0}: the ending does not tell the format: text is .tsv, .csv or .jsonl, vectors are .txt \
         (XC repository format), .svm (LIBSVM) or .lwd (binary), each also with .gz or .zst; add \
         --from to state it"
    )]
    UnknownFormat(String),
    /// Vectors for a model of text.
    #[error(
        "{0}: these are vectors, but the model was trained on text: give text (.tsv, .csv or \
         .jsonl), or add --from tsv if this is text"
    )]
    VectorsForText(String),
    /// Text for a model of vectors.
    #[error(
        "{0}: this is text, but the model was trained on vectors: give vectors (.txt or .svm), or \
         train a model on text"
    )]
    TextForVectors(String),
    /// The flag names a field of documents, but the model is one of vectors.
    #[error("{0} needs text, but the model was trained on vectors")]
    NeedsText(&'static str),
    /// The flag names a field of documents, but a file of this format has no names of fields.
    #[error(
        "{0}: a TSV file has no names of columns for {1}: leave it out, or add --from csv if the \
         first line names the columns"
    )]
    NoColumns(String, &'static str),
    /// Names in a language in which the model has none.
    #[error("there are no names in the language `{language}`: the model has {known}")]
    NoLanguage {
        /// What was asked for.
        language: String,
        /// Those that the model has.
        known: Excerpt,
    },
    /// Names of labels for a model that has none.
    #[error("--vocabulary: the labels of the model have no names")]
    Nameless,
    /// A file of label names for text.
    #[error("--vocabulary is for vectors: labels in text are their names")]
    NamesForText,
    /// A file of labels names none that the model knows.
    #[error("{0}: the model knows none of its labels: there must be one a line")]
    NoKnownLabel(String),
}
