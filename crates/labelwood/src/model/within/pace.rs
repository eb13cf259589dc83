//! Growing trees with an eye on the clock and on the room that is left.

use super::super::store::UnitFile;
use super::super::units::Units;
use super::super::{Algorithm, TrainError, craftml, grove, linear};
use super::Limits;
use crate::algorithms::craftml as forest;
use crate::algorithms::grove as groves;
use crate::algorithms::label_tree;
use crate::base::run::{Stopped, Task};
use crate::data::DatasetView;
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
pub(super) struct Pace<'a> {
    dataset: DatasetView<'a>,
    units: &'a Units<'a>,
    limits: Limits,
    run: &'a Task,
    costs: Costs,
    /// Whether there is a blend to learn at the end.
    learns_blend: bool,
}

impl<'a> Pace<'a> {
    /// Starts beside the units that are there whatever is grown.
    pub fn new(
        dataset: DatasetView<'a>,
        units: &'a Units<'a>,
        limits: Limits,
        run: &'a Task,
    ) -> Self {
        let costs = Costs { others: units.bytes(""), ..Costs::default() };
        Pace { dataset, units, limits, run, costs, learns_blend: false }
    }

    pub fn forest_alone(&mut self, params: &forest::Params) -> Result<Algorithm, TrainError> {
        self.costs.label_trees = 0;
        let trees = self.forest(params, params.trees, 0)?;
        Ok(Algorithm::CraftMl(forest::Params { trees, ..params.clone() }))
    }

    pub fn label_trees_alone(
        &mut self,
        params: &label_tree::Params,
    ) -> Result<Algorithm, TrainError> {
        let Some(first) = self.label_trees(params, linear::TREES, 1, None)? else {
            return Err(self.time_up("tree-", "parts"));
        };
        if self.room(0) < first {
            return Err(self.no_room(first));
        }
        let mut trees = 1;
        self.costs.label_trees = first;
        while trees < params.trees && self.may_add_label_tree(linear::TREES, 0, trees) {
            match self.label_trees(params, linear::TREES, trees + 1, None)? {
                Some(bytes) if bytes <= self.room(0) => self.costs.label_trees = bytes,
                _ => break,
            }
            trees += 1;
        }
        Ok(Algorithm::LabelTree(label_tree::Params { trees, ..params.clone() }))
    }

    /// A few trees, a label tree, more trees, more label trees, and the rest of the trees, as far
    /// as the limits allow, and the blend of what is there. Both parts are worth more than a blend
    /// that is learned: it is only if that fits beside the first of each.
    pub fn grove(&mut self, params: &groves::Params) -> Result<Algorithm, TrainError> {
        let (forest, label_tree) = (&params.forest, &params.label_tree);
        let first = self.forest(forest, forest.trees.min(FIRST), 0)?;
        let grown = self.label_trees(label_tree, linear::GROVE, 1, self.limits.until)?;
        let Some(bytes) = grown.filter(|bytes| bytes + self.first_bytes() <= self.room(0)) else {
            return self.forest_alone(forest);
        };
        let mut label_trees = 1;
        self.costs.label_trees = bytes;
        self.learns_blend = params.learn_blend;
        self.learns_blend &= self.has_seconds(self.blend(first, 1, self.costs.tree.unwrap_or(0.0)));
        let trees = self.forest(forest, forest.trees.min(ENOUGH), label_trees)?;
        while label_trees < label_tree.trees
            && self.may_add_label_tree(linear::GROVE, trees, label_trees)
        {
            let tree = self.costs.tree.unwrap_or(0.0);
            let blend = Duration::from_secs_f64(self.blend(trees, label_trees + 1, tree));
            let until = self.limits.until.and_then(|until| until.checked_sub(blend));
            match self.label_trees(label_tree, linear::GROVE, label_trees + 1, until)? {
                Some(bytes) if bytes + self.forest_bytes(trees) <= self.room(0) => {
                    self.costs.label_trees = bytes;
                }
                _ => break,
            }
            label_trees += 1;
        }
        let trees = self.forest(forest, forest.trees, label_trees)?;
        let total = forest.trees;
        let mut params = params.clone();
        params.forest.trees = trees;
        params.label_tree.trees = label_trees;
        params.learn_blend = self.learns_blend;
        self.write_blend(params, total)
    }

    /// The blend of parts that are grown, of a forest that was to have `total` trees: the default one
    /// if learning takes too long.
    fn write_blend(
        &self,
        mut params: groves::Params,
        total: usize,
    ) -> Result<Algorithm, TrainError> {
        let DatasetView { features, labels, .. } = self.dataset;
        let blend = match groves::Trainer::new(features, labels, params.clone())?.blend(self.run) {
            Err(Stopped::Late) => {
                params.learn_blend = false;
                groves::Blend::default()
            }
            Err(source) => {
                let finished = params.forest.trees;
                return Err(TrainError::Stopped { finished, total, units: "trees", source });
            }
            Ok(blend) => blend,
        };
        grove::write_blend(&blend, self.units)?;
        Ok(Algorithm::Grove(params))
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
        let blend = self.blend(begun + 1, label_trees, each);
        self.has_seconds(SAFETY * each * self.run.threads() as f64 + blend)
    }

    /// Whether another label tree may be begun beside so many trees and label trees.
    fn may_add_label_tree(&self, names: linear::Names, trees: usize, label_trees: usize) -> bool {
        // One that an earlier run has begun is most likely done, or nearly.
        let is_begun = self.units.find(&names.root(label_trees)).is_some();
        let seconds = match self.costs.label_tree {
            _ if is_begun => 0.0,
            Some(seconds) => seconds,
            None if self.limits.until.is_none() => 0.0,
            None => return false,
        };
        let next = self.costs.label_trees / label_trees.max(1) as u64;
        let used = self.costs.label_trees + self.forest_bytes(trees);
        let tree = self.costs.tree.unwrap_or(0.0);
        let blend = self.blend(trees, label_trees + 1, tree);
        used + next <= self.room(0) && self.has_seconds(SAFETY * seconds + blend)
    }

    /// Grows the first so many label trees as far as they are not there, and says how many bytes
    /// they have; nothing if that is not done in time.
    fn label_trees(
        &mut self,
        params: &label_tree::Params,
        names: linear::Names,
        trees: usize,
        until: Option<Instant>,
    ) -> Result<Option<u64>, TrainError> {
        let is_new = self.units.find(&names.root(trees - 1)).is_none();
        let DatasetView { features, labels, .. } = self.dataset;
        let start = Instant::now();
        let params = label_tree::Params { trees, ..params.clone() };
        let trainer = label_tree::Trainer::new(features, labels, params.clone())?;
        match linear::write_trees(&trainer, names, self.units, &self.run.until(until)) {
            Ok(()) => {
                if is_new {
                    self.costs.label_tree = Some(start.elapsed().as_secs_f64());
                }
                let parts = |root: &str| linear::parts_below(self.units, root);
                Ok(Some(bytes_of(&self.units.listed(names.stems(&params, parts)))))
            }
            Err(TrainError::Stopped { source: Stopped::Late, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// How long learning the blend of so many trees will take if one takes `tree` seconds; nothing
    /// if there is none to learn.
    fn blend(&self, trees: usize, label_trees: usize, tree: f64) -> f64 {
        if !self.learns_blend {
            return 0.0;
        }
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
        let more = 16 * 1024 + bytes / 32 + 4 * self.dataset.features.columns() as u64;
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
