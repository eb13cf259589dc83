//! The settings of Random Label Forests.

use crate::algorithms::label_tree;
use crate::base::settings::{choices, settings};
use crate::base::sparse::{CsrView, LabelRowsView};
use serde::{Deserialize, Serialize};

settings! {
    /// What a Random Label Forest is grown with.
    ///
    /// ```
    /// use labelwood::algorithms::{Algorithm, label_forest::{Params, Sampling}};
    /// let params = Params { submodels: 10, sampling: Sampling::Partitions, ..Params::default() };
    /// assert!(params.check().is_ok());
    /// assert!(Params { rate: 0.0, ..params }.check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Params {
        /// Submodels, each a label tree over some of the labels (the paper's N).
        submodels: usize = 100, within(1.0, 1_048_576.0), common();
        /// Share of all labels that a submodel knows (the paper's r).
        rate: f64 = 0.1, above(0.0, 1.0), tried([0.1.into(), 0.2.into()]);
        /// How the labels of submodels are drawn: each submodel's on its own (uniform, the paper's 100U)
        /// or all labels in turn (partitions, 10P and 10Px10); the random- forms also learn whether a
        /// row has any label of a submodel.
        sampling: Sampling = Sampling::Uniform;
        /// Whether labels that no submodel drew are given to one.
        cover: bool = true;
        /// Labels that are drawn together at most, because their rows are alike; 1 draws each alone.
        group: usize = 1, least(1.0);
        /// Whether a submodel leaves out the rows that have none of its labels. It then takes every row
        /// for one of its own, and names labels for rows that have others.
        drop_unlabelled: bool = false;
        ..
        /// How each submodel's tree is grown; its number of trees is 1. With few labels each, submodels
        /// rely on small weights more than a full tree does.
        tree: label_tree::Params = label_tree::Params {
            trees: 1,
            weight_threshold: 0.05,
            ..label_tree::Params::default()
        };
    }
}

choices! {
    /// How the labels of submodels are drawn.
    pub enum Sampling {
        /// Each submodel draws from all labels (the paper's 100U).
        Uniform = "uniform",
        /// Submodels come in rounds; those of a round deal all labels among them (the paper's 10P, and
        /// with more submodels than 1 / rate, 10Px10).
        Partitions = "partitions",
        /// Like [`Sampling::Partitions`], but a submodel learns from the rows of its labels alone, and
        /// one more classifier learns which rows those are: what a tree does whose first level is drawn.
        RandomPartitions = "random-partitions",
        /// Like [`Sampling::Uniform`], with the classifier of [`Sampling::RandomPartitions`].
        RandomSelection = "random-selection",
    }
}

impl Sampling {
    /// Whether the submodels of a round deal all labels among them.
    pub fn is_partition(self) -> bool {
        matches!(self, Sampling::Partitions | Sampling::RandomPartitions)
    }

    /// Whether one more classifier learns which rows have any of a submodel's labels.
    pub fn keeps_first_level(self) -> bool {
        matches!(self, Sampling::RandomPartitions | Sampling::RandomSelection)
    }
}

impl Params {
    /// The names of the presets.
    pub const PRESETS: [&'static str; 2] = ["default", "paper"];

    /// The settings of a system by its name.
    pub fn preset(name: &str) -> Option<Params> {
        match name {
            "default" => Some(Params::default()),
            "paper" => Some(Params {
                cover: false,
                tree: label_tree::Params::preset("libmultilabel")?,
                ..Params::default()
            }),
            _ => None,
        }
    }

    /// The settings with every automatic choice made for these rows.
    pub fn resolve(&self, features: CsrView<'_>, labels: LabelRowsView<'_>) -> Params {
        let drawn = (labels.known_columns() as f64 * self.rate).ceil() as usize;
        Params { tree: self.tree.resolve_for(features, drawn), ..self.clone() }
    }

    /// How many submodels a round has, when they deal all labels among them.
    pub(super) fn parts(&self) -> usize {
        (1.0 / self.rate).round().clamp(1.0, 1e9) as usize
    }
}
