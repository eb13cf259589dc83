//! Training within limits: trees are added while there is time and room for them.
//!
//! What fits is known only at the end, so the settings in the manifest are those of what was grown:
//! a training with these settings and without limits gives the same bytes. A grove's blend depends
//! on how large the parts are, so it is learned last; time is kept for it.

use super::store::{Begin, Manifest, Partial, Start, StoreError, Training, UnitFile};
use super::units::Units;
use super::{
    Algorithm, Extras, TrainError, Trained, craftml, describe, grove, linear, write_others,
};
use crate::craftml::{self as forest};
use crate::data::{Dataset, DatasetView};
use crate::grove as groves;
use crate::label_tree;
use crate::params::ParamError;
use crate::run::{Cancelled, Run};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Trees that a grove's forest has before its label trees are grown: as many tell what a tree costs,
/// and are nearly as good as twelve.
const FIRST: usize = 4;
/// Trees that it has before there is a second label tree: more of them are worth less than that.
const ENOUGH: usize = 12;
/// How much longer than expected a step may take.
const SAFETY: f64 = 1.2;
/// The share of the rows that a grove's blend is learned with, and the seconds for each row held
/// out: predicting it, and its part of the regression.
const REST: f64 = 0.9;
const HELD_OUT_ROW: f64 = 4e-4;
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
/// use labelwood::run::Run;
/// let run = Run::new(2)?;
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
    run: &Run,
) -> Result<Trained, TrainError> {
    let dataset = dataset.view();
    if dataset.is_empty() {
        return Err(TrainError::NoRows);
    }
    let planned = resolve(algorithm, extras, dataset)?;
    let partial = match begin(target, describe(dataset, extras, &planned), &planned, start)? {
        Begin::Work(partial) => partial,
        Begin::Finished(manifest) => return Ok(Trained::AlreadyThere(manifest)),
    };
    let units = Units::take_up(&partial, run)?;
    let latest = limits.until.map(|until| until + limits.grace);
    run.stop_at(latest);
    let others = write_others(dataset, extras, &units, run);
    let grown = others.and_then(|others| {
        let costs = Costs { others: bytes_of(&others), ..Costs::default() };
        let mut pace = Pace { dataset, units: &units, limits, latest, run, costs };
        let (algorithm, mut written) = match &planned {
            Algorithm::CraftMl(params) => pace.forest_alone(params),
            Algorithm::LabelTree(params) => pace.label_trees_alone(params),
            Algorithm::Grove(params) => pace.grove(params),
            _ => Err(no_trees(&planned).into()),
        }?;
        written.extend(others);
        Ok((algorithm, written))
    });
    let is_late = run.is_late() && !run.canceller().is_cancelled();
    run.stop_at(None);
    let (algorithm, units) = match grown {
        Err(TrainError::Cancelled { finished, units, .. }) if is_late => {
            return Err(TrainError::TimeUp { finished, units });
        }
        grown => grown?,
    };
    let manifest = Manifest {
        training: describe(dataset, extras, &algorithm),
        instances: dataset.len() as u64,
        features: dataset.features.columns() as u64,
        labels: dataset.labels.columns() as u64,
        units,
    };
    partial.commit(&manifest)?;
    Ok(Trained::Written(manifest))
}

/// The algorithm of an unfinished training within limits into the folder `target`, if there is one.
///
/// A choice that was made by measuring may turn out otherwise the next time; a training that is to
/// be resumed goes on with this one.
pub fn unfinished(target: &Path) -> Result<Option<Algorithm>, StoreError> {
    let Some(mut training) = Partial::training(target)? else { return Ok(None) };
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
    match algorithm {
        Algorithm::CraftMl(params) => Ok(Algorithm::CraftMl(params.resolve(features, labels))),
        Algorithm::LabelTree(params) => {
            let weighting = params.weighting.resolve(features);
            Ok(Algorithm::LabelTree(label_tree::Params { weighting, ..params.clone() }))
        }
        Algorithm::Grove(params) => Ok(Algorithm::Grove(params.resolve(features, labels))),
        other => Err(no_trees(other)),
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
            return Partial::begin(target, &found, start);
        }
    }
    Partial::begin(target, &marked, start)
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
            planned == *found
        }
        _ => false,
    }
}

/// What was measured so far.
#[derive(Default)]
struct Costs {
    /// Seconds of the clock for a tree, while as many grow as there are threads.
    tree: Option<f64>,
    /// Seconds for a label tree.
    label_tree: Option<f64>,
    /// Bytes of all but the trees.
    others: u64,
    /// Bytes of the label trees.
    label_trees: u64,
}

/// What grows the trees, and looks at the clock and the room that is left.
struct Pace<'a> {
    dataset: DatasetView<'a>,
    units: &'a Units<'a>,
    limits: Limits,
    latest: Option<Instant>,
    run: &'a Run,
    costs: Costs,
}

/// What was grown, and its files.
type Grown = Result<(Algorithm, Vec<UnitFile>), TrainError>;

impl Pace<'_> {
    fn forest_alone(&mut self, params: &forest::Params) -> Grown {
        self.costs.label_trees = 0;
        let trees = self.forest(params, params.trees, 0)?;
        let params = forest::Params { trees, ..params.clone() };
        Ok((Algorithm::CraftMl(params), craftml::listed(trees, self.units)))
    }

    fn label_trees_alone(&mut self, params: &label_tree::Params) -> Grown {
        let mut written = match self.label_trees(params, linear::TREES, 1, self.latest)? {
            Some(written) => written,
            None => return Err(self.time_up("tree-", "parts")),
        };
        if self.room(0) < bytes_of(&written) {
            return Err(self.no_room(bytes_of(&written)));
        }
        let mut trees = 1;
        self.costs.label_trees = bytes_of(&written);
        while trees < params.trees && self.may_add_label_tree(0, trees) {
            match self.label_trees(params, linear::TREES, trees + 1, self.latest)? {
                Some(more) if bytes_of(&more) <= self.room(0) => written = more,
                _ => break,
            }
            trees += 1;
            self.costs.label_trees = bytes_of(&written);
        }
        let params = label_tree::Params { trees, ..params.clone() };
        Ok((Algorithm::LabelTree(params), written))
    }

    /// A few trees, a label tree, more trees, more label trees, and the rest of the trees, as far
    /// as the limits allow, and the blend of what is there.
    fn grove(&mut self, params: &groves::Params) -> Grown {
        let (forest, label_tree) = (&params.forest, &params.label_tree);
        let first = self.forest(forest, forest.trees.min(FIRST), 0)?;
        let until = self.limits.until.map(|until| {
            let left = until.saturating_duration_since(Instant::now()).as_secs_f64();
            // As long again for the blend, which grows another from most of the rows.
            let left = left - self.blend(first, 0, self.costs.tree.unwrap_or(0.0));
            Instant::now() + Duration::from_secs_f64(left.max(0.0) * 0.5)
        });
        let written = self.label_trees(label_tree, linear::GROVE, 1, until)?;
        let fitting = written.filter(|files| bytes_of(files) + self.first_bytes() <= self.room(0));
        let Some(mut written) = fitting else { return self.forest_alone(forest) };
        let mut label_trees = 1;
        self.costs.label_trees = bytes_of(&written);
        let trees = self.forest(forest, forest.trees.min(ENOUGH), label_trees)?;
        while label_trees < label_tree.trees && self.may_add_label_tree(trees, label_trees) {
            let late = self.limits.until;
            match self.label_trees(label_tree, linear::GROVE, label_trees + 1, late)? {
                Some(more) if bytes_of(&more) + self.forest_bytes(trees) <= self.room(0) => {
                    written = more;
                }
                _ => break,
            }
            label_trees += 1;
            self.costs.label_trees = bytes_of(&written);
        }
        let trees = self.forest(forest, forest.trees, label_trees)?;
        let mut params = params.clone();
        params.forest.trees = trees;
        params.label_tree.trees = label_trees;
        let DatasetView { features, labels, .. } = self.dataset;
        match groves::Trainer::new(features, labels, params.clone())?.blend(self.run) {
            Ok(blend) => {
                let blend = grove::write_blend(&blend, self.units)?;
                let mut files = craftml::listed(trees, self.units);
                files.extend(written);
                files.push(blend);
                Ok((Algorithm::Grove(params), files))
            }
            Err(Cancelled) if self.is_late() => self.forest_alone(forest),
            Err(source) => Err(TrainError::Cancelled {
                finished: trees,
                total: forest.trees,
                units: "trees",
                source,
            }),
        }
    }

    /// Adds trees up to so many, and says how many fit; there is at least one.
    fn forest(
        &mut self,
        params: &forest::Params,
        most: usize,
        label_trees: usize,
    ) -> Result<usize, TrainError> {
        let before = self.units.count("tree-");
        if before < most {
            let DatasetView { features, labels, .. } = self.dataset;
            let trainer = forest::Trainer::new(features, labels, params.clone())?;
            let (start, begun) = (Instant::now(), AtomicUsize::new(before));
            let pace = &*self;
            let goes_on = || {
                let (begun, done) =
                    (begun.fetch_add(1, Ordering::Relaxed), pace.units.count("tree-") - before);
                let each = match done {
                    0 => pace.costs.tree,
                    done => Some(start.elapsed().as_secs_f64() / done as f64),
                };
                pace.may_add_tree(begun, each, label_trees)
            };
            let grown = craftml::write_some(&trainer, most, goes_on, self.units, self.run);
            grown.map_err(|stop| stop.into_error(self.units, "tree-", params.trees, "trees"))?;
            let done = self.units.count("tree-") - before;
            if done > 0 {
                self.costs.tree = Some(start.elapsed().as_secs_f64() / done as f64);
            }
        }
        let fitting = self.fitting(most);
        match (fitting, self.first_bytes()) {
            (0, 0) => Err(self.time_up("tree-", "trees")),
            (0, first) => Err(self.no_room(first)),
            _ => Ok(fitting),
        }
    }

    /// Whether another tree may be begun beside `begun` others, each of which takes so long.
    fn may_add_tree(&self, begun: usize, each: Option<f64>, label_trees: usize) -> bool {
        if self.units.bytes("tree-") > self.room(self.costs.label_trees) {
            return false;
        }
        let each = each.unwrap_or(0.0);
        let blend = if label_trees > 0 { self.blend(begun + 1, label_trees, each) } else { 0.0 };
        self.has_seconds(SAFETY * each * self.run.threads() as f64 + blend)
    }

    /// Whether another label tree may be begun beside so many trees and label trees.
    fn may_add_label_tree(&self, trees: usize, label_trees: usize) -> bool {
        let Some(seconds) = self.costs.label_tree else { return self.limits.until.is_none() };
        let next = self.costs.label_trees / label_trees.max(1) as u64;
        let used = self.costs.label_trees + self.forest_bytes(trees);
        let tree = self.costs.tree.unwrap_or(0.0);
        let blend = if trees > 0 { self.blend(trees, label_trees + 1, tree) } else { 0.0 };
        used + next <= self.room(0) && self.has_seconds(SAFETY * seconds + blend)
    }

    /// Grows the first so many label trees as far as they are not there; nothing if that is not
    /// done in time.
    fn label_trees(
        &mut self,
        params: &label_tree::Params,
        names: linear::Names,
        trees: usize,
        until: Option<Instant>,
    ) -> Result<Option<Vec<UnitFile>>, TrainError> {
        let is_new = self.units.find(&names.root(trees - 1)).is_none();
        let DatasetView { features, labels, .. } = self.dataset;
        let start = Instant::now();
        self.run.stop_at(until);
        let params = label_tree::Params { trees, ..params.clone() };
        let trainer = label_tree::Trainer::new(features, labels, params)?;
        let written = linear::write_trees(&trainer, names, self.units, self.run);
        let is_late = self.is_late();
        self.run.stop_at(self.latest);
        match written {
            Ok(written) => {
                if is_new {
                    self.costs.label_tree = Some(start.elapsed().as_secs_f64());
                }
                Ok(Some(written))
            }
            Err(TrainError::Cancelled { .. }) if is_late => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// How long learning the blend of so many trees will take if one takes `tree` seconds.
    fn blend(&self, trees: usize, label_trees: usize, tree: f64) -> f64 {
        let trees = trees.div_ceil(4).next_multiple_of(self.run.threads()) as f64;
        let label_trees = label_trees.div_ceil(3) as f64;
        let parts = trees * tree + label_trees * self.costs.label_tree.unwrap_or(0.0);
        let held_out = (self.dataset.len() / 10).min(10_000) as f64;
        SAFETY * REST * parts + held_out * HELD_OUT_ROW
    }

    fn has_seconds(&self, seconds: f64) -> bool {
        let needed = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        self.limits.until.is_none_or(|until| {
            until.checked_duration_since(Instant::now()).is_some_and(|left| needed <= left)
        })
    }

    /// The bytes that trees may have beside others of so many.
    fn room(&self, beside: u64) -> u64 {
        let Some(bytes) = self.limits.bytes else { return u64::MAX };
        // The manifest, the feature weights of the trees, and the blend.
        let more = 16 * 1024 + bytes / 64 + 4 * self.dataset.features.columns() as u64;
        bytes.saturating_sub(self.costs.others + beside + more)
    }

    /// How many of the first trees there are and have room.
    fn fitting(&self, most: usize) -> usize {
        let room = self.room(self.costs.label_trees);
        let mut used = 0;
        let fits = |file: &UnitFile| {
            used += file.bytes;
            used <= room
        };
        let found = (0..most).map_while(|tree| self.units.find(&craftml::stem(tree)));
        found.take_while(fits).count()
    }

    fn first_bytes(&self) -> u64 {
        self.forest_bytes(1)
    }

    fn forest_bytes(&self, trees: usize) -> u64 {
        bytes_of(&self.units.listed((0..trees).map(craftml::stem)))
    }

    fn is_late(&self) -> bool {
        self.run.is_late() && !self.run.canceller().is_cancelled()
    }

    fn time_up(&self, prefix: &str, units: &'static str) -> TrainError {
        TrainError::TimeUp { finished: self.units.count(prefix), units }
    }

    fn no_room(&self, least: u64) -> TrainError {
        let allowed = self.limits.bytes.unwrap_or(u64::MAX);
        TrainError::NoRoom { least: least + allowed - self.room(0), allowed }
    }
}

fn bytes_of(files: &[UnitFile]) -> u64 {
    files.iter().map(|file| file.bytes).sum()
}
