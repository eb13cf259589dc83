//! The units of a plan that are finished, wherever they lie.

use super::{PLAN, Plan, ShardError, UNITS};
use crate::model::stems;
use crate::run::Run;
use crate::store::{Load, Scanned, StoreError, Unit, UnitFile, scan};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

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
    /// For each shard, how many of its units are finished and how many it has, as far as known.
    pub shards: Vec<(usize, usize)>,
}

/// Units that were found, by name.
#[derive(Default)]
pub(super) struct Found {
    /// What file each would be in a model, and where it is.
    pub sound: BTreeMap<String, (UnitFile, PathBuf)>,
    pub broken: Vec<PathBuf>,
    pub foreign: Vec<PathBuf>,
    /// The first two files that claim to be the same unit.
    pub mixed: Option<(PathBuf, PathBuf)>,
}

impl Found {
    /// How many labels each part below a root has; none if the root is not there.
    pub fn part_sizes(&self, root: &str) -> Result<Vec<usize>, StoreError> {
        let Some((_, path)) = self.sound.get(root) else { return Ok(Vec::new()) };
        Ok(stems::part_sizes(&Unit::open(path, Load::Map)?)?)
    }
}

impl Plan {
    /// Looks for the units of the given names in the plan's folder and in others; each is read.
    pub(super) fn find(
        &self,
        more: &[PathBuf],
        is_wanted: impl Fn(&str) -> bool,
        run: &Run,
    ) -> Result<Found, ShardError> {
        let prefix = self.prefix();
        let mut found = Found::default();
        for folder in self.folders(more) {
            let is_wanted = |stem: &str| stem.strip_prefix(&prefix).is_none_or(&is_wanted);
            for Scanned { path, unit, is_sound } in scan(&folder, is_wanted, run)? {
                match unit.stem().strip_prefix(&prefix) {
                    None => found.foreign.push(path),
                    Some(_) if !is_sound => found.broken.push(path),
                    Some(stem) => {
                        let file = unit.renamed(stem);
                        match found.sound.get(stem) {
                            Some((other, _)) if *other == file => {}
                            Some((_, other)) => {
                                found.mixed.get_or_insert((other.clone(), path));
                            }
                            None => {
                                found.sound.insert(stem.to_owned(), (file, path));
                            }
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// The folders to look in: the plan's own, and those given, which may be plans' folders.
    pub(super) fn folders(&self, more: &[PathBuf]) -> Vec<PathBuf> {
        let units_of = |folder: &PathBuf| match folder.join(PLAN).is_file() {
            true => folder.join(UNITS),
            false => folder.clone(),
        };
        [self.units_folder()].into_iter().chain(more.iter().map(units_of)).collect()
    }

    /// All parts below roots that are there, shared out: for each shard its parts.
    pub(super) fn parts(&self, found: &Found) -> Result<Vec<Vec<String>>, StoreError> {
        let mut parts = Vec::new();
        for root in self.roots() {
            let sizes = found.part_sizes(&root)?;
            parts.extend(
                sizes.iter().enumerate().map(|(at, &size)| (stems::part(&root, at), size as f64)),
            );
        }
        Ok(super::cost::share_out(parts, self.shards().len()))
    }

    /// Which units are there, which are not, and which are damaged. Every finished unit is read.
    pub fn status(&self, more: &[PathBuf], run: &Run) -> Result<Status, ShardError> {
        let found = self.find(more, |_| true, run)?;
        self.status_of(&found)
    }

    pub(super) fn status_of(&self, found: &Found) -> Result<Status, ShardError> {
        let parts = self.parts(found)?;
        let is_there = |stem: &&String| found.sound.contains_key(*stem);
        let shards = self.shards().iter().zip(&parts).map(|(shard, parts)| {
            let units = || shard.units.iter().chain(parts);
            (units().filter(is_there).count(), units().count())
        });
        let shards = shards.collect();
        let first = self.first_stage();
        let known: BTreeSet<&String> = first.iter().chain(parts.iter().flatten()).collect();
        let (done, missing) = self
            .order(found)?
            .into_iter()
            .filter(|stem| known.contains(stem))
            .partition(|stem| found.sound.contains_key(stem));
        let (broken, foreign) = (found.broken.clone(), found.foreign.clone());
        Ok(Status { done, missing, broken, foreign, shards })
    }

    /// The names of all units of the model, as far as they are known, in the manifest's order.
    pub(super) fn order(&self, found: &Found) -> Result<Vec<String>, StoreError> {
        let mut sizes = BTreeMap::new();
        for root in self.roots() {
            let parts = found.part_sizes(&root)?.len();
            sizes.insert(root, parts);
        }
        let labels = self.content.identity.labels as usize;
        let parts = |root: &str| sizes.get(root).copied().unwrap_or(0);
        Ok(stems::all(&self.algorithm(), labels, parts))
    }

    /// The units that were made with the plan, where they are.
    pub(super) fn common(
        &self,
        run: &Run,
    ) -> Result<BTreeMap<String, (UnitFile, PathBuf)>, ShardError> {
        let expected = &self.content.identity.units;
        let mut common = BTreeMap::new();
        for Scanned { path, unit, is_sound } in scan(&self.folder, |_| true, run)? {
            if is_sound && expected.contains(&unit) {
                common.insert(unit.stem().to_owned(), (unit, path));
            }
        }
        match expected.iter().find(|unit| !common.contains_key(unit.stem())) {
            Some(unit) => Err(ShardError::content(
                Path::new(&self.folder),
                format!("{} is missing or damaged", unit.file),
            )),
            None => Ok(common),
        }
    }
}
