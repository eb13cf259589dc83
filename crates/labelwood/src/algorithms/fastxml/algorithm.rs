//! FastXML behind the traits of the registry: the units of a CRAFTML forest and, if the means of labels
//! have a say, one for these.

use super::division::Rankings;
use super::gains::{gains, values};
use super::means::{Means, UNIT};
use super::{FastXml, Params, Trainer, craftml};
use crate::algorithms::explain::Reasons;
use crate::algorithms::{
    Algorithm, Costs, Facts, Interrupted, NewRows, OpenUnit, Predict, Role, RowVotes, Settings,
    Shrink, Shrunk, Size, StoredAs, Train, Trained, UnitSink, UnitSpec, WriteUnit,
};
use crate::base::run::{Estimate, Stopped, Task};
use crate::base::settings::{ParamError, Setting};
use crate::base::sparse::{Predictions, Query, RowsView, Scored};
use crate::base::store::{FormatError, StoreError, Stored};
use crate::data::{Dataset, DatasetView};
use crate::learn::weighting::FeatureWeights;
use serde_json::{Value, json};

/// The share of the entries of dense classifiers that sparse ones have, at most.
const KEPT: f64 = 0.02;

/// The most rows that are predicted together.
const BLOCK: usize = 49_152;

impl Algorithm for Params {
    fn name(&self) -> &'static str {
        "fastxml"
    }

    fn about(&self) -> &'static str {
        "a forest of trees over instances, each node of which ranks the labels of two sides"
    }

    fn table(&self) -> Vec<Setting> {
        Params::table()
    }

    fn presets(&self) -> Vec<(&'static str, Settings)> {
        vec![("default", Params::default().into()), ("pfastrexml", Params::pfastrexml().into())]
    }

    fn facts(&self) -> Facts {
        self.forest().facts()
    }

    fn check(&self) -> Result<(), ParamError> {
        self.check_values()
    }

    fn resolve(&self, rows: DatasetView<'_>) -> Settings {
        self.resolved(rows.features).into()
    }

    fn size(&self) -> Vec<Size> {
        self.forest().size()
    }

    fn resized(&self, sizes: &[usize]) -> Settings {
        Params { trees: sizes[0], ..self.clone() }.into()
    }

    fn estimate(&self, rows: DatasetView<'_>, threads: usize) -> Estimate {
        let forest = craftml::Params { keep: Some(KEPT), ..self.forest() };
        let estimate = forest.estimate(rows, threads);
        // The means have an entry for each label and feature of a row, of which many are the same.
        let means = match self.tail_share > 0.0 {
            true => {
                let by_row = rows.features.rows().zip(rows.labels.rows());
                let entries: u64 = by_row.map(|(row, own)| (row.len() * own.len()) as u64).sum();
                let all = rows.features.columns() as u64 * rows.labels.columns() as u64;
                8 * (entries.min(all) + rows.features.columns() as u64)
            }
            false => 0,
        };
        Estimate { memory: estimate.memory + 2 * means, model: estimate.model + means }
    }

    fn members(&self, _labels: usize) -> usize {
        self.trees
    }

    fn units(&self, labels: usize, open: &OpenUnit<'_>) -> Result<Vec<UnitSpec>, StoreError> {
        let means = (self.tail_share > 0.0).then(|| UnitSpec::new(UNIT, Role::Prepared));
        let mut units = self.forest().units(labels, open)?;
        units.extend(means);
        Ok(units)
    }

    fn costs(&self, units: &[UnitSpec], rows: DatasetView<'_>, threads: usize) -> Costs {
        // A node takes about as long as one of CRAFTML's; there are as many more as they have fewer children.
        self.forest().costs(units, rows, threads)
    }

    fn prepare<'a>(
        &self,
        rows: DatasetView<'a>,
        _task: &Task,
    ) -> Result<Box<dyn Train + 'a>, Interrupted> {
        self.check()?;
        let params = self.resolved(rows.features);
        let weights = FeatureWeights::learn(params.weighting, rows.features);
        let instances = instances(&params, rows, &weights);
        let (division, forest) = (Box::new(Rankings::new(&params)), params.forest());
        let forest = craftml::Trainer { params: forest, weights, instances, division };
        Ok(Box::new(Trainer { params, forest, rows }))
    }

    fn open(&self, trained: &Trained<'_>) -> Result<Box<dyn Predict>, FormatError> {
        let (stored, counts) = (trained.stored, trained.counts.clone());
        let forest = craftml::Forest::open(&self.forest(), trained)?;
        let (features, labels) = (forest.features, forest.labels);
        let instances = usize::try_from(stored.manifest().instances).unwrap_or(usize::MAX);
        let gains = gains(instances, &counts, self.tail_weight);
        let means = (self.tail_share > 0.0)
            .then(|| Means::read(stored.unit(UNIT)?, features, labels))
            .transpose()?;
        Ok(Box::new(FastXml { params: self.clone(), forest, counts, gains, means }))
    }

    fn shrunk(&self, how: Shrink) -> Option<Settings> {
        let precision = match how.values {
            None => self.precision,
            Some(StoredAs::U8) => craftml::Precision::Byte,
            Some(StoredAs::F16) => craftml::Precision::Half,
            Some(StoredAs::F32) => return None,
        };
        Some(Params { precision, ..self.clone() }.into())
    }

    fn shrink_unit(
        &self,
        how: Shrink,
        stored: &Stored,
        name: &str,
        write: &WriteUnit<'_>,
    ) -> Result<Option<Shrunk>, StoreError> {
        let shrunk = self.forest().shrink_unit(how, stored, name, write)?;
        Ok(shrunk.map(|shrunk| Shrunk { what: "weights", ..shrunk }))
    }
}

/// The rows, with what each label entry is worth in a ranking.
fn instances<'a>(
    params: &Params,
    rows: DatasetView<'a>,
    weights: &FeatureWeights,
) -> craftml::Instances<'a> {
    let gains = gains(rows.len(), &rows.labels.column_counts(), params.tail_weight);
    craftml::Instances::with_values(rows, weights, values(rows.labels, &gains))
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
        if self.params.tail_share > 0.0 && units.lacks(UNIT) {
            task.check()?;
            let rows = self.forest.instances.features.view();
            let (features, labels) = (self.rows.features.columns(), self.rows.labels);
            let means = task.install(|| Means::of_rows(rows, features, labels));
            units.write(UNIT, &means.arrays())?;
        }
        self.forest.grow(members, goes_on, units, task)
    }
}

impl Predict for FastXml {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    fn predict(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        task.predict_blocks(rows, BLOCK, |rows| {
            let kinds = self.all_votes(rows, query, task)?;
            let mut predictions = Predictions::default();
            for row in 0..rows.len() {
                let votes: Vec<RowVotes> = kinds.iter().map(|kind| kind[row].clone()).collect();
                predictions.push_row(&self.ranked(&votes, query));
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
        self.all_votes(rows, query, task)
    }

    fn voters(&self) -> Vec<Vec<u32>> {
        vec![Vec::new(); if self.means.is_some() { 2 } else { 1 }]
    }

    fn combine(&self, votes: &[RowVotes], _voters: &[Vec<u32>], query: Query<'_>) -> Vec<Scored> {
        self.ranked(votes, query)
    }

    fn explain(
        &self,
        row: RowsView<'_>,
        labels: &[u32],
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<Reasons>>, Stopped> {
        let own = self.reasons(row, labels, query, task)?;
        Ok(own.into_iter().map(|own| vec![own]).collect())
    }

    fn figures(&self) -> Vec<(String, Value)> {
        let means = self.means.as_ref();
        let of_means = means.map(|means| (UNIT.to_owned(), json!({ "entries": means.entries() })));
        self.forest.figures().into_iter().chain(of_means).collect()
    }

    /// New rows are counted in the leaves that they reach and in the means of their labels.
    fn update(
        &self,
        rows: NewRows<'_>,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        let weights = &self.forest.weights;
        if let Some(known) = self.means.as_ref().filter(|_| units.lacks(UNIT)) {
            let (added, features) = (rows.added, self.forest.features);
            let prepared = weights.prepare(added.features);
            let new = task.install(|| Means::of_rows(prepared.view(), features, added.labels));
            units.write(UNIT, &known.with(&new).arrays())?;
        }
        let all = rows.all.map_or(rows.added, Dataset::view);
        let instances = instances(&self.params, all, weights);
        let division = Rankings::new(&self.params);
        self.forest.update_with((&instances, &division), rows.known(), units, task)
    }
}
