//! Why rows or labels for a model could not be read.

use crate::base::run::Stopped;
use crate::data::{ReadError, documents};
use crate::model::ReadTextsError;
use crate::text::TextError;
use thiserror::Error;

/// What stands in the way of reading rows or labels for a model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InputError {
    /// The file could not be read, or its content is at fault.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The text could not become rows.
    #[error(transparent)]
    Text(TextError),
    /// The model does not read text.
    #[error(transparent)]
    Texts(#[from] ReadTextsError),
    /// The work was stopped.
    #[error("{0}")]
    Stopped(#[from] Stopped),
    /// The first line is not of the format that the training file had.
    #[error(
        "{source}; this is read as {format}, as the training file was: add --from tsv for lines of \
         text"
    )]
    OtherFormat {
        /// The format of the training file.
        format: documents::Format,
        /// What is wrong with the line.
        source: ReadError,
    },
    /// The name does not tell the format.
    #[error(
        "{path}: the ending does not tell the format: text is .tsv, .csv or .jsonl, vectors are .txt \
         (XC repository format), .svm (LIBSVM) or .lwd (binary), each also with .gz or .zst; add \
         --from to state it"
    )]
    UnknownFormat {
        /// The file as it was named.
        path: String,
    },
    /// Vectors for a model of text.
    #[error(
        "{path}: these are vectors, but the model was trained on text: give text (.tsv, .csv or \
         .jsonl), or add --from tsv if this is text"
    )]
    VectorsForText {
        /// The file as it was named.
        path: String,
    },
    /// Text for a model of vectors.
    #[error(
        "{path}: this is text, but the model was trained on vectors: give vectors (.txt or .svm), or \
         train a model on text"
    )]
    TextForVectors {
        /// The file as it was named.
        path: String,
    },
    /// Fields of documents are named for a model of vectors.
    #[error("{flag} needs text, but the model was trained on vectors")]
    NeedsText {
        /// The flag that names one.
        flag: &'static str,
    },
    /// Fields of documents are named for a file that has no names of fields.
    #[error(
        "{path}: a TSV file has no names of columns for {flag}: leave it out, or add --from csv if \
         the first line names the columns"
    )]
    NoColumns {
        /// The file as it was named.
        path: String,
        /// The flag that names one.
        flag: &'static str,
    },
    /// Names for the labels of a model that has none.
    #[error("--label-names: the labels of the model have no names")]
    Nameless,
    /// A file of label names for text.
    #[error("--label-names is for vectors: labels in text are their names")]
    NamesForText,
    /// A file of labels names none that the model knows.
    #[error("{path}: the model knows none of its labels: there must be one a line")]
    NoKnownLabel {
        /// The file as it was named.
        path: String,
    },
}

impl From<TextError> for InputError {
    fn from(error: TextError) -> Self {
        match error {
            TextError::Read(error) => InputError::Read(error),
            TextError::Stopped(stopped) => InputError::Stopped(stopped),
            other => InputError::Text(other),
        }
    }
}
