//! FastXML: a forest of trees over instances, each node of which ranks the labels of two sides.
//!
//! A node divides its rows into two sides so that one ranking of labels for each side serves its rows as
//! well as it can, by nDCG; a sparse linear classifier then learns the sides from the features, and sends
//! the rows down. The method is that of "FastXML: A Fast, Accurate and Stable Tree-classifier for
//! eXtreme Multi-label Learning" (Prabhu and Varma, KDD 2014). [`Params::pfastrexml`] has the settings of
//! "Extreme Multi-label Loss Functions for Recommendation, Tagging, Ranking & Other Missing Label
//! Applications" (Jain, Prabhu and Varma, KDD 2016): rare labels gain more, and each label's mean row has a
//! say in its score.
//!
//! Apart from how a node is divided it is the forest of [`craftml`]: its trees are grown, stored, routed,
//! shrunk and updated there.
//!
//! ```
//! use labelwood::algorithms::fastxml;
//! use labelwood::data::{Dataset, generate::{Generator, Profile}};
//! use labelwood::model::Model;
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..300, &task)?;
//! let dataset = Dataset { features, labels, label_names: None, named: None };
//! let settings = fastxml::Params { trees: 3, ..Default::default() }.into();
//! let model = Model::train(dataset.view(), Default::default(), &settings, &task)?;
//! let predictions = model.predict(dataset.features.view(), Query::top(5), &task)?;
//! assert_eq!(predictions.len(), 300);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod division;
mod explain;
mod gains;
mod means;
mod params;
mod predict;
mod sides;

pub use params::Params;

use super::craftml;
use crate::base::array::Array;
use means::Means;

/// Grows the trees of a forest, and takes the means of labels.
struct Trainer<'a> {
    /// The settings with every automatic choice made.
    params: Params,
    forest: craftml::Trainer<'a>,
    rows: crate::data::DatasetView<'a>,
}

/// A grown forest.
#[derive(Debug)]
struct FastXml {
    params: Params,
    forest: craftml::Forest,
    /// How many rows have each label.
    counts: Array<u32>,
    /// By label, what its share of the votes is multiplied by.
    gains: Vec<f32>,
    /// The mean row of each label, if it has a say.
    means: Option<Means>,
}

#[cfg(test)]
mod tests;
