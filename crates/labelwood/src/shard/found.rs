//! The units of a plan that are finished, wherever they lie.

use super::{PLAN, Plan, ShardError, UNITS};
use crate::algorithms::{Role, UnitSpec};
use crate::base::run::Task;
use crate::base::store::{Load, Scanned, StoreError, Unit, UnitFile, listed, scan};
use crate::model::job::common_units;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// How far a plan has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Units that are finished, in the model's order.
    pub done: Vec<String>,
    /// Units that are not; those below a root that is missing are not known yet.
    pub missing: Vec<String>,
    /// Files that are not what was written; their units are missing unless they are elsewhere.
    pub broken: Vec<PathBuf>,
    /// Files of other plans.
    pub foreign: Vec<PathBuf>,
    /// Files that were made with the plan and are missing or damaged. A plan that is made again
    /// with [`Options::overwrite`](super::Options::overwrite) has them, and keeps the units.
    pub lost: Vec<String>,
    /// For each shard, how many of its units are finished and how many it has, as far as known.
    pub shards: Vec<(usize, usize)>,
}

/// Units by name: what file each is, and where.
type Common = BTreeMap<String, (UnitFile, PathBuf)>;

/// Units that were found, by name.
#[derive(Default)]
pub(super) struct Found {
    /// What file each would be in a model, and where it is.
    pub sound: BTreeMap<String, (UnitFile, PathBuf)>,
    /// The names of units and what is there instead of them.
    pub broken: Vec<(String, PathBuf)>,
    pub foreign: Vec<PathBuf>,
    /// The first two files that claim to be the same unit.
    pub mixed: Option<(PathBuf, PathBuf)>,
}

impl Found {
    /// Opens a unit, if it is there.
    fn open(&self, name: &str) -> Result<Option<Unit>, StoreError> {
        self.sound.get(name).map(|(_, path)| Unit::open(path, Load::Map)).transpose()
    }

    /// Of units that are not finished, those of which nothing is there, and the files of the others.
    pub(super) fn lacking(&self, mut unfinished: Vec<String>) -> String {
        let damaged = self.broken.iter().filter(|(name, _)| unfinished.contains(name));
        let damaged: Vec<String> = damaged.map(|(_, path)| path.display().to_string()).collect();
        unfinished.retain(|unit| self.broken.iter().all(|(name, _)| name != unit));
        let lists = [(&unfinished, "missing"), (&damaged, "damaged")];
        let told = lists.iter().filter(|(names, _)| !names.is_empty());
        told.map(|(names, what)| listed(names, what)).collect::<Vec<_>>().join(" and ")
    }
}

impl Plan {
    /// Looks for the units of the given names in the plan's folder and in others; each is read.
    pub(super) fn find(
        &self,
        more: &[PathBuf],
        is_wanted: impl Fn(&str) -> bool,
        task: &Task,
    ) -> Result<Found, ShardError> {
        let prefix = self.prefix();
        let mut found = Found::default();
        for folder in self.folders(more)? {
            let is_wanted = |name: &str| name.strip_prefix(&prefix).is_none_or(&is_wanted);
            for Scanned { path, name, sound } in scan(&folder, is_wanted, task)? {
                match (name.strip_prefix(&prefix), sound) {
                    (None, _) => found.foreign.push(path),
                    (Some(name), None) => found.broken.push((name.to_owned(), path)),
                    (Some(name), Some(unit)) => {
                        let file = unit.renamed(name);
                        match found.sound.get(name) {
                            Some((other, _)) if *other == file => {}
                            Some((_, other)) => {
                                found.mixed.get_or_insert((other.clone(), path));
                            }
                            None => {
                                found.sound.insert(name.to_owned(), (file, path));
                            }
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// The folders to look in: the plan's own, and those given, which may be plans' folders.
    pub(super) fn folders(&self, more: &[PathBuf]) -> Result<Vec<PathBuf>, ShardError> {
        let mut folders = vec![self.units_folder()];
        for folder in more {
            let is_there = fs::exists(folder);
            let is_there = is_there.map_err(|error| StoreError::io("find", folder, error))?;
            if !is_there {
                let advice = "give the folder of a plan or of its units";
                let reason = format_args!("there is no such folder; {advice}");
                return Err(ShardError::at(folder, reason));
            }
            // A plan of which nothing is trained may have no folder for units.
            folders.push(match folder.join(PLAN).is_file() {
                true => folder.join(UNITS),
                false => folder.clone(),
            });
        }
        Ok(folders)
    }

    /// The algorithm's units, as far as those that are there tell.
    fn units(&self, found: &Found) -> Result<Vec<UnitSpec>, StoreError> {
        self.settings().units(self.labels(), &|name| found.open(name))
    }

    /// All units below roots that are there, shared out: for each shard its own.
    pub(super) fn below(&self, found: &Found) -> Result<Vec<Vec<String>>, StoreError> {
        let below = self.units(found)?.into_iter().filter(|unit| unit.role == Role::Below);
        let weighed = below.map(|unit| (unit.name, unit.weight)).collect();
        Ok(super::cost::share_out(weighed, self.shards().len()))
    }

    /// Which units are there, which are not, and which are damaged. Every finished unit is read.
    pub fn status(&self, more: &[PathBuf], task: &Task) -> Result<Status, ShardError> {
        let found = self.find(more, |_| true, task)?;
        Ok(Status { lost: self.common(task)?.1, ..self.status_of(&found)? })
    }

    pub(super) fn status_of(&self, found: &Found) -> Result<Status, ShardError> {
        let below = self.below(found)?;
        let is_there = |name: &&String| found.sound.contains_key(*name);
        let shards = self.shards().iter().zip(&below).map(|(shard, below)| {
            let units = || shard.units.iter().chain(below);
            (units().filter(is_there).count(), units().count())
        });
        let shards = shards.collect();
        let first = self.first_stage();
        let known: BTreeSet<&String> = first.iter().chain(below.iter().flatten()).collect();
        let (done, missing) = self
            .order(found)?
            .into_iter()
            .filter(|name| known.contains(name))
            .partition(|name| found.sound.contains_key(name));
        let broken = found.broken.iter().map(|(_, path)| path.clone()).collect();
        let foreign = found.foreign.clone();
        Ok(Status { done, missing, broken, foreign, lost: Vec::new(), shards })
    }

    /// The names of all units of the model, as far as they are known, in the manifest's order.
    pub(super) fn order(&self, found: &Found) -> Result<Vec<String>, StoreError> {
        let own = self.units(found)?.into_iter().map(|unit| unit.name);
        Ok(own.chain(common_units()).collect())
    }

    /// The units that were made with the plan, where they are, and the files of those that are not.
    pub(super) fn common(&self, task: &Task) -> Result<(Common, Vec<String>), ShardError> {
        let expected = &self.content.identity.manifest.units;
        let mut common = BTreeMap::new();
        for Scanned { path, name, sound } in scan(&self.folder, |_| true, task)? {
            if let Some(unit) = sound.filter(|unit| expected.contains(unit)) {
                common.insert(name, (unit, path));
            }
        }
        let lost = expected.iter().filter(|unit| !common.contains_key(unit.name()));
        let lost = lost.map(|unit| unit.file.clone()).collect();
        Ok((common, lost))
    }
}
