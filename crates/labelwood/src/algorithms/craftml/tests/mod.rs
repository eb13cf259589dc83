//! Tests of whole forests; tests with examples small enough to check by hand are beside the code.

mod batch_size;
mod growth;
mod reference;
mod settings;
mod update;

use super::algorithm::unit_name;
use super::*;
use crate::algorithms::{Predict, Train, UnitSink};
use crate::base::random::Stream;
use crate::base::run::{Pool, Task};
use crate::base::sparse::{Csr, CsrView, LabelRows, OwnedEntries, Predictions, Query, Row};
use crate::data::DatasetView;

/// Training rows.
struct Rows {
    features: Csr,
    labels: LabelRows,
}

impl Rows {
    fn new(features: usize, labels: usize) -> Self {
        Rows { features: Csr::new(features), labels: LabelRows::new(labels) }
    }

    fn push(&mut self, features: &[(u32, f32)], labels: &[u32]) {
        let (columns, values): (Vec<u32>, Vec<f32>) = features.iter().copied().unzip();
        self.features.push_row(&columns, &values).unwrap();
        self.labels.push_row(labels, &vec![(); labels.len()]).unwrap();
    }

    /// Random rows whose labels depend on some of their features; a few have no features or labels.
    fn random(count: usize, features: usize, labels: usize, seed: u64) -> Self {
        let mut random = Stream::new(seed);
        let whole = random.below(2) == 0;
        let mut rows = Rows::new(features, labels);
        for _ in 0..count {
            let mut some = std::collections::BTreeMap::new();
            for _ in 0..random.below(9) {
                let value = 1 + random.below(4);
                let value = if whole { value as f32 } else { value as f32 * 0.37 - 0.7 };
                some.insert(random.below(features) as u32, value);
            }
            let mut theirs: Vec<u32> = some.keys().map(|&column| column % labels as u32).collect();
            theirs.truncate(random.below(4));
            if random.below(5) == 0 {
                theirs.push(random.below(labels) as u32);
            }
            theirs.sort_unstable();
            theirs.dedup();
            rows.push(&some.into_iter().collect::<Vec<_>>(), &theirs);
        }
        rows
    }

    fn view(&self) -> DatasetView<'_> {
        let (features, labels) = (self.features.view(), self.labels.view());
        DatasetView { features, labels, label_names: None, named: None }
    }

    fn trainer(&self, params: Params) -> Trainer<'_> {
        Trainer::new(&params, self.view()).unwrap()
    }

    fn forest(&self, params: Params) -> Forest {
        forest(&self.trainer(params), &run(1))
    }
}

/// Grows all trees into memory and reads them back.
fn forest(trainer: &Trainer<'_>, task: &Task) -> Forest {
    let units = UnitSink::in_memory();
    trainer.train(&units, task).unwrap();
    let Trainer { params, weights, instances, .. } = trainer;
    let unit = |tree| units.open(&unit_name(tree)).unwrap().unwrap();
    let trees = (0..params.trees).map(|tree| Tree::read(&unit(tree), params).unwrap()).collect();
    let (features, labels) = (instances.columns, instances.labels.columns());
    Forest { params: params.clone(), weights: weights.clone(), features, labels, trees, first: 0 }
}

fn run(threads: usize) -> Task {
    Pool::new(threads).unwrap().task()
}

/// The labels of predictions with the bits of their scores.
fn bits(predictions: &Predictions) -> Vec<Vec<(u32, u32)>> {
    let bits = |row: &[crate::base::sparse::Scored]| {
        row.iter().map(|scored| (scored.id, scored.score.to_bits())).collect()
    };
    predictions.rows().map(bits).collect()
}
