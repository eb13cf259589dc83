//! Training the units of some shards.

use super::found::Found;
use super::{Plan, ShardError, first_stage};
use crate::algorithms::UnitSink;
use crate::base::run::Task;
use crate::base::store::{StoreError, Training, unit_names_in};
use crate::data::DatasetView;
use crate::model::{TrainJob, TrainOptions};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// How often a worker that waits looks for what it waits for.
const PAUSE: Duration = Duration::from_millis(200);

/// What is done of some shards.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work<'a> {
    /// The stage, 1 or 2; without it, both.
    pub stage: Option<usize>,
    /// Further folders that finished units may lie in, such as those of other machines.
    pub units: &'a [PathBuf],
    /// Waits for the first stage to be complete instead of failing.
    pub wait: bool,
}

impl Plan {
    /// Trains the units of the given shards that are not finished; gives how many were trained and
    /// how many there are.
    ///
    /// The rows must be those that the plan was made for. May run several times, at once on any
    /// number of machines, and again after it was killed.
    pub fn train(
        &self,
        dataset: DatasetView<'_>,
        shards: &[usize],
        work: Work<'_>,
        task: &Task,
    ) -> Result<(usize, usize), ShardError> {
        let count = self.shards().len();
        if let Some(&shard) = shards.iter().find(|&&shard| shard >= count) {
            let reason = format!("the plan has {count}, counted from 0");
            return Err(ShardError::Refused(format!("there is no shard {shard}: {reason}")));
        }
        let (expected, found) = (&self.training().data, format!("{:032x}", dataset.digest()));
        if found != *expected {
            return Err(ShardError::Refused(format!(
                "the rows have the digest {found}, but the plan is for {expected}: give the data that \
                 were planned with"
            )));
        }
        let folder = self.units_folder();
        fs::create_dir_all(&folder).map_err(|error| StoreError::io("create", &folder, error))?;
        let units = shards.iter().flat_map(|&shard| self.shards()[shard].units.clone());
        let units: BTreeSet<String> = units.collect();
        let has_both = work.stage.is_none() && self.stages() == 2;
        let first = if has_both { self.first_share(dataset, &units, shards.len()) } else { 1.0 };
        let mut trainer =
            Trainer { plan: self, dataset, work, task: task.share(0.0..first), prepared: None };
        let mut sum = (0, 0);
        if work.stage != Some(2) {
            sum = trainer.write(units)?;
        }
        trainer.task = if has_both { task.share(first..1.0) } else { task.clone() };
        if work.stage != Some(1) && self.stages() == 2 {
            let mut below = self.below(&trainer.roots()?)?;
            let units = shards.iter().flat_map(|&shard| std::mem::take(&mut below[shard]));
            let (trained, all) = trainer.write(units.collect())?;
            sum = (sum.0 + trained, sum.1 + all);
        }
        Ok(sum)
    }

    /// The share of the first stage in the work of so many shards.
    fn first_share(
        &self,
        dataset: DatasetView<'_>,
        units: &BTreeSet<String>,
        shards: usize,
    ) -> f64 {
        let settings = self.settings();
        let mut first = first_stage(&settings, self.labels(), false);
        first.retain(|unit| units.contains(&unit.name));
        let costs = settings.costs(&first, dataset, self.threads());
        let first: f64 = costs.units.iter().map(|cost| cost.seconds).sum();
        let below = costs.below.seconds * shards as f64 / self.shards().len() as f64;
        first / (first + below).max(f64::MIN_POSITIVE)
    }

    /// The units of the first stage.
    pub(super) fn first_stage(&self) -> Vec<String> {
        let units = first_stage(&self.settings(), self.labels(), self.training().holds_out());
        units.into_iter().map(|unit| unit.name).collect()
    }
}

struct Trainer<'a> {
    plan: &'a Plan,
    dataset: DatasetView<'a>,
    work: Work<'a>,
    task: Task,
    /// The rows as the algorithm wants them, once there is something to train.
    prepared: Option<TrainJob<'a>>,
}

impl Trainer<'_> {
    /// Trains those of the units that are not finished.
    fn write(&mut self, units: BTreeSet<String>) -> Result<(usize, usize), ShardError> {
        let roots = self.plan.roots();
        let is_wanted = |name: &str| units.contains(name) || roots.iter().any(|root| root == name);
        let found = self.plan.find(self.work.units, is_wanted, &self.task)?;
        let is_lacking = |name: &String| !found.sound.contains_key(name);
        let lacking = units.iter().filter(|name| is_lacking(name)).count();
        let folder = self.plan.units_folder();
        // A file that is damaged is replaced; a folder would only be noticed after all the work.
        let is_in_the_way = |(name, path): &&(String, PathBuf)| {
            (units.contains(name) && is_lacking(name) && path.parent() == Some(&folder))
                && path.symlink_metadata().is_ok_and(|found| found.is_dir())
        };
        if let Some((_, path)) = found.broken.iter().find(is_in_the_way) {
            let reason = "this is a folder, but a unit is to be written here: move it away";
            return Err(ShardError::at(path, reason));
        }
        if lacking > 0 {
            let work = match self.prepared.take() {
                Some(prepared) => prepared,
                None => {
                    let Training { calibrate, threshold, favour, keep_rows, .. } =
                        *self.plan.training();
                    let options =
                        TrainOptions { text: None, calibrate, threshold, favour, keep_rows };
                    TrainJob::new(self.dataset, options, &self.plan.settings(), &self.task)?
                }
            };
            let prefix = self.plan.prefix();
            let is_chosen = |name: &str| units.contains(name);
            let finished = found.sound.into_values();
            work.write(&UnitSink::of_plan(&folder, &prefix, finished, &is_chosen), &self.task)?;
            self.prepared = Some(work);
        }
        Ok((lacking, units.len()))
    }

    /// The roots of all label trees, once they are all there.
    fn roots(&self) -> Result<Found, ShardError> {
        let roots = self.plan.roots();
        let prefix = self.plan.prefix();
        loop {
            let mut names = BTreeSet::new();
            for folder in self.plan.folders(self.work.units)? {
                names.extend(unit_names_in(&folder)?);
            }
            let is_named = |root: &String| names.contains(&format!("{prefix}{root}"));
            if roots.iter().all(is_named) || !self.work.wait {
                let is_root = |name: &str| roots.iter().any(|root| root == name);
                let found = self.plan.find(self.work.units, is_root, &self.task)?;
                let is_missing = |root: &&String| !found.sound.contains_key(*root);
                let missing: Vec<String> = roots.iter().filter(is_missing).cloned().collect();
                if missing.is_empty() {
                    return Ok(found);
                }
                if !self.work.wait {
                    return Err(ShardError::Refused(format!(
                        "the first stage is not complete: {}; run this again when it is, or add --wait",
                        found.lacking(missing)
                    )));
                }
            }
            self.task.check()?;
            std::thread::sleep(PAUSE);
        }
    }
}
