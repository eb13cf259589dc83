//! The settings of neighbours.

use crate::base::settings::settings;
use crate::base::sparse::CsrView;
use crate::learn::weighting::Weighting;
use serde::{Deserialize, Serialize};

settings! {
    /// How the nearest training rows vote.
    ///
    /// ```
    /// use labelwood::algorithms::{Algorithm, neighbours::Params};
    /// assert!(Params { neighbours: 0, ..Params::default() }.check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Params {
        /// How many of the nearest training rows vote for their labels.
        neighbours: usize = 50, within(1.0, 1_048_576.0), tried([50.into(), 15.into(), 150.into()]), common();
        /// A neighbour's vote weighs its similarity, which is a cosine, to this power: with 0 all weigh
        /// the same.
        power: f32 = 3.0, within(0.0, 16.0), tried([3.0.into(), 2.0.into(), 4.0.into()]);
        /// How feature values are weighted first: idf is ln(1 + value) x ln(instances / instances with
        /// the feature), auto takes it when all values are whole positive numbers.
        weighting: Weighting = Weighting::Auto, tried(["idf".into(), "none".into()]);
        /// Every random choice would follow from this number; there is none.
        seed: u64 = 42, elsewhere();
    }
}

impl Params {
    /// The settings with every automatic choice made for these rows.
    pub fn resolve(&self, features: CsrView<'_>) -> Params {
        Params { weighting: self.weighting.resolve(features), ..self.clone() }
    }
}
