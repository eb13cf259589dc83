//! One-vs-rest: a linear classifier for every label, learned from all rows.
//!
//! The plainest way from rows to labels, and often the most accurate; what it costs is a pass over
//! all rows for each label, and a score of each label for every prediction. Labels are learned
//! sixteen at a time, from rows that lie in memory once. With small weights dropped this is DiSMEC
//! (Babbar and Schölkopf, WSDM 2017), whose settings [`Params::preset`] knows.
//!
//! [`Trainer`] learns blocks of [`BLOCK`] labels, each on any machine; [`OneVsRest`] predicts.
//!
//! ```
//! use labelwood::data::generate::{Generator, Profile};
//! use labelwood::algorithms::one_vs_rest::{Params, Trainer};
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 100, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..100, &task)?;
//! let trainer = Trainer::new(features.view(), labels.view(), Params::default())?;
//! assert_eq!(trainer.blocks(), 4);
//! let model = trainer.all(&task)?;
//! let predictions = model.predict(features.view(), Query::top(5), &task)?;
//! assert_eq!(predictions.len(), 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod estimate;
mod params;
mod predict;

pub use params::Params;

use crate::base::random::derive;
use crate::base::run::{Stage, Stopped, Task};
use crate::base::settings::ParamError;
use crate::base::sparse::{CsrView, LabelRows, LabelRowsView, Predictions, Query, Scored};
use crate::learn::favour::Emphasis;
use crate::learn::linear::{Builder, Child, ClassifierParams, Nodes, NodesFigures};
use crate::learn::solver::Rows;
use crate::learn::weighting::FeatureWeights;
use std::ops::Range;

/// How many labels make a block; the last block may have fewer.
pub(crate) const BLOCK: usize = 1024;

/// Learns blocks of labels, each a pure function of the rows, the settings and its number.
pub(crate) struct Trainer {
    params: Params,
    weights: FeatureWeights,
    features: usize,
    /// All rows, which all blocks learn from.
    rows: Rows,
    /// The rows of each label.
    rows_of: LabelRows,
    emphasis: Emphasis,
}

/// Classifiers of all labels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OneVsRest {
    pub(crate) params: Params,
    pub(crate) weights: FeatureWeights,
    pub(crate) features: usize,
    pub(crate) labels: usize,
    pub(crate) blocks: Vec<Nodes>,
}

impl Trainer {
    /// Checks the settings and prepares the rows; there must be as many rows of labels as of
    /// features.
    pub(crate) fn new(
        features: CsrView<'_>,
        labels: LabelRowsView<'_>,
        params: Params,
    ) -> Result<Self, ParamError> {
        assert_eq!(features.len(), labels.len(), "one row of labels for each row of features");
        params.check()?;
        let params = params.resolve(features);
        let weights = FeatureWeights::learn(params.weighting, features);
        Ok(Self::weighted(features, labels, params, weights))
    }

    /// Learns again from more rows, or other ones, what was learned before: with the same settings
    /// and the same weights of the features, of which there must be as many.
    ///
    /// ```
    /// use labelwood::data::generate::{Generator, Profile};
    /// use labelwood::algorithms::one_vs_rest::{Params, Trainer};
    /// use labelwood::run::Pool;
    /// let task = Pool::new(2)?.task();
    /// let profile = Profile { instances: 100, ..Profile::named("eurlex-4k").unwrap() };
    /// let (features, labels) = Generator::new(profile, 1)?.rows(0..100, &task)?;
    /// let learned = Trainer::new(features.view(), labels.view(), Params::default())?.all(&task)?;
    /// let again = Trainer::again(&learned, features.view(), labels.view());
    /// assert_eq!(again.block(0, &task)?, learned.blocks()[0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub(crate) fn again(
        learned: &OneVsRest,
        features: CsrView<'_>,
        labels: LabelRowsView<'_>,
    ) -> Self {
        assert_eq!(features.columns(), learned.features, "the features are those of before");
        Self::weighted(features, labels, learned.params.clone(), learned.weights.clone())
    }

    fn weighted(
        features: CsrView<'_>,
        labels: LabelRowsView<'_>,
        params: Params,
        weights: FeatureWeights,
    ) -> Self {
        let rows = Rows::all(weights.prepare(features).view(), features.columns());
        let rows_of = labels.transpose();
        let emphasis = Emphasis::of_rows(rows_of.view(), labels.len(), params.tail_weight());
        Trainer { params, weights, features: features.columns(), rows, rows_of, emphasis }
    }

    /// The settings with every automatic choice made.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// How many blocks the labels make.
    pub(crate) fn blocks(&self) -> usize {
        self.rows_of.len().div_ceil(BLOCK)
    }

    /// Learns the labels of a block, whose number is below [`Trainer::blocks`]: one node, with a
    /// child for every label of the block that has rows.
    pub(crate) fn block(&self, number: usize, task: &Task) -> Result<Nodes, Stopped> {
        let rows_of = |label: u32| self.rows_of.row(label as usize).indices;
        let mut labels: Vec<u32> = block_labels(number, self.rows_of.len())
            .filter(|&at| !rows_of(at).is_empty())
            .collect();
        // Labels that are learned together take as many passes as the slowest of them, and labels
        // with as many rows are about as slow.
        labels.sort_by_key(|&label| std::cmp::Reverse(rows_of(label).len()));
        let positives: Vec<&[u32]> = labels.iter().map(|&label| rows_of(label)).collect();
        let learn = ClassifierParams {
            solver: self.params.solver,
            threshold: self.params.weight_threshold,
        };
        let emphasis: Vec<f32> =
            positives.iter().map(|rows| self.emphasis.of(rows.len())).collect();
        let seed = derive(self.params.seed, number as u64);
        let mut builder = Builder::new(self.params.precision);
        let node =
            task.install(|| builder.learn(&self.rows, &positives, &emphasis, learn, seed, task))?;
        for (at, &label) in labels.iter().enumerate() {
            builder.set_child(node, at, Child::Label(label));
        }
        Ok(builder.finish())
    }

    /// Learns all blocks in memory, one after the other.
    pub(crate) fn all(&self, task: &Task) -> Result<OneVsRest, Stopped> {
        let mut blocks = Vec::with_capacity(self.blocks());
        for number in 0..self.blocks() {
            task.progress(Stage::Steps("blocks"), number as u64, self.blocks() as u64);
            blocks.push(self.block(number, task)?);
        }
        task.progress(Stage::Steps("blocks"), self.blocks() as u64, self.blocks() as u64);
        Ok(OneVsRest {
            params: self.params.clone(),
            weights: self.weights.clone(),
            features: self.features,
            labels: self.rows_of.len(),
            blocks,
        })
    }
}

/// The labels of a block.
pub(crate) fn block_labels(number: usize, labels: usize) -> Range<u32> {
    (number * BLOCK) as u32..((number + 1) * BLOCK).min(labels) as u32
}

impl OneVsRest {
    /// The settings that the classifiers were learned with.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// The blocks of labels.
    pub(crate) fn blocks(&self) -> &[Nodes] {
        &self.blocks
    }

    /// How much there is.
    pub(crate) fn figures(&self) -> NodesFigures {
        self.blocks.iter().map(Nodes::figures).sum()
    }

    /// The best labels of each row. Columns that training did not know are ignored.
    pub(crate) fn predict(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        predict::predict(self, features, query, task)
    }

    /// The labels of the best margins of each row in these blocks, best first.
    pub(crate) fn margins(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        predict::margins(self, features, query, task)
    }

    /// The best `k` labels of all that have a margin, with their probabilities.
    pub(crate) fn ranked(&self, margins: Vec<Scored>, k: usize) -> Vec<Scored> {
        predict::ranked(margins, k, self)
    }
}

#[cfg(test)]
mod tests;
