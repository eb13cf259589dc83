//! The threshold of scores from which on labels are worth giving.

use super::calibration::Calibration;
use super::calibration::logistic::Truth;
use crate::base::store::{FormatError, Unit};
use std::collections::BTreeMap;

/// Scores that differ in no more than so many of their last bits, by 1 part in 512, count as one.
const SAME: u32 = 14;

/// The threshold with the best micro-F1 to be expected of scored labels, each with whether it is true, of rows
/// that have so many true labels in all. Nothing if no label is true.
///
/// A row may have hundreds of labels with about the same score, all of them right or all of them wrong, so that
/// a handful of rows decide which threshold is best for the rows that were seen. Others are not like them.
/// So a label counts as true by the probability that a curve gives its score, which all labels shape.
pub(crate) fn best_threshold(
    scored: impl IntoIterator<Item = (f32, bool)>,
    truths: usize,
) -> Option<f32> {
    // How many labels of each score are wrong and true. Scores are not negative, so their bits rise with them.
    let mut groups: BTreeMap<u32, [usize; 2]> = BTreeMap::new();
    for (score, is_true) in scored {
        groups.entry(score.max(0.0).to_bits() >> SAME).or_default()[usize::from(is_true)] += 1;
    }
    if groups.values().all(|&[_, hits]| hits == 0) {
        return None;
    }
    let least = |group: u32| f32::from_bits(group << SAME);
    let seen = groups.iter().flat_map(|(&group, counts)| {
        let of = |is_true| Truth { is_true, weight: counts[usize::from(is_true)] as f64 };
        [false, true].map(|is_true| (least(group), of(is_true)))
    });
    let curve = Calibration::learn_weighed(seen);
    let (mut taken, mut hits, mut best, mut threshold) = (0, 0.0, 0.0, None);
    for (&group, counts) in groups.iter().rev() {
        let labels = counts.iter().sum::<usize>();
        taken += labels;
        hits += labels as f64 * f64::from(curve.probability(least(group)));
        let f1 = 2.0 * hits / (taken + truths) as f64;
        if f1 > best {
            (best, threshold) = (f1, Some(least(group)));
        }
    }
    threshold
}

/// The name of the array that holds a threshold, or nothing.
pub(crate) const THRESHOLD: &str = "threshold";

/// The threshold of a unit; units of before there was one have none.
pub(crate) fn threshold_of(unit: &Unit) -> Result<Option<f32>, FormatError> {
    if !unit.names().iter().any(|name| name == THRESHOLD) {
        return Ok(None);
    }
    let threshold = unit.array::<f32>(THRESHOLD)?.first().copied();
    match threshold {
        Some(threshold) if !threshold.is_finite() => {
            Err(unit.refused("its threshold is not a finite number"))
        }
        threshold => Ok(threshold),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The F1 to be expected at a threshold.
    fn f1(scored: &[(f32, bool)], truths: usize, threshold: f32) -> f64 {
        let curve = Calibration::learn(scored.iter().copied());
        let taken = || scored.iter().filter(|(score, _)| *score >= threshold);
        let hits: f64 = taken().map(|&(score, _)| f64::from(curve.probability(score))).sum();
        2.0 * hits / (taken().count() + truths).max(1) as f64
    }

    /// Ten thousand labels with scores from 0 to 1; of those with a score of 0.3, nine of a hundred are true:
    /// the square of the score.
    fn even() -> Vec<(f32, bool)> {
        let score = |at: i32| at as f32 / 10_000.0;
        (0..10_000).map(|at| (score(at), at * 7 % 10_000 < at * at / 10_000)).collect()
    }

    #[test]
    fn nothing_true_has_no_threshold() {
        assert_eq!(best_threshold([(0.5, false)], 3), None);
        assert_eq!(best_threshold([], 0), None);
        assert_eq!(best_threshold([(0.5, true); 100], 100), Some(0.5));
    }

    #[test]
    fn a_row_with_many_labels_of_one_score_hardly_moves_the_threshold() {
        let truths = even().iter().filter(|(_, is_true)| *is_true).count();
        let usual = best_threshold(even(), truths).unwrap();
        assert!((0.55..0.65).contains(&usual), "{usual}");
        // With the wrong ones, the best threshold for the labels themselves is above 0.7.
        for (score, is_true) in [(0.45, true), (0.7, false)] {
            let odd = even().into_iter().chain([(score, is_true); 300]);
            let moved = best_threshold(odd, truths + if is_true { 300 } else { 0 }).unwrap();
            assert!((usual - moved).abs() < 0.07, "{usual} became {moved}");
        }
    }

    proptest! {
        #[test]
        fn no_score_promises_more_as_a_threshold(
            scored in prop::collection::vec((1u8..40, any::<bool>()), 1..40),
            missed in 0usize..5,
        ) {
            let scored: Vec<(f32, bool)> =
                scored.into_iter().map(|(score, is_true)| (f32::from(score) / 40.0, is_true)).collect();
            let truths = scored.iter().filter(|(_, is_true)| *is_true).count() + missed;
            let found = best_threshold(scored.iter().copied(), truths);
            let best = found.map_or(f64::INFINITY, |at| f1(&scored, truths, at));
            for &(score, _) in &scored {
                prop_assert!(f1(&scored, truths, score) <= best + 1e-3);
            }
        }
    }
}
