//! The units of an unfinished model, as several threads write them.

use super::TrainError;
use super::store::{ArrayRef, Load, Partial, StoreError, Unit, UnitFile};
use crate::run::{Cancelled, Run};
use std::collections::BTreeMap;
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
    partial: &'a Partial,
    /// By their stems.
    finished: Mutex<BTreeMap<String, UnitFile>>,
}

impl<'a> Units<'a> {
    /// Looks what an earlier run left.
    pub fn take_up(partial: &'a Partial, run: &Run) -> Result<Self, StoreError> {
        let finished = partial.finished_units(run)?.into_iter();
        let finished = finished.map(|unit| (unit.stem().to_owned(), unit)).collect();
        Ok(Units { partial, finished: Mutex::new(finished) })
    }

    fn finished(&self) -> MutexGuard<'_, BTreeMap<String, UnitFile>> {
        self.finished.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The unit of this name, if it is finished.
    pub fn find(&self, stem: &str) -> Option<UnitFile> {
        self.finished().get(stem).cloned()
    }

    /// How many units are finished whose name starts so.
    pub fn count(&self, prefix: &str) -> usize {
        self.finished().keys().filter(|stem| stem.starts_with(prefix)).count()
    }

    /// Writes a unit.
    pub fn write(&self, stem: &str, arrays: &[(&str, ArrayRef<'_>)]) -> Result<(), StoreError> {
        let unit = self.partial.write_unit(stem, arrays)?;
        self.finished().insert(stem.to_owned(), unit);
        Ok(())
    }

    /// Opens a finished unit.
    pub fn open(&self, unit: &UnitFile) -> Result<Unit, StoreError> {
        Unit::open(&self.partial.folder().join(&unit.file), Load::Map)
    }

    /// The units of these names, in their order, as far as they are finished.
    pub fn listed(&self, stems: impl IntoIterator<Item = String>) -> Vec<UnitFile> {
        stems.into_iter().filter_map(|stem| self.find(&stem)).collect()
    }
}
