//! One model by many workers: a plan, its shards, and the merge.
//!
//! A [`Plan`] is a folder that says what is trained and how the units are shared out. Each unit is
//! a pure function of the plan and the rows, so any worker may train any shard, twice, at once with
//! others or again after it was killed: [`Plan::train`]. [`Plan::merge`] checks that all units are
//! there and fit together; the model is byte for byte the one that
//! [`train`](crate::model::train) writes. What starts the workers is somebody else's: a cluster's
//! scheduler, `mpirun`, or Ray.
//!
//! Label trees have two stages: the units below a root are known once the root is grown. All else
//! is done in the first.
//!
//! ```
//! use labelwood::data::{Dataset, generate::{Generator, Profile}};
//! use labelwood::Settings;
//! use labelwood::run::Pool;
//! use labelwood::shard::{Options, Plan, Work};
//! let (folder, task) = (tempfile::tempdir()?, Pool::new(2)?.task());
//! let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..200, &task)?;
//! let dataset = Dataset { features, labels, label_names: None, named: None };
//! let settings = Settings::named("label-tree").expect("it is an algorithm");
//!
//! let options = Options { shards: 3, ..Options::default() };
//! let path = folder.path().join("plan");
//! let plan = Plan::make(&path, dataset.view(), Default::default(), &settings, &options, &task)?;
//! for stage in 1..=plan.stages() {
//!     for shard in 0..plan.shards().len() {
//!         let work = Work { stage: Some(stage), ..Work::default() };
//!         plan.train(dataset.view(), &[shard], work, &task)?;
//!     }
//! }
//! plan.merge(&[], &folder.path().join("model"), false, &task)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A model that is larger than a machine's memory predicts in the same way: each worker maps a
//! [`ModelShare`], whose [`Scores`] a [`Combiner`] joins to the predictions of the whole model.

mod cost;
mod error;
mod found;
mod merge;
mod train;

pub use crate::model::share::{Combiner, ModelShare, Scores, ScoresReader, Share, ShareError};
pub use error::ShardError;
pub use found::Status;
pub use train::Work;

use crate::algorithms::{Role, Settings, UnitSink, UnitSpec};
use crate::base::run::Task;
use crate::base::store::{
    Digest, FORMAT, LOCK, Manifest, StoreError, Training, lock, plan_prefix, read_limited, remove,
    remove_abandoned, scan, write_json,
};
use crate::data::{DatasetView, write_own_binary};
use crate::model::TrainOptions;
use crate::model::job::{CALIBRATION, TrainJob, common_units, parsed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The plan's own file; it is written last.
const PLAN: &str = "plan.json";
/// The rows, unless the plan refers to a file elsewhere.
const DATA: &str = "data.lwd";
/// Where the workers' units go.
const UNITS: &str = "units";
/// The largest plan that is read.
const LIMIT: u64 = 64 << 20;
/// The most shards of a plan. There are hardly ever as many units, and shards beyond them have
/// nothing to do.
const MOST_SHARDS: usize = 10_000;

/// How a model is trained by several workers: a folder with `plan.json`, the rows and the units.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    folder: PathBuf,
    content: Content,
}

/// How a plan is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Into how many shards the units are divided.
    pub shards: usize,
    /// Where the rows lie as binary data, for all workers to see; without it, they are written into
    /// the plan's folder.
    pub data: Option<PathBuf>,
    /// Replaces a plan that is there. Its finished units stay if they are the same.
    pub overwrite: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { shards: 1, data: None, overwrite: false }
    }
}

impl Options {
    /// Refuses what no plan can have; [`Plan::make`] asks, and so may who has rows to read before.
    ///
    /// ```
    /// use labelwood::shard::Options;
    /// assert!(Options { shards: 16, ..Options::default() }.check().is_ok());
    /// assert!(Options { shards: 1_500_000, ..Options::default() }.check().is_err());
    /// ```
    pub fn check(&self) -> Result<(), ShardError> {
        match self.shards {
            0 => Err(ShardError::Refused("a plan needs at least one shard".to_owned())),
            1..=MOST_SHARDS => Ok(()),
            shards => Err(ShardError::Refused(format!(
                "{shards} shards are too many: a plan has at most {MOST_SHARDS}, and those beyond its \
                 units, such as trees, have nothing to do"
            ))),
        }
    }
}

/// Units that one worker trains, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// The names of the units of the first stage.
    pub units: Vec<String>,
    /// Bytes of memory at the peak, about, the mapped rows included.
    pub memory: u64,
    /// Seconds of CPU, about, both stages included.
    pub seconds: f64,
}

/// `plan.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Content {
    #[serde(flatten)]
    identity: Identity,
    plan_id: Digest,
    /// Where the rows lie, if not in the plan's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<PathBuf>,
    /// The threads of a worker that the estimates are for.
    threads: usize,
    shards: Vec<Shard>,
}

/// What determines the units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Identity {
    labelwood: String,
    format: u64,
    /// The model, of which only the units that were made with the plan are there.
    #[serde(flatten)]
    manifest: Manifest,
}

/// What every version of a plan has.
#[derive(Deserialize)]
struct Version {
    labelwood: String,
    format: u64,
}

impl Identity {
    fn id(&self) -> Digest {
        Digest::of(&serde_json::to_vec(self).expect("a plan is plain JSON"))
    }
}

impl Plan {
    /// Plans a training and writes the plan's folder, the rows and the small units included.
    pub fn make(
        folder: &Path,
        dataset: DatasetView<'_>,
        training: TrainOptions<'_>,
        settings: &Settings,
        options: &Options,
        task: &Task,
    ) -> Result<Plan, ShardError> {
        options.check()?;
        check_target(folder, options.overwrite)?;
        let job = TrainJob::new(dataset, training, settings, task)?;
        let training = job.training();
        let holds_out = training.holds_out();
        let _lock = lock(folder, |_| Ok(()))?;
        // Another may have been made in the meantime.
        check_target(folder, options.overwrite)?;
        let units_folder = folder.join(UNITS);
        fs::create_dir_all(&units_folder)
            .map_err(|error| StoreError::io("create", &units_folder, error))?;
        let settings = job.settings().clone();
        let specs = known_units(&settings, dataset.labels.columns());
        // Small units are made with the plan.
        let small = specs.iter().filter(|unit| unit.role == Role::Prepared);
        let small: BTreeSet<String> = small.map(|unit| unit.name.clone()).collect();
        let is_small = |name: &str| {
            small.contains(name) || common_units().any(|unit| unit == name && unit != CALIBRATION)
        };
        let units = UnitSink::of_plan(folder, "", [], &is_small);
        job.write(&units, task)?;
        let identity = Identity {
            labelwood: env!("CARGO_PKG_VERSION").to_owned(),
            format: FORMAT,
            manifest: job.manifest(training, &units)?,
        };
        drop(job);
        if options.data.is_none() {
            write_own_binary(&folder.join(DATA), dataset)?;
        }
        let threads = task.threads();
        let first = first_stage(&settings, dataset.labels.columns(), holds_out);
        let costs = cost::PlanCosts::of(&settings, first, dataset, threads);
        let content = Content {
            plan_id: identity.id(),
            identity,
            data: options.data.clone(),
            threads,
            shards: costs.shards(options.shards),
        };
        let plan = Plan { folder: folder.to_owned(), content };
        plan.remove_others(task)?;
        write_json(folder, PLAN, &plan.content)?;
        remove(&folder.join(LOCK))?;
        Ok(plan)
    }

    /// Opens the folder of a plan.
    pub fn open(folder: &Path) -> Result<Plan, ShardError> {
        let path = folder.join(PLAN);
        let no_plan = || ShardError::NoPlan { folder: folder.to_owned() };
        let bytes = read_limited(&path, LIMIT)?.ok_or_else(no_plan)?;
        let invalid = |reason| {
            let advice = "plan the training again";
            ShardError::at(&path, format_args!("not a valid plan: {reason}; {advice}"))
        };
        let version = serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
        let Version { labelwood, format } = version;
        if (labelwood.as_str(), format) != (env!("CARGO_PKG_VERSION"), FORMAT) {
            return Err(ShardError::at(
                &path,
                format_args!(
                    "the plan was made by labelwood {labelwood} (format {format}), but this is \
                     labelwood {} (format {FORMAT}): their units may differ; use the same version \
                     everywhere",
                    env!("CARGO_PKG_VERSION")
                ),
            ));
        }
        let content = parse(&bytes).map_err(invalid)?;
        Ok(Plan { folder: folder.to_owned(), content })
    }

    /// The plan's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What determines the model.
    pub fn training(&self) -> &Training {
        &self.content.identity.manifest.training
    }

    /// The shards.
    pub fn shards(&self) -> &[Shard] {
        &self.content.shards
    }

    /// How many threads of a worker the shards' estimates are for.
    pub fn threads(&self) -> usize {
        self.content.threads
    }

    /// How many stages there are: 2 if some units are known only once others are there, else 1.
    pub fn stages(&self) -> usize {
        if self.roots().is_empty() { 1 } else { 2 }
    }

    /// Where the rows lie.
    pub fn data(&self) -> PathBuf {
        self.content.data.clone().unwrap_or_else(|| self.folder.join(DATA))
    }

    /// The shards of one of several workers, which together take all shards.
    ///
    /// ```no_run
    /// # let plan = labelwood::shard::Plan::open("plan".as_ref())?;
    /// // Of five shards, the first of two workers takes the first, the third and the fifth.
    /// assert_eq!(plan.share(0, 2), [0, 2, 4]);
    /// # Ok::<(), labelwood::shard::ShardError>(())
    /// ```
    pub fn share(&self, worker: usize, workers: usize) -> Vec<usize> {
        (worker..self.shards().len()).step_by(workers.max(1)).collect()
    }

    fn settings(&self) -> Settings {
        parsed(self.training()).expect("settings were checked when the plan was opened")
    }

    /// The units that say which units come below them.
    fn roots(&self) -> Vec<String> {
        let units = known_units(&self.settings(), self.labels());
        units.into_iter().filter(|unit| unit.role == Role::Root).map(|unit| unit.name).collect()
    }

    fn labels(&self) -> usize {
        self.content.identity.manifest.labels as usize
    }

    fn units_folder(&self) -> PathBuf {
        self.folder.join(UNITS)
    }

    /// How the names of this plan's units start.
    fn prefix(&self) -> String {
        plan_prefix(self.content.plan_id)
    }

    /// Removes what another plan left in the folder.
    fn remove_others(&self, task: &Task) -> Result<(), StoreError> {
        let prefix = self.prefix();
        let units = self.units_folder();
        remove_abandoned(&units)?;
        for other in scan(&units, |name| !name.starts_with(&prefix), task)? {
            remove(&other.path)?;
        }
        for other in scan(&self.folder, |_| true, task)? {
            if other.sound.is_none_or(|unit| !self.content.identity.manifest.units.contains(&unit))
            {
                remove(&other.path)?;
            }
        }
        if self.content.data.is_some() {
            remove(&self.folder.join(DATA))?;
        }
        Ok(())
    }
}

/// Refuses a folder that a plan must not be written to.
fn check_target(folder: &Path, overwrite: bool) -> Result<(), ShardError> {
    if folder.join(PLAN).exists() {
        return match overwrite {
            true => Ok(()),
            false => Err(ShardError::at(
                folder,
                "a plan is already here; add --overwrite to replace it, which keeps units that are the \
                 same, or choose another folder",
            )),
        };
    }
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreError::io("list", folder, error).into()),
        // What a plan that was killed before it was complete left is fine.
        Ok(mut entries) => {
            let is_other = |name: &str| {
                name != UNITS
                    && name != DATA
                    && !name.starts_with('.')
                    && !name.ends_with(".safetensors")
            };
            let other = entries.find_map(|entry| {
                let name = entry.ok()?.file_name().to_string_lossy().into_owned();
                is_other(&name).then_some(name)
            });
            match other {
                Some(found) => {
                    let advice = "choose another folder";
                    let reason = format_args!("this is not a plan but holds `{found}`; {advice}");
                    Err(ShardError::at(folder, reason))
                }
                None => Ok(()),
            }
        }
    }
}

/// The units of a model that are known before any is there.
fn known_units(settings: &Settings, labels: usize) -> Vec<UnitSpec> {
    settings.units(labels, &|_| Ok(None)).expect("nothing is opened that could be refused")
}

/// The units that need no other, in the manifest's order, without those that are made with the plan.
fn first_stage(settings: &Settings, labels: usize, holds_out: bool) -> Vec<UnitSpec> {
    let mut units = known_units(settings, labels);
    units.retain(|unit| unit.role != Role::Prepared);
    units.extend(holds_out.then(|| UnitSpec::new(CALIBRATION, Role::Ranker)));
    units
}

/// The content of a plan of this version, or what is wrong with it.
fn parse(bytes: &[u8]) -> Result<Content, String> {
    let content: Content = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let Content { identity, plan_id, shards, .. } = &content;
    if identity.id() != *plan_id {
        return Err("its content does not give its plan_id".to_owned());
    }
    let manifest = &identity.manifest;
    let settings = parsed(&manifest.training)?;
    if shards.is_empty() {
        return Err("it has no shards".to_owned());
    }
    if u32::try_from(manifest.labels).is_err() {
        return Err(format!("{} labels are too many", manifest.labels));
    }
    check_units(&content, &settings)?;
    match manifest.units.iter().find(|unit| !unit.has_valid_name()) {
        Some(unit) => Err(format!("`{}` is not a unit's name", unit.file)),
        None => Ok(content),
    }
}

/// Refuses shards that do not have each unit of the first stage once. The plan's id does not cover
/// them, so that the same units may be shared out anew.
fn check_units(content: &Content, settings: &Settings) -> Result<(), String> {
    let Manifest { training, labels, .. } = &content.identity.manifest;
    let units = first_stage(settings, *labels as usize, training.holds_out());
    let mut left: BTreeSet<&str> = units.iter().map(|unit| unit.name.as_str()).collect();
    for unit in content.shards.iter().flat_map(|shard| &shard.units) {
        if !left.remove(unit.as_str()) {
            return Err(match units.iter().any(|known| known.name == *unit) {
                true => format!("`{unit}` is in two shards"),
                false => format!("`{unit}` is not a unit of the model that is planned"),
            });
        }
    }
    match left.first() {
        Some(unit) => Err(format!("`{unit}` is in no shard")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
