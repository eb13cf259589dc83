//! The units of a model while it is being trained: which there are, what they cost, and where they go.

use super::Settings;
use crate::base::run::{Stage, Stopped, Task};
use crate::base::settings::ParamError;
use crate::base::store::{ArrayRef, Load, Staging, StoreError, Unit, UnitFile, write_unit};
use crate::data::DatasetView;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// A unit of a model: a file that one machine makes on its own.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitSpec {
    /// Its name.
    pub name: String,
    /// When it is made, and what for.
    pub role: Role,
    /// How much work it is compared with others of its role.
    pub weight: f64,
}

/// When a unit is made, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Small, and made as soon as the rows are prepared: weights of features.
    Prepared,
    /// Learned from the rows alone.
    Learned,
    /// Learned from the rows alone, and says which units come below it.
    Root,
    /// Learned once the unit above it is there.
    Below,
    /// Learned by a smaller training of its own on some of the rows.
    Ranker,
}

impl UnitSpec {
    /// A unit of this role.
    pub fn new(name: impl Into<String>, role: Role) -> Self {
        UnitSpec { name: name.into(), role, weight: 1.0 }
    }
}

/// What some work takes, about.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Seconds of CPU.
    pub seconds: f64,
    /// Bytes of memory at the peak.
    pub memory: u64,
}

/// What training units takes, about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// Of each unit that was asked about, but [`Role::Below`].
    pub units: Vec<Cost>,
    /// Of all units of [`Role::Below`] together, which are not known before.
    pub below: Cost,
}

/// Why a unit was not finished.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum Interrupted {
    /// The settings do not go with the rows.
    Params(#[from] ParamError),
    /// The task was stopped.
    Stopped(#[from] Stopped),
    /// The unit could not be written or read.
    Store(#[from] StoreError),
}

/// Where the units of a training go: to a model's folder, to that of a plan, or to memory. Several
/// threads write at once.
#[derive(Clone)]
pub struct UnitSink<'a> {
    place: Place<'a>,
    /// Which units are to be written; the others are finished, or somebody else's work.
    is_chosen: &'a (dyn Fn(&str) -> bool + Sync),
    /// By their names.
    finished: Arc<Mutex<BTreeMap<String, Finished>>>,
    /// What all names start with that are written and asked for here.
    prefix: String,
}

/// Where units go.
#[derive(Clone, Copy)]
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

/// How many seconds of CPU the units take that a sink lacks, about; nothing if it lacks none.
pub(super) fn seconds_left(
    settings: &Settings,
    rows: DatasetView<'_>,
    units: &UnitSink<'_>,
) -> Result<Option<f64>, StoreError> {
    let all = settings.units(rows.labels.columns(), &|name| units.open(name))?;
    let lacks = |unit: &&UnitSpec| units.lacks(&unit.name);
    if !all.iter().any(|unit| lacks(&unit)) {
        return Ok(None);
    }
    let (below, own): (Vec<UnitSpec>, Vec<UnitSpec>) =
        all.into_iter().partition(|unit| unit.role == Role::Below);
    let costs = settings.costs(&own, rows, 1);
    let is_lacking = |unit: &UnitSpec| if units.lacks(&unit.name) { 1.0 } else { 0.0 };
    let seconds: f64 =
        own.iter().zip(&costs.units).map(|(unit, cost)| is_lacking(unit) * cost.seconds).sum();
    // Units below a root that is missing are not known yet: then all of them are to be made.
    let share = match below.len() {
        0 => 1.0,
        count => below.iter().map(is_lacking).sum::<f64>() / count as f64,
    };
    Ok(Some(seconds + share * costs.below.seconds))
}

/// Divides a share of some work into those of its parts, by what they cost.
pub(super) fn shares(costs: Vec<f64>, whole: Range<f64>) -> Vec<Range<f64>> {
    let is_known = |cost: &f64| cost.is_finite() && *cost > 0.0;
    let sum: f64 = costs.iter().copied().filter(|cost| is_known(cost)).sum();
    let unit = (whole.end - whole.start) / if sum > 0.0 { sum } else { 1.0 };
    let mut start = whole.start;
    let share = |cost: f64| {
        let end = start + if is_known(&cost) { cost * unit } else { 0.0 };
        let share = start..end.min(whole.end);
        start = share.end;
        share
    };
    costs.into_iter().map(share).collect()
}

/// Reports that so many units are done of all, and one more at each call of what it returns.
pub(super) fn count_units(
    noun: &'static str,
    done: usize,
    all: usize,
    task: &Task,
) -> impl Fn() + Sync {
    let (done, all) = (AtomicU64::new(done as u64), all as u64);
    task.progress(Stage::Units(noun), done.load(Ordering::Relaxed), all);
    move || task.progress(Stage::Units(noun), done.fetch_add(1, Ordering::Relaxed) + 1, all)
}

impl<'a> UnitSink<'a> {
    /// Goes on with the units that an earlier training left in a folder.
    pub(crate) fn resume(staging: &'a Staging, task: &Task) -> Result<Self, StoreError> {
        let finished = staging.finished_units(task)?.into_iter().map(|file| {
            let path = staging.folder().join(&file.file);
            (file, path)
        });
        Ok(Self::new(Place::Staging(staging), &|_| true, finished))
    }

    /// Starts with nothing, in a folder that has no units yet.
    pub(crate) fn into_folder(staging: &'a Staging) -> Self {
        Self::new(Place::Staging(staging), &|_| true, [])
    }

    /// Starts with nothing, in memory.
    pub(crate) fn in_memory() -> Self {
        Self::new(Place::Memory, &|_| true, [])
    }

    /// Writes some units into the folder of a plan's units; `finished` are there or elsewhere.
    pub(crate) fn of_plan(
        folder: &'a Path,
        prefix: &'a str,
        finished: impl IntoIterator<Item = (UnitFile, PathBuf)>,
        is_chosen: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> Self {
        Self::new(Place::Plan { folder, prefix }, is_chosen, finished)
    }

    fn new(
        place: Place<'a>,
        is_chosen: &'a (dyn Fn(&str) -> bool + Sync),
        finished: impl IntoIterator<Item = (UnitFile, PathBuf)>,
    ) -> Self {
        let named = |(file, path): (UnitFile, PathBuf)| {
            (file.name().to_owned(), Finished { file, content: Content::File(path) })
        };
        let finished = Arc::new(Mutex::new(finished.into_iter().map(named).collect()));
        UnitSink { place, is_chosen, finished, prefix: String::new() }
    }

    /// The same place for the units of one part, whose names get this in front.
    pub fn below(&self, prefix: &str) -> UnitSink<'a> {
        UnitSink { prefix: format!("{}{prefix}", self.prefix), ..self.clone() }
    }

    fn finished(&self) -> MutexGuard<'_, BTreeMap<String, Finished>> {
        self.finished.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn whole(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The unit of this name, if it is finished.
    pub fn find(&self, name: &str) -> Option<UnitFile> {
        self.finished().get(&self.whole(name)).map(|finished| finished.file.clone())
    }

    /// All units that are finished, by their names.
    pub(crate) fn all(&self) -> Vec<UnitFile> {
        self.finished().values().map(|finished| finished.file.clone()).collect()
    }

    /// Whether the unit of this name is to be written.
    pub fn lacks(&self, name: &str) -> bool {
        let name = self.whole(name);
        (self.is_chosen)(&name) && !self.finished().contains_key(&name)
    }

    /// The bytes of all finished units of these names.
    pub fn bytes<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> u64 {
        let finished = self.finished();
        let file = |name: &str| finished.get(&self.whole(name)).map(|unit| unit.file.bytes);
        names.into_iter().filter_map(file).sum()
    }

    /// Writes a unit.
    pub fn write(&self, name: &str, arrays: &[(&str, ArrayRef<'_>)]) -> Result<(), StoreError> {
        let name = self.whole(name);
        let (file, content) = match self.place {
            Place::Memory => {
                let (file, unit) = Unit::in_memory(&name, arrays)?;
                (file, Content::Memory(unit))
            }
            Place::Staging(staging) => {
                let file = staging.write_unit(&name, arrays)?;
                let path = staging.folder().join(&file.file);
                (file, Content::File(path))
            }
            Place::Plan { folder, prefix } => {
                let file = write_unit(folder, &format!("{prefix}{name}"), arrays)?;
                (file.renamed(&name), Content::File(folder.join(&file.file)))
            }
        };
        self.finished().insert(name, Finished { file, content });
        Ok(())
    }

    /// Opens the unit of this name, if it is finished.
    pub fn open(&self, name: &str) -> Result<Option<Unit>, StoreError> {
        let finished = self.finished().get(&self.whole(name)).cloned();
        Ok(match finished.map(|finished| finished.content) {
            Some(Content::Memory(unit)) => Some(unit),
            Some(Content::File(path)) => Some(Unit::open(&path, Load::Map)?),
            None => None,
        })
    }

    /// The units that are in memory, in the order of `files`.
    pub(crate) fn take_memory(&self, files: &[UnitFile]) -> Vec<Unit> {
        let mut finished = self.finished();
        let unit = |file: &UnitFile| match finished.remove(file.name())?.content {
            Content::Memory(unit) => Some(unit),
            Content::File(_) => None,
        };
        files.iter().filter_map(unit).collect()
    }

    /// The units of these names, in their order, as far as they are finished.
    pub(crate) fn listed<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Vec<UnitFile> {
        names.into_iter().filter_map(|name| self.find(name)).collect()
    }
}
