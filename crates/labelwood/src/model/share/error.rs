//! Why shares of a model did not give predictions.

use crate::base::run::Stopped;
use crate::base::store::StoreError;
use std::io;
use thiserror::Error;

/// What stands in the way of a prediction by shares of a model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShareError {
    /// The model's files could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The task was stopped.
    #[error("{0}")]
    Stopped(#[from] Stopped),
    /// Scores could not be read.
    #[error("could not read the scores: {0}")]
    Io(#[from] io::Error),
    /// There is no such share, or the scores of shares do not go together.
    #[error("{0}")]
    Refused(String),
}

impl ShareError {
    /// The error of bytes that are not the scores of a share.
    pub(super) fn damaged(reason: impl std::fmt::Display) -> Self {
        let what = "these are not the scores of a share, or they were damaged";
        ShareError::Refused(format!("{what}: {reason}; predict the share again"))
    }
}
