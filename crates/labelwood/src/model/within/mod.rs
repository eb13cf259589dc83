//! Training within limits: trees are added while there is time and room for them.
//!
//! What fits is known only at the end, so the settings in the manifest are those of what was grown:
//! a training with these settings and without limits gives the same bytes. A grove's blend depends
//! on how large the parts are, so it is learned last; time is kept for it if there is enough once
//! the first label tree is grown, and else it is the default blend.

mod pace;

use super::store::{Begin, Manifest, Staging, Start, StoreError, Training};
use super::units::Units;
use super::{Algorithm, Extras, TrainError, Trained, check_rows, describe, manifest, write_others};
use crate::base::run::{Stopped, Task};
use crate::base::settings::ParamError;
use crate::data::{Dataset, DatasetView};
use pace::Pace;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// The setting that marks an unfinished training within limits.
const MARK: &str = "within_limits";

/// What a training may take.
///
/// ```
/// use labelwood::model::Limits;
/// use std::time::{Duration, Instant};
/// let limits = Limits { until: Some(Instant::now() + Duration::from_secs(60)), ..Limits::default() };
/// assert_eq!(limits.bytes, None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// When the model is to be in place.
    pub until: Option<Instant>,
    /// How much later that may become before what is unfinished is given up.
    pub grace: Duration,
    /// The most bytes of the model's files.
    pub bytes: Option<u64>,
}

impl Limits {
    /// When what is unfinished is given up.
    fn latest(&self) -> Option<Instant> {
        self.until.map(|until| until + self.grace)
    }
}

/// Trains a model of at most the size that `algorithm` says into the folder `target`: trees are
/// added, in order, while the limits allow it. The settings in the manifest are those of what was
/// grown, and give the same model again without limits.
///
/// Only algorithms that consist of trees can be stopped at any time: craftml, label-tree and grove,
/// which becomes craftml if there is no time or room for a label tree.
///
/// ```
/// use labelwood::data::{Dataset, generate::{Generator, Profile}};
/// use labelwood::model::{Algorithm, Limits, Trained, train_within};
/// use labelwood::run::Pool;
/// let run = Pool::new(2)?.task();
/// let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
/// let (features, labels) = Generator::new(profile, 1)?.rows(0..200, &run)?;
/// let dataset = Dataset { features, labels, label_names: None };
/// let folder = tempfile::tempdir()?;
/// let algorithm = Algorithm::preset("craftml", "default").expect("it is a preset");
/// let limits = Limits { bytes: Some(300_000), ..Limits::default() };
/// let path = folder.path().join("model");
/// let trained = train_within(&dataset, Default::default(), &algorithm, limits, &path, Default::default(), &run)?;
/// let Trained::Written(manifest) = trained else { unreachable!() };
/// assert!(manifest.bytes() <= 300_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn train_within(
    dataset: &Dataset,
    extras: Extras<'_>,
    algorithm: &Algorithm,
    limits: Limits,
    target: &Path,
    start: Start,
    run: &Task,
) -> Result<Trained, TrainError> {
    let dataset = dataset.view();
    check_rows(dataset)?;
    let planned = resolve(algorithm, extras, dataset)?;
    let partial = match begin(target, describe(dataset, extras, &planned), &planned, start)? {
        Begin::Work(partial) => partial,
        Begin::Finished(manifest) => return Ok(Trained::AlreadyThere(manifest)),
    };
    let units = Units::take_up(&partial, run)?;
    let grow = || {
        let run = &run.until(limits.latest());
        write_others(dataset, extras, &units, run)?;
        let mut pace = Pace::new(dataset, &units, limits, run);
        match &planned {
            Algorithm::CraftMl(params) => pace.forest_alone(params),
            Algorithm::LabelTree(params) => pace.label_trees_alone(params),
            Algorithm::Grove(params) => pace.grove(params),
            _ => Err(no_trees(&planned).into()),
        }
    };
    let algorithm = match grow() {
        Err(TrainError::Stopped { finished, units, source: Stopped::Late, .. }) => {
            return Err(TrainError::TimeUp { finished, units });
        }
        grown => grown?,
    };
    let training = describe(dataset, extras, &algorithm);
    let manifest = manifest(dataset, training, &algorithm, &units);
    partial.commit(&manifest)?;
    Ok(Trained::Written(manifest))
}

/// The algorithm of an unfinished training within limits into the folder `target`, if there is one.
///
/// A choice that was made by measuring may turn out otherwise the next time; a training that is to
/// be resumed goes on with this one.
pub fn unfinished(target: &Path) -> Result<Option<Algorithm>, StoreError> {
    let Some(mut training) = Staging::training(target)? else { return Ok(None) };
    let is_limited = training.settings.as_object_mut().and_then(|map| map.remove(MARK)).is_some();
    let algorithm = Algorithm::from_settings(&training.algorithm, training.settings);
    Ok(algorithm.ok().filter(|_| is_limited))
}

/// The algorithm with every automatic choice made, if it can be stopped at any time.
fn resolve(
    algorithm: &Algorithm,
    extras: Extras<'_>,
    dataset: DatasetView<'_>,
) -> Result<Algorithm, ParamError> {
    algorithm.check()?;
    if extras.calibrate {
        return Err(ParamError {
            setting: "calibrate",
            found: "true".to_owned(),
            expected: "left out of a training within limits; a grove's scores are probabilities without",
        });
    }
    let DatasetView { features, labels, .. } = dataset;
    match algorithm.clone().favouring(extras.favour) {
        Algorithm::CraftMl(params) => Ok(Algorithm::CraftMl(params.resolve(features, labels))),
        Algorithm::LabelTree(params) => Ok(Algorithm::LabelTree(params.resolve(features, labels))),
        Algorithm::Grove(params) => Ok(Algorithm::Grove(params.resolve(features, labels))),
        other => Err(no_trees(&other)),
    }
}

fn no_trees(algorithm: &Algorithm) -> ParamError {
    ParamError {
        setting: "algorithm",
        found: algorithm.name().to_owned(),
        expected: "auto, grove, craftml or label-tree if it is to stay within limits: only these can \
                   have fewer trees",
    }
}

/// Starts, or takes up an unfinished training within limits, or finds what an earlier one made.
fn begin(
    target: &Path,
    training: Training,
    planned: &Algorithm,
    start: Start,
) -> Result<Begin, StoreError> {
    let mut marked = training.clone();
    if let Value::Object(settings) = &mut marked.settings {
        settings.insert(MARK.to_owned(), true.into());
    }
    if start.resume
        && let Ok(Manifest { training: found, .. }) = Manifest::read(target)
    {
        let Training { algorithm, settings, .. } = found.clone();
        let is_ours = Algorithm::from_settings(&algorithm, settings.clone())
            .is_ok_and(|algorithm| may_become(planned, &algorithm));
        if is_ours && found == (Training { algorithm, settings, ..training }) {
            return Staging::begin(target, &found, start);
        }
    }
    Staging::begin(target, &marked, start)
}

/// Whether limits may have made the one algorithm the other.
fn may_become(planned: &Algorithm, found: &Algorithm) -> bool {
    match (planned.clone(), found) {
        (Algorithm::CraftMl(mut planned), Algorithm::CraftMl(found)) => {
            planned.trees = planned.trees.min(found.trees);
            planned == *found
        }
        (Algorithm::LabelTree(mut planned), Algorithm::LabelTree(found)) => {
            planned.trees = planned.trees.min(found.trees);
            planned == *found
        }
        (Algorithm::Grove(planned), Algorithm::CraftMl(_)) => {
            may_become(&Algorithm::CraftMl(planned.forest), found)
        }
        (Algorithm::Grove(mut planned), Algorithm::Grove(found)) => {
            planned.forest.trees = planned.forest.trees.min(found.forest.trees);
            planned.label_tree.trees = planned.label_tree.trees.min(found.label_tree.trees);
            planned.learn_blend &= found.learn_blend;
            planned == *found
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
