//! Why a plan was not made, or its shards not trained or merged.

use crate::base::run::Stopped;
use crate::base::store::StoreError;
use crate::data::WriteError;
use crate::model::TrainError;
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
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// A plan of no shards.
    #[error("a plan needs at least one shard")]
    NoShards,
    /// A plan of more shards than anybody has work for.
    #[error(
        "{shards} shards are too many: a plan has at most {most}, and those beyond its units, such as trees, have nothing to do"
    )]
    TooManyShards {
        /// How many were asked for.
        shards: usize,
        /// How many there may be.
        most: usize,
    },
    /// There is no plan to read.
    #[error("{}: there is no plan here (no plan.json); give the folder that `plan --output` wrote", folder.display())]
    NoPlan {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder to write to holds a plan.
    #[error("{}: a plan is already here; add --overwrite to replace it, which keeps units that are the same, or choose another folder", folder.display())]
    Exists {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder to write to holds something else.
    #[error("{}: this is not a plan but holds `{found}`; choose another folder", folder.display())]
    NotAPlan {
        /// The folder.
        folder: PathBuf,
        /// What is there.
        found: String,
    },
    /// The plan is not what a plan should be.
    #[error("{}: not a valid plan: {reason}; plan the training again", path.display())]
    Content {
        /// The plan's file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file that was made with the plan is gone, or not what was written.
    #[error("{}: {file} is missing or damaged; plan the training again with --overwrite, which keeps the units that are finished", folder.display())]
    Lost {
        /// The plan's folder.
        folder: PathBuf,
        /// The file's name.
        file: String,
    },
    /// Another labelwood made the plan.
    #[error("{}: the plan was made by {found}, but this is {here}: their units may differ; use the same version everywhere", path.display())]
    Version {
        /// The plan's file.
        path: PathBuf,
        /// The version that made it.
        found: String,
        /// This version.
        here: String,
    },
    /// The rows are not those of the plan.
    #[error(
        "the rows have the digest {found}, but the plan is for {expected}: give the data that were planned with"
    )]
    Data {
        /// The digest of the plan's rows.
        expected: String,
        /// That of the rows that were given.
        found: String,
    },
    /// There is no shard of that number.
    #[error("there is no shard {shard}: the plan has {shards}, counted from 0")]
    NoSuchShard {
        /// The number.
        shard: usize,
        /// How many there are.
        shards: usize,
    },
    /// The first stage has to be complete before the second.
    #[error(
        "the first stage is not complete: {}; run this again when it is, or wait for it",
        lacking(missing, damaged)
    )]
    FirstStage {
        /// The roots that are missing.
        missing: Vec<String>,
        /// The files of roots that are damaged.
        damaged: Vec<PathBuf>,
    },
    /// Units are missing or damaged.
    #[error("the plan is not finished: {}{}", lacking(missing, damaged), shards_text(shards))]
    Incomplete {
        /// The units that are missing.
        missing: Vec<String>,
        /// The files of units that are damaged, and not whole elsewhere.
        damaged: Vec<PathBuf>,
        /// The shards whose units these are.
        shards: Vec<usize>,
    },
    /// A folder has the name of a unit.
    #[error("{}: this is a folder, but a unit is to be written here: move it away", path.display())]
    InTheWay {
        /// The folder.
        path: PathBuf,
    },
    /// A folder to look for units in is not there.
    #[error("{}: there is no such folder; give the folder of a plan or of its units", folder.display())]
    NoUnits {
        /// The folder.
        folder: PathBuf,
    },
    /// Two files claim to be the same unit.
    #[error("{} and {} differ, but are the same unit: remove the one that does not belong here", one.display(), other.display())]
    Mixture {
        /// A file.
        one: PathBuf,
        /// Another.
        other: PathBuf,
    },
    /// Units of another plan lie among those to merge.
    #[error("{}: this unit is of another plan: merge the units of one plan, or move it away", path.display())]
    Foreign {
        /// The first such file.
        path: PathBuf,
    },
}

impl ShardError {
    /// Whether the task was stopped, which is nobody's fault.
    ///
    /// ```
    /// use labelwood::{run::Stopped, shard::ShardError};
    /// assert!(ShardError::from(Stopped::Cancelled).is_cancelled());
    /// assert!(!ShardError::NoShards.is_cancelled());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        matches!(
            self,
            ShardError::Stopped(_)
                | ShardError::Store(StoreError::Stopped(_))
                | ShardError::Train(
                    TrainError::Stopped { .. } | TrainError::Store(StoreError::Stopped(_))
                )
        )
    }

    pub(super) fn content(folder: &Path, reason: String) -> Self {
        ShardError::Content { path: folder.join(super::PLAN), reason }
    }
}

/// The units that are not there, and the files that are not what they should be.
fn lacking(missing: &[String], damaged: &[PathBuf]) -> String {
    let damaged: Vec<String> = damaged.iter().map(|path| path.display().to_string()).collect();
    let told = [listed(missing, "missing"), listed(&damaged, "damaged")];
    told.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

/// Names, the first few if they are many, and what they are.
fn listed(names: &[String], what: &str) -> Option<String> {
    const NAMED: usize = 5;
    let some = names[..names.len().min(NAMED)].join(", ");
    match names.len() {
        0 => None,
        1 => Some(format!("{some} is {what}")),
        count if count <= NAMED => Some(format!("{some} are {what}")),
        count => Some(format!("{some} and {} others are {what}", count - NAMED)),
    }
}

fn shards_text(shards: &[usize]) -> String {
    let numbers: Vec<String> = shards.iter().map(usize::to_string).collect();
    match shards.len() {
        0 => String::new(),
        1 => format!("; run shard {}", numbers[0]),
        _ => format!("; run shards {}", numbers.join(", ")),
    }
}
