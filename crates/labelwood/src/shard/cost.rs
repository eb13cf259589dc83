//! What units cost, about, and how they are shared out.
//!
//! The figures are for planning: whether a worker's memory will do, and which shards take how long.
//! They were fitted to trainings of seven public and synthetic sets on one machine, with rows of ten to
//! seven hundred entries and up to 670,000 labels; other machines and data differ by some times.

use super::Shard;
use crate::algorithms::label_tree;
use crate::algorithms::one_vs_rest::BLOCK;
use crate::base::run::Estimate;
use crate::base::sparse::{CsrView, LabelRowsView};
use crate::data::DatasetView;
use crate::learn::cluster::lanes::LANES;
use crate::learn::linear;
use crate::model::{Algorithm, stems};

/// Seconds of a forest's tree for each entry of the rows and level of the tree,
const GROW: f64 = 3.0e-8;
/// of a linear classifier for each row that it learns from,
const ROW: f64 = 5.0e-8;
/// and for each entry of these rows,
const ENTRY: f64 = 1.5e-9;
/// of dividing labels into groups for each group and byte of the labels' vectors,
const GROUP: f64 = 3.0e-10;
/// and of preparing the rows, which every shard does, for each entry.
const PREPARE: f64 = 5.0e-8;

/// Bytes that a process takes whatever it learns from: code, stacks, buffers, and memory that was
/// freed but not given back.
const PROCESS: u64 = 16 << 20;

/// What the units of a plan need.
pub(super) struct Costs {
    /// The units of the first stage, with seconds and memory.
    units: Vec<(String, f64, u64)>,
    /// Seconds and memory of all parts below the roots of label trees together.
    parts: (f64, u64),
    /// Seconds that preparing the rows takes.
    prepare: f64,
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
        let shape = Shape::new(features, labels);
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
                Algorithm::OneVsRest(_) => (shape.block(&stem), whole.memory),
                Algorithm::LabelForest(params) => {
                    let levels = shape.levels(&params.tree, params.rate);
                    (levels.iter().sum(), whole.memory)
                }
            };
            (stem, seconds, memory)
        };
        let stems = stems::first_stage(algorithm, labels.columns(), calibrate);
        let mut units: Vec<_> = stems.into_iter().map(unit).collect();
        let parts = match algorithm {
            Algorithm::LabelTree(params) => shape.parts(params),
            Algorithm::Grove(params) => shape.parts(&params.label_tree),
            _ => 0.0,
        };
        set_second_trainings(&mut units, parts, whole);
        let parts = (parts, if parts > 0.0 { trees } else { 0 });
        Costs { units, parts, prepare: PREPARE * shape.entries }
    }

    /// Groups the units into shards that take about as long.
    pub fn shards(self, count: usize) -> Vec<Shard> {
        let weighed = self.units.iter().map(|(stem, seconds, _)| (stem.clone(), *seconds));
        let groups = share_out(weighed.collect(), count);
        let shard = |units: Vec<String>| {
            let (all_parts, mut memory) = self.parts;
            // Each stage that has something to do for the shard prepares the rows.
            let stages = u8::from(!units.is_empty()) + u8::from(all_parts > 0.0);
            let mut seconds = f64::from(stages) * self.prepare + all_parts / count as f64;
            for (stem, own, needed) in &self.units {
                if units.contains(stem) {
                    seconds += own;
                    memory = memory.max(*needed);
                }
            }
            // More digits would look as if they were known.
            Shard { units, memory: PROCESS + memory, seconds: (seconds * 1000.0).round() / 1000.0 }
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
    labels_per_row: f64,
    /// For each block of labels, how many have rows: the others are not learned.
    known: Vec<f64>,
    /// Bytes of all labels' vectors, which grouping the labels reads.
    vectors: f64,
}

impl Shape {
    fn new(features: CsrView<'_>, labels: LabelRowsView<'_>) -> Self {
        let known = |block: &[u32]| block.iter().filter(|&&rows| rows > 0).count() as f64;
        Shape {
            rows: features.len() as f64,
            entries: features.entries() as f64,
            labels_per_row: labels.entries() as f64 / features.len().max(1) as f64,
            known: labels.column_counts().chunks(BLOCK).map(known).collect(),
            vectors: linear::Shape::new(features, labels).vectors(),
        }
    }

    fn tree(&self, leaf: usize, branches: usize) -> f64 {
        let divided = libm::log(self.rows / leaf.max(1) as f64) / libm::log(branches as f64);
        GROW * self.entries * (divided.max(0.0) + 1.0)
    }

    fn root(&self, params: &label_tree::Params) -> f64 {
        self.levels(params, 1.0)[0]
    }

    /// The parts of all trees.
    fn parts(&self, params: &label_tree::Params) -> f64 {
        params.trees as f64 * self.levels(params, 1.0)[1..].iter().sum::<f64>()
    }

    /// The levels of a tree over a share of the labels, the root first.
    ///
    /// A node learns a classifier for each group of its labels, or for each label once they are
    /// few. The root learns from all rows; below, a row is among those of as many nodes of a level
    /// as it has labels, about.
    fn levels(&self, params: &label_tree::Params, share: f64) -> Vec<f64> {
        let branches = (params.branches() as f64).powi(params.collapse.min(16) as i32 + 1);
        let mut labels = self.known.iter().sum::<f64>() * share;
        let (mut levels, mut nodes) = (Vec::new(), 1.0);
        let is_divided = |labels: f64, level: usize| {
            labels > params.leaf() as f64 && branches > 1.0 && level + 1 < params.depth
        };
        while is_divided(labels, levels.len()) {
            let groups = branches.min(labels);
            levels.push(nodes * self.learn(groups) + GROUP * self.vectors * share * groups);
            labels /= groups;
            nodes = (self.labels_per_row * share).max(1.0);
        }
        levels.push(nodes * self.learn(labels));
        levels
    }

    /// A block of one-vs-rest, by its name.
    fn block(&self, stem: &str) -> f64 {
        let number = stem.rsplit('-').next().and_then(|number| number.parse().ok());
        let known = number.and_then(|number: usize| self.known.get(number));
        self.learn(known.copied().unwrap_or(0.0))
    }

    /// Classifiers for so many labels against all rows. They are learned some at a time, which
    /// takes as long for fewer; most rows settle in the first passes, so that it hardly matters how
    /// many rows the labels have.
    fn learn(&self, labels: f64) -> f64 {
        let lanes = (labels / LANES as f64).ceil() * LANES as f64;
        lanes * (ROW * self.rows + ENTRY * self.entries)
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
