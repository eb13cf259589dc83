//! Why parts of a model did not give predictions.

use crate::base::run::Stopped;
use crate::base::store::StoreError;
use std::io;
use thiserror::Error;

/// What stands in the way of a prediction by parts of a model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PartError {
    /// The model's files could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The task was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Scores could not be read.
    #[error("could not read the scores: {0}")]
    Io(#[from] io::Error),
    /// There is no part of that number.
    #[error("there is no part {index}: there are {of}, counted from 0")]
    NoSuchPart {
        /// The number.
        index: usize,
        /// How many there are.
        of: usize,
    },
    /// Bytes are not the scores of a part.
    #[error(
        "these are not the scores of a part, or they were damaged: {0}; predict the part again"
    )]
    Damaged(String),
    /// Scores do not go together.
    #[error("part {index} has {what}: predict all parts with the same model, rows and flags")]
    Different {
        /// The part.
        index: usize,
        /// What differs.
        what: &'static str,
    },
    /// Scores are there twice.
    #[error("part {index} is there twice: give each part once")]
    Twice {
        /// The part.
        index: usize,
    },
    /// Parts are missing.
    #[error("{} missing, of {of} parts counted from 0: predict {} and combine again", listed(missing), if missing.len() == 1 { "it" } else { "them" })]
    Missing {
        /// The parts that are missing.
        missing: Vec<usize>,
        /// How many there must be.
        of: usize,
    },
}

impl PartError {
    /// Whether the task was stopped, which is nobody's fault.
    ///
    /// ```
    /// use labelwood::{run::Stopped, shard::PartError};
    /// assert!(PartError::from(Stopped::Cancelled).is_cancelled());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        matches!(self, PartError::Stopped(_) | PartError::Store(StoreError::Stopped(_)))
    }
}

/// Numbers, the first few if they are many, and a verb.
fn listed(numbers: &[usize]) -> String {
    const NAMED: usize = 5;
    let some: Vec<String> = numbers.iter().take(NAMED).map(usize::to_string).collect();
    let some = some.join(", ");
    match numbers.len() {
        1 => format!("part {some} is"),
        count if count <= NAMED => format!("parts {some} are"),
        count => format!("parts {some} and {} others are", count - NAMED),
    }
}
