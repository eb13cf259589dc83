//! What words or features mean to the score of a label: what its parts make of them, together.

use super::Mark;
use super::fill::Source;
use crate::algorithms::explain::{Contribution, Evidence, NameAt, Reasons};
use std::collections::BTreeMap;

/// The most words or features that have a weight.
const MOST: usize = 24;
/// Weights of less than this share of the largest are left out.
const TRIFLE: f64 = 0.2;

/// What features mean to a label, and its name in the text.
pub(super) struct Weights {
    features: BTreeMap<u32, f64>,
    name: f64,
}

impl Weights {
    /// Of what the parts say for a label. The terms of the only part count as they are. Where there are
    /// several, those of a part are scaled so that their magnitudes add up to what the part means to the
    /// log-odds of the label.
    pub(super) fn of(parts: &[Reasons]) -> Self {
        let mut weights = Weights { features: BTreeMap::new(), name: 0.0 };
        for part in parts {
            let means = part.weight.map(|weight| f64::from(weight.abs()));
            match part.evidence {
                Evidence::Ranker { .. } => continue,
                Evidence::Names { .. } => weights.name += means.unwrap_or(f64::from(part.score)),
                _ => {}
            }
            let all: f64 = part.terms.iter().map(|term| f64::from(term.contribution.abs())).sum();
            let scale = means.filter(|_| all > 0.0).map_or(1.0, |means| means / all);
            for term in &part.terms {
                *weights.features.entry(term.feature).or_default() +=
                    scale * f64::from(term.contribution);
            }
        }
        weights
    }

    /// The marks of the words of a text, in its order. What a feature means counts as far as the feature is
    /// rare: the parts go by small words, too, but these tell nobody what a text is about. A feature of
    /// several words is divided among them, and so is the name of the label where it stands.
    pub(super) fn marks(&self, source: &Source<'_>, parts: &[Reasons]) -> Vec<Mark> {
        let names: Vec<&NameAt> = parts.iter().flat_map(names_of).collect();
        let is_named = |word: usize| {
            let within = |mark: &Mark| {
                names.iter().any(|name| name.start <= mark.start && mark.end <= name.end)
            };
            source.marks(word, 0.0).iter().any(within)
        };
        let mut words_of: BTreeMap<u32, usize> = BTreeMap::new();
        for (_, features) in source.known_words() {
            features.iter().for_each(|&feature| *words_of.entry(feature).or_default() += 1);
        }
        let named = source.known_words().filter(|&(word, _)| is_named(word)).count();
        let rarity = source.rarity();
        let weighed = source.known_words().map(|(word, features)| {
            let share = |feature: &u32| {
                let counts = |all| rarity(*feature) * all / words_of[feature] as f64;
                self.features.get(feature).map_or(0.0, counts)
            };
            let name = if is_named(word) { self.name / named as f64 } else { 0.0 };
            (word, features.iter().map(share).sum::<f64>() + name)
        });
        let telling = telling(weighed.collect()).into_iter();
        let mut marks: Vec<Mark> =
            telling.flat_map(|(word, weight)| source.marks(word, weight as f32)).collect();
        marks.sort_by_key(|mark| mark.start);
        marks
    }

    /// The features, strongest first.
    pub(super) fn features(&self) -> Vec<Contribution> {
        let all = self.features.iter().map(|(&feature, &weight)| (feature, weight)).collect();
        let telling = telling(all).into_iter();
        telling.map(|(feature, weight)| Contribution::new(feature, weight as f32)).collect()
    }
}

/// Where the label's name stands.
fn names_of(part: &Reasons) -> &[NameAt] {
    match &part.evidence {
        Evidence::Names { names, .. } => names,
        _ => &[],
    }
}

/// The strongest first, without those that mean little beside them.
fn telling<T>(mut all: Vec<(T, f64)>) -> Vec<(T, f64)> {
    all.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
    all.truncate(MOST);
    let largest = all.first().map_or(0.0, |(_, weight)| weight.abs());
    all.retain(|(_, weight)| *weight != 0.0 && weight.abs() >= TRIFLE * largest);
    all
}
