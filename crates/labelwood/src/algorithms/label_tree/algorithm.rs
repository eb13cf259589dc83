//! Label trees behind the traits of the registry: a unit for each root, one for each subtree below it,
//! and one for the weights of features.

use super::grow::Root;
use super::update::{UpdatedTree, Updater};
use super::{LabelTrees, Params, Trainer, Tree, VOTES};
use crate::algorithms::explain::Reasons;
use crate::algorithms::{
    Algorithm, Cost, Costs, Facts, Growth, Interrupted, NewRows, OpenUnit, Predict, Role, RowVotes,
    Settings, Shrink, Shrunk, Size, Train, Trained, UnitSink, UnitSpec, Updates, WriteUnit, linear,
    weights,
};
use crate::base::array::Array;
use crate::base::run::{Estimate, Stage, Stopped, Task};
use crate::base::settings::{ParamError, Setting};
use crate::base::sparse::{Predictions, Query, RowsView, Scored, Votes};
use crate::base::store::{ArrayRef, FormatError, StoreError, Stored, Unit};
use crate::data::DatasetView;
use crate::learn::cost::learn_labels;
use crate::learn::favour::{Favour, Scores};
use crate::learn::linear::stored::{Sizes, arrays, read_nodes};
use crate::learn::linear::{Nodes, Shape};
use rayon::prelude::*;
use serde_json::{Value, json};

/// Seconds of dividing labels into groups for each group and byte of the labels' vectors.
const GROUP: f64 = 3.0e-10;

impl Algorithm for Params {
    fn name(&self) -> &'static str {
        "label-tree"
    }

    fn about(&self) -> &'static str {
        "trees of linear classifiers that narrow the labels down (Parabel, Bonsai, PLT, HOMER)"
    }

    fn table(&self) -> Vec<Setting> {
        Params::table()
    }

    fn presets(&self) -> Vec<(&'static str, Settings)> {
        let preset = |name| Some((name, Params::preset(name)?.into()));
        Params::PRESETS.into_iter().filter_map(preset).collect()
    }

    fn facts(&self) -> Facts {
        Facts {
            scores: Scores::Probabilities,
            is_calibrated: false,
            grows: Some(Growth::OneByOne),
            units: "units",
            updates: Updates::WithRows,
            reads_names: false,
            needs_rows: true,
            tried_up_to: 0,
            judges: true,
        }
    }

    fn check(&self) -> Result<(), ParamError> {
        self.check_values()
    }

    fn resolve(&self, rows: DatasetView<'_>) -> Settings {
        self.resolve(rows.features, rows.labels).into()
    }

    fn favouring(&self, favour: Option<Favour>) -> Settings {
        let tail_weight =
            favour.map(|favour| self.tail_weight.unwrap_or_else(|| favour.tail_weight()));
        Params { tail_weight, ..self.clone() }.into()
    }

    fn size(&self) -> Vec<Size> {
        vec![Size { count: self.trees, noun: "label tree" }]
    }

    fn resized(&self, sizes: &[usize]) -> Settings {
        Params { trees: sizes[0], ..self.clone() }.into()
    }

    fn estimate(&self, rows: DatasetView<'_>, threads: usize) -> Estimate {
        let params = self.resolve(rows.features, rows.labels);
        let shape = Shape::new(rows);
        let weights = shape.weights(self.weight_threshold, params.levels(shape.labels));
        // The vectors of all labels are moved to a place twice as large when they outgrow theirs.
        let memory = shape.prepared()
            + 2.0 * shape.vectors()
            + params.growing(&shape, threads)
            + Shape::building(weights * params.at_once(threads), params.branches());
        let model = self.trees as f64 * params.stored(&shape, weights);
        Estimate { memory: memory as u64, model: model as u64 }
    }

    fn members(&self, _labels: usize) -> usize {
        self.trees
    }

    fn units(&self, _labels: usize, open: &OpenUnit<'_>) -> Result<Vec<UnitSpec>, StoreError> {
        let mut units = Vec::with_capacity(self.trees);
        for tree in 0..self.trees {
            units.push(UnitSpec::new(root_name(tree), Role::Root));
            let groups = open(&root_name(tree))?.map(|root| read_groups(&root)).transpose()?;
            for (subtree, labels) in groups.unwrap_or_default().iter().enumerate() {
                let unit = UnitSpec::new(subtree_name(tree, subtree), Role::Below);
                units.push(UnitSpec { weight: labels.len() as f64, ..unit });
            }
        }
        units.push(weights::unit());
        Ok(units)
    }

    fn costs(&self, units: &[UnitSpec], rows: DatasetView<'_>, threads: usize) -> Costs {
        let memory = self.estimate(rows, threads).memory;
        let levels = self.level_seconds(rows, 1.0);
        let root = Cost { seconds: levels[0], memory };
        let seconds = self.trees as f64 * levels[1..].iter().sum::<f64>();
        let below = Cost { seconds, memory: if seconds > 0.0 { memory } else { 0 } };
        Costs { units: vec![root; units.len()], below }
    }

    fn prepare<'a>(
        &self,
        rows: DatasetView<'a>,
        _task: &Task,
    ) -> Result<Box<dyn Train + 'a>, Interrupted> {
        self.check_values()?;
        Ok(Box::new(Trainer::new(rows, self.resolve(rows.features, rows.labels))))
    }

    fn open(&self, trained: &Trained<'_>) -> Result<Box<dyn Predict>, FormatError> {
        let stored = trained.stored;
        let (weights, sizes) = linear::sizes(stored, self.precision)?;
        let Sizes { labels, features, .. } = sizes;
        let read = |tree| read_tree(stored, tree, sizes);
        let trees = trained.members.clone().map(read).collect::<Result<_, _>>()?;
        let params = self.clone();
        Ok(Box::new(LabelTrees { params, weights, features, labels, trees, votes: VOTES }))
    }

    fn shrunk(&self, how: Shrink) -> Option<Settings> {
        let (weight_threshold, precision) =
            linear::shrunk(how, self.weight_threshold, self.precision)?;
        Some(Params { weight_threshold, precision, ..self.clone() }.into())
    }

    fn shrink_unit(
        &self,
        how: Shrink,
        stored: &Stored,
        name: &str,
        write: &WriteUnit<'_>,
    ) -> Result<Option<Shrunk>, StoreError> {
        if !name.starts_with(TREE) {
            return Ok(None);
        }
        let unit = stored.unit(name)?;
        let subtrees = if name.ends_with(ROOT) { Some(read_groups(unit)?.len()) } else { None };
        linear::shrink_unit(how, self.precision, stored, name, subtrees, write)
    }
}

impl Params {
    /// Seconds of each level of a tree over a share of the labels, the root first.
    ///
    /// A node learns a classifier for each group of its labels, or for each label once they are few.
    /// The root learns from all rows; below, a row is among those of as many nodes of a level as it
    /// has labels, about.
    pub(crate) fn level_seconds(&self, rows: DatasetView<'_>, share: f64) -> Vec<f64> {
        let vectors = Shape::new(rows).vectors();
        let labels_per_row = rows.labels.entries() as f64 / rows.len().max(1) as f64;
        let branches = (self.branches() as f64).powi(self.collapse.min(16) as i32 + 1);
        let mut labels = rows.labels.known_columns() as f64 * share;
        let (mut levels, mut nodes) = (Vec::new(), 1.0);
        let is_divided = |labels: f64, level: usize| {
            labels > self.leaf() as f64 && branches > 1.0 && level + 1 < self.depth
        };
        while is_divided(labels, levels.len()) {
            let groups = branches.min(labels);
            levels.push(nodes * learn_labels(groups, rows) + GROUP * vectors * share * groups);
            labels /= groups;
            nodes = (labels_per_row * share).max(1.0);
        }
        levels.push(nodes * learn_labels(labels, rows));
        levels
    }
}

const TREE: &str = "tree-";
const ROOT: &str = "-root";

fn root_name(tree: usize) -> String {
    format!("{TREE}{tree:04}{ROOT}")
}

fn subtree_name(tree: usize, subtree: usize) -> String {
    format!("{TREE}{tree:04}-subtree-{subtree:05}")
}

impl Train for Trainer {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    fn train(&self, units: &UnitSink<'_>, task: &Task) -> Result<(), Interrupted> {
        self.write_trees(0..self.params.trees, units, task)
    }

    fn grow(
        &self,
        members: usize,
        goes_on: &(dyn Fn() -> bool + Sync),
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        for tree in 0..members {
            let params = Params { trees: tree + 1, ..self.params.clone() };
            let all = params.units(0, &|name| units.open(name))?;
            let is_missing = |unit: &UnitSpec| {
                self.params.member(&unit.name, 0) == Some(tree) && units.find(&unit.name).is_none()
            };
            if all.iter().any(is_missing) {
                if !goes_on() {
                    break;
                }
                let share = tree as f64 / members as f64..(tree + 1) as f64 / members as f64;
                self.write_trees(tree..tree + 1, units, &task.share(share))?;
            }
        }
        Ok(())
    }
}

impl Trainer {
    /// Writes what is missing of these trees: first the roots, one after the other, since each works
    /// on all threads; then the subtrees below them, several at a time.
    fn write_trees(
        &self,
        trees: std::ops::Range<usize>,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        weights::write(&self.training.weights, units)?;
        let mut groups = Vec::new();
        let roots = task.share(0.0..self.root_share);
        for tree in trees.clone() {
            groups.push(self.write_root(tree, units, task)?);
            roots.progress(Stage::Units("units"), groups.len() as u64, trees.len() as u64);
        }
        let all = groups.iter().zip(trees.clone()).flat_map(|(groups, tree)| {
            groups.iter().enumerate().map(move |(subtree, labels)| (tree, subtree, labels))
        });
        let is_missing = |&(tree, subtree, _): &(usize, usize, &Vec<u32>)| {
            units.lacks(&subtree_name(tree, subtree))
        };
        let missing: Vec<_> = all.filter(is_missing).collect();
        let labels: Vec<u32> =
            missing.iter().flat_map(|(.., labels)| labels.iter().copied()).collect();
        self.vectors.restrict_to(&labels);
        let total = trees.len() + groups.iter().map(Vec::len).sum::<usize>();
        let below = &task.share(self.root_share..1.0);
        linear::write_each(&missing, (total, "units"), below, |&(tree, subtree, labels)| {
            let nodes = self.subtree(tree, subtree, labels, task)?;
            Ok(units.write(&subtree_name(tree, subtree), &arrays(&nodes))?)
        })
    }

    /// The labels of each subtree below a root, which is grown if it is to be. A root that is
    /// another's work has no subtrees yet.
    fn write_root(
        &self,
        tree: usize,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<u32>>, Interrupted> {
        let name = root_name(tree);
        Ok(match units.open(&name)? {
            Some(unit) => read_groups(&unit).map_err(StoreError::from)?,
            None if !units.lacks(&name) => Vec::new(),
            None => {
                let root = self.root(tree, task)?;
                write_root(&root, &name, units)?;
                root.groups
            }
        })
    }
}

impl Predict for LabelTrees {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    fn predict(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        self.best(rows.features, query, |_| self.params.trees, task)
    }

    fn votes(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<RowVotes>>, Stopped> {
        Ok(vec![self.count(rows.features, query, task, Votes::take)?])
    }

    fn combine(&self, votes: &[RowVotes], _voters: &[Vec<u32>], query: Query<'_>) -> Vec<Scored> {
        Votes::best_of(self.labels, &votes[0], query.k, |_| self.params.trees)
    }

    fn explain(
        &self,
        row: RowsView<'_>,
        labels: &[u32],
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<Reasons>>, Stopped> {
        let (part, trees) = (self.params.name(), self.params.trees);
        let own = self.reasons(part, row.features, (labels, query), |_| trees, task)?;
        Ok(own.into_iter().map(|own| vec![own]).collect())
    }

    fn figures(&self) -> Vec<(String, Value)> {
        let trees = self.trees.iter().enumerate();
        trees.map(|(tree, grown)| (format!("{TREE}{tree:04}"), json!(grown.figures()))).collect()
    }

    /// Writes the nodes that new rows touch. The root, which is always among them, comes last: where
    /// it is, nothing is missing.
    fn update(
        &self,
        rows: NewRows<'_>,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        let Some(all) = rows.all else { return Ok(()) };
        let updater = Updater::new(self, all.view(), rows.touched, task)?;
        let total = self.trees.len();
        for tree in 0..total {
            task.progress(Stage::Units("units"), tree as u64, total as u64);
            if units.find(&root_name(tree)).is_some() {
                continue;
            }
            let UpdatedTree { root, subtrees } = updater.tree(tree, task)?;
            for (subtree, nodes) in subtrees.iter().enumerate() {
                if let Some(nodes) = nodes {
                    units.write(&subtree_name(tree, subtree), &arrays(nodes))?;
                }
            }
            write_root(&root, &root_name(tree), units)?;
        }
        task.progress(Stage::Units("units"), total as u64, total as u64);
        Ok(())
    }

    fn clusters(&self, tree: usize) -> Option<Vec<Vec<u32>>> {
        self.trees.get(tree).map(Tree::clusters)
    }
}

/// Writes a root and the labels of the subtrees below it.
fn write_root(root: &Root, name: &str, units: &UnitSink<'_>) -> Result<(), StoreError> {
    let mut starts = vec![0u64];
    for group in &root.groups {
        starts.push(starts[starts.len() - 1] + group.len() as u64);
    }
    let labels = root.groups.concat();
    let mut all: Vec<(&str, ArrayRef<'_>)> = arrays(&root.nodes);
    all.extend([("groups_start", starts[..].into()), ("groups", labels[..].into())]);
    units.write(name, &all)
}

/// The labels of each subtree below a root.
fn read_groups(unit: &Unit) -> Result<Vec<Vec<u32>>, FormatError> {
    let starts: Array<u64> = unit.array("groups_start")?;
    let labels: Array<u32> = unit.array("groups")?;
    let group =
        |range: &[u64]| labels.get(range[0] as usize..range[1] as usize).map(<[u32]>::to_vec);
    let groups: Option<Vec<_>> = starts.windows(2).map(group).collect();
    groups.ok_or_else(|| unit.refused("its groups do not fit its labels"))
}

fn read_tree(stored: &Stored, tree: usize, sizes: Sizes) -> Result<Tree, FormatError> {
    let unit = stored.unit(&root_name(tree))?;
    let count = unit.array::<u64>("groups_start")?.len().saturating_sub(1);
    let root = read_nodes(unit, sizes, Some(count))?;
    let subtree = |subtree| read_nodes(stored.unit(&subtree_name(tree, subtree))?, sizes, None);
    let subtrees = (0..count).into_par_iter().map(subtree).collect::<Result<Vec<Nodes>, _>>()?;
    if root.len() == 1 {
        Ok(Tree { root, subtrees })
    } else {
        Err(unit.refused("a root is one node"))
    }
}
