//! The settings of label trees.

use crate::base::settings::settings;
use crate::base::sparse::{CsrView, LabelRowsView};
use crate::learn::linear::{Link, Precision};
use crate::learn::solver::{self, Loss};
use crate::learn::weighting::Weighting;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Groups of a node, and labels of one that is not divided, unless there are few labels.
const MOST: usize = 100;

settings! {
    /// What label trees are grown with.
    ///
    /// ```
    /// use labelwood::algorithms::{Algorithm, label_tree::Params};
    /// let params = Params { trees: 3, ..Params::default() };
    /// assert!(params.check().is_ok());
    /// assert!(Params { beam: 0, ..params }.check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Params {
        /// Label trees, whose scores are averaged.
        trees: usize = 3, within(1.0, 1_048_576.0), common();
        /// Groups that the labels of a node are divided into, at most; 1 does not divide them. Left
        /// open, 100, or a fifth of the labels where that is less.
        branches: Option<usize> = None, within(1.0, 65_536.0), tried([Value::Null, 16.into()]);
        /// Whether the groups of a node have the same size.
        balanced: bool = false;
        /// Levels of groups that are divided again before their node gets children: with 2 branches
        /// and 3 collapsed levels a node has up to 16 children.
        collapse: usize = 0, within(0.0, 1000.0);
        /// A node with at most this many labels is not divided. Left open, as branches.
        leaf: Option<usize> = None, least(1.0);
        /// Levels of nodes at most.
        depth: usize = 10, within(1.0, 1000.0);
        /// Groups with fewer labels than this are dissolved, and their labels go to the other groups.
        smallest_group: usize = 1, least(1.0);
        /// Passes of the clustering of labels.
        passes: usize = 10, within(1.0, 100_000.0);
        /// Entries of a label's vector that are smaller than this are left out before clustering.
        vector_threshold: f32 = 0.0;
        /// Whether a node of few rows has a higher cost: with the logistic loss, the cost is multiplied
        /// by the number of all rows over that of the node's, as Parabel and omikuji do.
        #[serde(default)]
        scale_cost: bool = false;
        /// How much more the positive rows of rare labels count than those of frequent ones: the power
        /// of their inverse propensity by which they are weighted, 0 for all alike. Left open, 0, and
        /// 0.5 if rare labels are favoured.
        #[serde(default)]
        tail_weight: Option<f32> = None, within(0.0, 4.0);
        /// Weights that are not larger than this are dropped.
        weight_threshold: f32 = 0.1, tried([0.1.into(), 0.03.into()]);
        /// How weights are stored: in 16 bits (half) or in 32 (single).
        precision: Precision = Precision::Half;
        /// How margins become probabilities.
        link: Link = Link::SquaredHinge;
        /// Nodes of a level that a prediction follows at most.
        beam: usize = 10, within(1.0, 1_048_576.0);
        /// Whether leaves keep to the beam as they do in omikuji: they share it with the nodes of later
        /// levels, and each names no more labels than it is wide.
        #[serde(default)]
        leaf_beam: bool = false;
        /// How many rows the names of a label count as, from which it is learned, too, where rows are
        /// texts; 0 leaves them out.
        #[serde(default)]
        names: usize = 1, within(0.0, 16.0), tried([1.into(), 0.into(), 3.into()]);
        /// How feature values are weighted first: idf is ln(1 + value) x ln(instances / instances with
        /// the feature), auto takes it when all values are whole positive numbers.
        weighting: Weighting = Weighting::None, tried(["idf".into(), "none".into()]);
        /// Every random choice follows from this number.
        seed: u64 = 42, elsewhere();
        ..
        /// How the classifiers are learned.
        solver: solver::Params = solver::Params { iterations: 200, ..solver::Params::default() };
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
            names: 0,
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
}
