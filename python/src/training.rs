//! Trainings that Python asks for: in memory, into a folder, within limits.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use labelwood::Settings;
use labelwood::app::TrainingNeed;
use labelwood::data::DatasetView;
use labelwood::model::{
    Limits, Model as Inner, TrainError, TrainOptions, train_with, train_within,
};
use labelwood::run::Task;
use labelwood::settings::{Favour, Kind};
use labelwood::store::{Load, Options, Start, StoreError, Stored};
use labelwood::words::plural;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use serde_json::Value;

use crate::errors::{Fault, OrRaise, in_python, refuse};

/// An algorithm's name, its settings as JSON, whether scores are made probabilities, which labels are
/// favoured, whether a threshold is learned, and whether the model holds its rows.
#[derive(FromPyObject)]
pub struct Learner(PyBackedStr, PyBackedStr, bool, PyBackedStr, bool, bool);

impl Learner {
    /// The algorithm, and what its model holds besides.
    pub fn parts(&self, py: Python<'_>) -> PyResult<(Settings, TrainOptions<'static>)> {
        let &Learner(ref algorithm, ref values, calibrate, ref favour, threshold, keep_rows) = self;
        let settings = parse(py, algorithm, values)?;
        let name = serde_json::Value::from(&**favour);
        let favoured = serde_json::from_value(name).map_err(|_| {
            let known = Favour::NAMES.join(" or ");
            refuse(py, format!("favour is {favour:?}, but must be {known}"))
        })?;
        let options =
            TrainOptions { text: None, calibrate, threshold, favour: favoured, keep_rows };
        Ok((settings, options))
    }
}

/// Bytes that a label takes whether or not a row has it: among an estimator's `classes_`, and in the
/// counts and offsets of the library, which it makes before it can estimate anything.
const LABEL: u64 = 32;

/// Where a model is learned, if not in memory.
#[derive(FromPyObject)]
pub enum Into {
    /// In a folder, and whether what is there is replaced. A training of the same rows and settings
    /// that was stopped goes on there otherwise.
    Folder(PathBuf, bool),
    /// In a temporary folder, if it takes at least so many bytes by the estimate.
    DiskFrom(u64),
}

/// Where a model goes, the seconds and the bytes that it may take, and the bytes of memory that there are:
/// what needs more is refused.
#[derive(FromPyObject)]
pub struct Bounds(Option<Into>, Option<f64>, Option<u64>, Option<u64>);

/// The share of a budget after which nothing is begun any more that would end later.
const PLANNED: f64 = 0.96;
/// How much later than that, as a share of the budget and besides, a training may become before what is
/// unfinished is given up.
const LATE: f64 = 0.09;
const GRACE: Duration = Duration::from_secs(1);

impl Bounds {
    /// The limits of a training that begins now, if it has any.
    pub fn limits(&self) -> Option<Limits> {
        let &Bounds(_, seconds, bytes, _) = self;
        let budget =
            seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default());
        (seconds.is_some() || bytes.is_some()).then(|| Limits {
            until: budget.map(|budget| Instant::now() + budget.mul_f64(PLANNED)),
            grace: budget.map_or(Duration::ZERO, |budget| budget.mul_f64(LATE) + GRACE),
            bytes,
        })
    }
}

/// Trains in memory, or into a folder, which is then mapped.
pub fn learn(
    dataset: DatasetView<'_>,
    options: TrainOptions<'_>,
    settings: &Settings,
    bounds: Bounds,
    task: &Task,
) -> Result<Inner, Fault> {
    let (limits, Bounds(into, _, _, memory)) = (bounds.limits(), bounds);
    let labels = dataset.labels.columns();
    refuse_more(labels as u64 * LABEL, memory, labels)?;
    let whole = TrainingNeed {
        calibrate: options.calibrate,
        threshold: options.threshold,
        reader: options.text,
        ..TrainingNeed::new(dataset, settings, task.threads())
    };
    let narrowed = memory.and_then(|memory| whole.narrowed(memory));
    let settings = narrowed.as_ref().unwrap_or(settings);
    let estimate = settings.estimate(dataset, task.threads());
    let on_disk = match &into {
        Some(Into::Folder(..)) => true,
        Some(Into::DiskFrom(least)) => cfg!(unix) && estimate.model >= *least,
        None => false,
    };
    let need = TrainingNeed {
        calibrate: options.calibrate,
        threshold: options.threshold,
        keeps_model: !on_disk,
        reader: options.text,
        ..TrainingNeed::new(dataset, settings, task.threads())
    };
    refuse_more(need.bytes(), memory, labels)?;
    if let Some(limits) = limits {
        return learn_within(dataset, options, settings, limits, into, task);
    }
    if let Some(Into::Folder(folder, overwrite)) = into {
        let start = Start { resume: !overwrite, overwrite };
        train_with(dataset, options, settings, &folder, start, task)?;
        return Ok(Inner::open(&folder, Options::default(), task)?);
    }
    if on_disk && let Some(model) = learn_on_disk(dataset, options, settings, task)? {
        return Ok(model);
    }
    Ok(Inner::train(dataset, options, settings, task)?)
}

/// Trains within limits, into a folder or a temporary one.
fn learn_within(
    dataset: DatasetView<'_>,
    options: TrainOptions<'_>,
    settings: &Settings,
    limits: Limits,
    into: Option<Into>,
    task: &Task,
) -> Result<Inner, Fault> {
    let learn = |folder: &Path, start| -> Result<(), Fault> {
        train_within(dataset, options, settings, limits, folder, start, task)?;
        Ok(())
    };
    match into {
        Some(Into::Folder(folder, overwrite)) => {
            learn(&folder, Start { resume: !overwrite, overwrite })?;
            Ok(Inner::open(&folder, Options::default(), task)?)
        }
        _ => in_temporary(|folder| learn(folder, Start::default()), task),
    }
}

/// The model that some work writes into a temporary folder, which goes as soon as its files are mapped.
pub fn in_temporary(
    write: impl FnOnce(&Path) -> Result<(), Fault>,
    task: &Task,
) -> Result<Inner, Fault> {
    let temporary = tempfile::Builder::new().prefix("labelwood-").tempdir()?;
    let folder = temporary.path().join("model");
    write(&folder)?;
    // Elsewhere than on Unix, files that are mapped cannot be removed.
    let load = if cfg!(unix) { Load::Map } else { Load::Copy };
    let options = Options { load, verify: false };
    let stored = Stored::open(&folder, options, task)?.without_folder();
    Ok(Inner::read(stored, task)?)
}

/// Refuses a training that needs more bytes than there are.
pub fn refuse_more(needed: u64, memory: Option<u64>, labels: usize) -> Result<(), Fault> {
    let Some(memory) = memory.filter(|&memory| needed > memory) else { return Ok(()) };
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    Err(Fault::Machine(format!(
        "the training with {} needs {:.1} GB of memory or more, but this machine, \
         or its container, has {:.1}: give it fewer labels or rows, or fewer threads (n_jobs=1)",
        plural(labels, "label"),
        gigabytes(needed),
        gigabytes(memory),
    )))
}

/// Trains into a temporary folder and maps what it holds; none if there is no room for it.
///
/// The folder goes as soon as the files are mapped, which keeps what they hold: nothing is left
/// behind, however the process ends later.
fn learn_on_disk(
    dataset: DatasetView<'_>,
    options: TrainOptions<'_>,
    settings: &Settings,
    task: &Task,
) -> Result<Option<Inner>, Fault> {
    let Ok(temporary) = tempfile::Builder::new().prefix("labelwood-").tempdir() else {
        return Ok(None);
    };
    let folder = temporary.path().join("model");
    match train_with(dataset, options, settings, &folder, Start::default(), task) {
        Ok(_) => {
            let options = Options { verify: false, ..Options::default() };
            let stored = Stored::open(&folder, options, task)?.without_folder();
            Ok(Some(Inner::read(stored, task)?))
        }
        Err(TrainError::Store(StoreError::Io { source, .. })) => {
            let place = temporary.path().parent().unwrap_or(temporary.path());
            tracing::warn!("{}: {source}; the model is learned in memory instead", place.display());
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// An algorithm and its settings, checked.
pub fn parse(py: Python<'_>, algorithm: &str, values: &str) -> PyResult<Settings> {
    let values: Value = serde_json::from_str(values).or_raise(py)?;
    let Some(known) = Settings::named(algorithm) else {
        return Err(refuse(py, format!("{algorithm} is no algorithm")));
    };
    check_types(py, &known, &values, "")?;
    for part in values["parts"].as_array().into_iter().flatten() {
        let name = part["algorithm"].as_str().unwrap_or_default();
        if let Some(known) = Settings::named(name) {
            check_types(py, &known, part, &format!(" of {name}"))?;
        }
    }
    let settings = known.parse(values).map_err(|reason| refuse(py, reason))?;
    settings.check().or_raise(py)?;
    Ok(settings)
}

/// Refuses the first value that its setting may not have, as Python writes it.
fn check_types(py: Python<'_>, known: &Settings, values: &Value, whose: &str) -> PyResult<()> {
    for setting in known.table() {
        let Some(value) = values.get(setting.name) else { continue };
        if setting.check(value).is_err() {
            let found = in_python(value);
            let expected = match setting.kind {
                Kind::Flag => "True or False".to_owned(),
                ref kind => kind.to_string(),
            };
            let or_none = if setting.is_optional { ", or None" } else { "" };
            let name = setting.name;
            let text = format!("{name}{whose} is {found}, but must be {expected}{or_none}");
            return Err(refuse(py, text));
        }
    }
    Ok(())
}
