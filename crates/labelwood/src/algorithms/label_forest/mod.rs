//! Random Label Forests: many label trees, each over a random few of the labels.
//!
//! A tree over a tenth of the labels needs a tenth of the memory and of the time, so that many
//! machines that are each too small for the whole can share the work. All trees see all rows: a row
//! without any of a tree's labels is an example of what they do not fit. A label's score is its mean
//! over the trees that know it. The method is that of "Random Label Forests: An Ensemble Method with
//! Label Subsampling For Extreme Multi-Label Problems" (Chen and Lin, EMNLP 2024); its variants are
//! [`Sampling`].
//!
//! [`Trainer`] grows the submodels, which are [label trees](crate::algorithms::label_tree), each on any machine;
//! [`LabelForest`] predicts.
//!
//! ```
//! use labelwood::data::generate::{Generator, Profile};
//! use labelwood::algorithms::label_forest::{Params, Trainer};
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..200, &task)?;
//! let params = Params { submodels: 10, ..Params::default() };
//! let trainer = Trainer::new(features.view(), labels.view(), params, &task)?;
//! assert!(trainer.undrawn().is_empty());
//! let forest = trainer.forest(&task)?;
//! let predictions = forest.predict(features.view(), Query::top(5), &task)?;
//! assert_eq!(predictions.len(), 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod estimate;
mod params;
mod sample;

pub use params::{Params, Sampling};

use crate::algorithms::label_tree::{Ensemble, Grower, LabelVectors, TrainingRows, Tree};
use crate::base::random::derive;
use crate::base::run::{Stage, Stopped, Task};
use crate::base::settings::ParamError;
use crate::base::sparse::{CsrView, LabelRowsView, LabelSet, Predictions, Query, Votes};
use crate::learn::linear::Child;
use crate::learn::weighting::FeatureWeights;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Labels that a submodel votes for at least, if it comes to as many: few, since each knows few.
const VOTES: usize = 20;

/// What the seeds are for, besides the submodels.
const GROUPS: u64 = u64::MAX;
const SUBSETS: u64 = u64::MAX - 1;

/// Grows submodels, each a pure function of the rows, the settings and its number.
pub(crate) struct Trainer {
    params: Params,
    training: TrainingRows,
    /// The labels of each submodel.
    subsets: Vec<Vec<u32>>,
    undrawn: Vec<u32>,
    label_count: usize,
}

/// A grown forest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LabelForest {
    pub(crate) params: Params,
    pub(crate) weights: FeatureWeights,
    pub(crate) features: usize,
    submodels: Vec<Tree>,
    /// How many submodels know each label.
    copies: Vec<u32>,
}

impl Trainer {
    /// Checks the settings, prepares the rows and draws the labels of all submodels; there must be
    /// as many rows of labels as of features.
    pub(crate) fn new(
        features: CsrView<'_>,
        labels: LabelRowsView<'_>,
        params: Params,
        task: &Task,
    ) -> Result<Self, ParamError> {
        assert_eq!(features.len(), labels.len(), "one row of labels for each row of features");
        params.check()?;
        let params = params.resolve(features, labels);
        let training = TrainingRows::new(features, labels, &params.tree);
        let known = training.labels_with_rows();
        let seed = params.tree.seed;
        let groups = match params.group {
            1 => known.iter().map(|&label| vec![label]).collect(),
            most => {
                let vectors = &LabelVectors::new(&known);
                let grower = Grower { training: &training, vectors, params: &params.tree, task };
                let group = || grower.small_groups(known.clone(), most, derive(seed, GROUPS));
                // A cancelled run ends with its first submodel, whichever labels that has.
                task.install(group).unwrap_or_default()
            }
        };
        let subsets = sample::draw(&groups, &params, derive(seed, SUBSETS));
        let drawn: LabelSet = subsets.iter().flatten().copied().collect();
        let undrawn = known.into_iter().filter(|&label| !drawn.contains(label)).collect();
        Ok(Trainer { params, training, subsets, undrawn, label_count: labels.columns() })
    }

    /// The settings with every automatic choice made.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// The labels of a submodel, whose number is below [`Params::submodels`].
    pub(crate) fn labels_of(&self, submodel: usize) -> &[u32] {
        &self.subsets[submodel]
    }

    /// The labels that have rows but that no submodel drew: they are never predicted.
    pub(crate) fn undrawn(&self) -> &[u32] {
        &self.undrawn
    }

    fn seed(&self, submodel: usize) -> u64 {
        derive(self.params.tree.seed, submodel as u64)
    }

    /// Grows a submodel, whose number is below [`Params::submodels`].
    pub(crate) fn submodel(&self, submodel: usize, task: &Task) -> Result<Tree, Stopped> {
        let (labels, seed) = (&self.subsets[submodel], self.seed(submodel));
        let vectors = &LabelVectors::new(labels);
        let grower = Grower { training: &self.training, vectors, params: &self.params.tree, task };
        task.install(|| {
            let root = if self.params.sampling.keeps_first_level() {
                grower.gate(labels, seed)?
            } else {
                grower.root(labels, !self.params.drop_unlabelled, seed)?
            };
            if root.groups.iter().all(|group| group.len() <= self.params.tree.leaf()) {
                // They were needed to divide the root's labels, and no others are divided.
                vectors.clear();
            }
            Ok(grower.tree(root, seed)?.joined())
        })
    }

    /// Grows all submodels in memory.
    pub(crate) fn forest(&self, task: &Task) -> Result<LabelForest, Stopped> {
        let (done, total) = (AtomicU64::new(0), self.params.submodels as u64);
        let grow = |number| {
            let submodel = self.submodel(number, task)?;
            task.progress(
                Stage::Steps("submodels"),
                done.fetch_add(1, Ordering::Relaxed) + 1,
                total,
            );
            Ok(submodel)
        };
        let submodels = task.install(|| {
            let numbers = (0..self.params.submodels).into_par_iter().with_max_len(1);
            numbers.map(grow).collect::<Result<_, Stopped>>()
        })?;
        Ok(LabelForest::new(
            self.params.clone(),
            self.training.weights.clone(),
            self.training.features,
            self.label_count,
            submodels,
        ))
    }
}

impl LabelForest {
    /// Puts submodels together; `labels` is how many labels there are, drawn or not.
    pub(crate) fn new(
        params: Params,
        weights: FeatureWeights,
        features: usize,
        labels: usize,
        submodels: Vec<Tree>,
    ) -> Self {
        let mut copies = vec![0; labels];
        for nodes in submodels.iter().map(|tree| &tree.root) {
            for node in 0..nodes.len() {
                for child in nodes.children(node) {
                    if let Child::Label(label) = nodes.child(child)
                        && let Some(copies) = copies.get_mut(label as usize)
                    {
                        *copies += 1;
                    }
                }
            }
        }
        LabelForest { params, weights, features, submodels, copies }
    }

    /// The settings that the forest was grown with.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// The trees over some of the labels.
    pub(crate) fn submodels(&self) -> &[Tree] {
        &self.submodels
    }

    /// How many submodels know each label.
    pub(crate) fn copies(&self) -> &[u32] {
        &self.copies
    }

    /// The best labels of each row: a label's score is the sum of its probabilities in the submodels
    /// that know it, over their number (the paper's equation 14). Columns that training did not know
    /// are ignored.
    pub(crate) fn predict(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        let copies = |label| self.copies[label as usize] as usize;
        self.ensemble().predict(features, query, copies, task)
    }

    /// The sums of these submodels' votes for the labels of each row.
    pub(crate) fn count(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<(u32, u64)>>, Stopped> {
        self.ensemble().count(features, query, task, Votes::take)
    }

    fn ensemble(&self) -> Ensemble<'_> {
        Ensemble {
            trees: &self.submodels,
            weights: &self.weights,
            features: self.features,
            labels: self.copies.len(),
            link: self.params.tree.link,
            beam: self.params.tree.beam,
            leaf_beam: self.params.tree.leaf_beam,
            votes: VOTES,
        }
    }
}

#[cfg(test)]
mod tests;
