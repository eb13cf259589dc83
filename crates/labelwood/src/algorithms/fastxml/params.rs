//! The settings of a FastXML forest.

use crate::algorithms::craftml::{self, Metric, Precision, Projection};
use crate::base::settings::settings;
use crate::base::sparse::CsrView;
use crate::learn::weighting::Weighting;
use serde::{Deserialize, Serialize};

settings! {
    /// What a FastXML forest is grown with.
    ///
    /// ```
    /// use labelwood::algorithms::{Algorithm, fastxml::Params};
    /// let params = Params { trees: 10, ..Params::pfastrexml() };
    /// assert!(params.check().is_ok());
    /// assert!(Params { cost: 0.0, ..params }.check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Params {
        /// Trees, whose scores are averaged.
        trees: usize = 30, within(1.0, 1_048_576.0), common();
        /// A node with fewer instances than this becomes a leaf.
        leaf: usize = 10, least(2.0), tried([10.into(), 5.into(), 20.into()]);
        /// The weight of a split's logistic loss against the magnitudes of its weights (the paper's
        /// C_delta).
        cost: f32 = 5.0, above(0.0, 1e9), tried([5.0.into(), 3.0.into(), 10.0.into()]);
        /// How much more rare labels gain in a ranking, and weigh in a leaf, than frequent ones: the power
        /// of their inverse propensity; 0 for all alike.
        tail_weight: f32 = 0.0, within(0.0, 4.0);
        /// The say that nearness to a label's mean row has in its score, against that of the trees (one
        /// less the paper's alpha).
        tail_share: f32 = 0.0, within(0.0, 1.0);
        /// How fast that nearness falls with the squared distance (the paper's gamma).
        tail_gamma: f32 = 30.0, within(0.0, 1e6);
        /// How feature values are weighted first: idf is ln(1 + value) x ln(instances / instances with
        /// the feature), auto takes it when all values are whole positive numbers.
        weighting: Weighting = Weighting::Auto, tried(["idf".into(), "none".into()]);
        /// How the weights of splits are stored: in 8 bits (byte) or in 16 (half).
        precision: Precision = Precision::Half;
        /// Every random choice follows from this number.
        seed: u64 = 42, elsewhere();
    }
}

impl Params {
    /// PfastreXML: rare labels gain as much more as they are likely to be missed, and the means of labels
    /// have a say.
    pub fn pfastrexml() -> Self {
        Params { tail_weight: 1.0, tail_share: 0.2, ..Params::default() }
    }

    /// The settings with every automatic choice made for these rows.
    pub(super) fn resolved(&self, features: CsrView<'_>) -> Params {
        Params { weighting: self.weighting.resolve(features), ..self.clone() }
    }

    /// The forest that this one is, apart from how nodes are divided. Its centroids are the classifiers of
    /// splits.
    pub(super) fn forest(&self) -> craftml::Params {
        craftml::Params {
            trees: self.trees,
            branches: 2,
            leaf: self.leaf,
            feature_projection: Projection::None,
            label_projection: Projection::None,
            metric: Metric::Linear,
            repel: 0.0,
            weighting: self.weighting,
            precision: self.precision,
            beam: 1,
            seed: self.seed,
            ..craftml::Params::default()
        }
    }
}
