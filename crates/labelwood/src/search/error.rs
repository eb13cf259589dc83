//! Why trials came to nothing.

use crate::base::run::Stopped;
use crate::base::settings::ParamError;
use crate::data::WriteError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why trials came to nothing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrialError {
    /// Settings that are not possible.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// It cannot be tried with these rows, or not in this folder, as it says.
    #[error("{0}")]
    Refused(String),
    /// A file or folder cannot be read or made.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The deadline passed before anything could be decided.
    #[error("the time was up too early: {finished} of {total} trials are finished")]
    TimeUp {
        /// Finished trials.
        finished: usize,
        /// All trials.
        total: usize,
    },
    /// The task was stopped.
    #[error("{finished} of {total} trials are finished")]
    Stopped {
        /// Finished trials.
        finished: usize,
        /// All trials.
        total: usize,
        /// That it was.
        source: Stopped,
    },
}
