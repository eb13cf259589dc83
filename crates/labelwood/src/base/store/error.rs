//! Errors of reading and writing model folders.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::base::run::Stopped;

/// Why a model could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file's content is at fault.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The system refused: the disk is full, permission is missing, memory is short.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// What was tried, such as `write`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The task was stopped.
    #[error("{0}")]
    Stopped(#[from] Stopped),
    /// There is no model to read: no folder with a manifest, and no file that begins with one.
    #[error("{}: there is no model here (no manifest.json); give what `train --model` wrote", folder.display())]
    NoModel {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder to write to holds a model.
    #[error("{}: a model is already here; add --overwrite to replace it or choose another folder", folder.display())]
    Exists {
        /// The folder.
        folder: PathBuf,
    },
    /// The place to write to holds other things, an unfinished training or the model of another one, or
    /// another process writes there.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// The file or folder.
        path: PathBuf,
        /// What is there, and what to do about it.
        reason: String,
    },
    /// The training to resume had other settings or other data.
    #[error("{}: the unfinished training differs: {difference}; repeat its settings and data, or add --overwrite without --resume to start afresh", folder.display())]
    Different {
        /// The folder of the unfinished training.
        folder: PathBuf,
        /// What differs, and how.
        difference: String,
    },
    /// The model to replace is not the one that its successor was made from.
    #[error("{}: another command has replaced this model since it was opened here, so nothing was written; repeat this command to work on the new one", folder.display())]
    Replaced {
        /// The folder of the model.
        folder: PathBuf,
    },
}

/// What is wrong with the content of a model's file, and what to do about it.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{}: {reason}; {advice}", path.display())]
pub struct FormatError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub reason: String,
    /// What to do about it.
    pub advice: &'static str,
}

impl FormatError {
    pub(crate) fn new(path: &Path, reason: impl Into<String>, advice: &'static str) -> Self {
        FormatError { path: path.to_owned(), reason: reason.into(), advice }
    }

    /// The error of a file that is not as long as the manifest says.
    pub(super) fn length(path: &Path, expected: u64, found: u64) -> Self {
        let reason = format!("{found} bytes, but the manifest says {expected}");
        Self::new(path, reason, "the file was cut short or changed: copy the model again")
    }

    /// The error of a file that the manifest names and that is not there.
    pub(super) fn missing(path: &Path) -> Self {
        let reason = "the manifest names this file but it is missing";
        Self::new(path, reason, "copy the whole folder again")
    }
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        StoreError::Io { action, path: path.to_owned(), source }
    }

    /// The error of a place that must not be written to.
    pub(super) fn refused(path: &Path, reason: impl Into<String>) -> Self {
        StoreError::Refused { path: path.to_owned(), reason: reason.into() }
    }

    /// The error of a place that holds something else than a model.
    pub(super) fn not_a_model(path: &Path, found: &str) -> Self {
        let reason = format!("this is not a model but holds {found}; choose another folder");
        Self::refused(path, reason)
    }
}

/// Names, the first few if they are many, and what they are: `a, b are missing`.
pub(crate) fn listed(names: &[String], what: &str) -> String {
    const NAMED: usize = 5;
    let some = names[..names.len().min(NAMED)].join(", ");
    match names.len() {
        1 => format!("{some} is {what}"),
        count if count <= NAMED => format!("{some} are {what}"),
        count => format!("{some} and {} others are {what}", count - NAMED),
    }
}
