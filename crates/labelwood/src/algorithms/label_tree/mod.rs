//! Label trees: linear classifiers that narrow the labels down.
//!
//! Labels whose rows look alike are grouped, groups are divided into groups, and at each node a
//! linear classifier for every child tells the rows of its labels from those of its siblings. A
//! prediction walks down the few most probable nodes of each level; a label's score is the product
//! of the probabilities on the way to it. Parabel, Bonsai, PLT and HOMER are such trees with
//! different settings: [`Params::preset`] knows them.
//!
//! A tree is grown in parts, the root first and then the subtrees below it, each on any machine.
//!
//! ```
//! use labelwood::algorithms::label_tree::Params;
//! use labelwood::data::{Dataset, generate::{Generator, Profile}};
//! use labelwood::model::Model;
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..300, &task)?;
//! let dataset = Dataset { features, labels, label_names: None, named: None };
//! let params = Params { trees: 2, ..Params::default() };
//! let model = Model::train(dataset.view(), Default::default(), &params.into(), &task)?;
//! let predictions = model.predict(dataset.features.view(), Query::top(5), &task)?;
//! assert_eq!(predictions.len(), 300);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod beam;
mod estimate;
mod explain;
mod grow;
mod params;
mod update;

pub(crate) use grow::{Grower, LabelVectors};
pub use params::Params;

use crate::base::random::derive;
use crate::base::run::{Stopped, Task};
use crate::data::DatasetView;
use crate::learn::linear::{Child, Nodes, NodesFigures, TrainingRows};
use crate::learn::weighting::FeatureWeights;
use grow::Root;

/// Labels that a tree votes for at least, if it comes to as many.
const VOTES: usize = 100;

/// Grows the parts of trees, each a pure function of the rows, the settings and its numbers.
struct Trainer {
    params: Params,
    training: TrainingRows,
    vectors: LabelVectors,
    labels: Vec<u32>,
    /// The share of the work that is the roots.
    root_share: f64,
}

/// A grown tree: its root and the subtrees that the root's children lead to, or all nodes together
/// and no subtrees.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tree {
    pub(crate) root: Nodes,
    pub(crate) subtrees: Vec<Nodes>,
}

/// Trees that predict together: a label's score is its mean over the trees that have it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LabelTrees {
    pub(crate) params: Params,
    pub(crate) weights: FeatureWeights,
    pub(crate) features: usize,
    pub(crate) labels: usize,
    pub(crate) trees: Vec<Tree>,
    /// The fewest labels that a tree votes for, if it reaches as many.
    pub(crate) votes: usize,
}

impl Trainer {
    /// Prepares the rows; the settings are checked, and every automatic choice is made.
    fn new(rows: DatasetView<'_>, params: Params) -> Self {
        let weights = FeatureWeights::learn(params.weighting, rows.features);
        let training = TrainingRows::new(rows, weights, params.tail_weight(), params.names);
        let labels = training.labels_with_rows();
        let levels = params.level_seconds(rows, 1.0);
        let root_share = levels[0] / levels.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        Trainer { vectors: LabelVectors::new(&labels), params, training, labels, root_share }
    }

    fn grower<'a>(&'a self, task: &'a Task) -> Grower<'a> {
        Grower { training: &self.training, vectors: &self.vectors, params: &self.params, task }
    }

    /// Grows the root of a tree; its number is below [`Params::trees`].
    fn root(&self, tree: usize, task: &Task) -> Result<Root, Stopped> {
        let seed = derive(self.params.seed, tree as u64);
        self.vectors.restrict_to(&self.labels);
        task.install(|| self.grower(task).root(&self.labels, true, seed))
    }

    /// Grows one subtree below a root: `labels` are those of the root's group of that number.
    fn subtree(
        &self,
        tree: usize,
        number: usize,
        labels: &[u32],
        task: &Task,
    ) -> Result<Nodes, Stopped> {
        let seed = derive(self.params.seed, tree as u64);
        task.install(|| self.grower(task).subtree(labels, number, seed))
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
}

#[cfg(test)]
mod tests;
