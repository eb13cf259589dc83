//! Errors of reading and writing model folders.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::Digest;
use crate::base::array::{ArrayError, Kind};
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
    /// There is no model to read.
    #[error("{}: there is no model here (no manifest.json); give the folder that `train --model` wrote", folder.display())]
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
    /// The place to write to is a file, or a folder with other things in it.
    #[error("{}: this is not a model but holds {found}; choose another folder", path.display())]
    NotAModel {
        /// The file or folder.
        path: PathBuf,
        /// What is there, such as the name of a file.
        found: String,
    },
    /// An earlier training was not finished and is neither to be resumed nor overwritten.
    #[error("{}: an unfinished training is here; add --resume to go on with it or --overwrite to start afresh", folder.display())]
    Unfinished {
        /// The folder of the unfinished training.
        folder: PathBuf,
    },
    /// The training to resume had other settings or other data.
    #[error("{}: the unfinished training differs: {difference}; repeat its settings and data, or add --overwrite without --resume to start afresh", folder.display())]
    Different {
        /// The folder of the unfinished training.
        folder: PathBuf,
        /// What differs, and how.
        difference: String,
    },
    /// The training to resume has been finished, with other settings or other data.
    #[error("{}: the model here is finished and differs: {difference}; repeat its settings and data, add --overwrite to replace it, or choose another folder", folder.display())]
    DifferentModel {
        /// The folder of the model.
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
    /// Another process is training, merging or planning into the same folder.
    #[error("{}: another process{} is writing here; wait for it or choose another folder", folder.display(), numbered(process))]
    Busy {
        /// The folder of the unfinished training, or of the plan.
        folder: PathBuf,
        /// The other process's id, if it has written it down.
        process: Option<u32>,
    },
}

/// What is wrong with the content of a model's file.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FormatError {
    /// The manifest is not what a manifest should be.
    #[error("{}: not a valid manifest: {reason}; restore the model from a copy or train it again", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The `settings.json` of an unfinished training is not what it should be.
    #[error("{}: not a training's settings: {reason}; add --overwrite without --resume to start afresh", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The model was written by a later labelwood.
    #[error("{}: format version {found}, but this labelwood reads versions 1 to {newest}; update labelwood", path.display())]
    Version {
        /// The manifest.
        path: PathBuf,
        /// The version found.
        found: u64,
        /// The newest version this build reads.
        newest: u64,
    },
    /// A file is larger than any valid one.
    #[error("{}: {found} bytes, but at most {limit} are allowed here; this is not a model's file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        found: u64,
        /// The largest size allowed.
        limit: u64,
    },
    /// A file that the manifest names is not there.
    #[error("{}: the manifest names this file but it is missing; copy the whole folder again", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file is shorter or longer than the manifest says.
    #[error("{}: {found} bytes, but the manifest says {expected}; the file was cut short or changed: copy the model again", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// What the manifest says.
        expected: u64,
        /// How long it is.
        found: u64,
    },
    /// A file's content is not what was written.
    #[error("{}: checksum {found}, but the manifest says {expected}; the file was damaged: copy the model again", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// What the manifest says.
        expected: Digest,
        /// What the content gives.
        found: Digest,
    },
    /// A unit's header is not valid.
    #[error("{}: not a valid safetensors file: {reason}; copy the model again", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// An array is missing from its unit.
    #[error("{}: no array `{name}`, only {found:?}; the model is incomplete: train it again", path.display())]
    NoArray {
        /// The file.
        path: PathBuf,
        /// The array asked for.
        name: String,
        /// The arrays that are there.
        found: Vec<String>,
    },
    /// An array has another type or shape than it should.
    #[error("{}: array `{name}` should be a list of {expected}, but is {found}; train the model again", path.display())]
    Type {
        /// The file.
        path: PathBuf,
        /// The array.
        name: String,
        /// The type asked for.
        expected: Kind,
        /// The type and shape found.
        found: String,
    },
    /// An array does not lie where its type can be read.
    #[error("{}: array `{name}`: {reason}; load the model with labelwood that wrote it and save it again", path.display())]
    Section {
        /// The file.
        path: PathBuf,
        /// The array.
        name: String,
        /// What is wrong.
        reason: ArrayError,
    },
    /// The arrays of a unit do not fit together. Raised by the algorithm that reads them.
    #[error("{}: {reason}; the model is damaged: copy it again or train it again", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
}

fn numbered(process: &Option<u32>) -> String {
    process.map(|process| format!(" ({process})")).unwrap_or_default()
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        StoreError::Io { action, path: path.to_owned(), source }
    }
}
