//! CRAFTML behind the traits of the registry: a unit for each tree, and one for the weights of features.

use super::node_index::NodeIndexes;
use super::{Forest, Params, Precision, Projection, Trainer, Tree, Updater};
use crate::algorithms::{
    Algorithm, Cost, Costs, Facts, Growth, Interrupted, NewRows, OpenUnit, Predict, Role, RowVotes,
    Settings, Shrink, Shrunk, Size, StoredAs, Train, Trained, UnitSink, UnitSpec, Updates,
    WriteUnit, weights,
};
use crate::base::run::{Estimate, Stage, Stopped, Task};
use crate::base::settings::{ParamError, Setting};
use crate::base::sparse::{CsrView, Predictions, Query, Scored, Votes};
use crate::base::store::{ArrayRef, FormatError, StoreError, Stored, Unit};
use crate::data::DatasetView;
use crate::learn::favour::Scores;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// Seconds of a tree for each entry of the rows and level of the tree.
const GROW: f64 = 3.0e-8;

impl Algorithm for Params {
    fn name(&self) -> &'static str {
        "craftml"
    }

    fn about(&self) -> &'static str {
        "a forest of trees over instances, each node of which clusters them by their labels"
    }

    fn table(&self) -> Vec<Setting> {
        Params::table()
    }

    fn presets(&self) -> Vec<(&'static str, Settings)> {
        vec![
            ("default", Params::default().into()),
            ("compact", Params::compact().into()),
            ("paper", Params::paper().into()),
        ]
    }

    fn facts(&self) -> Facts {
        Facts {
            scores: Scores::Probabilities,
            is_calibrated: false,
            grows: Some(Growth::Together),
            units: "trees",
            updates: Updates::Always(Some("leaves that grew are not divided")),
            tried_up_to: 0,
        }
    }

    fn check(&self) -> Result<(), ParamError> {
        self.check()
    }

    fn resolve(&self, rows: DatasetView<'_>) -> Settings {
        self.resolve(rows.features, rows.labels).into()
    }

    fn size(&self) -> Vec<Size> {
        vec![Size { count: self.trees, noun: "tree" }]
    }

    fn resized(&self, sizes: &[usize]) -> Settings {
        Params { trees: sizes[0], ..self.clone() }.into()
    }

    fn compact(&self) -> Option<Settings> {
        let Params { keep, keep_at_least, .. } = Params::compact();
        Some(Params { keep, keep_at_least, ..self.clone() }.into())
    }

    fn savings(&self) -> Vec<(&'static str, Value)> {
        let mut savings = Vec::new();
        if self.feature_projection == Projection::Gaussian {
            savings.push(("feature_projection", json!("hashing")));
        }
        if self.label_projection == Projection::Gaussian {
            savings.push(("label_projection", json!("hashing")));
        }
        savings.push(("keep", json!(self.keep.unwrap_or(1.0).min(0.1))));
        savings
    }

    fn estimate(&self, rows: DatasetView<'_>, threads: usize) -> Estimate {
        self.estimate(rows.features, rows.labels, threads)
    }

    fn members(&self, _labels: usize) -> usize {
        self.trees
    }

    fn units(&self, _labels: usize, _open: &OpenUnit<'_>) -> Result<Vec<UnitSpec>, StoreError> {
        let tree = |tree| UnitSpec::new(unit_name(tree), Role::Learned);
        Ok((0..self.trees).map(tree).chain([weights::unit()]).collect())
    }

    fn costs(&self, units: &[UnitSpec], rows: DatasetView<'_>, threads: usize) -> Costs {
        let memory = self.estimate(rows.features, rows.labels, threads).memory;
        let levels = libm::log(rows.len() as f64 / self.leaf.max(1) as f64)
            / libm::log(self.branches as f64);
        let seconds = GROW * rows.features.entries() as f64 * (levels.max(0.0) + 1.0);
        Costs { units: vec![Cost { seconds, memory }; units.len()], below: Cost::default() }
    }

    fn prepare<'a>(
        &self,
        rows: DatasetView<'a>,
        _task: &Task,
    ) -> Result<Box<dyn Train + 'a>, ParamError> {
        Ok(Box::new(Trainer::new(rows.features, rows.labels, self.clone())?))
    }

    fn open(&self, trained: &Trained<'_>) -> Result<Box<dyn Predict>, FormatError> {
        let stored = trained.stored;
        let (weights, features) = weights::read(stored)?;
        let read = |tree| read_tree(stored.unit(&unit_name(tree))?, self);
        let numbers = trained.members.clone();
        let first = numbers.start;
        let trees = numbers.into_par_iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let labels = stored.manifest().labels as usize;
        Ok(Box::new(Forest { params: self.clone(), weights, features, labels, trees, first }))
    }

    fn shrunk(&self, how: Shrink) -> Option<Settings> {
        self.stored_as(how).map(Settings::from)
    }

    fn shrink_unit(
        &self,
        how: Shrink,
        stored: &Stored,
        name: &str,
        write: &WriteUnit<'_>,
    ) -> Result<Option<Shrunk>, StoreError> {
        let Some(smaller) = self.stored_as(how).filter(|_| name.starts_with(TREE)) else {
            return Ok(None);
        };
        let features = stored.manifest().features as usize;
        let tree = read_tree(stored.unit(name)?, self)?;
        let shrunk = tree.shrunk(how.prune.unwrap_or(0.0), features, &smaller);
        let (before, after) = (tree.entries(), shrunk.entries());
        let largest = if after == 0 { tree.largest_entry(features) } else { 0.0 };
        let file = write(&arrays(&shrunk))?;
        Ok(Some(Shrunk { file, what: "entries of centroids", before, after, largest }))
    }
}

impl Params {
    fn stored_as(&self, how: Shrink) -> Option<Params> {
        let precision = match how.values {
            None => self.precision,
            Some(StoredAs::U8) => Precision::Byte,
            Some(StoredAs::F16) => Precision::Half,
            Some(StoredAs::F32) => return None,
        };
        Some(Params { precision, ..self.clone() })
    }
}

const TREE: &str = "tree-";

fn unit_name(tree: usize) -> String {
    format!("{TREE}{tree:04}")
}

impl Train for Trainer<'_> {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    fn train(&self, units: &UnitSink<'_>, task: &Task) -> Result<(), Interrupted> {
        Train::grow(self, self.params.trees, &|| true, units, task)
    }

    fn grow(
        &self,
        members: usize,
        goes_on: &(dyn Fn() -> bool + Sync),
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        weights::write(&self.weights, units)?;
        let missing: Vec<usize> =
            (0..members).filter(|&tree| units.lacks(&unit_name(tree))).collect();
        let (done, total) = (AtomicU64::new((members - missing.len()) as u64), members as u64);
        task.progress(Stage::Units("trees"), done.load(Ordering::Relaxed), total);
        self.grow_each(missing.into_iter().take_while(|_| goes_on()), task, |tree, grown| {
            units.write(&unit_name(tree), &arrays(&grown))?;
            task.progress(Stage::Units("trees"), done.fetch_add(1, Ordering::Relaxed) + 1, total);
            Ok(())
        })
    }
}

impl Predict for Forest {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    fn predict(
        &self,
        rows: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        Forest::predict(self, rows, query, task)
    }

    fn votes(
        &self,
        rows: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<RowVotes>>, Stopped> {
        Ok(vec![self.count(rows, query, task)?])
    }

    fn combine(&self, votes: &[RowVotes], _voters: &[Vec<u32>], query: Query<'_>) -> Vec<Scored> {
        Votes::best_of(self.labels, &votes[0], query.k, |_| self.params.trees)
    }

    fn figures(&self) -> Vec<(String, Value)> {
        let figures = |(tree, figures): (usize, &Tree)| (unit_name(tree), json!(figures.figures()));
        self.trees.iter().enumerate().map(figures).collect()
    }

    fn update(
        &self,
        rows: NewRows<'_>,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        let DatasetView { features, labels, .. } = rows.all.map_or(rows.added, |all| all.view());
        let updater = Updater::new(self, features, labels, rows.known());
        let total = self.trees.len();
        let missing: Vec<usize> =
            (0..total).filter(|&tree| units.find(&unit_name(tree)).is_none()).collect();
        let done = AtomicU64::new((total - missing.len()) as u64);
        task.progress(Stage::Units("trees"), done.load(Ordering::Relaxed), total as u64);
        task.install(|| {
            missing.par_iter().with_max_len(1).try_for_each(|&number| {
                let tree = updater.tree(number, task)?;
                units.write(&unit_name(number), &arrays(&tree))?;
                task.progress(
                    Stage::Units("trees"),
                    done.fetch_add(1, Ordering::Relaxed) + 1,
                    total as u64,
                );
                Ok(())
            })
        })
    }
}

/// The arrays of a tree by their names.
fn arrays(tree: &Tree) -> [(&'static str, ArrayRef<'_>); 12] {
    [
        ("children_start", tree.children_start[..].into()),
        ("children", tree.children[..].into()),
        ("scales", tree.scales[..].into()),
        ("biases", tree.biases[..].into()),
        ("words_start", tree.words_start[..].into()),
        ("words", tree.words[..].into()),
        ("values_start", tree.values_start[..].into()),
        ("values", tree.values[..].into()),
        ("leaf_start", tree.leaf_start[..].into()),
        ("leaf_instances", (&tree.leaf_instances).into()),
        ("leaf_labels", (&tree.leaf_labels).into()),
        ("leaf_counts", (&tree.leaf_counts).into()),
    ]
}

/// Reads a tree back.
fn read_tree(unit: &Unit, params: &Params) -> Result<Tree, FormatError> {
    let tree = Tree {
        branches: params.branches,
        precision: params.precision,
        children_start: unit.array("children_start")?,
        children: unit.array("children")?,
        scales: unit.array("scales")?,
        biases: unit.array("biases")?,
        words_start: unit.array("words_start")?,
        words: unit.array("words")?,
        values_start: unit.array("values_start")?,
        values: unit.array("values")?,
        leaf_start: unit.array("leaf_start")?,
        leaf_instances: unit.numbers("leaf_instances")?,
        leaf_labels: unit.numbers("leaf_labels")?,
        leaf_counts: unit.numbers("leaf_counts")?,
        indexes: NodeIndexes::default(),
    };
    if !unit.is_own() {
        tree.check().map_err(|reason| unit.refused(reason))?;
    }
    Ok(tree)
}
