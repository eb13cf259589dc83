//! How likely a true label is to be recorded, after Jain et al. (2016).

use serde::Serialize;

/// The two constants of the propensity model of Jain et al.
///
/// Annotators miss rare labels more often. With N training rows, N_l of them with label l, the
/// chance that a true l was recorded is modelled as `1 / w_l`, where
/// `w_l = 1 + C (N_l + B)^-A` and `C = (ln N - 1) (B + 1)^A`.
///
/// ```
/// use labelwood::metrics::Propensity;
/// assert_eq!(Propensity::default(), Propensity { a: 0.55, b: 1.5 });
/// // A label that every row has is worth little more than 1, a rare one much more.
/// let weights: Vec<f64> = Propensity::default().inverse(1000, [1000, 10, 0]).collect();
/// assert!(weights[0] < 1.3 && weights[1] < weights[2]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Propensity {
    /// A. The usual values: 0.5 for the Wikipedia sets, 0.6 for Amazon-670K and Amazon-3M, else 0.55.
    pub a: f64,
    /// B. The usual values: 0.4 for the Wikipedia sets, 2.6 for Amazon-670K and Amazon-3M, else 1.5.
    pub b: f64,
}

impl Default for Propensity {
    fn default() -> Self {
        Propensity { a: 0.55, b: 1.5 }
    }
}

impl Propensity {
    /// The inverse propensity `w_l` for each of the given training counts.
    ///
    /// With fewer than three training rows C would be negative, and a propensity above 1 means
    /// nothing: C is then taken as 0 and every weight is 1.
    pub fn inverse<I>(self, instances: usize, counts: I) -> impl Iterator<Item = f64>
    where
        I: IntoIterator<Item = u32>,
    {
        let c = (libm::log(instances as f64) - 1.0).max(0.0) * libm::pow(self.b + 1.0, self.a);
        counts.into_iter().map(move |count| 1.0 + c * libm::pow(f64::from(count) + self.b, -self.a))
    }

    /// Whether the constants mean anything: both finite, `a` at least 0 and `b` above 0.
    pub fn is_possible(self) -> bool {
        self.a.is_finite() && self.b.is_finite() && self.a >= 0.0 && self.b > 0.0
    }
}
