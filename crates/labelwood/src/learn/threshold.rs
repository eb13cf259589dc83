//! The threshold of scores from which on labels are worth giving.

use crate::base::store::{FormatError, Unit};

/// The threshold with the best micro-F1 for scored labels, each with whether it is true, of rows that
/// have so many true labels in all. Nothing if no label is true.
pub(crate) fn best_threshold(mut scored: Vec<(f32, bool)>, truths: usize) -> Option<f32> {
    scored.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
    let (mut hits, mut best, mut threshold) = (0usize, 0.0, None);
    for (at, &(score, is_true)) in scored.iter().enumerate() {
        hits += usize::from(is_true);
        let next = scored.get(at + 1).map_or(0.0, |&(next, _)| next);
        let f1 = 2.0 * hits as f64 / (at + 1 + truths) as f64;
        if next < score && f1 > best {
            // Halfway to what is no longer worth it.
            (best, threshold) = (f1, Some(next + (score - next) / 2.0));
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

    fn f1(scored: &[(f32, bool)], truths: usize, threshold: f32) -> f64 {
        let taken = || scored.iter().filter(|(score, _)| *score >= threshold);
        let hits = taken().filter(|(_, is_true)| *is_true).count();
        2.0 * hits as f64 / (taken().count() + truths).max(1) as f64
    }

    #[test]
    fn nothing_true_has_no_threshold() {
        assert_eq!(best_threshold(vec![(0.5, false)], 3), None);
        assert_eq!(best_threshold(Vec::new(), 0), None);
        assert_eq!(best_threshold(vec![(0.5, true), (0.25, false)], 1), Some(0.375));
    }

    proptest! {
        #[test]
        fn no_score_is_a_better_threshold(
            scored in prop::collection::vec((1u8..40, any::<bool>()), 1..40),
            missed in 0usize..5,
        ) {
            let scored: Vec<(f32, bool)> =
                scored.into_iter().map(|(score, is_true)| (f32::from(score), is_true)).collect();
            let truths = scored.iter().filter(|(_, is_true)| *is_true).count() + missed;
            let best = best_threshold(scored.clone(), truths).map_or(0.0, |at| f1(&scored, truths, at));
            for &(score, _) in &scored {
                prop_assert!(f1(&scored, truths, score) <= best);
            }
        }
    }
}
