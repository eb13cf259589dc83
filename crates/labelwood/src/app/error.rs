//! Why rows or labels for a model could not be read.

use crate::data::{ReadError, documents};
use crate::text::TextError;
use std::path::Path;
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
    Text(#[from] TextError),
    /// The first line is not of this format, which the training file had.
    #[error("{0}; this is read as {1}, as the training file was: add --from tsv for lines of text")]
    OtherFormat(#[source] ReadError, documents::Format),
    /// The file is not of the kind that the model or the flags ask for, or names nothing that the
    /// model knows.
    #[error("{0}")]
    Refused(String),
}

impl InputError {
    /// The file at fault, as it was named, and what is wrong with it.
    pub(super) fn refused(path: &Path, reason: &str) -> Self {
        InputError::Refused(format!("{}: {reason}", path.display()))
    }
}
