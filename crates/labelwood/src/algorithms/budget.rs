//! Training within a budget of time and bytes: trees are added while there is time and room.

use super::{Growth, Interrupted, Settings, Size, Train, UnitSink, UnitSpec};
use crate::base::run::{Stopped, Task};
use crate::base::store::StoreError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How much longer than expected a step may take.
pub(super) const SAFETY: f64 = 1.2;

/// What a training may take.
///
/// ```
/// use labelwood::algorithms::Limits;
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

/// The limits of a training, and what of them is taken already.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The limits.
    pub limits: Limits,
    /// Bytes of what is no tree: the manifest, the labels, the weights of features.
    pub others: u64,
    /// How many labels there are.
    pub labels: usize,
}

/// Why there is no model within the budget.
#[derive(Debug)]
pub enum GrowError {
    /// The time was up before there was a model.
    TimeUp,
    /// Not even the smallest model has the size that is allowed.
    NoRoom {
        /// The bytes of the smallest model.
        least: u64,
        /// Those that are allowed.
        allowed: u64,
    },
    /// A unit was not finished.
    Interrupted(Interrupted),
}

impl From<Interrupted> for GrowError {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::Stopped(Stopped::Late) => GrowError::TimeUp,
            other => GrowError::Interrupted(other),
        }
    }
}

impl From<StoreError> for GrowError {
    fn from(error: StoreError) -> Self {
        GrowError::Interrupted(error.into())
    }
}

impl Budget {
    /// Whether so many seconds are left.
    pub fn has_seconds(&self, seconds: f64) -> bool {
        let needed = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        self.limits.until.is_none_or(|until| {
            until.checked_duration_since(Instant::now()).is_some_and(|left| needed <= left)
        })
    }

    /// The bytes that trees may have beside others of so many.
    pub fn room(&self, beside: u64) -> u64 {
        let bytes = self.limits.bytes;
        bytes.map_or(u64::MAX, |bytes| bytes.saturating_sub(self.others.saturating_add(beside)))
    }

    /// The error of a model whose trees have so many bytes at least.
    fn no_room(&self, least: u64) -> GrowError {
        let allowed = self.limits.bytes.unwrap_or(u64::MAX);
        GrowError::NoRoom { least: least + allowed - self.room(0), allowed }
    }
}

/// Grows the members of one algorithm, with an eye on the clock and on the room that is left.
pub(super) struct Grower<'a, T: ?Sized> {
    train: &'a T,
    units: &'a UnitSink<'a>,
    budget: &'a Budget,
    settings: Settings,
    /// What members grow under.
    pub task: Task,
    /// Seconds of the clock for a member, while as many grow as do at a time.
    pub seconds: Option<f64>,
}

impl<'a, T: Train + ?Sized> Grower<'a, T> {
    pub(super) fn new(
        train: &'a T,
        units: &'a UnitSink<'a>,
        budget: &'a Budget,
        task: &'a Task,
    ) -> Self {
        let settings = train.settings();
        Grower { train, units, budget, settings, task: task.clone(), seconds: None }
    }

    /// How many members the settings ask for: trees that grow one by one, or else all that there are.
    pub(super) fn most(&self) -> usize {
        let all = || self.settings.members(self.budget.labels);
        self.settings.size().first().map_or_else(all, |&Size { count, .. }| count)
    }

    /// How many members grow at a time.
    pub(super) fn at_once(&self) -> usize {
        match self.settings.facts().grows {
            Some(Growth::Together) => self.task.threads(),
            _ => 1,
        }
    }

    /// Adds members up to so many while there is time, and room beside others of so many bytes, and
    /// says how many fit. `reserve` says how many seconds must be left after so many members, each of
    /// which takes that long; what is not done at the moment `until` is left out.
    pub(super) fn grow(
        &mut self,
        most: usize,
        beside: u64,
        reserve: impl Fn(usize, f64) -> f64 + Sync,
        until: Option<Instant>,
    ) -> Result<usize, GrowError> {
        let before = self.finished(usize::MAX)?.len();
        if before < most {
            let (start, begun) = (Instant::now(), AtomicUsize::new(before));
            let done =
                || self.finished(usize::MAX).map_or(before, |members| members.len()) - before;
            let goes_on = || {
                let begun = begun.fetch_add(1, Ordering::Relaxed);
                let each = match done() {
                    0 => self.seconds,
                    done => Some(start.elapsed().as_secs_f64() / done as f64),
                };
                self.may_begin(begun, each, beside, &reserve)
            };
            let task = self.task.until(until);
            match self.train.grow(most, &goes_on, self.units, &task) {
                Err(Interrupted::Stopped(Stopped::Late)) => {}
                other => other?,
            }
            let done = done();
            if done > 0 {
                self.seconds = Some(start.elapsed().as_secs_f64() / done as f64);
            }
        }
        let sizes = self.finished(most)?;
        let fitting = self.fitting(&sizes, beside);
        match (fitting, sizes.first()) {
            (0, Some(&first)) => Err(self.budget.no_room(first)),
            _ => Ok(fitting),
        }
    }

    /// Whether another member may be begun beside `begun` others, each of which takes so long.
    fn may_begin(
        &self,
        begun: usize,
        each: Option<f64>,
        beside: u64,
        reserve: impl Fn(usize, f64) -> f64,
    ) -> bool {
        let Ok(sizes) = self.finished(usize::MAX) else { return false };
        let used: u64 = sizes.iter().sum();
        let next = used / sizes.len().max(1) as u64;
        if used.saturating_add(next) > self.budget.room(beside) {
            return false;
        }
        // What an earlier training has begun is most likely done, or nearly. Of what takes all
        // threads, nothing is begun beside others before it is known how long that takes.
        let is_unknown = each.is_none() && begun > 0 && self.at_once() == 1;
        if is_unknown && self.budget.limits.until.is_some() && !self.is_begun(begun) {
            return false;
        }
        let each = each.unwrap_or(0.0);
        let seconds = SAFETY * each * self.at_once() as f64 + reserve(begun + 1, each);
        self.budget.has_seconds(seconds)
    }

    fn is_begun(&self, member: usize) -> bool {
        let is_there = |unit: &UnitSpec| {
            self.member(unit) == Some(member) && self.units.find(&unit.name).is_some()
        };
        self.specs().is_ok_and(|units| units.iter().any(is_there))
    }

    fn member(&self, unit: &UnitSpec) -> Option<usize> {
        self.settings.member(&unit.name, self.budget.labels)
    }

    fn specs(&self) -> Result<Vec<UnitSpec>, StoreError> {
        self.settings.units(self.budget.labels, &|name| self.units.open(name))
    }

    /// The bytes of each finished member, from the first on, up to so many.
    pub(super) fn finished(&self, most: usize) -> Result<Vec<u64>, StoreError> {
        let mut sizes: Vec<Option<u64>> = Vec::new();
        for unit in self.specs()? {
            let Some(member) = self.member(&unit) else { continue };
            if sizes.len() <= member {
                sizes.resize(member + 1, Some(0));
            }
            let bytes = self.units.find(&unit.name).map(|file| file.bytes);
            sizes[member] = sizes[member].zip(bytes).map(|(sum, bytes)| sum + bytes);
        }
        Ok(sizes.into_iter().map_while(|size| size).take(most).collect())
    }

    /// How many of the first members have room.
    fn fitting(&self, sizes: &[u64], beside: u64) -> usize {
        let room = self.budget.room(beside);
        let sums = sizes.iter().scan(0u64, |sum, &bytes| {
            *sum += bytes;
            Some(*sum)
        });
        sums.take_while(|&sum| sum <= room).count()
    }
}
