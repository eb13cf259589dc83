//! What settings are ranked by.

use crate::base::settings::choices;

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
    /// i is one of them.
    pub(super) fn of(self, hits: u8, true_labels: usize) -> f64 {
        match self {
            Measure::Precision => {
                [1, 3, 5].map(|cut| precision(hits, cut)).iter().sum::<f64>() / 3.0
            }
            Measure::PrecisionAt1 => precision(hits, 1),
            Measure::PrecisionAt3 => precision(hits, 3),
            Measure::PrecisionAt5 => precision(hits, 5),
            Measure::NdcgAt3 => ndcg(hits, 3, true_labels),
            Measure::NdcgAt5 => ndcg(hits, 5, true_labels),
        }
    }
}

fn precision(hits: u8, cut: usize) -> f64 {
    f64::from((hits & ((1 << cut) - 1)).count_ones()) / cut as f64
}

fn ndcg(hits: u8, cut: usize, true_labels: usize) -> f64 {
    let discount = |rank: usize| 1.0 / libm::log2(rank as f64 + 2.0);
    let ideal: f64 = (0..cut.min(true_labels)).map(discount).sum();
    let found: f64 = (0..cut).filter(|rank| hits & (1 << rank) != 0).map(discount).sum();
    if ideal > 0.0 { found / ideal } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::sparse::{LabelRows, Predictions, Scored};
    use crate::metrics::{Evaluation, MetricOptions, TrainingCounts};
    use proptest::prelude::*;

    #[test]
    fn the_first_and_third_of_two_labels() {
        let hits = 0b00101;
        assert_eq!(Measure::PrecisionAt1.of(hits, 2), 1.0);
        assert_eq!(Measure::PrecisionAt3.of(hits, 2), 2.0 / 3.0);
        assert_eq!(Measure::PrecisionAt5.of(hits, 2), 0.4);
        assert_eq!(Measure::Precision.of(hits, 2), (1.0 + 2.0 / 3.0 + 0.4) / 3.0);
        let ideal = 1.0 + 1.0 / libm::log2(3.0);
        assert_eq!(Measure::NdcgAt3.of(hits, 2), 1.5 / ideal);
        assert_eq!(Measure::NdcgAt5.of(0, 0), 0.0);
    }

    #[test]
    fn every_name_is_a_measure() {
        for name in Measure::NAMES {
            let measure: Measure = serde_json::from_value((*name).into()).unwrap();
            assert_eq!(serde_json::to_value(measure).unwrap(), *name);
        }
    }

    proptest! {
        #[test]
        fn figures_are_those_of_an_evaluation(hits in 0u8..32, more in 0usize..4) {
            let found: Vec<u32> = (0..5).filter(|rank| hits & (1 << rank) != 0).collect();
            let truth: Vec<u32> = found.iter().copied().chain(10..10 + more as u32).collect();
            let mut labels = LabelRows::new(20);
            labels.push_row(&truth, &vec![(); truth.len()]).unwrap();
            let mut predictions = Predictions::default();
            predictions.push_row(&[0, 1, 2, 3, 4].map(|id| Scored { id, score: 1.0 - id as f32 / 9.0 }));
            let training = TrainingCounts { instances: 9, labels: &[1; 20] };
            let options = MetricOptions::default();
            let metrics =
                Evaluation::new(labels.view(), &predictions, training, &options).unwrap().metrics();
            let figures: Vec<(String, f64)> = metrics.named().collect();
            for (at, name) in Measure::NAMES.iter().enumerate().skip(1) {
                let measure: Measure = serde_json::from_value((*name).into()).unwrap();
                let (_, expected) = figures.iter().find(|(known, _)| known == name).unwrap();
                prop_assert!((measure.of(hits, truth.len()) - expected).abs() < 1e-12, "{}", at);
            }
        }
    }
}
