//! What words or features mean to the score of a label: it is predicted again without each.

use super::fill::Source;
use super::{Mark, Model, only};
use crate::algorithms::explain::{Contribution, Reasons};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{Csr, Query, Rows, RowsView, Scored};
use std::collections::BTreeMap;

/// The most words or features that are left out, each for itself: those that the parts go by most.
const MOST: usize = 24;
/// Weights of less than this share of the largest are left out.
const TRIFLE: f32 = 0.05;
/// Scores below this are about as good as none.
const FLOOR: f64 = 1e-3;

/// The words of a text, or the features of a row, that are left out one after the other.
pub(super) struct Things {
    /// Those of a text, by their numbers in the [`Source`].
    words: Vec<usize>,
    /// Those of a row without text.
    features: Vec<u32>,
}

impl Things {
    /// Those that the reasons go by most.
    pub(super) fn of(source: &Source<'_>, row: RowsView<'_>, reasons: &[Vec<Reasons>]) -> Self {
        let mut strengths: BTreeMap<u32, f64> = BTreeMap::new();
        for part in reasons.iter().flatten() {
            let largest = part.terms.iter().map(|term| f64::from(term.contribution.abs()));
            let largest = largest.fold(0.0, f64::max);
            // The terms of a ranker are no features.
            for term in part.terms.iter().filter(|term| term.term.is_none() && largest > 0.0) {
                let strength = f64::from(term.contribution.abs()) / largest;
                *strengths.entry(term.feature).or_default() += strength;
            }
        }
        let strength = |feature: &u32| strengths.get(feature).copied().unwrap_or(0.0);
        let by_strength = |one: &f64, other: &f64| other.total_cmp(one);
        if source.has_text() {
            let mut words: Vec<(f64, usize)> = source
                .known_words()
                .map(|(word, features)| (features.iter().map(strength).sum(), word))
                .collect();
            words.sort_by(|one, other| by_strength(&one.0, &other.0));
            words.truncate(MOST);
            return Things {
                words: words.into_iter().map(|it| it.1).collect(),
                features: Vec::new(),
            };
        }
        let mut features = row.features.row(0).indices.to_vec();
        features.sort_by(|one, other| by_strength(&strength(one), &strength(other)));
        features.truncate(MOST);
        Things { words: Vec::new(), features }
    }

    /// The rows without each of them.
    fn rows(
        &self,
        model: &Model,
        source: &Source<'_>,
        row: RowsView<'_>,
        task: &Task,
    ) -> Result<Rows, Stopped> {
        if let Some(reader) = model.text().filter(|_| source.has_text()) {
            let texts: Vec<String> = self.words.iter().map(|&word| source.without(word)).collect();
            return reader.rows(&texts, task);
        }
        let mut features = Csr::new(row.features.columns());
        for &feature in &self.features {
            let left = row.features.row(0).iter().filter(|&(own, _)| own != feature);
            let (indices, values): (Vec<u32>, Vec<f32>) = left.unzip();
            features.push_row(&indices, &values).expect("a part of a row is a row");
        }
        Ok(Rows::from(features))
    }

    /// The marks of the words with these weights, in the order of the text.
    pub(super) fn marks(&self, source: &Source<'_>, weights: &[f32]) -> Vec<Mark> {
        let weighed =
            self.words.iter().zip(weights).filter(|(_, weight)| is_telling(**weight, weights));
        let mut marks: Vec<Mark> =
            weighed.flat_map(|(&word, &weight)| source.marks(word, weight)).collect();
        marks.sort_by_key(|mark| mark.start);
        marks
    }

    /// The weights of features, strongest first.
    pub(super) fn features(&self, weights: &[f32]) -> Vec<Contribution> {
        let weighed =
            self.features.iter().zip(weights).filter(|(_, weight)| is_telling(**weight, weights));
        let mut all: Vec<Contribution> =
            weighed.map(|(&feature, &weight)| Contribution::new(feature, weight)).collect();
        all.sort_by(|one, other| other.contribution.abs().total_cmp(&one.contribution.abs()));
        all
    }
}

impl Model {
    /// By how much the log-odds of each label fall without each of the things. A label that is not among the
    /// `predicted` is looked for as if there were no others.
    pub(super) fn left_out(
        &self,
        source: &Source<'_>,
        row: RowsView<'_>,
        things: &Things,
        (labels, predicted): (&[u32], &[Scored]),
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<f32>>, Stopped> {
        let rows = things.rows(self, source, row, task)?;
        let score_of = |row: &[Scored], label| {
            row.iter().find(|best| best.id == label).map_or(0.0, |best| best.score)
        };
        let is_predicted = |label: u32| predicted.iter().any(|best| best.id == label);
        let without = self.predict(rows.view(), query, task)?;
        let others: Vec<u32> =
            labels.iter().copied().filter(|&label| !is_predicted(label)).collect();
        let allowed = only(&others);
        let query = Query { allowed: Some(&allowed), ..query };
        let alone = match others.is_empty() {
            true => None,
            false => {
                Some((self.predict(row, query, task)?, self.predict(rows.view(), query, task)?))
            }
        };
        let weights = |&label: &u32| -> Vec<f32> {
            let (with, without) = match &alone {
                Some((with, without)) if !is_predicted(label) => (with.row(0), without),
                _ => (predicted, &without),
            };
            let with = log_odds(score_of(with, label));
            without.rows().map(|row| (with - log_odds(score_of(row, label))) as f32).collect()
        };
        Ok(labels.iter().map(weights).collect())
    }
}

/// Whether a weight is more than a trifle beside the largest.
fn is_telling(weight: f32, all: &[f32]) -> bool {
    let largest = all.iter().fold(0.0f32, |largest, weight| largest.max(weight.abs()));
    weight != 0.0 && weight.abs() >= TRIFLE * largest
}

/// The log-odds of a score, within bounds.
fn log_odds(score: f32) -> f64 {
    let score = f64::from(score).clamp(0.0, 1.0);
    libm::log((score + FLOOR) / (1.0 - score + FLOOR))
}
