//! What units cost, about, and how they are shared out.
//!
//! The figures are for planning: whether a worker's memory will do, and which shards take how long.
//! They were fitted to trainings of one public set of titles on one machine; other machines and
//! data differ by some times.

use super::Shard;
use crate::data::DatasetView;
use crate::label_tree;
use crate::model::{Algorithm, stems};
use crate::one_vs_rest::BLOCK;
use crate::run::Estimate;

/// Seconds of a forest's tree for each entry of the rows and level of the tree,
const GROW: f64 = 4.0e-8;
/// of a linear classifier for each entry of the rows that it learns from,
const LEARN: f64 = 2.5e-8;
/// of a child of a label tree's root, whose labels are grouped there, too,
const ROOT: f64 = 3.7e-8;
/// and of a child of the nodes below, which few rows come to.
const PART: f64 = 4.1e-9;

/// What the units of a plan need.
pub(super) struct Costs {
    /// The units of the first stage, with seconds and memory.
    units: Vec<(String, f64, u64)>,
    /// Seconds and memory of all parts below the roots of label trees together.
    parts: (f64, u64),
}

impl Costs {
    pub fn of(
        algorithm: &Algorithm,
        dataset: DatasetView<'_>,
        calibrate: bool,
        threads: usize,
    ) -> Self {
        let DatasetView { features, labels, .. } = dataset;
        let of = |algorithm: &Algorithm| algorithm.estimate(features, labels, threads);
        let whole = of(algorithm);
        let shape = Shape {
            rows: features.len() as f64,
            entries: features.entries() as f64,
            labels: labels.columns() as f64,
            labels_per_row: labels.entries() as f64 / features.len().max(1) as f64,
        };
        let (forest, trees) = match algorithm {
            Algorithm::Grove(params) => (
                of(&Algorithm::CraftMl(params.forest.clone())).memory,
                of(&Algorithm::LabelTree(params.label_tree.clone())).memory,
            ),
            _ => (whole.memory, whole.memory),
        };
        let unit = |stem: String| {
            let (seconds, memory) = match algorithm {
                Algorithm::Grove(params) => match stem.starts_with("label-tree-") {
                    true => (shape.root(&params.label_tree), trees),
                    false => (shape.tree(params.forest.leaf, params.forest.branches), forest),
                },
                Algorithm::CraftMl(params) => (shape.tree(params.leaf, params.branches), forest),
                Algorithm::LabelTree(params) => (shape.root(params), trees),
                Algorithm::OneVsRest(_) => (shape.block(), whole.memory),
                Algorithm::LabelForest(params) => {
                    let parts = shape.parts(&params.tree) * params.rate;
                    (shape.root(&params.tree) + parts, whole.memory)
                }
            };
            (stem, seconds, memory)
        };
        let stems = stems::first_stage(algorithm, labels.columns(), calibrate);
        let mut units: Vec<_> = stems.into_iter().map(unit).collect();
        let parts = match algorithm {
            Algorithm::LabelTree(params) => shape.parts(params) * params.trees as f64,
            Algorithm::Grove(params) => {
                shape.parts(&params.label_tree) * params.label_tree.trees as f64
            }
            _ => 0.0,
        };
        set_second_trainings(&mut units, parts, whole);
        Costs { units, parts: (parts, if parts > 0.0 { trees } else { 0 }) }
    }

    /// Groups the units into shards that take about as long.
    pub fn shards(self, count: usize) -> Vec<Shard> {
        let weighed = self.units.iter().map(|(stem, seconds, _)| (stem.clone(), *seconds));
        let groups = share_out(weighed.collect(), count);
        let shard = |units: Vec<String>| {
            let (mut memory, mut seconds) = (self.parts.1, self.parts.0 / count as f64);
            for (stem, own, needed) in &self.units {
                if units.contains(stem) {
                    seconds += own;
                    memory = memory.max(*needed);
                }
            }
            // More digits would look as if they were known.
            Shard { units, memory, seconds: (seconds * 1000.0).round() / 1000.0 }
        };
        groups.into_iter().map(shard).collect()
    }
}

/// The units that train a model of their own: a calibration on nine tenths of the rows, and the
/// blend of a grove with about a third of its trees.
fn set_second_trainings(units: &mut [(String, f64, u64)], parts: f64, whole: Estimate) {
    let is_second = |stem: &str| matches!(stem, "calibration" | "blend");
    let others = units.iter().filter(|(stem, ..)| !is_second(stem)).map(|(_, seconds, _)| seconds);
    let all = others.sum::<f64>() + parts;
    for (stem, seconds, memory) in units.iter_mut() {
        match stem.as_str() {
            // The rows are prepared twice, and the second model stays in memory.
            "calibration" => (*seconds, *memory) = (0.9 * all, 2 * whole.memory + whole.model),
            "blend" => (*seconds, *memory) = (0.3 * all, whole.memory),
            _ => {}
        }
    }
}

/// The sizes that the time follows from.
struct Shape {
    rows: f64,
    entries: f64,
    labels: f64,
    labels_per_row: f64,
}

impl Shape {
    fn tree(&self, leaf: usize, branches: usize) -> f64 {
        let divided = libm::log(self.rows / leaf.max(1) as f64) / libm::log(branches as f64);
        GROW * self.entries * (divided.max(0.0) + 1.0)
    }

    /// Each child of the root learns from all rows.
    fn root(&self, params: &label_tree::Params) -> f64 {
        let children = (params.branches() as f64).powi(params.collapse.min(16) as i32 + 1);
        ROOT * self.entries * children.min(self.labels)
    }

    /// On each level below, a row is among those of as many nodes as it has labels, about.
    fn parts(&self, params: &label_tree::Params) -> f64 {
        let children = params.branches().min(params.leaf().max(2)) as f64;
        let levels = params.levels(self.labels) - 1.0;
        PART * self.entries * self.labels_per_row * children.min(self.labels) * levels
    }

    fn block(&self) -> f64 {
        LEARN * self.entries * (BLOCK as f64).min(self.labels)
    }
}

/// Puts the heaviest first into the group that has least so far; names keep their order within a
/// group, and each group is the same wherever this is computed.
pub(super) fn share_out(weighed: Vec<(String, f64)>, count: usize) -> Vec<Vec<String>> {
    let mut order: Vec<usize> = (0..weighed.len()).collect();
    order.sort_by(|&one, &other| weighed[other].1.total_cmp(&weighed[one].1));
    let mut loads = vec![0.0; count];
    let mut group_of = vec![0; weighed.len()];
    for at in order {
        let least = (0..count).min_by(|&one, &other| f64::total_cmp(&loads[one], &loads[other]));
        group_of[at] = least.unwrap_or(0);
        loads[group_of[at]] += weighed[at].1;
    }
    let mut groups = vec![Vec::new(); count];
    for ((stem, _), group) in weighed.into_iter().zip(group_of) {
        groups[group].push(stem);
    }
    groups
}
