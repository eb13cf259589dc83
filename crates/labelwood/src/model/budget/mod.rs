//! Training within limits: trees are added while there is time and room for them.
//!
//! What fits is known only at the end, so the settings in the manifest are those of what was grown:
//! a training with these settings and without limits gives the same bytes.

use super::{TrainError, TrainJob, TrainOptions, Trained, job, options as training_options};
use crate::algorithms::{Budget, GrowError, Limits, Settings, UnitSink};
use crate::base::run::{Stopped, Task};
use crate::base::settings::ParamError;
use crate::base::store::{Begin, Manifest, Staging, Start, StoreError, Training};
use crate::data::DatasetView;
use serde_json::Value;
use std::path::Path;

/// The setting that marks an unfinished training within limits.
const MARK: &str = "within_limits";

/// Trains a model of at most the size that `algorithm` says into the folder `target`: trees are
/// added, in order, while the limits allow it. The settings in the manifest are those of what was
/// grown, and give the same model again without limits.
///
/// Only algorithms that [grow](crate::algorithms::Facts::grows) can be stopped at any time. A grove
/// leaves out the parts for which there is no time or room.
///
/// ```
/// use labelwood::data::{Dataset, generate::{Generator, Profile}};
/// use labelwood::Settings;
/// use labelwood::model::{Limits, Trained, train_within};
/// use labelwood::run::Pool;
/// let task = Pool::new(2)?.task();
/// let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
/// let (features, labels) = Generator::new(profile, 1)?.rows(0..200, &task)?;
/// let dataset = Dataset { features, labels, label_names: None, named: None };
/// let folder = tempfile::tempdir()?;
/// let settings = Settings::named("craftml").expect("it is an algorithm");
/// let limits = Limits { bytes: Some(300_000), ..Limits::default() };
/// let path = folder.path().join("model");
/// let trained = train_within(&dataset, Default::default(), &settings, limits, &path, Default::default(), &task)?;
/// let Trained::Written(manifest) = trained else { unreachable!() };
/// assert!(manifest.bytes() <= 300_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn train_within<'a>(
    dataset: impl Into<DatasetView<'a>>,
    options: TrainOptions<'a>,
    settings: &Settings,
    limits: Limits,
    target: &Path,
    start: Start,
    task: &Task,
) -> Result<Trained, TrainError> {
    let dataset = dataset.into();
    check(settings, options)?;
    let job = TrainJob::within_limits(dataset, options, settings, task)?;
    let partial = match begin(target, &job, start)? {
        Begin::Work(partial) => partial,
        Begin::Finished(manifest) => return Ok(Trained::AlreadyThere(manifest)),
    };
    let units = UnitSink::resume(&partial, task)?;
    let grow = || {
        let task = &task.until(limits.until.map(|until| until + limits.grace));
        job.write_common(&units, task)?;
        let common: Vec<String> = job::common_units().collect();
        let others = units.bytes(common.iter().map(String::as_str));
        // The manifest, the weights of features, and the ranker of a grove.
        let more = limits
            .bytes
            .map_or(0, |bytes| 16 * 1024 + bytes / 32 + 4 * dataset.features.columns() as u64);
        let budget = Budget { limits, others: others + more, labels: dataset.labels.columns() };
        let grown = job.trainer().train_within(&budget, &units, task);
        grown.map_err(|error| job.failed(error, &units))
    };
    let grown = match grow() {
        // The time may also be up while the labels or the text are written.
        Err(TrainError::Store(StoreError::Stopped(Stopped::Late))) => {
            return Err(job.failed(GrowError::TimeUp, &units));
        }
        grown => grown?,
    };
    let training = training_options::describe(dataset, options, &grown);
    let manifest = job::manifest(dataset, training, &grown, &units)?;
    partial.commit(&manifest)?;
    Ok(Trained::Written(manifest))
}

/// What an unfinished training within limits into the folder `target` was begun with, if there is one.
///
/// A choice that was made by measuring may turn out otherwise the next time; a training that is to
/// be resumed goes on with this one.
pub fn unfinished(target: &Path) -> Result<Option<Training>, StoreError> {
    let Some(mut training) = Staging::training(target)? else { return Ok(None) };
    let is_limited = training.settings.as_object_mut().and_then(|map| map.remove(MARK)).is_some();
    Ok(Some(training).filter(|training| is_limited && job::parsed(training).is_ok()))
}

/// Refuses what cannot be stopped at any time.
fn check(settings: &Settings, options: TrainOptions<'_>) -> Result<(), ParamError> {
    settings.check()?;
    if options.calibrate {
        let expected =
            "left out of a training within limits; a grove's scores are probabilities without";
        return Err(ParamError::new("calibrate", true, expected));
    }
    if options.needed_with(settings).threshold {
        let expected = "left out of a training within limits; a grove learns it without";
        return Err(ParamError::new("threshold", true, expected));
    }
    if settings.facts().grows.is_none() {
        let growing = Settings::all().filter(|one| one.facts().grows.is_some());
        let names: Vec<&str> = growing.map(|one| one.name()).collect();
        let expected = format!(
            "auto or one of {} if it is to stay within limits: only these can have fewer trees",
            names.join(", ")
        );
        return Err(ParamError::new("algorithm", settings.name(), expected));
    }
    Ok(())
}

/// Starts, or takes up an unfinished training within limits, or finds what an earlier one made.
fn begin(target: &Path, job: &TrainJob<'_>, start: Start) -> Result<Begin, StoreError> {
    let training = job.training();
    let mut marked = training.clone();
    if let Value::Object(settings) = &mut marked.settings {
        settings.insert(MARK.to_owned(), true.into());
    }
    if start.resume
        && let Ok(Manifest { training: found, .. }) = Manifest::read(target)
    {
        let Training { algorithm, settings, .. } = found.clone();
        let is_ours = job::parsed(&found).is_ok_and(|found| job.settings().may_become(&found));
        if is_ours && found == (Training { algorithm, settings, ..training }) {
            return Staging::begin(target, &found, start);
        }
    }
    Staging::begin(target, &marked, start)
}

#[cfg(test)]
mod tests;
