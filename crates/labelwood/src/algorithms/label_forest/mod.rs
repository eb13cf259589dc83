//! Random Label Forests: many label trees, each over a random few of the labels.
//!
//! A tree over a tenth of the labels needs a tenth of the memory and of the time, so that many
//! machines that are each too small for the whole can share the work. All trees see all rows: a row
//! without any of a tree's labels is an example of what they do not fit. A label's score is its mean
//! over the trees that know it. The method is that of "Random Label Forests: An Ensemble Method with
//! Label Subsampling For Extreme Multi-Label Problems" (Chen and Lin, EMNLP 2024); its variants are
//! [`Sampling`].
//!
//! Submodels are [label trees](crate::algorithms::label_tree), grown each on any machine.
//!
//! ```
//! use labelwood::algorithms::label_forest::Params;
//! use labelwood::data::{Dataset, generate::{Generator, Profile}};
//! use labelwood::model::Model;
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..200, &task)?;
//! let dataset = Dataset { features, labels, label_names: None, named: None };
//! let params = Params { submodels: 10, ..Params::default() };
//! let model = Model::train(dataset.view(), Default::default(), &params.into(), &task)?;
//! let predictions = model.predict(dataset.features.view(), Query::top(5), &task)?;
//! assert_eq!(predictions.len(), 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod params;
mod sample;

pub use params::{Params, Sampling};

use crate::algorithms::label_tree::{Grower, LabelTrees, LabelVectors, Tree};
use crate::base::random::derive;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::LabelSet;
use crate::data::DatasetView;
use crate::learn::linear::{Child, TrainingRows};
use crate::learn::weighting::FeatureWeights;

/// What the seeds are for, besides the submodels.
const GROUPS: u64 = u64::MAX;
const SUBSETS: u64 = u64::MAX - 1;

/// Grows submodels, each a pure function of the rows, the settings and its number.
struct Trainer {
    params: Params,
    training: TrainingRows,
    /// The labels of each submodel.
    subsets: Vec<Vec<u32>>,
    /// The labels that have rows but that no submodel drew: they are never predicted.
    undrawn: Vec<u32>,
}

/// A grown forest.
#[derive(Clone, Debug, PartialEq)]
struct LabelForest {
    params: Params,
    submodels: LabelTrees,
    /// How many submodels know each label.
    copies: Vec<u32>,
}

impl Trainer {
    /// Prepares the rows and draws the labels of all submodels; the settings are checked, and every
    /// automatic choice is made.
    fn new(rows: DatasetView<'_>, params: Params, task: &Task) -> Self {
        let weights = FeatureWeights::learn(params.tree.weighting, rows.features);
        let training =
            TrainingRows::new(rows, weights, params.tree.tail_weight(), params.tree.names);
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
        Trainer { params, training, subsets, undrawn }
    }

    /// Grows a submodel, whose number is below [`Params::submodels`].
    fn submodel(&self, submodel: usize, task: &Task) -> Result<Tree, Stopped> {
        let (labels, seed) =
            (&self.subsets[submodel], derive(self.params.tree.seed, submodel as u64));
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
}

impl LabelForest {
    /// Counts how many submodels know each label.
    fn new(params: Params, submodels: LabelTrees) -> Self {
        let mut copies = vec![0; submodels.labels];
        for nodes in submodels.trees.iter().map(|tree| &tree.root) {
            for child in (0..nodes.len()).flat_map(|node| nodes.children_of(node)) {
                if let Child::Label(label) = child
                    && let Some(copies) = copies.get_mut(label as usize)
                {
                    *copies += 1;
                }
            }
        }
        LabelForest { params, submodels, copies }
    }
}

#[cfg(test)]
mod tests;
