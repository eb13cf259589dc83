//! The settings of one-vs-rest.

use crate::base::settings::settings;
use crate::base::sparse::CsrView;
use crate::learn::linear::{Link, Precision};
use crate::learn::solver;
use crate::learn::weighting::Weighting;
use serde::{Deserialize, Serialize};

settings! {
    /// What one-vs-rest classifiers are learned with.
    ///
    /// ```
    /// use labelwood::algorithms::{Algorithm, one_vs_rest::Params};
    /// let params = Params::preset("dismec").unwrap();
    /// assert_eq!(params.weight_threshold, 0.01);
    /// assert!(Params { weight_threshold: -1.0, ..params }.check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Params {
        /// How much more the positive rows of rare labels count than those of frequent ones: the power
        /// of their inverse propensity by which they are weighted, 0 for all alike. Left open, 0, and
        /// 0.5 if rare labels are favoured.
        #[serde(default)]
        tail_weight: Option<f32> = None, within(0.0, 4.0);
        /// Weights that are not larger than this are dropped.
        weight_threshold: f32 = 0.03, tried([0.03.into(), 0.01.into()]);
        /// How weights are stored: in 16 bits (half) or in 32 (single).
        precision: Precision = Precision::Half;
        /// How margins become probabilities. The default never saturates where labels are still to be
        /// told apart, as the hinges do.
        link: Link = Link::SteepSigmoid;
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
        solver: solver::Params =
            solver::Params { cost: 0.7, iterations: 200, ..solver::Params::default() };
    }
}

impl Params {
    /// The names of the presets.
    pub const PRESETS: [&'static str; 3] = ["default", "dismec", "ppdsparse"];

    /// The settings of a system by its name.
    pub fn preset(name: &str) -> Option<Params> {
        let plain = Params { names: 0, ..Params::default() };
        Some(match name {
            "default" => Params::default(),
            "dismec" => Params {
                // Its primal solver stops late; a dual one comes as near with this tolerance.
                solver: solver::Params {
                    tolerance: 0.01,
                    iterations: 1000,
                    ..solver::Params::default()
                },
                weight_threshold: 0.01,
                precision: Precision::Single,
                ..plain
            },
            // Chosen on held-out rows, where a tighter tolerance was no more accurate.
            "ppdsparse" => Params {
                solver: solver::Params { l1: 0.03, tolerance: 0.3, ..solver::Params::default() },
                weight_threshold: 0.08,
                ..plain
            },
            _ => return None,
        })
    }

    /// The settings with every automatic choice made for these rows.
    pub fn resolve(&self, features: CsrView<'_>) -> Params {
        Params {
            weighting: self.weighting.resolve(features),
            tail_weight: Some(self.tail_weight()),
            ..self.clone()
        }
    }

    /// The power of the inverse propensity that weighs positive rows, once it is resolved.
    pub(crate) fn tail_weight(&self) -> f32 {
        self.tail_weight.unwrap_or(0.0)
    }
}
