//! The ranker: what the parts say of a label, as its probability.
//!
//! First the [`Blend`] weighs the scores; then boosted trees correct it, which also know the
//! label's rank in each part and how sure the part is of its first label. Both are learned from candidates
//! of held-out rows.

use super::blend::{Blend, Learner, width};
use super::{CANDIDATES, KNOWN};
use crate::algorithms::Settings;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{Scored, top_k};
use crate::base::store::{ArrayRef, FormatError, Unit};
use crate::learn::boosting::{self, Boosted, Question};
use crate::learn::calibration::logistic::probability;

/// Of fewer held-out rows the trees would learn by heart.
const LEAST_ROWS: usize = 100;
/// The rank of a label in a part that does not name it.
const NO_RANK: f32 = 1e6;
/// How many numbers the trees know of each part, besides the one of the label.
pub(super) const OF_PART: usize = 3;

/// The learned ranker of the parts' candidates.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ranker {
    blend: Blend,
    trees: Boosted,
}

/// Memory that is used again for every row.
#[derive(Default)]
pub(super) struct Scratch {
    candidates: Candidates,
    terms: Vec<f64>,
    columns: Vec<Vec<f32>>,
    log_odds: Vec<f64>,
    leaves: Vec<u8>,
}

impl Ranker {
    /// The ranker that is used when there are no rows to learn one from.
    pub(super) fn prior(parts: &[Settings]) -> Self {
        Self::of_blend(Blend::prior(parts))
    }

    /// A ranker that does nothing but blend.
    pub(super) fn of_blend(blend: Blend) -> Self {
        Ranker { blend, trees: Boosted::default() }
    }

    /// Learns from held-out rows: the labels of each, best first, that each part names, the true ones,
    /// and how many of the other rows have each label.
    pub(super) fn learn<'s>(
        parts: &[Settings],
        rows: impl ExactSizeIterator<Item = (Vec<&'s [Scored]>, &'s [u32])>,
        counts: &[u32],
        task: &Task,
    ) -> Result<Self, Stopped> {
        let is_too_few = rows.len() < LEAST_ROWS;
        let (mut learner, mut candidates) = (Learner::default(), Candidates::default());
        let mut columns = vec![Vec::new(); columns(parts.len())];
        let mut is_true = Vec::new();
        for (lists, truth) in rows {
            candidates.set(lists.into_iter(), CANDIDATES);
            for (id, scores) in candidates.iter() {
                is_true.push(truth.binary_search(&id).is_ok());
                learner.add(scores, counts[id as usize], is_true[is_true.len() - 1]);
            }
            candidates.append_to(&mut columns, counts);
        }
        task.check()?;
        let blend = learner.finish(parts);
        let trees = match is_too_few {
            true => Boosted::default(),
            false => boosting::learn(&columns, &is_true, learner.log_odds(&blend), task)?,
        };
        Ok(Ranker { blend, trees })
    }

    /// The best `k` labels of a row by their probabilities, from those that each part names.
    pub(super) fn rank<'s>(
        &self,
        lists: impl ExactSizeIterator<Item = &'s [Scored]>,
        counts: &[u32],
        k: usize,
        scratch: &mut Scratch,
    ) -> Vec<Scored> {
        let Scratch { candidates, terms, columns: numbers, log_odds, leaves } = scratch;
        numbers.resize_with(columns(lists.len()), Vec::new);
        numbers.iter_mut().for_each(Vec::clear);
        candidates.set(lists, k.max(CANDIDATES));
        candidates.append_to(numbers, counts);
        log_odds.clear();
        log_odds.extend(
            candidates
                .iter()
                .map(|(id, scores)| self.blend.log_odds(scores, count(counts, id), terms)),
        );
        self.trees.add(numbers, log_odds, leaves);
        let scored = |(&id, &odds): (&u32, &f64)| Scored { id, score: probability(odds) as f32 };
        let mut scored: Vec<Scored> = candidates.ids.iter().zip(&*log_odds).map(scored).collect();
        top_k(&mut scored, k);
        scored
    }

    /// The probability of a label that is the only one that the parts name.
    pub(super) fn probability(&self, scores: &[f32], count: u32) -> f32 {
        let lists: Vec<[Scored; 1]> =
            scores.iter().map(|&score| [Scored { id: 0, score }]).collect();
        let named = lists.iter().map(|list| match list[0].score > 0.0 {
            true => &list[..],
            false => &[],
        });
        let ranked = self.rank(named, &[count], 1, &mut Scratch::default());
        ranked.first().map_or(0.0, |label| label.score)
    }

    /// How much of what the trees gain comes from each number: of each part the score, the rank and the
    /// best score of the row, and last from how many training rows have the label.
    pub(super) fn importance(&self, parts: usize) -> Vec<f64> {
        let gains = self.trees.gains(columns(parts));
        let sum = gains.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        gains.into_iter().map(|own| own / sum).collect()
    }

    /// The arrays as they are stored.
    pub(super) fn with_arrays<R>(&self, write: impl FnOnce(&[(&str, ArrayRef<'_>)]) -> R) -> R {
        let weights = self.blend.weights();
        let questions = self.trees.questions();
        let numbers: Vec<u32> = questions.iter().map(|question| question.number).collect();
        let borders: Vec<f32> = questions.iter().map(|question| question.border).collect();
        let gains: Vec<f32> = questions.iter().map(|question| question.gain).collect();
        write(&[
            ("weights", weights[..].into()),
            ("numbers", numbers[..].into()),
            ("borders", borders[..].into()),
            ("gains", gains[..].into()),
            ("leaves", self.trees.leaves().into()),
        ])
    }

    /// Reads a ranker of so many parts back.
    pub(super) fn read(unit: &Unit, parts: usize) -> Result<Self, FormatError> {
        let weights = unit.array::<f32>("weights")?;
        let terms = width(parts);
        if weights.len() != terms || !weights.iter().all(|weight| weight.is_finite()) {
            return Err(unit.refused(format!("it does not have {terms} finite weights")));
        }
        let numbers = unit.array::<u32>("numbers")?;
        let (borders, gains) = (unit.array::<f32>("borders")?, unit.array::<f32>("gains")?);
        let leaves = unit.array::<f32>("leaves")?;
        let questions = numbers.iter().zip(&*borders).zip(&*gains);
        let question = |((&number, &border), &gain)| Question { number, border, gain };
        let trees = match [borders.len(), gains.len()] == [numbers.len(); 2] {
            true => {
                let questions = questions.map(question).collect();
                Boosted::try_new(questions, leaves.to_vec(), columns(parts))
            }
            false => None,
        };
        let trees = trees.ok_or_else(|| unit.refused("its trees are damaged".to_owned()))?;
        Ok(Ranker { blend: Blend::from_weights(weights.iter().copied()), trees })
    }
}

/// How many numbers the trees know of a label that so many parts score.
fn columns(parts: usize) -> usize {
    OF_PART * parts + 1
}

/// How many bytes learning from so many held-out rows takes.
pub(super) fn learning_bytes(rows: usize, parts: usize) -> u64 {
    // Each candidate: its terms in double precision, its numbers and their places, and the slopes.
    let candidate = 8 * width(parts) + 5 * columns(parts) + 64;
    (rows * parts * CANDIDATES.min(KNOWN)) as u64 * candidate as u64 / 2
}

fn count(counts: &[u32], label: u32) -> u32 {
    counts.get(label as usize).copied().unwrap_or(0)
}

/// Labels with the score that each part gives them; 0 where a part does not name one.
#[derive(Default)]
struct Candidates {
    parts: usize,
    ids: Vec<u32>,
    scores: Vec<f32>,
    ranks: Vec<f32>,
    /// The best score of each part.
    best: Vec<f32>,
    /// A label of a part's list: which part that is, its score and its rank there.
    named: Vec<(u32, u32, f32, u32)>,
}

impl Candidates {
    /// The labels among the best `most` of any part, with all scores, by id. Each part's list is best
    /// first and may be longer: what lies beyond is looked up, but names no candidate.
    fn set<'s>(&mut self, lists: impl ExactSizeIterator<Item = &'s [Scored]>, most: usize) {
        self.parts = lists.len();
        self.ids.clear();
        self.scores.clear();
        self.ranks.clear();
        self.best.clear();
        self.named.clear();
        for (part, list) in lists.enumerate() {
            self.best.push(list.first().map_or(0.0, |label| label.score));
            let named = (0..).zip(list);
            let named = named.map(|(rank, &Scored { id, score })| (id, part as u32, score, rank));
            self.named.extend(named);
        }
        self.named.sort_unstable_by_key(|&(id, ..)| id);
        for same in self.named.chunk_by(|one, other| one.0 == other.0) {
            if same.iter().any(|&(.., rank)| (rank as usize) < most) {
                self.ids.push(same[0].0);
                let start = self.scores.len();
                self.scores.resize(start + self.parts, 0.0);
                self.ranks.resize(start + self.parts, NO_RANK);
                for &(_, part, score, rank) in same {
                    self.scores[start + part as usize] = score;
                    self.ranks[start + part as usize] = rank as f32;
                }
            }
        }
    }

    /// Each label with its scores.
    fn iter(&self) -> impl Iterator<Item = (u32, &[f32])> {
        self.ids.iter().copied().zip(self.scores.chunks_exact(self.parts.max(1)))
    }

    /// Appends the numbers that trees know of each label: of each part its score, its rank and the best
    /// score of the row, and the logarithm of how many training rows have the label.
    fn append_to(&self, columns: &mut [Vec<f32>], counts: &[u32]) {
        for part in 0..self.parts {
            let of_part =
                |all: &[f32]| all[part..].iter().step_by(self.parts).copied().collect::<Vec<_>>();
            columns[part * OF_PART].extend(of_part(&self.scores));
            columns[part * OF_PART + 1].extend(of_part(&self.ranks));
            columns[part * OF_PART + 2]
                .extend(std::iter::repeat_n(self.best[part], self.ids.len()));
        }
        let often = |&id: &u32| libm::log1pf(count(counts, id) as f32);
        columns[self.parts * OF_PART].extend(self.ids.iter().map(often));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::grove::Params;
    use crate::base::run::Pool;

    fn scored(pairs: &[(u32, f32)]) -> Vec<Scored> {
        pairs.iter().map(|&(id, score)| Scored { id, score }).collect()
    }

    #[test]
    fn candidates_are_the_best_of_either_part_with_both_scores() {
        let forest = scored(&[(5, 0.5), (1, 0.25), (9, 0.125)]);
        let label_tree = scored(&[(9, 0.75), (2, 0.5), (5, 0.25)]);
        let mut candidates = Candidates::default();
        candidates.set([&forest[..], &label_tree].into_iter(), 2);
        let found: Vec<_> =
            candidates.iter().map(|(id, scores)| (id, scores[0], scores[1])).collect();
        assert_eq!(found, [(1, 0.25, 0.0), (2, 0.0, 0.5), (5, 0.5, 0.25), (9, 0.125, 0.75)]);
        let mut numbers = vec![Vec::new(); columns(2)];
        candidates.append_to(&mut numbers, &[0, 0, 0, 0, 0, 7]);
        assert_eq!(numbers[1], [1.0, NO_RANK, 0.0, 2.0], "ranks in the forest");
        assert_eq!(numbers[5], [0.75; 4], "the best score of the label trees");
        assert_eq!(numbers[6], [0.0, 0.0, libm::log1pf(7.0), 0.0]);
        candidates.set([&forest[..], &label_tree].into_iter(), 1);
        let best: Vec<_> = candidates.iter().map(|(id, scores)| (id, scores[0])).collect();
        assert_eq!(best, [(5, 0.5), (9, 0.125)]);
    }

    /// What no weighted sum of scores can tell: a label is right if the part that names it first is
    /// unsure of it.
    #[test]
    fn trees_learn_what_a_blend_cannot() {
        let parts = Params::default().parts;
        let lists: Vec<(Vec<Vec<Scored>>, Vec<u32>)> = (0..600)
            .map(|row| {
                let sure = row % 2 == 0;
                let first = if sure { 0.9 } else { 0.3 };
                let forest = scored(&[(1, first), (2, 0.25)]);
                let label_tree = scored(&[(2, 0.3), (1, 0.2)]);
                (vec![forest, label_tree], vec![if sure { 2 } else { 1 }])
            })
            .collect();
        let rows = lists.iter().map(|(lists, truth)| {
            (lists.iter().map(Vec::as_slice).collect::<Vec<_>>(), truth.as_slice())
        });
        let (counts, task) = ([50; 3], Pool::new(2).unwrap().task());
        let ranker = Ranker::learn(&parts, rows, &counts, &task).unwrap();
        for (lists, truth) in &lists[..2] {
            let named = lists.iter().map(Vec::as_slice);
            let ranked = ranker.rank(named, &counts, 1, &mut Scratch::default());
            assert_eq!(ranked[0].id, truth[0]);
            assert!(ranked[0].score > 0.9);
        }
        assert_ne!(ranker.trees, Boosted::default());
    }

    #[test]
    fn few_rows_teach_the_blend_alone() {
        let parts = Params::default().parts;
        let list = scored(&[(1, 0.5)]);
        let rows = (0..LEAST_ROWS - 1).map(|_| (vec![&list[..], &list[..]], &[1][..]));
        let task = Pool::new(1).unwrap().task();
        let ranker = Ranker::learn(&parts, rows, &[9; 2], &task).unwrap();
        assert_eq!(ranker.trees, Boosted::default());
        assert!(ranker.probability(&[0.5, 0.5], 9) > 0.5);
    }
}
