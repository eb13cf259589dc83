//! What each algorithm learns, behind one interface.

use super::units::Units;
use super::{Algorithm, TrainError, craftml, grove, linear};
use crate::algorithms::craftml::{self as forest, Forest};
use crate::algorithms::grove::{self as groves, Grove};
use crate::algorithms::label_forest::{self, LabelForest};
use crate::algorithms::label_tree::{self, LabelTrees};
use crate::algorithms::one_vs_rest::{self, OneVsRest};
use crate::base::run::{Stopped, Task};
use crate::base::settings::ParamError;
use crate::base::sparse::{CsrView, Predictions, Query};
use crate::data::DatasetView;
use crate::learn::favour::Scores;
use crate::learn::linear::Nodes;

/// The learned state of each algorithm.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Learned {
    /// A CRAFTML forest.
    CraftMl(Forest),
    /// Label trees.
    LabelTree(LabelTrees),
    /// One-vs-rest.
    OneVsRest(OneVsRest),
    /// A random label forest.
    LabelForest(LabelForest),
    /// A forest and label trees that answer together.
    Grove(Box<Grove>),
}

/// An algorithm with the rows that it learns from.
pub(crate) enum Trainer<'a> {
    CraftMl(forest::Trainer<'a>),
    LabelTree(label_tree::Trainer),
    OneVsRest(one_vs_rest::Trainer),
    LabelForest(label_forest::Trainer),
    Grove(groves::Trainer<'a>),
}

impl<'a> Trainer<'a> {
    pub fn new(
        dataset: DatasetView<'a>,
        algorithm: &Algorithm,
        run: &Task,
    ) -> Result<Self, ParamError> {
        let DatasetView { features, labels, .. } = dataset;
        Ok(match algorithm.clone() {
            Algorithm::CraftMl(params) => {
                Trainer::CraftMl(forest::Trainer::new(features, labels, params)?)
            }
            Algorithm::LabelTree(params) => {
                Trainer::LabelTree(label_tree::Trainer::new(features, labels, params)?)
            }
            Algorithm::OneVsRest(params) => {
                Trainer::OneVsRest(one_vs_rest::Trainer::new(features, labels, params)?)
            }
            Algorithm::LabelForest(params) => {
                let trainer = label_forest::Trainer::new(features, labels, params, run)?;
                warn_of_undrawn(trainer.undrawn(), dataset);
                Trainer::LabelForest(trainer)
            }
            Algorithm::Grove(params) => {
                Trainer::Grove(groves::Trainer::new(features, labels, params)?)
            }
        })
    }

    /// The algorithm with every automatic choice made.
    pub fn resolved(&self) -> Algorithm {
        match self {
            Trainer::CraftMl(trainer) => Algorithm::CraftMl(trainer.params().clone()),
            Trainer::LabelTree(trainer) => Algorithm::LabelTree(trainer.params().clone()),
            Trainer::OneVsRest(trainer) => Algorithm::OneVsRest(trainer.params().clone()),
            Trainer::LabelForest(trainer) => Algorithm::LabelForest(trainer.params().clone()),
            Trainer::Grove(trainer) => Algorithm::Grove(trainer.params().clone()),
        }
    }

    /// Learns what is not there yet and writes each unit as it is done.
    pub fn write(&self, units: &Units<'_>, run: &Task) -> Result<(), TrainError> {
        match self {
            Trainer::CraftMl(trainer) => craftml::write(trainer, units, run),
            Trainer::LabelTree(trainer) => linear::write_trees(trainer, linear::TREES, units, run),
            Trainer::OneVsRest(trainer) => linear::write_blocks(trainer, units, run),
            Trainer::LabelForest(trainer) => linear::write_forest(trainer, units, run),
            Trainer::Grove(trainer) => grove::write(trainer, units, run),
        }
    }
}

impl Learned {
    /// Learns in memory, without a folder.
    pub fn train(
        dataset: DatasetView<'_>,
        algorithm: &Algorithm,
        run: &Task,
    ) -> Result<Result<Self, Stopped>, ParamError> {
        Ok(match Trainer::new(dataset, algorithm, run)? {
            Trainer::CraftMl(trainer) => trainer.forest(run).map(Learned::CraftMl),
            Trainer::LabelTree(trainer) => trainer.trees(run).map(Learned::LabelTree),
            Trainer::OneVsRest(trainer) => trainer.all(run).map(Learned::OneVsRest),
            Trainer::LabelForest(trainer) => trainer.forest(run).map(Learned::LabelForest),
            Trainer::Grove(trainer) => {
                trainer.grove(run).map(|grove| Learned::Grove(Box::new(grove)))
            }
        })
    }

    /// The algorithm with every automatic choice made.
    pub fn algorithm(&self) -> Algorithm {
        match self {
            Learned::CraftMl(forest) => Algorithm::CraftMl(forest.params().clone()),
            Learned::LabelTree(trees) => Algorithm::LabelTree(trees.params().clone()),
            Learned::OneVsRest(labels) => Algorithm::OneVsRest(labels.params().clone()),
            Learned::LabelForest(forest) => Algorithm::LabelForest(forest.params().clone()),
            Learned::Grove(grove) => Algorithm::Grove(grove.params()),
        }
    }

    /// What its scores are like, which decides how they are ranked by what is
    /// [favoured](crate::learn::favour).
    pub fn scores(&self, is_calibrated: bool) -> Scores {
        match self {
            Learned::OneVsRest(_) if !is_calibrated => Scores::Everywhere,
            _ => Scores::Probabilities,
        }
    }

    /// The bytes of all that was learned.
    pub fn bytes(&self) -> usize {
        match self {
            Learned::CraftMl(forest) => forest_bytes(forest),
            Learned::LabelTree(trees) => trees_bytes(trees.trees()),
            Learned::OneVsRest(labels) => labels.blocks().iter().map(Nodes::bytes).sum(),
            Learned::LabelForest(forest) => trees_bytes(forest.submodels()),
            Learned::Grove(grove) => {
                forest_bytes(grove.forest()) + trees_bytes(grove.label_tree().trees())
            }
        }
    }

    /// The best labels of each row; see [`Model::predict`](super::Model::predict).
    pub fn predict(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        run: &Task,
    ) -> Result<Predictions, Stopped> {
        match self {
            Learned::CraftMl(forest) => forest.predict(features, query, run),
            Learned::LabelTree(trees) => trees.predict(features, query, run),
            Learned::OneVsRest(labels) => labels.predict(features, query, run),
            Learned::LabelForest(forest) => forest.predict(features, query, run),
            Learned::Grove(grove) => grove.predict(features, query, run),
        }
    }
}

fn forest_bytes(forest: &Forest) -> usize {
    forest.trees().iter().map(forest::Tree::bytes).sum()
}

fn trees_bytes(trees: &[label_tree::Tree]) -> usize {
    trees.iter().map(label_tree::Tree::bytes).sum()
}

/// Names labels that no submodel of a forest will know; the first few, if they are many.
fn warn_of_undrawn(labels: &[u32], dataset: DatasetView<'_>) {
    const NAMED: usize = 10;
    if labels.is_empty() {
        return;
    }
    let name = |&label: &u32| match dataset.label_names {
        Some(names) => names.display(label).to_owned(),
        None => label.to_string(),
    };
    let named: Vec<String> = labels.iter().take(NAMED).map(name).collect();
    let more = if labels.len() > NAMED { ", ..." } else { "" };
    tracing::warn!(
        "no submodel drew {} of the labels, which are never predicted: {}{more}; cover them, draw more of \
         them or train more submodels",
        labels.len(),
        named.join(", ")
    );
}
