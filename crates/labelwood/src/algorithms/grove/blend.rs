//! The blend: what the scores of both parts make a label's probability.

use crate::base::sparse::Scored;
use crate::learn::calibration::FLOOR;
use crate::learn::calibration::logistic::{Examples, log_odds, probability};

/// How many terms a blend weighs.
pub(super) const TERMS: usize = 11;
/// What is taken for likely before any row has been seen: about the mean of what was learned from
/// four public sets.
const PRIOR: [f64; TERMS] = [1.0, 0.55, 3.0, 0.7, 0.0, -0.3, -0.03, -0.2, -0.05, 0.3, 0.0];
/// How many examples' worth the prior is held to.
const PULL: f64 = 1.0;

/// The learned weights of both parts' scores.
///
/// A label's log-odds are a weighted sum of the two scores and their logarithms; the weights slide
/// with the logarithm of how often training saw the label, so that rare labels may trust another
/// part than frequent ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blend {
    pub(crate) weights: [f32; TERMS],
}

impl Default for Blend {
    /// The blend that is used when there are no rows to learn one from.
    fn default() -> Self {
        Blend { weights: PRIOR.map(|weight| weight as f32) }
    }
}

impl Blend {
    /// The probability of a label that `count` training rows have, from its scores.
    ///
    /// ```
    /// use labelwood::grove::Blend;
    /// let blend = Blend::default();
    /// assert!(blend.probability(0.5, 0.5, 100) > blend.probability(0.5, 0.0, 100));
    /// ```
    pub fn probability(&self, forest: f32, label_tree: f32, count: u32) -> f32 {
        let weights = self.weights.map(f64::from);
        probability(log_odds(&terms(forest, label_tree, count), &weights)) as f32
    }
}

fn terms(forest: f32, label_tree: f32, count: u32) -> [f64; TERMS] {
    let (forest, linear) = (f64::from(forest), f64::from(label_tree));
    let often = libm::log1p(f64::from(count));
    let (log_forest, log_linear) = (libm::log(forest + FLOOR), libm::log(linear + FLOOR));
    [
        1.0,
        log_forest,
        forest,
        log_linear,
        linear,
        often,
        log_forest * often,
        forest * often,
        log_linear * often,
        linear * often,
        (forest * linear).sqrt(),
    ]
}

/// Learns a blend from candidates whose truth is known.
#[derive(Default)]
pub(crate) struct Learner(Examples<TERMS>);

impl Learner {
    /// Adds a candidate whose label `count` training rows have.
    pub fn add(&mut self, candidate: Candidate, count: u32, is_true: bool) {
        self.0.push(terms(candidate.forest, candidate.label_tree, count), is_true);
    }

    pub fn finish(&self) -> Blend {
        Blend { weights: self.0.fit(&PRIOR, PULL).map(|weight| weight as f32) }
    }
}

/// A label with the scores that the parts give it; 0 where a part does not name it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub id: u32,
    pub forest: f32,
    pub label_tree: f32,
}

/// The labels among the best `most` of either part, with both scores, by id. Each part's list is
/// best first and may be longer: what lies beyond is looked up, but names no candidate.
pub(crate) fn candidates(
    forest: &[Scored],
    label_tree: &[Scored],
    most: usize,
) -> impl Iterator<Item = Candidate> {
    let mut named: Vec<(Candidate, bool)> = Vec::with_capacity(forest.len() + label_tree.len());
    named.extend(forest.iter().enumerate().map(|(rank, &Scored { id, score })| {
        (Candidate { id, forest: score, label_tree: 0.0 }, rank < most)
    }));
    named.extend(label_tree.iter().enumerate().map(|(rank, &Scored { id, score })| {
        (Candidate { id, forest: 0.0, label_tree: score }, rank < most)
    }));
    named.sort_unstable_by_key(|(candidate, _)| candidate.id);
    // Each part names a label once, and gives it nothing in the other's place.
    named.dedup_by(|(other, is_best), (kept, kept_is_best)| {
        let is_same = other.id == kept.id;
        if is_same {
            kept.forest += other.forest;
            kept.label_tree += other.label_tree;
            *kept_is_best |= *is_best;
        }
        is_same
    });
    named.into_iter().filter(|&(_, is_best)| is_best).map(|(candidate, _)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scored(pairs: &[(u32, f32)]) -> Vec<Scored> {
        pairs.iter().map(|&(id, score)| Scored { id, score }).collect()
    }

    #[test]
    fn candidates_are_the_best_of_either_part_with_both_scores() {
        let forest = scored(&[(5, 0.5), (1, 0.25), (9, 0.125)]);
        let label_tree = scored(&[(9, 0.75), (2, 0.5), (5, 0.25)]);
        let found: Vec<_> = candidates(&forest, &label_tree, 2)
            .map(|found| (found.id, found.forest, found.label_tree))
            .collect();
        assert_eq!(found, [(1, 0.25, 0.0), (2, 0.0, 0.5), (5, 0.5, 0.25), (9, 0.125, 0.75)]);
        let best: Vec<_> =
            candidates(&forest, &label_tree, 1).map(|found| (found.id, found.forest)).collect();
        assert_eq!(best, [(5, 0.5), (9, 0.125)]);
    }

    #[test]
    fn the_prior_trusts_both_parts() {
        let blend = Blend::default();
        for count in [1, 30, 1000] {
            assert!(blend.probability(0.6, 0.0, count) > blend.probability(0.1, 0.0, count));
            assert!(blend.probability(0.0, 0.6, count) > blend.probability(0.0, 0.1, count));
        }
    }

    #[test]
    fn a_part_that_tells_nothing_is_not_trusted() {
        let mut learner = Learner::default();
        for at in 0..2000u32 {
            let is_true = at % 2 == 0;
            let forest = if is_true { 0.6 } else { 0.2 };
            let label_tree = if at % 4 < 2 { 0.9 } else { 0.1 };
            learner.add(Candidate { id: at, forest, label_tree }, 50, is_true);
        }
        let blend = learner.finish();
        assert!(blend.probability(0.6, 0.1, 50) > 0.9);
        assert!(blend.probability(0.2, 0.9, 50) < 0.1);
    }

    #[test]
    fn rare_labels_may_trust_another_part_than_frequent_ones() {
        let mut learner = Learner::default();
        for at in 0..4000u32 {
            let is_true = at % 2 == 0;
            let (tells, noise) =
                (if is_true { 0.7 } else { 0.2 }, if at % 8 < 4 { 0.7 } else { 0.2 });
            let (count, forest, label_tree) =
                if at % 16 < 8 { (2, noise, tells) } else { (2000, tells, noise) };
            learner.add(Candidate { id: at, forest, label_tree }, count, is_true);
        }
        let blend = learner.finish();
        assert!(blend.probability(0.7, 0.2, 2) < 0.3 && blend.probability(0.2, 0.7, 2) > 0.7);
        assert!(blend.probability(0.7, 0.2, 2000) > 0.7 && blend.probability(0.2, 0.7, 2000) < 0.3);
    }

    proptest! {
        #[test]
        fn probabilities_lie_between_0_and_1(
            weights in prop::array::uniform11(-50.0f32..50.0),
            forest in 0.0f32..=1.0,
            label_tree in 0.0f32..=1.0,
            count: u32,
        ) {
            let found = Blend { weights }.probability(forest, label_tree, count);
            prop_assert!((0.0..=1.0).contains(&found));
        }
    }
}
