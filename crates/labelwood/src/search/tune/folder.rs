//! The folder of a tuning: what is tried, and the trials that are finished.

use super::{Plan, TrialError};
use crate::search::folder::{Folder, PLAN, first_difference, first_name, occupied};
use serde_json::Value;
use std::path::Path;

/// What such a folder is called.
const KIND: &str = "tuning";
/// The folder of the trials of ways to read text, within that of a tuning.
pub(in crate::search) const TEXT: &str = "text";

/// Makes the folder of a tuning, or goes on with one of the same plan.
pub(super) fn open(path: &Path, plan: &Plan) -> Result<Folder, TrialError> {
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
    Folder::open(&own, KIND, &plan.written(), difference)
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
    pub(super) fn name(self) -> String {
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
