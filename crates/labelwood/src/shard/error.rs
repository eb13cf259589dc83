//! Why a plan was not made, or its shards not trained or merged.

use crate::base::run::Stopped;
use crate::base::store::StoreError;
use crate::data::WriteError;
use crate::model::TrainError;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What stands in the way of a plan, a shard or a merge.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShardError {
    /// Nothing can be learned with these settings or rows, or a unit could not be written.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A file could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The rows could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The task was stopped while it waited.
    #[error("{0}")]
    Stopped(#[from] Stopped),
    /// There is no plan to read.
    #[error("{}: there is no plan here (no plan.json); give the folder that `plan --output` wrote", folder.display())]
    NoPlan {
        /// The folder.
        folder: PathBuf,
    },
    /// The plan, its rows or its units are not what they must be; says what is wrong and what to do.
    #[error("{0}")]
    Refused(String),
}

impl ShardError {
    /// The error of a file or folder.
    pub(super) fn at(path: &Path, reason: impl Display) -> Self {
        ShardError::Refused(format!("{}: {reason}", path.display()))
    }
}
