//! The grove: a CRAFTML forest and label trees that answer together.
//!
//! Instance forests are better on some data and linear label trees on other; together they are
//! better than either. Both are grown from the same rows. Before that, a tenth of the rows is held
//! out, smaller parts are grown from the rest, and what their scores are worth is learned from the
//! held-out rows: the [`Blend`], which turns both scores of a label into its probability. Labels
//! that either part names are candidates, so a prediction costs little more than both parts.
//!
//! [`Trainer`] grows the parts, each on any machine; [`Grove`] predicts.
//!
//! ```
//! use labelwood::data::generate::{Generator, Profile};
//! use labelwood::grove::{Params, Trainer};
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let run = Pool::new(2)?.task();
//! let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..300, &run)?;
//! let mut params = Params::default();
//! params.forest.trees = 4;
//! let grove = Trainer::new(features.view(), labels.view(), params)?.grove(&run)?;
//! let predictions = grove.predict(features.view(), Query::top(5), &run)?;
//! assert!(predictions.row(0).iter().all(|label| (0.0..=1.0).contains(&label.score)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blend;
mod estimate;
mod params;

pub use blend::Blend;
pub use params::Params;

use crate::algorithms::craftml::{self, Forest};
use crate::algorithms::label_tree::{self, LabelTrees};
use crate::base::array::Array;
use crate::base::run::{Stage, Stopped, Task};
use crate::base::settings::ParamError;
use crate::base::sparse::{CsrView, LabelRowsView, Predictions, Query, Scored, top_k};
use crate::learn::calibration::hold_out;
use blend::{Learner, candidates};
use rayon::prelude::*;

/// Labels of each part that are candidates, at least.
const CANDIDATES: usize = 30;
/// Labels of each part whose scores are known, at least.
const KNOWN: usize = 100;
/// Rows that are predicted together.
const BLOCK: usize = 49_152;

/// Grows the parts of a grove from the same rows.
pub struct Trainer<'a> {
    params: Params,
    features: CsrView<'a>,
    labels: LabelRowsView<'a>,
}

/// A forest and label trees with what their scores are worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Grove {
    forest: Forest,
    label_tree: LabelTrees,
    blend: Blend,
    /// How many training rows have each label.
    counts: Array<u32>,
    learn_blend: bool,
}

impl<'a> Trainer<'a> {
    /// Checks the settings; there must be as many rows of labels as of features.
    pub fn new(
        features: CsrView<'a>,
        labels: LabelRowsView<'a>,
        params: Params,
    ) -> Result<Self, ParamError> {
        assert_eq!(features.len(), labels.len(), "one row of labels for each row of features");
        params.check()?;
        Ok(Trainer { params: params.resolve(features, labels), features, labels })
    }

    /// The settings with every automatic choice made.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// What grows the forest.
    pub fn forest(&self) -> craftml::Trainer<'a> {
        forest_of(self.features, self.labels, &self.params)
    }

    /// What grows the label trees.
    pub fn label_tree(&self) -> label_tree::Trainer {
        label_tree_of(self.features, self.labels, &self.params)
    }

    /// Learns the blend: grows smaller parts from nine tenths of the rows and lets them score the
    /// others. That takes about a third of the time that the parts take. Without rows to hold out,
    /// or if the settings say so, it is the default blend.
    pub fn blend(&self, run: &Task) -> Result<Blend, Stopped> {
        let (held_out, rest) = hold_out(self.features.len(), self.params.forest.seed);
        if held_out.is_empty() || !self.params.learn_blend {
            return Ok(Blend::default());
        }
        let params = self.params.reduced();
        let (features, labels) = (self.features.select(&rest), self.labels.select(&rest));
        let rows = self.features.select(&held_out);
        // One part after the other, so that only one is in memory.
        let query = Query::top(KNOWN);
        run.progress(Stage::Steps("blend"), 0, 3);
        let forest = forest_of(features.view(), labels.view(), &params).forest(run)?;
        let forest = forest.predict_block(rows.view(), query, run)?;
        run.progress(Stage::Steps("blend"), 1, 3);
        let label_tree = label_tree_of(features.view(), labels.view(), &params).trees(run)?;
        let label_tree = label_tree.predict_block(rows.view(), query, run)?;
        run.progress(Stage::Steps("blend"), 2, 3);
        let counts = labels.view().column_counts();
        let mut learner = Learner::default();
        for (at, &row) in held_out.iter().enumerate() {
            let truth = self.labels.row(row).indices;
            for candidate in candidates(forest.row(at), label_tree.row(at), CANDIDATES) {
                let is_true = truth.binary_search(&candidate.id).is_ok();
                learner.add(candidate, counts[candidate.id as usize], is_true);
            }
        }
        run.check()?;
        let blend = learner.finish();
        run.progress(Stage::Steps("blend"), 3, 3);
        Ok(blend)
    }

    /// Grows everything in memory.
    pub fn grove(&self, run: &Task) -> Result<Grove, Stopped> {
        let blend = self.blend(run)?;
        let (forest, label_tree) = (self.forest().forest(run)?, self.label_tree().trees(run)?);
        let counts = self.labels.column_counts();
        Ok(Grove::new(forest, label_tree, blend, counts).with_learn_blend(self.params.learn_blend))
    }
}

fn forest_of<'a>(
    features: CsrView<'a>,
    labels: LabelRowsView<'a>,
    params: &Params,
) -> craftml::Trainer<'a> {
    craftml::Trainer::new(features, labels, params.forest.clone())
        .expect("the settings of a grove were checked with the grove's")
}

fn label_tree_of(
    features: CsrView<'_>,
    labels: LabelRowsView<'_>,
    params: &Params,
) -> label_tree::Trainer {
    label_tree::Trainer::new(features, labels, params.label_tree.clone())
        .expect("the settings of a grove were checked with the grove's")
}

impl Grove {
    /// A grove of parts that were grown from the same rows; `counts` says how many of these have
    /// each label.
    pub fn new(
        forest: Forest,
        label_tree: LabelTrees,
        blend: Blend,
        counts: impl Into<Array<u32>>,
    ) -> Self {
        Grove { forest, label_tree, blend, counts: counts.into(), learn_blend: true }
    }

    /// Whether the settings say that the blend is learned.
    pub(crate) fn with_learn_blend(self, learn_blend: bool) -> Self {
        Grove { learn_blend, ..self }
    }

    /// The settings that the parts were grown with.
    pub fn params(&self) -> Params {
        let (forest, label_tree) = (self.forest.params(), self.label_tree.params());
        let learn_blend = self.learn_blend;
        Params { forest: forest.clone(), label_tree: label_tree.clone(), learn_blend }
    }

    /// The forest.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// The label trees.
    pub fn label_tree(&self) -> &LabelTrees {
        &self.label_tree
    }

    /// What the parts' scores are worth.
    pub fn blend(&self) -> &Blend {
        &self.blend
    }

    /// The best labels of each row with their probabilities. Columns that training did not know
    /// are ignored.
    pub fn predict(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        run: &Task,
    ) -> Result<Predictions, Stopped> {
        run.predict_blocks(features, BLOCK, |block| self.predict_block(block, query, run))
    }

    fn predict_block(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        run: &Task,
    ) -> Result<Predictions, Stopped> {
        let known = Self::known(query);
        let forest = || self.forest.predict_block(features, known, run);
        let label_tree = || self.label_tree.predict_block(features, known, run);
        // Many rows keep all threads busy in either part, and take memory in both.
        let (forest, label_tree) = match features.len() {
            1 => run.install(|| rayon::join(forest, label_tree)),
            _ => (forest(), label_tree()),
        };
        let (forest, label_tree) = (forest?, label_tree?);
        let blended = |row| self.blended(forest.row(row), label_tree.row(row), query.k);
        let rows = 0..features.len();
        let ranked: Vec<_> = run.install(|| rows.into_par_iter().map(blended).collect());
        let mut predictions = Predictions::default();
        ranked.iter().for_each(|row| predictions.push_row(row));
        Ok(predictions)
    }

    /// What the parts are asked if this is asked of the grove.
    pub(crate) fn known(query: Query<'_>) -> Query<'_> {
        Query { k: query.k.max(KNOWN), ..query }
    }

    /// The best `k` labels of a row by their probabilities, from both parts' best.
    pub(crate) fn blended(
        &self,
        forest: &[Scored],
        label_tree: &[Scored],
        k: usize,
    ) -> Vec<Scored> {
        let candidates = candidates(forest, label_tree, k.max(CANDIDATES));
        let mut scored: Vec<Scored> = candidates
            .map(|found| {
                let count = self.counts.get(found.id as usize).copied().unwrap_or(0);
                let score = self.blend.probability(found.forest, found.label_tree, count);
                Scored { id: found.id, score }
            })
            .collect();
        top_k(&mut scored, k);
        scored
    }
}

#[cfg(test)]
mod tests;
