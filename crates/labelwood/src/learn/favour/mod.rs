//! Favouring some labels beyond their scores.
//!
//! People who label documents miss rare labels more often than frequent ones, and a rare label that
//! is right tells more. Propensity-scored precision counts hits that way, and what maximises it is
//! known: with probabilities p, take the labels with the largest p · w, where w is the label's
//! inverse [`Propensity`]. [`Favour::Tail`] ranks labels so. Scores stay what they were, so that
//! probabilities stay probabilities: only the order, and with it the choice of labels, changes.
//!
//! Where probabilities are those of linear classifiers, the rows of rare labels can weigh more in
//! training, too: such a classifier sees few of them among many others.

mod emphasis;

pub use crate::base::settings::Favour;
pub(crate) use emphasis::Emphasis;

use crate::base::sparse::{Predictions, Scored};
use crate::learn::propensity::Propensity;

/// How many labels are ranked anew, at least: those that may come first lie among them.
pub(crate) const RANKED: usize = 100;

impl Favour {
    /// The power of the inverse propensity that weighs a label's positive rows, where it is open.
    ///
    /// Chosen by cross-validation on the training parts of public sets: larger ones gain no more
    /// rare labels, but lose frequent ones.
    pub(crate) fn tail_weight(self) -> f32 {
        match self {
            Favour::None => 0.0,
            Favour::Tail => 0.5,
        }
    }

    /// What ranks labels that so many of `instances` training rows have by `scores`; nothing if none
    /// are favoured.
    ///
    /// ```
    /// use labelwood::settings::{Favour, Scores};
    /// use labelwood::sparse::{Predictions, Scored};
    /// let ranking = Favour::Tail.ranking(1000, &[500, 2], Scores::Probabilities).expect("rare labels are favoured");
    /// let mut predictions = Predictions::default();
    /// predictions.push_row(&[Scored { id: 0, score: 0.5 }, Scored { id: 1, score: 0.3 }]);
    /// let ranked = ranking.apply(&predictions, 1);
    /// assert_eq!(ranked.row(0), [Scored { id: 1, score: 0.3 }]);
    /// ```
    pub fn ranking(self, instances: usize, counts: &[u32], scores: Scores) -> Option<Ranking> {
        match self {
            Favour::None => None,
            Favour::Tail => {
                let weights = Propensity::default().inverse(instances, counts.iter().copied());
                let weight = |weight: f64| match scores {
                    Scores::Probabilities => weight as f32,
                    Scores::Unbounded => weight.sqrt() as f32,
                };
                Some(Ranking { weights: weights.map(weight).collect() })
            }
        }
    }
}

/// What scores are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scores {
    /// Probabilities, or near enough: labels that are out of the question have none.
    Probabilities,
    /// Every label gets a score; full weights would rank by rarity alone, so their square root is
    /// taken.
    Unbounded,
}

/// The weights by which labels are ranked.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    weights: Vec<f32>,
}

impl Ranking {
    /// The weight of a label's score.
    pub fn weight(&self, label: u32) -> f32 {
        self.weights.get(label as usize).copied().unwrap_or(1.0)
    }

    /// The best `k` labels of each row by their weighted scores, which are left as they are.
    pub fn apply(&self, predictions: &Predictions, k: usize) -> Predictions {
        let mut ranked = Predictions::default();
        let mut row: Vec<Scored> = Vec::new();
        for scored in predictions.rows() {
            row.clear();
            row.extend_from_slice(scored);
            let weighted = |label: &Scored| label.score * self.weight(label.id);
            row.sort_by(|one, other| {
                weighted(other).total_cmp(&weighted(one)).then(one.id.cmp(&other.id))
            });
            row.truncate(k);
            ranked.push_ranked(&row);
        }
        ranked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_ranked_anew_if_nothing_is_favoured() {
        assert_eq!(Favour::None.ranking(10, &[1, 2], Scores::Probabilities), None);
    }

    #[test]
    fn names_are_those_of_model_files() {
        for name in Favour::NAMES {
            let favour: Favour = serde_json::from_value((*name).into()).unwrap();
            assert_eq!(serde_json::to_value(favour).unwrap(), *name);
        }
    }

    proptest! {
        #[test]
        fn labels_are_the_k_best_by_score_and_weight(
            counts in prop::collection::vec(0u32..500, 30),
            scores in prop::collection::btree_map(0u32..30, 0u16..1000, 1..20),
            k in 1usize..12,
            scores_are in prop::sample::select(vec![Scores::Probabilities, Scores::Unbounded]),
        ) {
            let ranking = Favour::Tail.ranking(1000, &counts, scores_are).unwrap();
            let mut row: Vec<Scored> = scores.iter()
                .map(|(&id, &score)| Scored { id, score: f32::from(score) / 1000.0 }).collect();
            row.sort_by(crate::base::sparse::best_first);
            let mut predictions = Predictions::default();
            predictions.push_row(&row);
            let found = ranking.apply(&predictions, k);
            let weighted = |label: &Scored| label.score * ranking.weight(label.id);
            let found = found.row(0);
            prop_assert_eq!(found.len(), k.min(row.len()));
            prop_assert!(found.iter().all(|label| row.contains(label)));
            prop_assert!(found.is_sorted_by(|one, other| weighted(one) >= weighted(other)));
            let least = weighted(found.last().unwrap());
            let better = row.iter().filter(|label| weighted(label) > least).count();
            prop_assert!(better < found.len());
        }
    }
}
