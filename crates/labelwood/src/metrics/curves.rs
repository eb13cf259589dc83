//! Precision and recall for one least score after the other.

use super::Evaluation;
use super::score::{RowScorer, ratio};
use serde::Serialize;

/// The figures of all predictions with at least some score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The least score.
    pub threshold: f32,
    /// The share of the predictions that are true.
    pub precision: f64,
    /// The share of the true labels that are predicted.
    pub recall: f64,
    /// F1 of all pairs of a row and a label together.
    pub micro_f1: f64,
    /// Predictions per row.
    pub labels_per_row: f64,
}

/// Scores are told apart by their sign, their exponent and the first seven bits of their fraction where a
/// curve does not ask for certain ones.
const KINDS: usize = 1 << 16;
/// How many points a curve has, about.
const POINTS: usize = 100;

/// Predictions, and how many of them are true.
#[derive(Clone, Copy, Default)]
struct Count {
    predicted: u64,
    hits: u64,
}

impl Count {
    fn add(&mut self, other: Count) {
        self.predicted += other.predicted;
        self.hits += other.hits;
    }
}

/// All predictions by their scores.
struct Scores {
    rows: usize,
    truth: u64,
    /// By kind, lowest scores first.
    counts: Vec<Count>,
    least: f32,
    most: f32,
}

/// A score's kind: kinds are in the order of scores.
fn kind_of(score: f32) -> usize {
    // Adding nothing makes 0 of -0.
    let bits = (score + 0.0).to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    (ordered >> 16) as usize
}

/// The least score of a kind.
fn least_of(kind: usize) -> f32 {
    let ordered = (kind as u32) << 16;
    f32::from_bits(if ordered >> 31 == 1 { ordered & !(1 << 31) } else { !ordered })
}

impl Evaluation<'_> {
    /// All predictions, whatever the cuts are: calls `take` with the score of each and whether it is true;
    /// gives the number of true labels.
    fn each_prediction(&self, mut take: impl FnMut(f32, bool)) -> u64 {
        let all = Evaluation { at: vec![usize::MAX], ..self.clone() };
        let mut scorer = RowScorer::new(&all);
        let mut truth = 0;
        for row in 0..all.truth.len() {
            let row = scorer.score(row);
            row.ranked.iter().for_each(|ranked| take(ranked.score, ranked.is_hit));
            truth += row.truth.len() as u64;
        }
        truth
    }

    fn scores(&self) -> Scores {
        let mut counts = vec![Count::default(); KINDS];
        let (mut least, mut most) = (f32::INFINITY, f32::NEG_INFINITY);
        let truth = self.each_prediction(|score, is_hit| {
            counts[kind_of(score)].add(Count { predicted: 1, hits: u64::from(is_hit) });
            (least, most) = (least.min(score), most.max(score));
        });
        Scores { rows: self.truth.len(), truth, counts, least, most }
    }

    /// The figures at evenly spaced thresholds: each hundredth between 0 and 1 if all scores lie there, else
    /// from the least score to the greatest. Those that no prediction reaches are left out.
    ///
    /// ```
    /// # use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
    /// # use labelwood::sparse::{LabelRows, Predictions, Scored};
    /// # let mut truth = LabelRows::new(3);
    /// # truth.push_row(&[0, 2], &[(), ()])?;
    /// # let mut predictions = Predictions::default();
    /// # predictions.push_row(&[Scored { id: 2, score: 0.75 }, Scored { id: 1, score: 0.4 }]);
    /// # let training = TrainingCounts { instances: 200, labels: &[120, 30, 4] };
    /// # let options = MetricOptions::default();
    /// // Row 0 has labels 0 and 2; label 2 is predicted with 0.75 and label 1 with 0.4.
    /// let evaluation = Evaluation::new(truth.view(), &predictions, training, &options)?;
    /// let curve = evaluation.by_threshold();
    /// assert_eq!((curve[40].precision, curve[41].precision), (0.5, 1.0));
    /// assert_eq!(curve.last().expect("it is reached").threshold, 0.75);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn by_threshold(&self) -> Vec<CurvePoint> {
        let scores = self.scores();
        if scores.least > scores.most {
            return Vec::new();
        }
        let is_share = scores.least >= 0.0 && scores.most <= 1.0;
        let (from, to) = if is_share { (0.0, 1.0) } else { (scores.least, scores.most) };
        let at = |step: usize| step as f64 / POINTS as f64;
        let between = |step| f64::from(from) + at(step) * (f64::from(to) - f64::from(from));
        let thresholds: Vec<f32> = (0..=POINTS).map(|step| between(step) as f32).collect();
        let mut counts = vec![Count::default(); thresholds.len()];
        self.each_prediction(|score, is_hit| {
            // The predictions between a threshold and the next.
            if let Some(at) = thresholds.partition_point(|&least| least <= score).checked_sub(1) {
                counts[at].add(Count { predicted: 1, hits: u64::from(is_hit) });
            }
        });
        let mut points = Vec::new();
        let mut reached = Count::default();
        for (&threshold, &count) in thresholds.iter().zip(&counts).rev() {
            reached.add(count);
            if reached.predicted > 0 {
                points.push(scores.point(threshold, reached));
            }
        }
        points.reverse();
        points
    }

    /// How precision falls while recall rises, because ever lower scores suffice: about a hundred points,
    /// the highest scores first.
    pub fn precision_against_recall(&self) -> Vec<CurvePoint> {
        let scores = self.scores();
        let mut points: Vec<CurvePoint> = Vec::new();
        let mut reached = Count::default();
        let all: u64 = scores.counts.iter().map(|count| count.hits).sum();
        // The hits that the next point has at least.
        let mut next = 1;
        for (kind, &count) in scores.counts.iter().enumerate().rev() {
            if count.predicted == 0 {
                continue;
            }
            reached.add(count);
            let is_last = kind == kind_of(scores.least);
            if reached.hits >= next || is_last {
                points.push(scores.point(least_of(kind), reached));
                next = reached.hits + (all / POINTS as u64).max(1);
            }
        }
        points
    }
}

impl Scores {
    fn point(&self, threshold: f32, reached: Count) -> CurvePoint {
        let (hits, predicted) = (reached.hits as f64, reached.predicted as f64);
        CurvePoint {
            threshold,
            precision: ratio(hits, predicted),
            recall: ratio(hits, self.truth as f64),
            micro_f1: ratio(2.0 * hits, predicted + self.truth as f64),
            labels_per_row: ratio(predicted, self.rows as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::sparse::{LabelRows, Predictions, Scored};
    use crate::metrics::{MetricOptions, TrainingCounts};
    use proptest::prelude::*;

    #[test]
    fn kinds_are_in_the_order_of_scores() {
        let scores = [-3e38, -1.0, -1e-30, 0.0, 1e-40, 0.25, 0.2501, 0.5, 1.0, 3e38];
        assert!(scores.is_sorted_by(|left, right| kind_of(*left) <= kind_of(*right)));
        assert_eq!(kind_of(-0.0), kind_of(0.0));
        for score in scores {
            let least = least_of(kind_of(score));
            assert!(least <= score && kind_of(least) == kind_of(score), "{score} {least}");
        }
    }

    proptest! {
        #[test]
        fn the_points_of_curves_are_the_figures_at_their_thresholds(
            rows in proptest::collection::vec(
                (
                    proptest::collection::btree_set(0u32..5, 0..4),
                    proptest::collection::vec(-8i32..8, 0..5),
                ),
                0..9,
            ),
            scale in prop_oneof![Just(0.125f32), Just(0.1), Just(1e20)],
            is_positive: bool,
            filter in proptest::collection::btree_set((0usize..9, 0u32..5), 0..4),
        ) {
            let (mut truth, mut predictions) = (LabelRows::new(5), Predictions::default());
            for (labels, scores) in &rows {
                let labels: Vec<u32> = labels.iter().copied().collect();
                truth.push_row(&labels, &vec![(); labels.len()]).unwrap();
                let score = |&score: &i32| {
                    (if is_positive { score.abs() } else { score }) as f32 * scale
                };
                let scored = scores.iter().zip(0..).map(|(value, id)| Scored { id, score: score(value) });
                let mut scored: Vec<Scored> = scored.collect();
                scored.sort_by(crate::base::sparse::best_first);
                predictions.push_row(&scored);
            }
            let training = TrainingCounts { instances: 3, labels: &[1; 5] };
            let filter: Vec<(usize, u32)> = filter.into_iter().filter(|pair| pair.0 < rows.len()).collect();
            let evaluation =
                Evaluation::new(truth.view(), &predictions, training, &MetricOptions::default()).unwrap();
            let evaluation = evaluation.without(&filter).unwrap();
            let points = evaluation.by_threshold();
            let trade_off = evaluation.precision_against_recall();
            prop_assert!(points.len() <= POINTS + 1 && trade_off.len() <= POINTS + 2);
            prop_assert!(trade_off.is_sorted_by(|left, right| left.recall <= right.recall));
            for point in points.into_iter().chain(trade_off) {
                let expected = evaluation.at_threshold(point.threshold);
                prop_assert_eq!(point.precision, expected.precision);
                prop_assert_eq!(point.recall, expected.recall);
                prop_assert_eq!(point.micro_f1, expected.micro_f1);
                prop_assert_eq!(point.labels_per_row, expected.labels_per_row);
            }
        }
    }
}
