//! Label trees: linear classifiers that narrow the labels down.
//!
//! Labels whose rows look alike are grouped, groups are divided into groups, and at each node a
//! linear classifier for every child tells the rows of its labels from those of its siblings. A
//! prediction walks down the few most probable nodes of each level; a label's score is the product
//! of the probabilities on the way to it. Parabel, Bonsai, PLT and HOMER are such trees with
//! different settings: [`Params::preset`] knows them.
//!
//! [`Trainer`] grows a tree in parts, the root first and then the subtrees below it, each on any
//! machine; [`LabelTrees`] predicts.
//!
//! ```
//! use labelwood::data::generate::{Generator, Profile};
//! use labelwood::algorithms::label_tree::{Params, Trainer};
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..300, &task)?;
//! let trainer = Trainer::new(features.view(), labels.view(), Params::default())?;
//! let trees = trainer.trees(&task)?;
//! let predictions = trees.predict(features.view(), Query::top(5), &task)?;
//! assert_eq!(predictions.len(), 300);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod beam;
mod estimate;
mod grow;
mod params;
mod update;

pub(crate) use beam::Ensemble;
pub(crate) use grow::Root;
pub(crate) use grow::{Grower, LabelVectors, TrainingRows};
pub use params::Params;
pub(crate) use update::{UpdatedTree, Updater};

use crate::base::random::derive;
use crate::base::run::{Stopped, Task};
use crate::base::settings::ParamError;
use crate::base::sparse::{CsrView, LabelRowsView, Predictions, Query, Votes};
use crate::learn::linear::{Child, Nodes, NodesFigures};
use crate::learn::weighting::FeatureWeights;

/// Labels that a tree votes for at least, if it comes to as many.
const VOTES: usize = 100;

/// Grows the parts of trees, each a pure function of the rows, the settings and its numbers.
pub(crate) struct Trainer {
    params: Params,
    training: TrainingRows,
    vectors: LabelVectors,
    labels: Vec<u32>,
    label_count: usize,
}

/// A grown tree: its root and the subtrees that the root's children lead to, or all nodes together
/// and no subtrees.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tree {
    pub(crate) root: Nodes,
    pub(crate) subtrees: Vec<Nodes>,
}

/// Trees whose scores are averaged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LabelTrees {
    pub(crate) params: Params,
    pub(crate) weights: FeatureWeights,
    pub(crate) features: usize,
    pub(crate) labels: usize,
    pub(crate) trees: Vec<Tree>,
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
        let params = params.resolve(features, labels);
        let training = TrainingRows::new(features, labels, &params);
        let known = training.labels_with_rows();
        let vectors = LabelVectors::new(&known);
        Ok(Trainer { params, training, vectors, labels: known, label_count: labels.columns() })
    }

    /// The settings with every automatic choice made.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    fn grower<'a>(&'a self, task: &'a Task) -> Grower<'a> {
        Grower { training: &self.training, vectors: &self.vectors, params: &self.params, task }
    }

    /// Grows the root of a tree; its number is below [`Params::trees`].
    pub(crate) fn root(&self, tree: usize, task: &Task) -> Result<Root, Stopped> {
        let seed = derive(self.params.seed, tree as u64);
        self.vectors.restrict_to(&self.labels);
        task.install(|| self.grower(task).root(&self.labels, true, seed))
    }

    /// Says which labels the subtrees have that will be grown next, so that nothing is made of
    /// others.
    pub(crate) fn restrict_vectors_to(&self, labels: &[u32]) {
        self.vectors.restrict_to(labels);
    }

    /// Grows one subtree below a root: `labels` are those of the root's group of that number.
    pub(crate) fn subtree(
        &self,
        tree: usize,
        number: usize,
        labels: &[u32],
        task: &Task,
    ) -> Result<Nodes, Stopped> {
        let seed = derive(self.params.seed, tree as u64);
        task.install(|| self.grower(task).subtree(labels, number, seed))
    }

    /// Grows all trees in memory.
    pub(crate) fn trees(&self, task: &Task) -> Result<LabelTrees, Stopped> {
        let grower = self.grower(task);
        self.vectors.restrict_to(&self.labels);
        let trees = (0..self.params.trees).map(|tree| {
            let seed = derive(self.params.seed, tree as u64);
            task.install(|| grower.tree(grower.root(&self.labels, true, seed)?, seed))
        });
        Ok(LabelTrees {
            params: self.params.clone(),
            weights: self.training.weights.clone(),
            features: self.training.features,
            labels: self.label_count,
            trees: trees.collect::<Result<_, Stopped>>()?,
        })
    }
}

impl Tree {
    /// The same tree with all nodes together: the root, then its subtrees in their order.
    pub(crate) fn joined(self) -> Tree {
        Tree { root: Nodes::flattened(&self.root, &self.subtrees), subtrees: Vec::new() }
    }

    /// The labels below each child of the root, sorted; a label that is itself a child is alone.
    pub(crate) fn clusters(&self) -> Vec<Vec<u32>> {
        if self.root.is_empty() {
            return Vec::new();
        }
        let below = |at| match (self.root.child(at), &self.subtrees[..]) {
            (Child::Label(label), _) => vec![label],
            (Child::Node(node), []) => self.root.labels_below(node as usize),
            (Child::Node(number), subtrees) => {
                subtrees.get(number as usize).map_or_else(Vec::new, |nodes| nodes.labels_below(0))
            }
        };
        self.root.children(0).map(below).collect()
    }

    /// How much there is.
    pub(crate) fn figures(&self) -> NodesFigures {
        self.subtrees.iter().chain([&self.root]).map(Nodes::figures).sum()
    }

    /// The bytes of its arrays.
    pub(crate) fn bytes(&self) -> usize {
        self.subtrees.iter().chain([&self.root]).map(Nodes::bytes).sum()
    }
}

impl LabelTrees {
    /// The settings that the trees were grown with.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// The trees.
    pub(crate) fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// The best labels of each row. Columns that training did not know are ignored.
    pub(crate) fn predict(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        self.ensemble().predict(features, query, |_| self.params.trees, task)
    }

    /// The sums of these trees' votes for the labels of each row.
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
            trees: &self.trees,
            weights: &self.weights,
            features: self.features,
            labels: self.labels,
            link: self.params.link,
            beam: self.params.beam,
            leaf_beam: self.params.leaf_beam,
            votes: VOTES,
        }
    }
}

#[cfg(test)]
mod tests;
