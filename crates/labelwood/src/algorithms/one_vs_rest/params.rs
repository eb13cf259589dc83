//! The settings of one-vs-rest.

use crate::base::settings::ParamError;
use crate::learn::favour::check_power;
use crate::learn::linear::{Link, Precision};
use crate::learn::solver;
use crate::learn::weighting::Weighting;
use serde::{Deserialize, Serialize};

/// What one-vs-rest classifiers are learned with.
///
/// ```
/// use labelwood::one_vs_rest::Params;
/// let params = Params::preset("dismec").unwrap();
/// assert_eq!(params.weight_threshold, 0.01);
/// assert!(Params { weight_threshold: -1.0, ..params }.check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// How the classifiers are learned.
    #[serde(flatten)]
    pub solver: solver::Params,
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
    /// How feature values are weighted before anything else.
    pub weighting: Weighting,
    /// Every random choice follows from this number.
    pub seed: u64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            solver: solver::Params { cost: 0.7, iterations: 200, ..solver::Params::default() },
            tail_weight: None,
            weight_threshold: 0.03,
            precision: Precision::Half,
            // Unlike the hinges it never saturates where labels are still to be told apart.
            link: Link::SteepSigmoid,
            weighting: Weighting::None,
            seed: 42,
        }
    }
}

impl Params {
    /// The names of the presets.
    pub const PRESETS: [&'static str; 2] = ["default", "dismec"];

    /// The settings of a system by its name.
    pub fn preset(name: &str) -> Option<Params> {
        match name {
            "default" => Some(Params::default()),
            "dismec" => Some(Params {
                // Its primal solver stops late; a dual one comes as near with this tolerance.
                solver: solver::Params {
                    tolerance: 0.01,
                    iterations: 1000,
                    ..solver::Params::default()
                },
                weight_threshold: 0.01,
                precision: Precision::Single,
                ..Params::default()
            }),
            _ => None,
        }
    }

    /// The power of the inverse propensity that weighs positive rows, once it is resolved.
    pub(crate) fn tail_weight(&self) -> f32 {
        self.tail_weight.unwrap_or(0.0)
    }

    /// Refuses settings that no classifier can be learned with, naming the first.
    pub fn check(&self) -> Result<(), ParamError> {
        if !(self.weight_threshold >= 0.0 && self.weight_threshold.is_finite()) {
            return Err(ParamError {
                setting: "weight_threshold",
                found: self.weight_threshold.to_string(),
                expected: "a number that is at least 0",
            });
        }
        check_power(self.tail_weight())?;
        self.solver.check()
    }
}
