//! What settings are ranked by.

use crate::base::settings::choices;
use crate::metrics::precision_and_ndcg;

/// Labels of a row that are looked at, the best first.
pub(super) const CUT: usize = 5;

choices! {
    /// What settings are ranked by. Means run over all rows held out, as in [`metrics`](crate::metrics).
    #[derive(Default)]
    pub enum Measure {
        /// The mean of P@1, P@3 and P@5.
        #[default]
        Precision = "p",
        /// P@1.
        PrecisionAt1 = "p@1",
        /// P@3.
        PrecisionAt3 = "p@3",
        /// P@5.
        PrecisionAt5 = "p@5",
        /// nDCG@3.
        NdcgAt3 = "ndcg@3",
        /// nDCG@5.
        NdcgAt5 = "ndcg@5",
    }
}

impl Measure {
    /// What the figures are called in tables.
    pub fn title(self) -> &'static str {
        match self {
            Measure::Precision => "mean of P@1, P@3 and P@5",
            Measure::PrecisionAt1 => "P@1",
            Measure::PrecisionAt3 => "P@3",
            Measure::PrecisionAt5 => "P@5",
            Measure::NdcgAt3 => "nDCG@3",
            Measure::NdcgAt5 => "nDCG@5",
        }
    }

    /// The figure of a row with so many true labels; bit i of `hits` says whether the label of rank
    /// i is one of them, and `discounts` are those of the first [`CUT`] ranks.
    pub(super) fn of(self, hits: u8, true_labels: usize, discounts: &[f64]) -> f64 {
        let figures = |cut: usize| {
            let ranks = (0..cut).filter(|rank| hits & (1 << rank) != 0);
            precision_and_ndcg(ranks, cut, true_labels, discounts)
        };
        match self {
            Measure::Precision => [1, 3, 5].map(|cut| figures(cut).0).iter().sum::<f64>() / 3.0,
            Measure::PrecisionAt1 => figures(1).0,
            Measure::PrecisionAt3 => figures(3).0,
            Measure::PrecisionAt5 => figures(5).0,
            Measure::NdcgAt3 => figures(3).1,
            Measure::NdcgAt5 => figures(5).1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::discounts;

    #[test]
    fn the_first_and_third_of_two_labels() {
        let (hits, discounts) = (0b00101, &discounts(CUT));
        assert_eq!(Measure::PrecisionAt1.of(hits, 2, discounts), 1.0);
        assert_eq!(Measure::PrecisionAt3.of(hits, 2, discounts), 2.0 / 3.0);
        assert_eq!(Measure::PrecisionAt5.of(hits, 2, discounts), 0.4);
        assert_eq!(Measure::Precision.of(hits, 2, discounts), (1.0 + 2.0 / 3.0 + 0.4) / 3.0);
        let ideal = 1.0 + 1.0 / libm::log2(3.0);
        assert_eq!(Measure::NdcgAt3.of(hits, 2, discounts), 1.5 / ideal);
        assert_eq!(Measure::NdcgAt5.of(0, 0, discounts), 0.0);
    }

    #[test]
    fn every_name_is_a_measure() {
        for name in Measure::NAMES {
            let measure: Measure = serde_json::from_value((*name).into()).unwrap();
            assert_eq!(serde_json::to_value(measure).unwrap(), *name);
        }
    }
}
