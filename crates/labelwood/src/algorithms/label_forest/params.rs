//! The settings of Random Label Forests.

use crate::algorithms::label_tree;
use crate::base::settings::ParamError;
use crate::base::sparse::{CsrView, LabelRowsView};
use serde::{Deserialize, Serialize};

/// What a Random Label Forest is grown with.
///
/// ```
/// use labelwood::label_forest::{Params, Sampling};
/// let params = Params { submodels: 10, sampling: Sampling::Partitions, ..Params::default() };
/// assert!(params.check().is_ok());
/// assert!(Params { rate: 0.0, ..params }.check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// The number of trees, each over its own labels (the paper's N).
    pub submodels: usize,
    /// The share of all labels that a submodel knows (the paper's r).
    pub rate: f64,
    /// How the labels of a submodel are drawn.
    pub sampling: Sampling,
    /// Whether labels that no submodel drew are given to one.
    pub cover: bool,
    /// Labels are drawn in groups of labels that are alike, of at most this many; 1 draws each
    /// label on its own.
    pub group: usize,
    /// Whether a submodel leaves out the rows that have none of its labels. It then takes every row
    /// for one of its own, and names labels for rows that have others.
    pub drop_unlabelled: bool,
    /// How each submodel's tree is grown; its number of trees is 1.
    #[serde(flatten)]
    pub tree: label_tree::Params,
}

/// How the labels of submodels are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Each submodel draws from all labels (the paper's 100U).
    Uniform,
    /// Submodels come in rounds; those of a round deal all labels among them (the paper's 10P, and
    /// with more submodels than 1 / rate, 10Px10).
    Partitions,
    /// Like [`Sampling::Partitions`], but a submodel learns from the rows of its labels alone, and
    /// one more classifier learns which rows those are: what a tree does whose first level is drawn.
    RandomPartitions,
    /// Like [`Sampling::Uniform`], with the classifier of [`Sampling::RandomPartitions`].
    RandomSelection,
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

impl Default for Params {
    fn default() -> Self {
        Params {
            submodels: 100,
            rate: 0.1,
            sampling: Sampling::Uniform,
            cover: true,
            group: 1,
            drop_unlabelled: false,
            // With few labels each, submodels rely on small weights more than a full tree does.
            tree: label_tree::Params {
                trees: 1,
                weight_threshold: 0.05,
                ..label_tree::Params::default()
            },
        }
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

    /// Refuses settings that no forest can be grown with, naming the first.
    pub fn check(&self) -> Result<(), ParamError> {
        let counts = [
            ("submodels", self.submodels, 1, 1 << 20, "from 1 to 1,048,576"),
            ("group", self.group, 1, usize::MAX, "at least 1"),
            ("trees", self.tree.trees, 1, 1, "1: each submodel is one tree"),
        ];
        for (setting, found, least, most, expected) in counts {
            if found < least || found > most {
                return Err(ParamError { setting, found: found.to_string(), expected });
            }
        }
        if !(self.rate > 0.0 && self.rate <= 1.0) {
            let found = self.rate.to_string();
            return Err(ParamError { setting: "rate", found, expected: "above 0 and at most 1" });
        }
        self.tree.check()
    }

    /// How many submodels a round has, when they deal all labels among them.
    pub(super) fn parts(&self) -> usize {
        (1.0 / self.rate).round().clamp(1.0, 1e9) as usize
    }
}
