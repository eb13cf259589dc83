//! The folder of a tuning: what is tried, and the trials that are finished.

use super::{Plan, TrialError};
use crate::base::words::plural;
use crate::search::folder::{Folder, PLAN, damaged, first_difference, first_name, occupied};
use crate::search::trial::Trial;
use serde_json::Value;
use std::path::Path;

/// What such a folder is called.
const KIND: &str = "tuning";
/// The folder of the trials of ways to read text, within that of a tuning.
pub(in crate::search) const TEXT: &str = "text";

/// Where the finished trials of a tuning are kept.
pub(super) struct Trials(Folder);

impl Trials {
    /// Makes the folder, or goes on with one of the same plan.
    pub(super) fn open(path: &Path, plan: &Plan) -> Result<Trials, TrialError> {
        let mut own = path.to_owned();
        if plan.text.is_some() {
            // The settings of an algorithm are tuned in the folder itself, afterwards.
            if path.is_file() {
                return Err(occupied(path, KIND, "a file"));
            }
            if !path.join(PLAN).exists()
                && let Some(found) = first_name(path)?
            {
                return Err(occupied(path, KIND, &found));
            }
            own.push(TEXT);
        }
        Folder::open(&own, KIND, &plan.written(), difference).map(Trials)
    }

    /// A finished trial, if it is there, of so many rows.
    pub(super) fn find(&self, place: Place, rows: usize) -> Result<Option<Trial>, TrialError> {
        let name = place.name();
        match self.0.find::<Trial>(&name)? {
            Some(trial) if trial.hits.len() != rows => Err(damaged(
                &self.0.file(&name),
                format!("it has {} rather than {rows}", plural(trial.hits.len(), "row")),
            )),
            other => Ok(other),
        }
    }

    /// Keeps a finished trial.
    pub(super) fn keep(&self, place: Place, trial: &Trial) -> Result<(), TrialError> {
        self.0.keep(&place.name(), trial)
    }
}

/// Which trial.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub round: usize,
    pub candidate: usize,
    pub fold: usize,
}

impl Place {
    /// The name of its file; everything is counted from 1, as in the table.
    fn name(self) -> String {
        let Place { round, candidate, fold } = self;
        format!("round-{}-candidate-{:02}-fold-{}.json", round + 1, candidate + 1, fold + 1)
    }
}

/// The first thing that two plans differ in.
fn difference(found: &Value, wanted: &Value) -> Option<String> {
    let names = ["data", "algorithm", "measure", "folds", "start", "candidates"];
    let name = names.into_iter().find(|&name| found.get(name) != wanted.get(name))?;
    Some(match name {
        "data" => "it was begun with other data".to_owned(),
        "algorithm" | "measure" | "folds" => {
            let shown = |plan: &Value| match &plan[name] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            format!("{name} was {}, but is {} now", shown(found), shown(wanted))
        }
        "start" => {
            let setting = first_difference(&found[name], &wanted[name]);
            format!("the setting {} was another", setting.unwrap_or_default())
        }
        _ => "it tries other settings".to_owned(),
    })
}
