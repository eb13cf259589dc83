//! CRAFTML behind the traits of the registry: a unit for each tree, and one for the weights of features.

use super::division::{Clusters, Division};
use super::estimate::estimate;
use super::grow::Instances;
use super::tasks::grow_each;
use super::update::with_rows;
use super::{Forest, Params, Precision, Projection, Trainer, Tree};
use crate::algorithms::explain::Reasons;
use crate::algorithms::{
    Algorithm, Cost, Costs, Facts, Growth, Interrupted, NewRows, OpenUnit, Predict, Role, RowVotes,
    Settings, Shrink, Shrunk, Size, StoredAs, Train, Trained, UnitSink, UnitSpec, Updates,
    WriteUnit, count_units, weights,
};
use crate::base::run::{Estimate, Stopped, Task};
use crate::base::settings::{ParamError, Setting};
use crate::base::sparse::{Predictions, Query, RowsView, Scored, Votes};
use crate::base::store::{FormatError, StoreError, Stored};
use crate::data::{Dataset, DatasetView};
use crate::learn::favour::Scores;
use crate::learn::weighting::FeatureWeights;
use rayon::prelude::*;
use serde_json::{Value, json};

/// Seconds of a tree for each entry of the rows and level of the tree.
const GROW: f64 = 3.0e-8;

/// The most rows that go through the trees together. More rows would mean that nodes are decoded less
/// often, but the leaves they reach in all trees are held in memory, about 2 KB a row.
const BLOCK: usize = 49_152;

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
            reads_names: false,
            needs_rows: true,
            tried_up_to: 0,
            judges: false,
        }
    }

    fn check(&self) -> Result<(), ParamError> {
        self.check()
    }

    fn resolve(&self, rows: DatasetView<'_>) -> Settings {
        self.resolved(rows).into()
    }

    fn size(&self) -> Vec<Size> {
        vec![Size { count: self.trees, noun: "tree" }]
    }

    fn resized(&self, sizes: &[usize]) -> Settings {
        Params { trees: sizes[0], ..self.clone() }.into()
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
        estimate(self, rows, threads)
    }

    fn members(&self, _labels: usize) -> usize {
        self.trees
    }

    fn units(&self, _labels: usize, _open: &OpenUnit<'_>) -> Result<Vec<UnitSpec>, StoreError> {
        let tree = |tree| UnitSpec::new(unit_name(tree), Role::Learned);
        Ok((0..self.trees).map(tree).chain([weights::unit()]).collect())
    }

    fn costs(&self, units: &[UnitSpec], rows: DatasetView<'_>, threads: usize) -> Costs {
        let memory = estimate(self, rows, threads).memory;
        let levels = libm::log(rows.len() as f64 / self.leaf.max(1) as f64)
            / libm::log(self.branches as f64);
        let seconds = GROW * rows.features.entries() as f64 * (levels.max(0.0) + 1.0);
        Costs { units: vec![Cost { seconds, memory }; units.len()], below: Cost::default() }
    }

    fn prepare<'a>(
        &self,
        rows: DatasetView<'a>,
        _task: &Task,
    ) -> Result<Box<dyn Train + 'a>, Interrupted> {
        Ok(Box::new(Trainer::new(self, rows)?))
    }

    fn open(&self, trained: &Trained<'_>) -> Result<Box<dyn Predict>, FormatError> {
        Ok(Box::new(Forest::open(self, trained)?))
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
        let tree = Tree::read(stored.unit(name)?, self)?;
        let shrunk = tree.shrunk(how.prune.unwrap_or(0.0), features, &smaller);
        let (before, after) = (tree.entries(), shrunk.entries());
        let largest = if after == 0 { tree.largest_entry(features) } else { 0.0 };
        let file = write(&shrunk.arrays())?;
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

pub(super) fn unit_name(tree: usize) -> String {
    format!("{TREE}{tree:04}")
}

impl<'a> Trainer<'a> {
    pub(super) fn new(params: &Params, rows: DatasetView<'a>) -> Result<Self, ParamError> {
        params.check()?;
        let params = params.resolved(rows);
        let weights = FeatureWeights::learn(params.weighting, rows.features);
        let instances = Instances::new(rows, &weights);
        Ok(Trainer { params, weights, instances, division: Box::new(Clusters) })
    }
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
        let count_one = count_units("trees", members - missing.len(), members, task);
        let missing = missing.into_iter().take_while(|_| goes_on());
        grow_each(self, missing, task, |tree, grown| {
            units.write(&unit_name(tree), &grown.arrays())?;
            count_one();
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
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        task.predict_blocks(rows, BLOCK, |block| {
            let best = |votes: &mut Votes| votes.best(query.k, self.params.trees);
            let mut predictions = Predictions::default();
            for row in self.count(block.features, query, task, best)? {
                predictions.push_row(&row);
            }
            Ok(predictions)
        })
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
        let own = self.reasons(self.params.name(), row.features, labels, query, task)?;
        Ok(own.into_iter().map(|own| vec![own]).collect())
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
        let all = rows.all.map_or(rows.added, Dataset::view);
        let instances = Instances::new(all, &self.weights);
        self.update_with((&instances, &Clusters), rows.known(), units, task)
    }
}

impl Forest {
    /// Opens a forest, or some trees of it.
    pub(in crate::algorithms) fn open(
        params: &Params,
        trained: &Trained<'_>,
    ) -> Result<Self, FormatError> {
        let stored = trained.stored;
        let (weights, features) = weights::read(stored)?;
        let read = |tree| Tree::read(stored.unit(&unit_name(tree))?, params);
        let numbers = trained.members.clone();
        let first = numbers.start;
        let trees = numbers.into_par_iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let labels = stored.manifest().labels as usize;
        Ok(Forest { params: params.clone(), weights, features, labels, trees, first })
    }

    /// Writes the trees with rows added. If the first `known` of them are all that the forest was grown
    /// from, leaves that become too large are divided.
    pub(in crate::algorithms) fn update_with(
        &self,
        (instances, division): (&Instances<'_>, &dyn Division),
        known: Option<usize>,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        assert_eq!(instances.columns, self.features, "the features are the forest's");
        let total = self.trees.len();
        let missing: Vec<usize> =
            (0..total).filter(|&tree| units.find(&unit_name(tree)).is_none()).collect();
        let count_one = count_units("trees", total - missing.len(), total, task);
        task.install(|| {
            missing.par_iter().with_max_len(1).try_for_each(|&number| {
                let tree = with_rows(self, number, (instances, division), known, task)?;
                units.write(&unit_name(number), &tree.arrays())?;
                count_one();
                Ok(())
            })
        })
    }
}
