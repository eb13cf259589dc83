//! Neighbours behind the traits of the registry: one unit for the rows, and one for the weights of
//! features.

use super::index::{Index, Sizes};
use super::{BLOCK, Neighbours, Params};
use crate::algorithms::explain::Reasons;
use crate::algorithms::{
    Algorithm, Cost, Costs, Facts, Interrupted, NewRows, OpenUnit, Predict, Role, RowVotes,
    Settings, Train, Trained, UnitSink, UnitSpec, Updates, count_units, weights,
};
use crate::base::run::{Estimate, Stopped, Task};
use crate::base::settings::{ParamError, Setting};
use crate::base::sparse::{Predictions, Query, RowsView, Scored, Votes};
use crate::base::store::{FormatError, StoreError};
use crate::data::DatasetView;
use crate::learn::favour::Scores;
use crate::learn::weighting::FeatureWeights;
use serde_json::{Value, json};

/// The unit of the rows, and the only member.
const INDEX: &str = "index";

impl Algorithm for Params {
    fn name(&self) -> &'static str {
        "neighbours"
    }

    fn about(&self) -> &'static str {
        "the labels of the training rows that are most like a row"
    }

    fn table(&self) -> Vec<Setting> {
        Params::table()
    }

    fn presets(&self) -> Vec<(&'static str, Settings)> {
        vec![("default", Params::default().into())]
    }

    fn facts(&self) -> Facts {
        Facts {
            scores: Scores::Probabilities,
            is_calibrated: false,
            grows: None,
            units: "indexes",
            updates: Updates::Always(None),
            reads_names: false,
            needs_rows: true,
            tried_up_to: 0,
            judges: false,
        }
    }

    fn check(&self) -> Result<(), ParamError> {
        self.check_values()
    }

    fn resolve(&self, rows: DatasetView<'_>) -> Settings {
        self.resolve(rows.features).into()
    }

    fn estimate(&self, rows: DatasetView<'_>, _threads: usize) -> Estimate {
        self.estimate_of(rows)
    }

    fn members(&self, _labels: usize) -> usize {
        1
    }

    fn member(&self, unit: &str, _labels: usize) -> Option<usize> {
        (unit == INDEX).then_some(0)
    }

    fn units(&self, _labels: usize, _open: &OpenUnit<'_>) -> Result<Vec<UnitSpec>, StoreError> {
        Ok(vec![UnitSpec::new(INDEX, Role::Learned), weights::unit()])
    }

    fn costs(&self, units: &[UnitSpec], rows: DatasetView<'_>, _threads: usize) -> Costs {
        let cost = Cost { seconds: Params::seconds(rows), memory: self.estimate_of(rows).memory };
        let of = |unit: &UnitSpec| if unit.name == INDEX { cost } else { Cost::default() };
        Costs { units: units.iter().map(of).collect(), below: Cost::default() }
    }

    fn prepare<'a>(
        &self,
        rows: DatasetView<'a>,
        _task: &Task,
    ) -> Result<Box<dyn Train + 'a>, Interrupted> {
        self.check_values()?;
        let params = self.resolve(rows.features);
        let weights = FeatureWeights::learn(params.weighting, rows.features);
        Ok(Box::new(Trainer { params, weights, rows }))
    }

    fn open(&self, trained: &Trained<'_>) -> Result<Box<dyn Predict>, FormatError> {
        let stored = trained.stored;
        let (weights, features) = weights::read(stored)?;
        let labels = stored.manifest().labels as usize;
        let sizes = Sizes { rows: stored.manifest().instances, features, labels };
        let read = |_| Index::read(stored.unit(INDEX)?, sizes);
        let index = trained.members.clone().next().map(read).transpose()?;
        Ok(Box::new(Neighbours { params: self.clone(), weights, features, labels, index }))
    }
}

/// Rows to be indexed.
struct Trainer<'a> {
    params: Params,
    weights: FeatureWeights,
    rows: DatasetView<'a>,
}

impl Train for Trainer<'_> {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    fn train(&self, units: &UnitSink<'_>, task: &Task) -> Result<(), Interrupted> {
        weights::write(&self.weights, units)?;
        let count = count_units("indexes", 0, 1, task);
        if units.lacks(INDEX) {
            write(&index(&self.weights, self.rows, task)?, units)?;
        }
        count();
        Ok(())
    }
}

fn index(weights: &FeatureWeights, rows: DatasetView<'_>, task: &Task) -> Result<Index, Stopped> {
    task.check()?;
    let prepared = weights.prepare(rows.features);
    task.check()?;
    Ok(Index::new(prepared.view(), rows.labels))
}

fn write(index: &Index, units: &UnitSink<'_>) -> Result<(), StoreError> {
    units.write(INDEX, &index.arrays())
}

impl Predict for Neighbours {
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
            let ranked = self.count(rows.features, query, task, |votes| votes.best(query.k, 1))?;
            let mut predictions = Predictions::default();
            ranked.iter().for_each(|row: &Vec<Scored>| predictions.push_row(row));
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
        Votes::best_of(self.labels, &votes[0], query.k, |_| 1)
    }

    fn explain(
        &self,
        row: RowsView<'_>,
        labels: &[u32],
        _query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<Reasons>>, Stopped> {
        let own = self.reasons(row.features, labels, task)?;
        Ok(own.into_iter().map(|own| vec![own]).collect())
    }

    fn figures(&self) -> Vec<(String, Value)> {
        let figures = |index: &Index| {
            let figures = json!({
                "rows": index.rows(),
                "features": index.features(),
                "entries": index.entries(),
                "labels": index.labels(),
            });
            (INDEX.to_owned(), figures)
        };
        self.index.iter().map(figures).collect()
    }

    /// The new rows come after those that are there; the weights of features stay.
    fn update(
        &self,
        rows: NewRows<'_>,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        let count = count_units("indexes", 0, 1, task);
        if let Some(known) = self.index.as_ref().filter(|_| units.lacks(INDEX)) {
            write(&known.joined(&index(&self.weights, rows.added, task)?), units)?;
        }
        count();
        Ok(())
    }
}
