//! The folder of a tuning: what is tried, and the trials that are finished.

use super::{Plan, TuneError};
use crate::base::words::plural;
use crate::data::write_own;
use crate::search::trial::Trial;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file that says what the trials beside it belong to.
const PLAN: &str = "plan.json";
/// The folder of the trials.
const TRIALS: &str = "trials";
/// The folder of the same for ways to read text.
const TEXT: &str = "text";

/// Where finished trials are kept.
pub(super) struct Folder {
    trials: PathBuf,
}

impl Folder {
    /// Makes the folder, or goes on with one of the same plan.
    pub(super) fn open(path: &Path, plan: &Plan) -> Result<Folder, TuneError> {
        let failed = |source| TuneError::Io { path: path.to_owned(), source };
        let refused = |why: String| Err(TuneError::Refused(format!("{}: {why}", path.display())));
        let occupied =
            |by: &str| refused(format!("this is no tuning but holds {by}; choose another folder"));
        if fs::metadata(path).is_ok_and(|found| !found.is_dir()) {
            return occupied("a file");
        }
        let mut own = path.to_owned();
        if plan.text.is_some() {
            // The settings of an algorithm are tuned in the folder itself, afterwards.
            if !path.join(PLAN).exists()
                && let Some(found) = first_name(path).map_err(failed)?
            {
                return occupied(&found);
            }
            own.push(TEXT);
        }
        fs::create_dir_all(&own).map_err(failed)?;
        let written = plan.written();
        if let Some(found) = read(&own.join(PLAN))? {
            if let Some(difference) = difference(&found, &written) {
                return refused(format!(
                    "another tuning is here: {difference}; repeat its data and settings, or choose \
                     another folder"
                ));
            }
        } else if let Some(found) = first_name(&own).map_err(failed)? {
            return occupied(&found);
        } else {
            write(&own.join(PLAN), &written)?;
        }
        Ok(Folder { trials: own.join(TRIALS) })
    }

    /// A finished trial, if it is there, of so many rows.
    pub(super) fn find(&self, place: Place, rows: usize) -> Result<Option<Trial>, TuneError> {
        let path = self.trials.join(place.name());
        match read::<Trial>(&path)? {
            Some(trial) if trial.hits.len() != rows => Err(damaged(
                &path,
                format!("it has {} rather than {rows}", plural(trial.hits.len(), "row")),
            )),
            other => Ok(other),
        }
    }

    /// Keeps a finished trial.
    pub(super) fn keep(&self, place: Place, trial: &Trial) -> Result<(), TuneError> {
        fs::create_dir_all(&self.trials)
            .map_err(|source| TuneError::Io { path: self.trials.clone(), source })?;
        write(&self.trials.join(place.name()), trial)
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

/// Something that is in a folder, if it is there, but for what an ended process left of the plan, and ways
/// to read text.
fn first_name(folder: &Path) -> io::Result<Option<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.starts_with(".plan.json.") && name != TEXT {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// What stands in a file, if there is one.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, TuneError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(TuneError::Io { path: path.to_owned(), source }),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| damaged(path, error.to_string()))
}

fn damaged(path: &Path, reason: String) -> TuneError {
    let path = path.display();
    TuneError::Refused(format!(
        "{path}: this file is damaged: {reason}; delete it, and what it held is tried again"
    ))
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), TuneError> {
    Ok(write_own(path, |output| {
        serde_json::to_writer(&mut *output, value)?;
        writeln!(output)
    })?)
}

/// The first thing that two plans differ in.
fn difference(found: &serde_json::Value, wanted: &serde_json::Value) -> Option<String> {
    let names = ["data", "algorithm", "measure", "folds", "start", "candidates"];
    let name = names.into_iter().find(|&name| found.get(name) != wanted.get(name))?;
    Some(match name {
        "data" => "it was begun with other data".to_owned(),
        "algorithm" | "measure" | "folds" => {
            let shown = |plan: &serde_json::Value| match &plan[name] {
                serde_json::Value::String(text) => text.clone(),
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

/// The first setting of which two lists have different values.
fn first_difference(found: &serde_json::Value, wanted: &serde_json::Value) -> Option<String> {
    wanted.as_object()?.iter().find(|(name, value)| found.get(name) != Some(value)).map(
        |(name, value)| match first_difference(&found[name], value) {
            Some(inner) => format!("{name}.{inner}"),
            None => name.clone(),
        },
    )
}
