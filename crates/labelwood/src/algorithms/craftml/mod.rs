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
//! `Trainer` grows trees one by one, in any order and on any machine; `Forest` predicts. Both
//! stand behind the traits of the registry.
//!
//! ```
//! use labelwood::algorithms::craftml;
//! use labelwood::data::{Dataset, generate::{Generator, Profile}};
//! use labelwood::model::Model;
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..300, &task)?;
//! let dataset = Dataset { features, labels, label_names: None, named: None };
//! let settings = craftml::Params { trees: 3, ..Default::default() }.into();
//! let model = Model::train(dataset.view(), Default::default(), &settings, &task)?;
//! let predictions = model.predict(dataset.features.view(), Query::top(5), &task)?;
//! assert_eq!(predictions.len(), 300);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod explain;
mod encoding;
mod builder;
mod centroids;
mod division;
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

pub use crate::learn::cluster::Starts;
pub use params::{Diversity, Metric, Params, Precision, Projection};

use crate::base::random::derive;
use crate::learn::weighting::FeatureWeights;
pub(super) use division::Division;
pub(super) use grow::{Grower, Instances, Scratch};
pub(super) use node_rows::NodeRows;
use tree::Tree;

/// Grows the trees of a forest, each a pure function of the rows, the settings and its number.
pub(super) struct Trainer<'a> {
    /// The settings with every automatic choice made.
    pub params: Params,
    pub weights: FeatureWeights,
    pub instances: Instances<'a>,
    /// How nodes are divided.
    pub division: Box<dyn Division>,
}

/// A grown forest.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Forest {
    params: Params,
    pub weights: FeatureWeights,
    pub features: usize,
    pub labels: usize,
    trees: Vec<Tree>,
    /// The number of the first tree: 0 unless this is a part of a forest.
    first: usize,
}

/// Sorts positions by their groups: where each group starts, with the end of the last, and the positions
/// of all groups, in their order within a group.
fn by_group(groups: usize, group_of: impl Iterator<Item = u32> + Clone) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; groups + 1];
    group_of.clone().for_each(|group| starts[group as usize + 1] += 1);
    for group in 0..groups {
        starts[group + 1] += starts[group];
    }
    let mut next = starts.clone();
    let mut sorted = vec![0; starts[groups] as usize];
    for (position, group) in group_of.enumerate() {
        let place = &mut next[group as usize];
        sorted[*place as usize] = position as u32;
        *place += 1;
    }
    (starts, sorted)
}

/// The seed of a tree, from which those of its projections and nodes follow.
fn tree_seed(params: &Params, tree: usize) -> u64 {
    derive(params.seed, tree as u64)
}

#[cfg(test)]
mod tests;
