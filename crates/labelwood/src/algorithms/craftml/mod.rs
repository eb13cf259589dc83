//! CRAFTML: a forest of clustered instance trees.
//!
//! Each tree divides the training rows again and again: the rows of a node are clustered by their
//! labels, every cluster's features are averaged, and each row goes to the child whose average is
//! nearest to it. A leaf remembers how often each label occurs among its rows; a new row walks
//! down every tree and takes the average of the leaves that it reaches. The method is that of
//! "CRAFTML, an Efficient Clustering-based Random Forest for Extreme Multi-label Learning"
//! (Siblini, Kuntz and Meyer, ICML 2018); [`Params::paper`] is its published setting. The default
//! adds what the paper does not have: feature weights, centroids that are pushed apart, and soft
//! routing.
//!
//! [`Trainer`] grows trees one by one, in any order and on any machine; [`Forest`] predicts.
//!
//! ```
//! use labelwood::algorithms::craftml::{Params, Trainer};
//! use labelwood::data::generate::{Generator, Profile};
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..300, &task)?;
//! let trainer = Trainer::new(features.view(), labels.view(), Params { trees: 3, ..Params::default() })?;
//! let forest = trainer.forest(&task)?;
//! let predictions = forest.predict(features.view(), Query::top(5), &task)?;
//! assert_eq!(predictions.len(), 300);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod encoding;
mod builder;
mod centroids;
mod estimate;
mod grow;
mod node_index;
mod node_rows;
mod params;
mod project;
mod route;
mod shares;
mod shrink;
mod bitmap_index;
mod tasks;
mod dense_index;
mod tree;
mod update;
mod values;
mod vote;
mod route_single;

use crate::base::settings::ParamError;
pub use crate::learn::cluster::Starts;
pub use params::{Diversity, Metric, Params, Precision, Projection};
pub(crate) use tree::Tree;
pub(crate) use update::Updater;

use crate::base::random::derive;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, LabelRowsView, Predictions, Query, Votes};
use crate::learn::weighting::FeatureWeights;
use grow::Instances;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Grows the trees of a forest, each a pure function of the rows, the settings and its number.
pub(crate) struct Trainer<'a> {
    params: Params,
    weights: FeatureWeights,
    instances: Instances<'a>,
    features: usize,
}

/// A grown forest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Forest {
    pub(crate) params: Params,
    pub(crate) weights: FeatureWeights,
    pub(crate) features: usize,
    pub(crate) labels: usize,
    pub(crate) trees: Vec<Tree>,
    /// The number of the first tree: 0 unless this is a part of a forest.
    pub(crate) first: usize,
}

impl<'a> Trainer<'a> {
    /// Checks the settings and prepares the rows; there must be as many rows of labels as of
    /// features.
    pub(crate) fn new(
        features: CsrView<'a>,
        labels: LabelRowsView<'a>,
        params: Params,
    ) -> Result<Self, ParamError> {
        assert_eq!(features.len(), labels.len(), "one row of labels for each row of features");
        params.check()?;
        let params = params.resolve(features, labels);
        let weights = FeatureWeights::learn(params.weighting, features);
        let instances = Instances::new(features, labels, &weights);
        Ok(Trainer { params, weights, instances, features: features.columns() })
    }

    /// The settings with every automatic choice made.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// Grows one tree; its number is below [`Params::trees`].
    pub(crate) fn grow(&self, tree: usize, task: &Task) -> Result<Tree, Stopped> {
        Ok(self.grow_all(tree..tree + 1, task)?.remove(0))
    }

    /// Grows the given trees, several at a time, and hands each over as soon as it is done. The
    /// next number is asked for when a thread is free for it.
    pub(crate) fn grow_each<E: From<Stopped> + Send>(
        &self,
        trees: impl Iterator<Item = usize> + Send,
        task: &Task,
        done: impl Fn(usize, Tree) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        tasks::grow_each(self, trees, task, done)
    }

    /// Grows all trees in memory.
    pub(crate) fn forest(&self, task: &Task) -> Result<Forest, Stopped> {
        let trees = self.grow_all(0..self.params.trees, task)?;
        Ok(Forest {
            params: self.params.clone(),
            weights: self.weights.clone(),
            features: self.features,
            labels: self.instances.labels.columns(),
            trees,
            first: 0,
        })
    }

    fn grow_all(&self, trees: std::ops::Range<usize>, task: &Task) -> Result<Vec<Tree>, Stopped> {
        let grown = Mutex::new(BTreeMap::new());
        self.grow_each(trees, task, |number, tree| {
            grown.lock().unwrap_or_else(PoisonError::into_inner).insert(number, tree);
            Ok::<(), Stopped>(())
        })?;
        let grown = grown.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(grown.into_values().collect())
    }
}

impl Forest {
    /// The settings that the forest was grown with.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// The trees.
    pub(crate) fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// The best labels of each row, following at most so many paths in each tree as the query or,
    /// without a number there, the settings say. Columns that training did not know are ignored.
    pub(crate) fn predict(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        vote::predict(self, features, query, task)
    }

    /// The same for so few rows that they go through the trees together, without a word of progress.
    pub(crate) fn predict_block(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        task.install(|| vote::predict_block(self, features, query, task))
    }

    /// The sums of these trees' votes for the labels of each row.
    pub(crate) fn count(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<(u32, u64)>>, Stopped> {
        task.install(|| vote::count(self, features, query, task, Votes::take))
    }
}

/// The seed of a tree, from which those of its projections and nodes follow.
fn tree_seed(params: &Params, tree: usize) -> u64 {
    derive(params.seed, tree as u64)
}

#[cfg(test)]
mod tests;
