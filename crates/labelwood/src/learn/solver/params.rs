//! The settings of the solver.

use crate::base::settings::ParamError;
use serde::{Deserialize, Serialize};

/// How a linear classifier is learned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// What a wrong or narrow margin costs.
    pub loss: Loss,
    /// The weight of the loss against the length of the weights (LIBLINEAR's C).
    pub cost: f32,
    /// The weight of positive rows against negative ones.
    pub positive_weight: f32,
    /// The value of a feature that every row has; 0 for none.
    pub bias: f32,
    /// A label is done when a pass over all rows finds its gradients within a range of this width
    /// that holds 0, as in LIBLINEAR. The gradient of a row's dual variable is its margin less the
    /// one that the dual variable stands for: 1 for the hinge, 1 less the variable by twice the cost
    /// for the squared hinge, minus the variable's logit for the logistic loss. One that pushes the
    /// variable against a bound counts as 0. Below 1e-5, single precision is the limit.
    pub tolerance: f32,
    /// The most passes over the rows. By then the weights are used as they are.
    pub iterations: usize,
}

/// What a margin costs; a margin is positive on the right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// max(0, 1 - margin)^2, the L2-loss support vector machine.
    SquaredHinge,
    /// max(0, 1 - margin), the L1-loss support vector machine.
    Hinge,
    /// ln(1 + exp(-margin)), logistic regression.
    Logistic,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            loss: Loss::SquaredHinge,
            cost: 1.0,
            positive_weight: 1.0,
            bias: 1.0,
            tolerance: 0.1,
            iterations: 20,
        }
    }
}

impl Params {
    /// Refuses settings that no classifier can be learned with, naming the first.
    pub fn check(&self) -> Result<(), ParamError> {
        let positive = |value: f32| value > 0.0 && value <= 1e9;
        let numbers = [
            ("cost", self.cost, positive(self.cost)),
            ("positive_weight", self.positive_weight, positive(self.positive_weight)),
            ("tolerance", self.tolerance, positive(self.tolerance)),
        ];
        for (setting, found, is_good) in numbers {
            if !is_good {
                let found = found.to_string();
                return Err(ParamError { setting, found, expected: "above 0 and at most 1e9" });
            }
        }
        if !(self.bias >= 0.0 && self.bias <= 1e6) {
            let found = self.bias.to_string();
            return Err(ParamError { setting: "bias", found, expected: "from 0 to 1e6" });
        }
        if self.iterations == 0 {
            let found = "0".to_owned();
            return Err(ParamError { setting: "iterations", found, expected: "at least 1" });
        }
        Ok(())
    }
}
