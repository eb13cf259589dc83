//! One training on some of the rows, and how it ranks the labels of others.

use super::measure::{CUT, Measure};
use crate::algorithms::Settings;
use crate::base::random::derive;
use crate::base::run::{Clock, Spent, Stopped, Task};
use crate::base::sparse::{Predictions, Query, Scored};
use crate::data::{Dataset, DatasetView};
use crate::metrics::discounts;
use crate::model::{Model, TrainError, TrainOptions};
use crate::text::TextReader;
use serde::{Deserialize, Serialize};

/// The share of the time that is training; the rest is predicting.
const TRAINING: f64 = 0.9;

/// What a training on some rows came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Trial {
    /// Seconds of the training.
    pub seconds: f64,
    /// Bytes of what was learned.
    pub bytes: u64,
    /// For each test row, which of the best labels are true: bit i is that of rank i.
    pub hits: Vec<u8>,
}

/// All rows in an order that follows from the seed and the purpose that they are drawn for.
pub(super) fn drawn(rows: usize, seed: u64, purpose: u64) -> Vec<usize> {
    let place = derive(seed, purpose);
    let mut drawn: Vec<usize> = (0..rows).collect();
    drawn.sort_by_cached_key(|&row| derive(place, row as u64));
    drawn
}

/// Rows to learn from and others to test with, copied once for all trials.
pub(super) struct Rows {
    pub train: Dataset,
    pub test: Dataset,
}

impl Rows {
    pub(super) fn new(dataset: DatasetView<'_>, train: &[usize], test: &[usize]) -> Rows {
        Rows { train: dataset.select(train), test: dataset.select(test) }
    }

    /// Trains and tests; the settings must have been checked.
    pub(super) fn try_out(&self, settings: &Settings, task: &Task) -> Result<Trial, Stopped> {
        let tried = match train_and_test(&self.train, &self.test, None, settings, task) {
            Ok(tried) => tried,
            Err(TrainError::Stopped { source, .. }) => return Err(source),
            Err(error) => unreachable!("settings and rows were checked, but: {error}"),
        };
        let hits = |(best, truth): (&[Scored], &[u32])| {
            best.iter().take(CUT).enumerate().fold(0, |hits, (rank, label)| {
                hits | u8::from(truth.binary_search(&label.id).is_ok()) << rank
            })
        };
        let truths = self.test.labels.rows().map(|row| row.indices);
        let hits = tried.predictions.rows().zip(truths).map(hits).collect();
        Ok(Trial { seconds: tried.training.seconds, bytes: tried.bytes, hits })
    }
}

/// A training with some rows, and the best labels of others.
pub(super) struct Tried {
    pub training: Spent,
    pub predicting: Spent,
    /// Bytes of what was learned.
    pub bytes: u64,
    /// The best [`CUT`] labels of each test row.
    pub predictions: Predictions,
}

/// Trains, and asks the model about other rows; `reader` is how text became both.
pub(super) fn train_and_test(
    train: &Dataset,
    test: &Dataset,
    reader: Option<&TextReader>,
    settings: &Settings,
    task: &Task,
) -> Result<Tried, TrainError> {
    let clock = Clock::start();
    let options = TrainOptions { text: reader, ..TrainOptions::default() };
    let model = Model::train(train.view(), options, settings, &task.share(0.0..TRAINING))?;
    let training = clock.spent();
    let clock = Clock::start();
    let stopped = |source| TrainError::Stopped { finished: 0, total: 0, units: "rows", source };
    let predictions =
        model.predict(test.rows(), Query::top(CUT), &task.share(TRAINING..1.0)).map_err(stopped)?;
    Ok(Tried { training, predicting: clock.spent(), bytes: model.manifest().bytes(), predictions })
}

impl Trial {
    /// The figure of each test row, which has so many true labels.
    pub(super) fn figures(
        &self,
        true_labels: impl Iterator<Item = usize>,
        measure: Measure,
    ) -> impl Iterator<Item = f64> {
        let (rows, discounts) = (self.hits.iter().zip(true_labels), discounts(CUT));
        rows.map(move |(&hits, true_labels)| measure.of(hits, true_labels, &discounts))
    }
}

/// The mean of some figures.
pub(super) fn mean(figures: &[f64]) -> f64 {
    figures.iter().sum::<f64>() / figures.len().max(1) as f64
}

/// By how much the one is better than the other, row by row, and the standard error of that.
pub(super) fn lead(one: &[f64], other: &[f64]) -> (f64, f64) {
    let differences = one.iter().zip(other).map(|(one, other)| one - other);
    let count = one.len().max(1) as f64;
    let lead = differences.clone().sum::<f64>() / count;
    let spread = differences.map(|difference| (difference - lead).powi(2)).sum::<f64>() / count;
    (lead, (spread / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lead_has_a_standard_error() {
        let (one, other) = ([1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]);
        assert_eq!(lead(&one, &other), (0.5, 0.25));
        assert_eq!(lead(&other, &one), (-0.5, 0.25));
        assert_eq!(lead(&one, &one), (0.0, 0.0));
    }
}
