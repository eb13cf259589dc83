//! The blend: what the scores of the parts make a label's probability.

use super::params::Prior;
use crate::algorithms::Settings;
use crate::learn::calibration::FLOOR;
use crate::learn::calibration::logistic::{Examples, Truth, log_odds};

/// What the constant and the logarithm of a label's count add to its log-odds before any row has been
/// seen.
const PRIOR: [f64; 2] = [1.0, -0.3];
/// How many examples' worth the prior is held to.
const PULL: f64 = 1.0;

/// The learned weights of the parts' scores.
///
/// A label's log-odds are a weighted sum of the scores and their logarithms; the weights slide with the
/// logarithm of how often training saw the label, so that rare labels may trust another part than
/// frequent ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Blend(Vec<f64>);

impl Blend {
    /// The blend that is used when there are no rows to learn one from.
    pub(crate) fn prior(parts: &[Settings]) -> Self {
        Self::from_weights(prior(parts).iter().map(|&weight| weight as f32))
    }

    /// A blend with weights as [`Blend::weights`] gives them.
    pub(crate) fn from_weights(weights: impl Iterator<Item = f32>) -> Self {
        Blend(weights.map(f64::from).collect())
    }

    /// The weights as they are stored.
    pub(crate) fn weights(&self) -> Vec<f32> {
        self.0.iter().map(|&weight| weight as f32).collect()
    }

    /// The log-odds of a label that `count` training rows have, from its score in each part; `terms`
    /// is scratch memory.
    pub(super) fn log_odds(&self, scores: &[f32], count: u32, terms: &mut Vec<f64>) -> f64 {
        set_terms(scores, count, terms);
        log_odds(terms, &self.0)
    }
}

/// What a blend's log-odds are made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Summands {
    /// What no score changes.
    pub constant: f64,
    /// What the score of each part adds.
    pub scores: Vec<f64>,
    /// What the label's count adds.
    pub often: f64,
    /// What each two parts add together.
    pub pairs: Vec<f64>,
}

impl Blend {
    /// What the log-odds of a label that `count` training rows have are made of.
    pub(super) fn summands(&self, scores: &[f32], count: u32) -> Summands {
        let mut terms = Vec::new();
        set_terms(scores, count, &mut terms);
        let weighted: Vec<f64> = terms.iter().zip(&self.0).map(|(term, it)| term * it).collect();
        // Two terms of each part, the count, two terms of each part times the count, and the pairs.
        let (own, slid) = (1, 2 + 2 * scores.len());
        let of_part = |part: usize| {
            let places = [own + 2 * part, own + 2 * part + 1, slid + 2 * part, slid + 2 * part + 1];
            places.map(|at| weighted[at]).iter().sum()
        };
        Summands {
            constant: weighted[0],
            scores: (0..scores.len()).map(of_part).collect(),
            often: weighted[slid - 1],
            pairs: weighted[slid + 2 * scores.len()..].to_vec(),
        }
    }
}

/// How many terms the scores of so many parts make.
pub(super) fn width(parts: usize) -> usize {
    2 + 4 * parts + parts * parts.saturating_sub(1) / 2
}

/// The terms: a constant, the logarithm of each score and the score, the logarithm of the label's
/// count, all but the constant times that, and the geometric mean of each two scores.
fn set_terms(scores: &[f32], count: u32, terms: &mut Vec<f64>) {
    let often = libm::log1p(f64::from(count));
    terms.clear();
    terms.push(1.0);
    for &score in scores {
        let score = f64::from(score);
        terms.extend([libm::log(score + FLOOR), score]);
    }
    terms.push(often);
    for at in 1..=2 * scores.len() {
        terms.push(terms[at] * often);
    }
    for (at, &one) in scores.iter().enumerate() {
        let others = scores[at + 1..].iter();
        terms.extend(others.map(|&other| (f64::from(one) * f64::from(other)).sqrt()));
    }
}

/// What is taken for likely before any row has been seen.
fn prior(parts: &[Settings]) -> Vec<f64> {
    let parts: Vec<[f64; 4]> = parts.iter().map(|part| Prior::of(part).weights).collect();
    let mut weights = vec![PRIOR[0]];
    weights.extend(parts.iter().flat_map(|part| &part[..2]));
    weights.push(PRIOR[1]);
    weights.extend(parts.iter().flat_map(|part| &part[2..]));
    weights.resize(width(parts.len()), 0.0);
    weights
}

/// Learns a blend from candidates whose truth is known.
#[derive(Default)]
pub(super) struct Learner {
    examples: Examples,
    terms: Vec<f64>,
}

impl Learner {
    /// Adds a candidate with its scores, whose label `count` training rows have.
    pub(super) fn add(&mut self, scores: &[f32], count: u32, truth: Truth) {
        set_terms(scores, count, &mut self.terms);
        self.examples.push(&self.terms, truth);
    }

    /// Whether each candidate is true.
    pub(super) fn truths(&self) -> &[Truth] {
        self.examples.truths()
    }

    /// The log-odds that a blend gives the candidates.
    pub(super) fn log_odds(&self, blend: &Blend) -> Vec<f64> {
        self.examples.rows().map(|(terms, _)| log_odds(terms, &blend.0)).collect()
    }

    pub(super) fn finish(&self, parts: &[Settings]) -> Blend {
        let weights = self.examples.fit(&prior(parts), PULL);
        Blend::from_weights(weights.iter().map(|&weight| weight as f32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{craftml, label_tree};
    use crate::learn::calibration::logistic::probability;
    use proptest::prelude::*;

    fn parts() -> Vec<Settings> {
        vec![craftml::Params::default().into(), label_tree::Params::default().into()]
    }

    #[test]
    fn the_terms_of_two_parts_stand_in_the_order_of_their_weights() {
        let (mut terms, log) = (Vec::new(), |score: f64| libm::log(score + FLOOR));
        set_terms(&[0.5, 0.25], 7, &mut terms);
        let often = libm::log1p(7.0);
        let (forest, linear) = (log(0.5), log(0.25));
        let expected = [
            1.0,
            forest,
            0.5,
            linear,
            0.25,
            often,
            forest * often,
            0.5 * often,
            linear * often,
            0.25 * often,
            0.125f64.sqrt(),
        ];
        assert_eq!(terms, expected);
        assert_eq!(prior(&parts()).len(), terms.len());
        assert_eq!((width(1), width(2), width(3)), (6, 11, 17));
    }

    #[test]
    fn the_summands_are_the_log_odds() {
        let parts = [parts(), parts()].concat();
        let weights: Vec<f32> = (0..width(3)).map(|at| (at as f32 * 0.7).sin()).collect();
        let (blend, scores) = (Blend::from_weights(weights.into_iter()), [0.5, 0.0, 0.25]);
        let found = blend.summands(&scores, 9);
        let sum =
            found.constant + found.often + found.scores.iter().chain(&found.pairs).sum::<f64>();
        assert!((sum - blend.log_odds(&scores, 9, &mut vec![])).abs() < 1e-12);
        assert_eq!((found.scores.len(), found.pairs.len()), (3, 3));
        let prior = Blend::prior(&parts[..2]);
        let [some, none] = [[0.5, 0.0], [0.0, 0.0]].map(|scores| prior.summands(&scores, 9));
        assert!(some.scores[0] > none.scores[0] && some.scores[1] == none.scores[1]);
        assert_eq!((some.constant, some.often), (none.constant, none.often));
    }

    #[test]
    fn the_prior_trusts_both_parts() {
        let blend = Blend::prior(&parts());
        for count in [1, 30, 1000] {
            assert!(
                blend.log_odds(&[0.6, 0.0], count, &mut vec![])
                    > blend.log_odds(&[0.1, 0.0], count, &mut vec![])
            );
            assert!(
                blend.log_odds(&[0.0, 0.6], count, &mut vec![])
                    > blend.log_odds(&[0.0, 0.1], count, &mut vec![])
            );
        }
    }

    #[test]
    fn a_part_that_tells_nothing_is_not_trusted() {
        let mut learner = Learner::default();
        for at in 0..2000u32 {
            let is_true = at % 2 == 0;
            let forest = if is_true { 0.6 } else { 0.2 };
            let label_tree = if at % 4 < 2 { 0.9 } else { 0.1 };
            learner.add(&[forest, label_tree], 50, is_true.into());
        }
        let blend = learner.finish(&parts());
        assert!(probability(blend.log_odds(&[0.6, 0.1], 50, &mut vec![])) > 0.9);
        assert!(probability(blend.log_odds(&[0.2, 0.9], 50, &mut vec![])) < 0.1);
    }

    #[test]
    fn rare_labels_may_trust_another_part_than_frequent_ones() {
        let mut learner = Learner::default();
        for at in 0..4000u32 {
            let is_true = at % 2 == 0;
            let (tells, noise) =
                (if is_true { 0.7 } else { 0.2 }, if at % 8 < 4 { 0.7 } else { 0.2 });
            let (count, scores) =
                if at % 16 < 8 { (2, [noise, tells]) } else { (2000, [tells, noise]) };
            learner.add(&scores, count, is_true.into());
        }
        let blend = learner.finish(&parts());
        let probability = |forest, label_tree, count| {
            probability(blend.log_odds(&[forest, label_tree], count, &mut vec![]))
        };
        assert!(probability(0.7, 0.2, 2) < 0.3 && probability(0.2, 0.7, 2) > 0.7);
        assert!(probability(0.7, 0.2, 2000) > 0.7 && probability(0.2, 0.7, 2000) < 0.3);
    }

    proptest! {
        #[test]
        fn probabilities_lie_between_0_and_1(
            weights in prop::array::uniform11(-50.0f32..50.0),
            forest in 0.0f32..=1.0,
            label_tree in 0.0f32..=1.0,
            count: u32,
        ) {
            let blend = Blend::from_weights(weights.into_iter());
            let found = probability(blend.log_odds(&[forest, label_tree], count, &mut vec![]));
            prop_assert!((0.0..=1.0).contains(&found));
        }
    }
}
