//! The settings of the solver.

use crate::base::settings::{ParamError, choices, settings};
use serde::{Deserialize, Serialize};

settings! {
    /// How a linear classifier is learned.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Params {
        /// What a wrong or narrow margin costs.
        loss: Loss = Loss::SquaredHinge;
        /// The weight of the loss against the length of the weights (LIBLINEAR's C).
        cost: f32 = 1.0, above(0.0, 1e9), tried([1.0.into(), 0.3.into(), 3.0.into()]), common();
        /// The weight of positive rows against negative ones.
        positive_weight: f32 = 1.0, above(0.0, 1e9);
        /// The weight of the magnitudes of the weights beside half their squares, for a label with one row;
        /// it grows with the root of the rows. It makes most weights exactly zero; 0 leaves it out.
        #[serde(default)]
        l1: f32 = 0.0, within(0.0, 1e9);
        /// The value of a feature that every row has; 0 for none.
        bias: f32 = 1.0, within(0.0, 1e6);
        /// A classifier is done when a pass over all rows finds its gradients within a range of this
        /// width that holds 0, as in LIBLINEAR; below 1e-5, single precision is the limit.
        tolerance: f32 = 0.1, above(0.0, 1e9);
        /// Passes over the rows at most; by then the weights are used as they are.
        iterations: usize = 20, least(1.0);
    }
}

choices! {
    /// What a margin costs; a margin is positive on the right side.
    pub enum Loss {
        /// max(0, 1 - margin)^2, the L2-loss support vector machine.
        SquaredHinge = "squared-hinge",
        /// max(0, 1 - margin), the L1-loss support vector machine.
        Hinge = "hinge",
        /// ln(1 + exp(-margin)), logistic regression.
        Logistic = "logistic",
    }
}

impl Params {
    /// Refuses settings that no classifier can be learned with, naming the first.
    pub fn check(&self) -> Result<(), ParamError> {
        self.check_values()
    }
}
