//! The units of an unfinished model, as several threads write them: to its folder, or to memory.

use super::TrainError;
use super::store::{ArrayRef, Load, Partial, StoreError, Unit, UnitFile};
use crate::run::{Cancelled, Run};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// Why a unit was not finished.
pub(super) enum Stop {
    /// The run was cancelled.
    Cancelled(Cancelled),
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
            Stop::Cancelled(source) => {
                TrainError::Cancelled { finished: written.count(prefix), total, units, source }
            }
        }
    }
}

impl From<Cancelled> for Stop {
    fn from(cancelled: Cancelled) -> Self {
        Stop::Cancelled(cancelled)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Stop::Store(error)
    }
}

/// What is finished so far.
pub(super) struct Units<'a> {
    /// Without a folder, units are kept in memory.
    partial: Option<&'a Partial>,
    /// By their stems.
    finished: Mutex<BTreeMap<String, Finished>>,
}

struct Finished {
    file: UnitFile,
    /// Its content, if it is in no folder.
    unit: Option<Unit>,
}

impl<'a> Units<'a> {
    /// Looks what an earlier run left.
    pub fn take_up(partial: &'a Partial, run: &Run) -> Result<Self, StoreError> {
        let finished = partial.finished_units(run)?.into_iter();
        let finished =
            finished.map(|file| (file.stem().to_owned(), Finished { file, unit: None })).collect();
        Ok(Units { partial: Some(partial), finished: Mutex::new(finished) })
    }

    /// Starts with nothing, in a folder that has no units yet or, without one, in memory.
    pub fn new(partial: Option<&'a Partial>) -> Self {
        Units { partial, finished: Mutex::default() }
    }

    fn finished(&self) -> MutexGuard<'_, BTreeMap<String, Finished>> {
        self.finished.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The unit of this name, if it is finished.
    pub fn find(&self, stem: &str) -> Option<UnitFile> {
        self.finished().get(stem).map(|finished| finished.file.clone())
    }

    /// All units that are finished, by their names.
    pub fn all(&self) -> Vec<UnitFile> {
        self.finished().values().map(|finished| finished.file.clone()).collect()
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
    pub fn write(
        &self,
        stem: &str,
        arrays: &[(&str, ArrayRef<'_>)],
    ) -> Result<UnitFile, StoreError> {
        let (file, unit) = match self.partial {
            Some(partial) => (partial.write_unit(stem, arrays)?, None),
            None => Unit::in_memory(stem, arrays).map(|(file, unit)| (file, Some(unit)))?,
        };
        self.finished().insert(stem.to_owned(), Finished { file: file.clone(), unit });
        Ok(file)
    }

    /// Opens a finished unit of the folder; in memory, nothing is there before it is written.
    pub fn open(&self, unit: &UnitFile) -> Result<Unit, StoreError> {
        let folder = self.partial.map_or(Path::new(""), Partial::folder);
        Unit::open(&folder.join(&unit.file), Load::Map)
    }

    /// The units that are in memory, in the order of `files`.
    pub fn into_memory(self, files: &[UnitFile]) -> Vec<Unit> {
        let finished = self.finished.into_inner();
        let mut finished = finished.unwrap_or_else(|poisoned| poisoned.into_inner());
        files.iter().filter_map(|file| finished.remove(file.stem())?.unit).collect()
    }

    /// The units of these names, in their order, as far as they are finished.
    pub fn listed(&self, stems: impl IntoIterator<Item = String>) -> Vec<UnitFile> {
        stems.into_iter().filter_map(|stem| self.find(&stem)).collect()
    }
}
