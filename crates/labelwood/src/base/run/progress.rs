//! How far a task has come, as events that a caller can tell apart.

use std::fmt;

/// How far a stage has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// How many of its pieces are finished.
    pub done: u64,
    /// How many there are in all.
    pub total: u64,
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
