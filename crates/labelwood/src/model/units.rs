//! The units of an unfinished model, as several threads write them: to its folder, to that of a
//! plan, or to memory.

use super::TrainError;
use super::store::{ArrayRef, Load, Staging, StoreError, Unit, UnitFile, write_unit};
use crate::base::run::{Stopped, Task};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

/// The stages of a training into a folder that count finished units, which are kept if it is
/// stopped.
pub const UNIT_STAGES: [&str; 3] = ["trees", "parts", "submodels"];

/// Why a unit was not finished.
pub(super) enum Stop {
    /// The run was cancelled.
    Stopped(Stopped),
    /// The unit could not be written or read.
    Store(StoreError),
}

impl Stop {
    /// The error of a training of which there are `total` units whose names start with `prefix`.
    pub fn into_error(
        self,
        written: &Units<'_>,
        prefix: &str,
        total: usize,
        units: &'static str,
    ) -> TrainError {
        match self {
            Stop::Store(error) => error.into(),
            Stop::Stopped(source) => {
                TrainError::Stopped { finished: written.count(prefix), total, units, source }
            }
        }
    }
}

impl From<Stopped> for Stop {
    fn from(cancelled: Stopped) -> Self {
        Stop::Stopped(cancelled)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Stop::Store(error)
    }
}

/// What is finished so far.
pub(crate) struct Units<'a> {
    place: Place<'a>,
    /// Which units are to be written; the others are finished, or somebody else's work.
    is_chosen: &'a (dyn Fn(&str) -> bool + Sync),
    /// By their stems.
    finished: Mutex<BTreeMap<String, Finished>>,
}

/// Where units go.
enum Place<'a> {
    Memory,
    Staging(&'a Staging),
    /// A folder that several processes write to, where all names start with the plan's.
    Plan {
        folder: &'a Path,
        prefix: &'a str,
    },
}

#[derive(Clone)]
struct Finished {
    file: UnitFile,
    content: Content,
}

#[derive(Clone)]
enum Content {
    Memory(Unit),
    File(PathBuf),
}

impl<'a> Units<'a> {
    /// Looks what an earlier run left.
    pub fn take_up(partial: &'a Staging, run: &Task) -> Result<Self, StoreError> {
        let units = Self::new(Some(partial));
        for file in partial.finished_units(run)? {
            let path = partial.folder().join(&file.file);
            units.insert(file.name().to_owned(), Finished { file, content: Content::File(path) });
        }
        Ok(units)
    }

    /// Starts with nothing, in a folder that has no units yet or, without one, in memory.
    pub fn new(partial: Option<&'a Staging>) -> Self {
        let place = partial.map_or(Place::Memory, Place::Staging);
        Units { place, is_chosen: &|_| true, finished: Mutex::default() }
    }

    /// Writes some units into the folder of a plan's units; `finished` are there or elsewhere.
    pub fn of_plan(
        folder: &'a Path,
        prefix: &'a str,
        finished: impl IntoIterator<Item = (UnitFile, PathBuf)>,
        is_chosen: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> Self {
        let finished = finished.into_iter().map(|(file, path)| {
            (file.name().to_owned(), Finished { file, content: Content::File(path) })
        });
        Units {
            place: Place::Plan { folder, prefix },
            finished: Mutex::new(finished.collect()),
            is_chosen,
        }
    }

    fn finished(&self) -> MutexGuard<'_, BTreeMap<String, Finished>> {
        self.finished.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn insert(&self, stem: String, unit: Finished) {
        self.finished().insert(stem, unit);
    }

    /// The unit of this name, if it is finished.
    pub fn find(&self, stem: &str) -> Option<UnitFile> {
        self.finished().get(stem).map(|finished| finished.file.clone())
    }

    /// All units that are finished, by their names.
    pub fn all(&self) -> Vec<UnitFile> {
        self.finished().values().map(|finished| finished.file.clone()).collect()
    }

    /// Whether the unit of this name is to be written.
    pub fn lacks(&self, stem: &str) -> bool {
        (self.is_chosen)(stem) && !self.finished().contains_key(stem)
    }

    /// How many units are finished whose name starts so.
    pub fn count(&self, prefix: &str) -> usize {
        self.finished().keys().filter(|stem| stem.starts_with(prefix)).count()
    }

    /// The bytes of all finished units whose name starts so.
    pub fn bytes(&self, prefix: &str) -> u64 {
        let finished = self.finished();
        let own = finished.iter().filter(|(stem, _)| stem.starts_with(prefix));
        own.map(|(_, finished)| finished.file.bytes).sum()
    }

    /// Writes a unit.
    pub fn write(&self, stem: &str, arrays: &[(&str, ArrayRef<'_>)]) -> Result<(), StoreError> {
        let (file, content) = match self.place {
            Place::Memory => {
                let (file, unit) = Unit::in_memory(stem, arrays)?;
                (file, Content::Memory(unit))
            }
            Place::Staging(partial) => {
                let file = partial.write_unit(stem, arrays)?;
                let path = partial.folder().join(&file.file);
                (file, Content::File(path))
            }
            Place::Plan { folder, prefix } => {
                let file = write_unit(folder, &format!("{prefix}{stem}"), arrays)?;
                (file.renamed(stem), Content::File(folder.join(&file.file)))
            }
        };
        self.insert(stem.to_owned(), Finished { file, content });
        Ok(())
    }

    /// Opens the unit of this name, if it is finished.
    pub fn open(&self, stem: &str) -> Result<Option<Unit>, StoreError> {
        let finished = self.finished().get(stem).cloned();
        Ok(match finished.map(|finished| finished.content) {
            Some(Content::Memory(unit)) => Some(unit),
            Some(Content::File(path)) => Some(Unit::open(&path, Load::Map)?),
            None => None,
        })
    }

    /// The units that are in memory, in the order of `files`.
    pub fn into_memory(self, files: &[UnitFile]) -> Vec<Unit> {
        let finished = self.finished.into_inner();
        let mut finished = finished.unwrap_or_else(|poisoned| poisoned.into_inner());
        let unit = |file: &UnitFile| match finished.remove(file.name())?.content {
            Content::Memory(unit) => Some(unit),
            Content::File(_) => None,
        };
        files.iter().filter_map(unit).collect()
    }

    /// The units of these names, in their order, as far as they are finished.
    pub fn listed(&self, stems: impl IntoIterator<Item = String>) -> Vec<UnitFile> {
        stems.into_iter().filter_map(|stem| self.find(&stem)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use crate::base::run::Progress;
    use crate::data::Dataset;
    use crate::data::generate::{Generator, Profile};
    use crate::model::{Algorithm, store::Start, train};
    use std::sync::Arc;

    #[test]
    fn every_algorithm_counts_its_units_in_a_stage_that_is_known() {
        let profile = Profile { instances: 100, ..Profile::named("eurlex-4k").unwrap() };
        let generator = Generator::new(profile, 1).unwrap();
        for name in Algorithm::NAMES {
            let last = Arc::new(Mutex::new(None));
            let seen = last.clone();
            let run = Pool::new(2).unwrap().task().on_progress(move |progress| {
                let mut seen = seen.lock().unwrap();
                // Of two threads, either may be the first to tell.
                let is_more = seen.is_none_or(|seen: Progress| {
                    seen.stage != progress.stage || seen.done <= progress.done
                });
                if UNIT_STAGES.contains(&progress.stage) && is_more {
                    *seen = Some(progress);
                }
            });
            let (features, labels) = generator.rows(0..100, &run).unwrap();
            let dataset = Dataset { features, labels, label_names: None };
            let preset = Algorithm::presets(name)[0];
            let algorithm = Algorithm::preset(name, preset).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("model");
            train(&dataset, &algorithm, &target, Start::default(), &run).unwrap();
            let last = last.lock().unwrap().expect("units are counted");
            assert_eq!(last.done, last.total, "{name}: {last:?}");
        }
    }
}
