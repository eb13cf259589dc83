//! The settings of label trees.

use crate::base::settings::ParamError;
use crate::base::sparse::{CsrView, LabelRowsView};
use crate::learn::favour::check_power;
use crate::learn::linear::{Link, Precision};
use crate::learn::solver::{self, Loss};
use crate::learn::weighting::Weighting;
use serde::{Deserialize, Serialize};

/// Groups of a node, and labels of one that is not divided, unless there are few labels.
const MOST: usize = 100;

/// What label trees are grown with.
///
/// ```
/// use labelwood::label_tree::Params;
/// let params = Params { trees: 3, ..Params::default() };
/// assert!(params.check().is_ok());
/// assert!(Params { beam: 0, ..params }.check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// The number of trees; their scores are averaged.
    pub trees: usize,
    /// How many groups the labels of a node are divided into, at most; 1 does not divide them. If it
    /// is left open, 100, or a fifth of the labels where that is less.
    pub branches: Option<usize>,
    /// Whether the groups of a node have the same size.
    pub balanced: bool,
    /// Levels of groups that are divided again before their node gets children: with 2 branches
    /// and 3 collapsed levels a node has up to 16 children.
    pub collapse: usize,
    /// A node with at most this many labels is not divided. If it is left open, as `branches`.
    pub leaf: Option<usize>,
    /// The most levels of nodes.
    pub depth: usize,
    /// Groups with fewer labels than this are dissolved, and their labels go to the other groups.
    pub smallest_group: usize,
    /// Passes of the clustering of labels.
    pub passes: usize,
    /// Entries of a label's vector that are smaller than this are left out before clustering.
    pub vector_threshold: f32,
    /// How the classifiers are learned.
    #[serde(flatten)]
    pub solver: solver::Params,
    /// Whether a node of few rows has a higher cost: with the logistic loss, the cost is multiplied
    /// by the number of all rows over that of the node's, as Parabel and omikuji do.
    #[serde(default)]
    pub scale_cost: bool,
    /// How much more the positive rows of rare labels count than those of frequent ones: the power
    /// of their inverse propensity by which they are weighted, 0 for all alike. If it is left open,
    /// as [`Favour`](crate::learn::favour::Favour) says.
    #[serde(default)]
    pub tail_weight: Option<f32>,
    /// Weights that are not larger than this are dropped.
    pub weight_threshold: f32,
    /// How weights are stored.
    pub precision: Precision,
    /// How margins become probabilities.
    pub link: Link,
    /// How many nodes of a level a prediction follows at most.
    pub beam: usize,
    /// Whether leaves keep to the beam as they do in omikuji: they share it with the nodes of later
    /// levels, and each names no more labels than it is wide.
    #[serde(default)]
    pub leaf_beam: bool,
    /// How feature values are weighted before anything else.
    pub weighting: Weighting,
    /// Every random choice follows from this number.
    pub seed: u64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            trees: 3,
            branches: None,
            balanced: false,
            collapse: 0,
            leaf: None,
            depth: 10,
            smallest_group: 1,
            passes: 10,
            vector_threshold: 0.0,
            solver: solver::Params { iterations: 200, ..solver::Params::default() },
            scale_cost: false,
            tail_weight: None,
            weight_threshold: 0.1,
            precision: Precision::Half,
            link: Link::SquaredHinge,
            beam: 10,
            leaf_beam: false,
            weighting: Weighting::None,
            seed: 42,
        }
    }
}

impl Params {
    /// The names of the presets.
    pub const PRESETS: [&'static str; 7] =
        ["default", "libmultilabel", "bonsai", "parabel", "plt", "homer", "omikuji"];

    /// The settings of a system by its name.
    pub fn preset(name: &str) -> Option<Params> {
        let plain = Params {
            branches: Some(MOST),
            leaf: Some(MOST),
            solver: solver::Params { iterations: 20, ..solver::Params::default() },
            ..Params::default()
        };
        let halves = Params { branches: Some(2), balanced: true, depth: 20, ..plain.clone() };
        Some(match name {
            "default" => Params::default(),
            "libmultilabel" => Params {
                trees: 1,
                weight_threshold: 0.0,
                precision: Precision::Single,
                solver: solver::Params { bias: 0.0, iterations: 1000, ..plain.solver },
                passes: 300,
                ..plain
            },
            "bonsai" => Params { depth: 3, ..plain },
            "parabel" => Params { scale_cost: true, ..halves },
            "omikuji" => Params { smallest_group: 2, scale_cost: true, leaf_beam: true, ..halves },
            "plt" => Params {
                trees: 1,
                solver: solver::Params {
                    loss: Loss::Logistic,
                    cost: 10.0,
                    iterations: 100,
                    ..plain.solver
                },
                link: Link::Sigmoid,
                ..halves
            },
            "homer" => Params {
                trees: 1,
                branches: Some(3),
                balanced: true,
                leaf: Some(1),
                depth: 64,
                ..plain
            },
            _ => return None,
        })
    }

    /// The settings with every automatic choice made for these rows.
    pub fn resolve(&self, features: CsrView<'_>, labels: LabelRowsView<'_>) -> Params {
        self.resolve_for(features, labels.known_columns())
    }

    /// The same for trees that know so many labels each.
    ///
    /// With fewer labels to a group than about five, a tree is little more than one-vs-rest, and
    /// less accurate than one with fewer groups.
    pub(crate) fn resolve_for(&self, features: CsrView<'_>, labels: usize) -> Params {
        let fifth = labels.div_ceil(5).clamp(2, MOST);
        Params {
            branches: self.branches.or(Some(fifth)),
            leaf: self.leaf.or(Some(fifth)),
            weighting: self.weighting.resolve(features),
            tail_weight: Some(self.tail_weight()),
            ..self.clone()
        }
    }

    /// The groups of a node at most, once it is resolved.
    pub(crate) fn branches(&self) -> usize {
        self.branches.unwrap_or(MOST)
    }

    /// The labels of a node that is not divided, once it is resolved.
    pub(crate) fn leaf(&self) -> usize {
        self.leaf.unwrap_or(MOST)
    }

    /// The power of the inverse propensity that weighs positive rows, once it is resolved.
    pub(crate) fn tail_weight(&self) -> f32 {
        self.tail_weight.unwrap_or(0.0)
    }

    /// Refuses settings that no tree can be grown with, naming the first.
    pub fn check(&self) -> Result<(), ParamError> {
        let counts = [
            ("trees", self.trees, 1, 1 << 20, "from 1 to 1,048,576"),
            ("branches", self.branches(), 1, 1 << 16, "from 1 to 65,536"),
            ("collapse", self.collapse, 0, 1000, "at most 1000"),
            ("leaf", self.leaf(), 1, usize::MAX, "at least 1"),
            ("depth", self.depth, 1, 1000, "from 1 to 1000"),
            ("smallest_group", self.smallest_group, 1, usize::MAX, "at least 1"),
            ("passes", self.passes, 1, 100_000, "from 1 to 100,000"),
            ("beam", self.beam, 1, 1 << 20, "from 1 to 1,048,576"),
        ];
        for (setting, found, least, most, expected) in counts {
            if found < least || found > most {
                return Err(ParamError { setting, found: found.to_string(), expected });
            }
        }
        let thresholds = [
            ("vector_threshold", self.vector_threshold),
            ("weight_threshold", self.weight_threshold),
        ];
        for (setting, found) in thresholds {
            if !(found >= 0.0 && found.is_finite()) {
                let expected = "a number that is at least 0";
                return Err(ParamError { setting, found: found.to_string(), expected });
            }
        }
        check_power(self.tail_weight())?;
        self.solver.check()
    }
}
