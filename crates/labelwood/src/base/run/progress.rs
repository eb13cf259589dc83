//! How far a task has come, as events that a caller can tell apart.

use std::fmt;
use std::ops::Range;

/// How far a stage has come, and with it the whole task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// How many of its pieces are finished.
    pub done: u64,
    /// How many there are in all.
    pub total: u64,
    /// Which part of the work this is, such as an algorithm of a grove.
    pub part: Option<&'static str>,
    /// How much of the whole task is done, about, from 0 to 1: stages have shares of it that follow from
    /// what they cost.
    pub overall: f64,
}

/// What a task is doing, by what is counted meanwhile.
///
/// ```
/// use labelwood::run::Stage;
/// assert_eq!(Stage::Units("trees").to_string(), "trees");
/// // The same name, but these are not kept when the task is stopped.
/// assert_ne!(Stage::Steps("trees"), Stage::Units("trees"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Rows that are predicted or drawn.
    Rows,
    /// The units of a model, such as `trees`, which a stopped training into a folder keeps.
    Units(&'static str),
    /// Pieces of work that a stopped task does not keep, such as the `ranker` of a grove.
    Steps(&'static str),
    /// The trials of a search for settings.
    Trials,
    /// Rows that are written to a file.
    Writing,
}

impl Progress {
    /// The progress of a task that has one stage.
    pub fn new(stage: Stage, done: u64, total: u64) -> Self {
        Scope::default().progress(stage, done, total)
    }
}

impl Stage {
    /// The name to show.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Rows => "rows",
            Stage::Units(name) | Stage::Steps(name) => name,
            Stage::Trials => "trials",
            Stage::Writing => "writing",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Where in a whole task some work stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    /// How much of the whole is done before and after it.
    start: f64,
    end: f64,
    part: Option<&'static str>,
    /// The stage of which this work is a piece, with the finished pieces and all.
    piece_of: Option<(Stage, u64, u64)>,
}

impl Default for Scope {
    fn default() -> Self {
        Scope { start: 0.0, end: 1.0, part: None, piece_of: None }
    }
}

impl Scope {
    pub(super) fn share(self, share: Range<f64>) -> Self {
        let at = |share: f64| self.start + (self.end - self.start) * share.clamp(0.0, 1.0);
        Scope { start: at(share.start), end: at(share.end), ..self }
    }

    pub(super) fn part(self, name: &'static str) -> Self {
        Scope { part: if self.piece_of.is_some() { self.part } else { Some(name) }, ..self }
    }

    pub(super) fn piece_of(self, stage: Stage, done: u64, total: u64) -> Self {
        Scope { piece_of: self.piece_of.or(Some((stage, done, total))), ..self }
    }

    pub(super) fn progress(self, stage: Stage, done: u64, total: u64) -> Progress {
        let share = if total == 0 { 1.0 } else { done as f64 / total as f64 };
        let overall = self.share(0.0..share).end;
        let (stage, done, total) = self.piece_of.unwrap_or((stage, done, total));
        Progress { stage, done, total, part: self.part, overall }
    }
}
