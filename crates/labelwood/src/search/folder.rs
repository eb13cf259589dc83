//! A folder of trials: what is tried, and what came of the trials that are finished.

use super::error::TrialError;
use crate::data::write_own;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file that says what the trials beside it belong to.
pub(super) const PLAN: &str = "plan.json";
/// The folder of the trials.
const TRIALS: &str = "trials";

/// Where finished trials are kept.
pub(super) struct Folder {
    trials: PathBuf,
}

impl Folder {
    /// Makes the folder, or goes on with one of the same plan; `kind` is what such a folder is, and
    /// `difference` the first thing that a plan there and this one differ in.
    pub(super) fn open(
        path: &Path,
        kind: &str,
        plan: &Value,
        difference: impl FnOnce(&Value, &Value) -> Option<String>,
    ) -> Result<Folder, TrialError> {
        if fs::metadata(path).is_ok_and(|found| !found.is_dir()) {
            return Err(occupied(path, kind, "a file"));
        }
        fs::create_dir_all(path).map_err(|source| failed(path, source))?;
        if let Some(found) = read(&path.join(PLAN))? {
            if let Some(difference) = difference(&found, plan) {
                let path = path.display();
                return Err(TrialError::Refused(format!(
                    "{path}: another {kind} is here: {difference}; repeat its data and settings, or \
                     choose another folder"
                )));
            }
        } else if let Some(found) = first_name(path)? {
            return Err(occupied(path, kind, &found));
        } else {
            write(&path.join(PLAN), plan)?;
        }
        Ok(Folder { trials: path.join(TRIALS) })
    }

    /// The file of a trial.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.trials.join(name)
    }
}

/// The finished trial of this name if it is there, or else a new one, which is kept if there is a folder.
pub(super) fn found_or<T: Serialize + DeserializeOwned>(
    folder: Option<&Folder>,
    name: &str,
    try_out: impl FnOnce() -> Result<T, TrialError>,
) -> Result<T, TrialError> {
    let Some(folder) = folder else { return try_out() };
    if let Some(found) = read(&folder.file(name))? {
        return Ok(found);
    }
    let trial = try_out()?;
    fs::create_dir_all(&folder.trials).map_err(|source| failed(&folder.trials, source))?;
    write(&folder.file(name), &trial)?;
    Ok(trial)
}

fn failed(path: &Path, source: io::Error) -> TrialError {
    TrialError::Io { path: path.to_owned(), source }
}

/// A folder that holds something else.
pub(super) fn occupied(path: &Path, kind: &str, by: &str) -> TrialError {
    let path = path.display();
    TrialError::Refused(format!("{path}: this is no {kind} but holds {by}; choose another folder"))
}

/// A file that does not hold what it should.
pub(super) fn damaged(path: &Path, reason: String) -> TrialError {
    let path = path.display();
    TrialError::Refused(format!(
        "{path}: this file is damaged: {reason}; delete it, and what it held is tried again"
    ))
}

/// Something that is in a folder, if it is there, but for what an ended process left of the plan, and a
/// folder of the trials of text.
pub(super) fn first_name(folder: &Path) -> Result<Option<String>, TrialError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries.map_err(|source| failed(folder, source))?,
    };
    for entry in entries {
        let entry = entry.map_err(|source| failed(folder, source))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(".plan.json.") && name != super::tune::TEXT {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// What stands in a file, if there is one.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, TrialError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(path, source)),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| damaged(path, error.to_string()))
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), TrialError> {
    Ok(write_own(path, |output| {
        serde_json::to_writer(&mut *output, value)?;
        writeln!(output)
    })?)
}

/// The first setting of which two lists have different values.
pub(super) fn first_difference(found: &Value, wanted: &Value) -> Option<String> {
    wanted.as_object()?.iter().find(|(name, value)| found.get(name) != Some(value)).map(
        |(name, value)| match first_difference(&found[name], value) {
            Some(inner) => format!("{name}.{inner}"),
            None => name.clone(),
        },
    )
}
