//! Calibration: from scores to probabilities.
//!
//! The score of a forest or of linear classifiers ranks labels well, but a score of 0.5 need not
//! mean that every second such label is right. [`Calibration`] learns from rows that the model has
//! not seen how often labels of each score are, and says that instead. It never changes the order of
//! labels.
//!
//! ```
//! use labelwood::model::Calibration;
//! // Of labels that score 0.2 one in ten is true, of those that score 0.8 nine in ten.
//! let seen = (0..1000).map(|at| if at % 2 == 0 { (0.2, at % 20 == 0) } else { (0.8, at % 20 != 1) });
//! let calibration = Calibration::learn(seen);
//! assert!((calibration.probability(0.2) - 0.1).abs() < 0.02);
//! assert!((calibration.probability(0.8) - 0.9).abs() < 0.02);
//! ```

pub(crate) mod logistic;

use crate::base::random::derive;
use crate::base::sparse::{Predictions, Scored, best_first};
use logistic::{Examples, Truth, log_odds, probability};

/// Scores below this are about as good as none.
pub(crate) const FLOOR: f64 = 1e-3;
/// How many terms a calibration weighs.
const TERMS: usize = 3;
/// What is taken for likely before any row has been seen: that a score is a probability, nearly.
const PRIOR: [f64; TERMS] = [-1.0, 0.7, 2.5];
/// How many examples' worth the prior is held to.
const PULL: f64 = 0.1;
/// Even scores that tell nothing keep their order.
const LEAST_SLOPE: f64 = 0.01;
/// Of so many rows one is held out to learn from,
const HELD_OUT: usize = 10;
/// but no more than this: a handful of weights needs no more.
const MOST_HELD_OUT: usize = 10_000;
/// The place below the seed that the choice of the held-out rows follows from.
const HOLDING_OUT: u64 = 0x6865_6c64;

/// A rising curve from scores to probabilities: the log-odds are a weighted sum of the score and its
/// logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    pub(crate) weights: [f32; TERMS],
}

impl Calibration {
    /// Learns from scores whose labels are known to be true or not.
    pub fn learn(seen: impl IntoIterator<Item = (f32, bool)>) -> Self {
        Self::learn_weighed(seen.into_iter().map(|(score, is_true)| (score, is_true.into())))
    }

    /// The same from scores that count as many each.
    pub(crate) fn learn_weighed(seen: impl IntoIterator<Item = (f32, Truth)>) -> Self {
        let seen: Vec<(f32, Truth)> = seen.into_iter().collect();
        // The curve must not fall, since the order of labels is the model's: a term that would
        // make it fall is left out.
        let all = fit(&seen, [true, true]);
        let is_rising = |curve: &[f64; TERMS]| curve[1] >= 0.0 && curve[2] >= 0.0;
        let fewer = || [[true, false], [false, true]].map(|with| fit(&seen, with));
        let rising = Some(all).filter(is_rising).or_else(|| fewer().into_iter().find(is_rising));
        let [constant, log, plain] = rising.unwrap_or(all);
        let weights = [constant, log.max(LEAST_SLOPE), plain.max(0.0)];
        Calibration { weights: weights.map(|weight| weight as f32) }
    }

    /// The probability that goes with a score.
    pub fn probability(&self, score: f32) -> f32 {
        probability(log_odds(&terms(score), &self.weights.map(f64::from))) as f32
    }

    /// Predictions with probabilities for scores.
    pub fn apply(&self, predictions: &Predictions) -> Predictions {
        let mut calibrated = Predictions::default();
        let calibrate =
            |&Scored { id, score }: &Scored| Scored { id, score: self.probability(score) };
        for row in predictions.rows() {
            let mut row: Vec<Scored> = row.iter().map(calibrate).collect();
            // Scores that differ by next to nothing may have the same probability.
            row.sort_unstable_by(best_first);
            calibrated.push_row(&row);
        }
        calibrated
    }
}

/// The weights of the constant and of those terms that take part.
fn fit(seen: &[(f32, Truth)], [log, plain]: [bool; 2]) -> [f64; TERMS] {
    let mask = |[constant, by_log, by_score]: [f64; TERMS]| {
        [constant, if log { by_log } else { 0.0 }, if plain { by_score } else { 0.0 }]
    };
    let mut examples = Examples::default();
    seen.iter().for_each(|&(score, truth)| examples.push(&mask(terms(score)), truth));
    let weights = examples.fit(&mask(PRIOR), PULL);
    std::array::from_fn(|at| weights[at])
}

fn terms(score: f32) -> [f64; TERMS] {
    let score = f64::from(score);
    [1.0, libm::log(score.max(0.0) + FLOOR), score]
}

/// How many of the rows are held out to learn a calibration from.
pub(crate) fn held_out(rows: usize) -> usize {
    (rows / HELD_OUT).min(MOST_HELD_OUT)
}

/// So many rows that are held out, and the others, both in order.
pub(crate) fn hold_out(rows: usize, count: usize, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let seed = derive(seed, HOLDING_OUT);
    let mut drawn: Vec<usize> = (0..rows).collect();
    drawn.sort_by_cached_key(|&row| derive(seed, row as u64));
    let mut rest = drawn.split_off(count);
    drawn.sort_unstable();
    rest.sort_unstable();
    (drawn, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn probabilities_are_the_shares_that_were_seen() {
        // Scores are twice too high.
        let seen = (0..10_000u32).map(|at| {
            let score = (at % 100) as f32 / 100.0;
            (score, (at / 100) as f32 / 100.0 < score / 2.0)
        });
        let calibration = Calibration::learn(seen);
        for score in [0.1, 0.4, 0.8] {
            let found = calibration.probability(score);
            assert!((found - score / 2.0).abs() < 0.03, "{score} became {found}");
        }
    }

    #[test]
    fn scores_that_tell_nothing_or_the_opposite_keep_their_order() {
        for seen in [vec![], [(0.9, false), (0.1, true)].repeat(500)] {
            let calibration = Calibration::learn(seen);
            assert!(calibration.probability(0.2) < calibration.probability(0.3));
        }
    }

    #[test]
    fn a_tenth_of_the_rows_is_held_out_and_at_most_ten_thousand() {
        let (drawn, rest) = hold_out(25, held_out(25), 1);
        assert_eq!((drawn.len(), rest.len()), (2, 23));
        let mut all = [drawn, rest].concat();
        all.sort_unstable();
        assert_eq!(all, (0..25).collect::<Vec<_>>());
        assert_eq!([9, 1000, 200_000].map(held_out), [0, 100, 10_000]);
        assert_ne!(hold_out(1000, 100, 1).0, hold_out(1000, 100, 2).0);
    }

    proptest! {
        #[test]
        fn the_order_of_labels_stays(
            seen in prop::collection::vec((0.0f32..=1.0, any::<bool>()), 0..60),
            scores in prop::collection::btree_set(0u16..1000, 2..20),
        ) {
            let calibration = Calibration::learn(seen);
            let mut predictions = Predictions::default();
            let row: Vec<Scored> = (0..).zip(scores.iter().rev())
                .map(|(id, &score)| Scored { id, score: f32::from(score) / 1000.0 }).collect();
            predictions.push_row(&row);
            let calibrated = calibration.apply(&predictions);
            let ids = |row: &[Scored]| row.iter().map(|label| label.id).collect::<Vec<_>>();
            prop_assert_eq!(ids(calibrated.row(0)), ids(&row));
            prop_assert!(calibrated.row(0).iter().all(|label| (0.0..=1.0).contains(&label.score)));
        }
    }
}
