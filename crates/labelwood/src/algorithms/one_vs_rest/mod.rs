//! One-vs-rest: a linear classifier for every label, learned from all rows.
//!
//! The plainest way from rows to labels, and often the most accurate; what it costs is a pass over
//! all rows for each label, and a score of each label for every prediction. Labels are learned
//! sixteen at a time, from rows that lie in memory once. With small weights dropped this is DiSMEC
//! (Babbar and Schölkopf, WSDM 2017), whose settings [`Params::preset`] knows. If the magnitudes of the
//! weights count in training, too, more of them are zero: that is the place of PPD-Sparse (Yen et al., KDD
//! 2017), whose name another preset has.
//!
//! Blocks of `BLOCK` labels are learned each on any machine.
//!
//! ```
//! use labelwood::algorithms::one_vs_rest::Params;
//! use labelwood::data::{Dataset, generate::{Generator, Profile}};
//! use labelwood::model::Model;
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 100, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..100, &task)?;
//! let dataset = Dataset { features, labels, label_names: None, named: None };
//! let settings = Params::default().into();
//! let model = Model::train(dataset.view(), Default::default(), &settings, &task)?;
//! let predictions = model.predict(dataset.features.view(), Query::top(5), &task)?;
//! assert_eq!(predictions.len(), 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod explain;
mod params;
mod predict;

pub use params::Params;

use crate::base::random::derive;
use crate::base::run::{Stopped, Task};
use crate::data::DatasetView;
use crate::learn::linear::{Builder, Child, ClassifierParams, Nodes, TrainingRows};
use crate::learn::weighting::FeatureWeights;
use std::ops::Range;

/// How many labels make a block; the last block may have fewer.
const BLOCK: usize = 1024;

/// Learns blocks of labels, each a pure function of the rows, the settings and its number.
struct Trainer {
    params: Params,
    training: TrainingRows,
}

/// Classifiers of all labels.
#[derive(Clone, Debug, PartialEq)]
struct OneVsRest {
    params: Params,
    weights: FeatureWeights,
    features: usize,
    labels: usize,
    blocks: Vec<Nodes>,
}

impl Trainer {
    /// Prepares the rows; the settings are checked, and every automatic choice is made.
    fn new(rows: DatasetView<'_>, params: Params, weights: FeatureWeights) -> Self {
        let training = TrainingRows::new(rows, weights, params.tail_weight(), params.names);
        Trainer { params, training }
    }

    /// How many blocks the labels make.
    fn blocks(&self) -> usize {
        self.training.label_count().div_ceil(BLOCK)
    }

    /// Learns the labels of a block, whose number is below [`Trainer::blocks`]: one node, with a
    /// child for every label of the block that has rows.
    fn block(&self, number: usize, task: &Task) -> Result<Nodes, Stopped> {
        let Trainer { params, training } = self;
        let mut labels: Vec<u32> = block_labels(number, training.label_count())
            .filter(|&label| !training.rows_of(label).is_empty())
            .collect();
        // Labels that are learned together take as many passes as the slowest of them, and labels
        // with as many rows are about as slow.
        labels.sort_by_key(|&label| std::cmp::Reverse(training.rows_of(label).len()));
        let positives: Vec<&[u32]> = labels.iter().map(|&label| training.rows_of(label)).collect();
        let emphasis: Vec<f32> = labels.iter().map(|&label| training.emphasis_of(label)).collect();
        let learn = ClassifierParams { solver: params.solver, threshold: params.weight_threshold };
        let seed = derive(params.seed, number as u64);
        let mut builder = Builder::new(params.precision);
        task.install(|| builder.learn(&training.rows, &positives, &emphasis, learn, seed, task))?;
        builder.set_children(0, labels.into_iter().map(Child::Label));
        Ok(builder.finish())
    }
}

/// The labels of a block.
fn block_labels(number: usize, labels: usize) -> Range<u32> {
    (number * BLOCK) as u32..((number + 1) * BLOCK).min(labels) as u32
}

#[cfg(test)]
mod tests;
