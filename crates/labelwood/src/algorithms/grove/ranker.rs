//! The ranker: what the parts say of a label, as its probability.
//!
//! First the [`Blend`] weighs the scores; then boosted trees correct it, which also know the
//! label's rank in each part, how sure the part is of its first label, and what else it tells of a label.
//! Both are learned from candidates of held-out rows.

use super::blend::{Blend, Learner, width};
use super::{CANDIDATES, KNOWN};
use crate::algorithms::Settings;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{Scored, top_k};
use crate::base::store::{ArrayRef, FormatError, Unit};
use crate::learn::boosting::{self, Boosted, Question};
use crate::learn::calibration::logistic::{Truth, probability};
use crate::learn::threshold::{THRESHOLD, best_threshold, threshold_of};

/// Of fewer held-out rows the trees would learn by heart.
const LEAST_ROWS: usize = 30;
/// Labels of each part that a blend is learned from when it must be quick.
const FEW: usize = 5;
/// Of wrong labels that no part has among its best so many, which are most,
const NEAR: f32 = 8.0;
/// only one of so many is learned from.
const FAR: usize = 6;
/// The rank of a label in a part that does not name it.
pub(super) const NO_RANK: f32 = 1e6;
/// The numbers that the trees know of each part, besides its own ones and the one of the label.
pub(super) const OF_PART: [&str; 3] = ["score", "rank", "best_score"];

/// What a part says of a row.
#[derive(Clone, Copy, Default)]
pub(super) struct Said<'s> {
    /// The labels that it names, best first.
    pub list: &'s [Scored],
    /// Its own numbers of each of them, as many each as it has.
    pub numbers: &'s [f32],
}

/// What the parts are, as far as a ranker goes by it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Columns {
    /// The numbers of its own that each part has.
    pub(super) own: Vec<&'static [&'static str]>,
}

impl Columns {
    fn of(parts: &[Settings]) -> Self {
        Columns { own: parts.iter().map(|part| part.numbers()).collect() }
    }

    fn parts(&self) -> usize {
        self.own.len()
    }

    /// How many numbers the trees know of a label.
    pub(super) fn len(&self) -> usize {
        OF_PART.len() * self.parts() + 1 + self.own.iter().map(|own| own.len()).sum::<usize>()
    }

    /// The part of each number, if it is of one, and its name, in the order in which trees know them.
    pub(super) fn names(&self) -> impl Iterator<Item = (Option<usize>, &'static str)> {
        let of_parts = (0..self.parts()).flat_map(|part| OF_PART.map(|name| (Some(part), name)));
        let own = self.own.iter().enumerate();
        let own = own.flat_map(|(part, own)| own.iter().map(move |&name| (Some(part), name)));
        of_parts.chain([(None, "instances")]).chain(own)
    }
}

/// The learned ranker of the parts' candidates.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ranker {
    pub(super) blend: Blend,
    pub(super) trees: Boosted,
    pub(super) columns: Columns,
    /// The least probability of a label that is worth giving, if it was learned.
    threshold: Option<f32>,
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
        Self::of_blend(Blend::prior(parts), parts)
    }

    /// A ranker that does nothing but blend.
    pub(super) fn of_blend(blend: Blend, parts: &[Settings]) -> Self {
        Ranker { blend, trees: Boosted::default(), columns: Columns::of(parts), threshold: None }
    }

    /// Learns from held-out rows: what each part says of each, the true labels, and how many of the other
    /// rows have each label.
    pub(super) fn learn<'s>(
        parts: &[Settings],
        rows: impl ExactSizeIterator<Item = (Vec<Said<'s>>, &'s [u32])>,
        counts: &[u32],
        task: &Task,
    ) -> Result<Self, Stopped> {
        let (is_too_few, columns) = (rows.len() < LEAST_ROWS, Columns::of(parts));
        let (mut learner, mut candidates) = (Learner::default(), Candidates::default());
        let mut numbers = vec![Vec::new(); columns.len()];
        let mut far = 0;
        for (said, truth) in rows {
            candidates.set(said.iter().copied(), CANDIDATES);
            let truths = candidates.thin(truth, &mut far);
            for ((id, scores), truth) in candidates.iter().zip(truths) {
                learner.add(scores, count(counts, id), truth);
            }
            candidates.append_to(&mut numbers, &said, &columns, counts);
        }
        task.check()?;
        let blend = learner.finish(parts);
        let trees = match is_too_few {
            true => Boosted::default(),
            false => boosting::learn(&numbers, learner.truths(), learner.log_odds(&blend), task)?,
        };
        Ok(Ranker { blend, trees, columns, threshold: None })
    }

    /// The same ranker with the threshold that is best for rows: what each part says of each, and the
    /// true labels.
    pub(super) fn with_threshold<'s>(
        self,
        rows: impl Iterator<Item = (Vec<Said<'s>>, &'s [u32])>,
        counts: &[u32],
    ) -> Self {
        let (mut seen, mut truths, scratch) = (Vec::new(), 0, &mut Scratch::default());
        for (said, truth) in rows {
            // Of all labels that a part names: rows with many weigh much in micro-F1.
            let ranked = self.rank(&said, counts, usize::MAX, scratch);
            let is_true = |label: &Scored| truth.binary_search(&label.id).is_ok();
            seen.extend(ranked.iter().map(|label| (label.score, is_true(label))));
            truths += truth.len();
        }
        Ranker { threshold: best_threshold(seen, truths), ..self }
    }

    /// The least probability of a label that is worth giving, if it was learned.
    pub(super) fn threshold(&self) -> Option<f32> {
        self.threshold
    }

    /// A ranker that only blends, learned from the few best labels of each part.
    pub(super) fn learn_blend<'s>(
        parts: &[Settings],
        rows: impl Iterator<Item = (Vec<Said<'s>>, &'s [u32])>,
        counts: &[u32],
    ) -> Self {
        let (mut learner, mut candidates) = (Learner::default(), Candidates::default());
        for (said, truth) in rows {
            candidates.set(said.into_iter(), FEW);
            for (id, scores) in candidates.iter() {
                learner.add(scores, count(counts, id), truth.binary_search(&id).is_ok().into());
            }
        }
        Self::of_blend(learner.finish(parts), parts)
    }

    /// The best `k` labels of a row by their probabilities, from those that each part names.
    pub(super) fn rank(
        &self,
        said: &[Said<'_>],
        counts: &[u32],
        k: usize,
        scratch: &mut Scratch,
    ) -> Vec<Scored> {
        let Scratch { candidates, terms, columns: numbers, log_odds, leaves } = scratch;
        numbers.resize_with(self.columns.len(), Vec::new);
        numbers.iter_mut().for_each(Vec::clear);
        candidates.set(said.iter().copied(), k.max(CANDIDATES));
        candidates.append_to(numbers, said, &self.columns, counts);
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
        let said = lists.iter().map(|list| match list[0].score > 0.0 {
            true => Said { list, numbers: &[] },
            false => Said::default(),
        });
        let said: Vec<Said<'_>> = said.collect();
        let ranked = self.rank(&said, &[count], 1, &mut Scratch::default());
        ranked.first().map_or(0.0, |label| label.score)
    }

    /// How much of what the trees gain comes from each number: its part, if it is of one, and its name.
    pub(super) fn importance(&self) -> impl Iterator<Item = (Option<usize>, &'static str, f64)> {
        let gains = self.trees.gains(self.columns.len());
        let sum = gains.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        self.columns.names().zip(gains).map(move |((part, name), own)| (part, name, own / sum))
    }

    /// Whether there are trees.
    pub(super) fn has_trees(&self) -> bool {
        self.trees != Boosted::default()
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
            (THRESHOLD, self.threshold.as_slice().into()),
        ])
    }

    /// Reads the ranker of such parts back.
    pub(super) fn read(unit: &Unit, parts: &[Settings]) -> Result<Self, FormatError> {
        let columns = Columns::of(parts);
        let weights = unit.array::<f32>("weights")?;
        let terms = width(parts.len());
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
                Boosted::try_new(questions, leaves.to_vec(), columns.len())
            }
            false => None,
        };
        let trees = trees.ok_or_else(|| unit.refused("its trees are damaged".to_owned()))?;
        let blend = Blend::from_weights(weights.iter().copied());
        let threshold = threshold_of(unit)?;
        Ok(Ranker { blend, trees, columns, threshold })
    }
}

/// How many bytes learning from so many held-out rows takes.
pub(super) fn learning_bytes(rows: usize, parts: usize) -> u64 {
    // Each candidate: its terms in double precision, its numbers and their places, and the slopes.
    let candidate = 8 * width(parts) + 5 * (5 * parts + 1) + 64;
    (rows * parts * CANDIDATES.min(KNOWN)) as u64 * candidate as u64 / 2
}

pub(super) fn count(counts: &[u32], label: u32) -> u32 {
    counts.get(label as usize).copied().unwrap_or(0)
}

/// Labels with the score that each part gives them; 0 where a part does not name one.
#[derive(Default)]
pub(super) struct Candidates {
    parts: usize,
    pub(super) ids: Vec<u32>,
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
    pub(super) fn set<'s>(&mut self, said: impl ExactSizeIterator<Item = Said<'s>>, most: usize) {
        self.parts = said.len();
        self.ids.clear();
        self.scores.clear();
        self.ranks.clear();
        self.best.clear();
        self.named.clear();
        for (part, Said { list, .. }) in said.enumerate() {
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

    /// Drops most of the wrong labels that are far down in all lists, of which `far` were met before; says
    /// which of the others are true, and as how many each counts.
    fn thin(&mut self, truth: &[u32], far: &mut usize) -> Vec<Truth> {
        let (mut truths, mut kept) = (Vec::new(), 0);
        for at in 0..self.ids.len() {
            let places = at * self.parts..(at + 1) * self.parts;
            let is_true = truth.binary_search(&self.ids[at]).is_ok();
            let is_near = is_true || self.ranks[places.clone()].iter().any(|&rank| rank < NEAR);
            *far += usize::from(!is_near);
            if is_near || far.is_multiple_of(FAR) {
                truths.push(Truth { is_true, weight: if is_near { 1.0 } else { FAR as f64 } });
                self.ids[kept] = self.ids[at];
                self.scores.copy_within(places.clone(), kept * self.parts);
                self.ranks.copy_within(places, kept * self.parts);
                kept += 1;
            }
        }
        self.ids.truncate(kept);
        self.scores.truncate(kept * self.parts);
        self.ranks.truncate(kept * self.parts);
        truths
    }

    /// Each label with its scores.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &[f32])> {
        self.ids.iter().copied().zip(self.scores.chunks_exact(self.parts.max(1)))
    }

    /// Appends the numbers that trees know of each label: of each part its score, its rank and the best
    /// score of the row, the logarithm of how many training rows have the label, and the parts' own
    /// numbers, 0 where a part does not name the label.
    pub(super) fn append_to(
        &self,
        columns: &mut [Vec<f32>],
        said: &[Said<'_>],
        names: &Columns,
        counts: &[u32],
    ) {
        for part in 0..self.parts {
            let of_part = |all: &[f32]| {
                all.iter().skip(part).step_by(self.parts).copied().collect::<Vec<_>>()
            };
            let at = part * OF_PART.len();
            columns[at].extend(of_part(&self.scores));
            columns[at + 1].extend(of_part(&self.ranks));
            columns[at + 2].extend(std::iter::repeat_n(self.best[part], self.ids.len()));
        }
        let mut at = self.parts * OF_PART.len();
        let often = |&id: &u32| libm::log1pf(count(counts, id) as f32);
        columns[at].extend(self.ids.iter().map(often));
        for (part, own) in names.own.iter().enumerate() {
            for number in 0..own.len() {
                at += 1;
                let ranks = self.ranks.iter().skip(part).step_by(self.parts);
                let of = |&rank: &f32| {
                    let place = rank as usize * own.len() + number;
                    said[part].numbers.get(place).copied().unwrap_or(0.0)
                };
                columns[at].extend(ranks.map(of));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{Algorithm as _, craftml, label_tree, names};
    use crate::base::run::Pool;

    fn parts() -> Vec<Settings> {
        vec![craftml::Params::default().into(), label_tree::Params::default().into()]
    }

    fn scored(pairs: &[(u32, f32)]) -> Vec<Scored> {
        pairs.iter().map(|&(id, score)| Scored { id, score }).collect()
    }

    fn said(list: &[Scored]) -> Said<'_> {
        Said { list, numbers: &[] }
    }

    fn learn(parts: &[Settings], rows: &[(Vec<Said<'_>>, Vec<u32>)], counts: &[u32]) -> Ranker {
        let task = Pool::new(2).unwrap().task();
        let rows = rows.iter().map(|(said, truth)| (said.clone(), truth.as_slice()));
        Ranker::learn(parts, rows, counts, &task).unwrap()
    }

    #[test]
    fn candidates_are_the_best_of_either_part_with_both_scores() {
        let forest = scored(&[(5, 0.5), (1, 0.25), (9, 0.125)]);
        let label_tree = scored(&[(9, 0.75), (2, 0.5), (5, 0.25)]);
        let both = [said(&forest), said(&label_tree)];
        let mut candidates = Candidates::default();
        candidates.set(both.into_iter(), 2);
        let found: Vec<_> =
            candidates.iter().map(|(id, scores)| (id, scores[0], scores[1])).collect();
        assert_eq!(found, [(1, 0.25, 0.0), (2, 0.0, 0.5), (5, 0.5, 0.25), (9, 0.125, 0.75)]);
        let columns = Columns::of(&parts());
        let mut numbers = vec![Vec::new(); columns.len()];
        candidates.append_to(&mut numbers, &both, &columns, &[0, 0, 0, 0, 0, 7]);
        assert_eq!(numbers[1], [1.0, NO_RANK, 0.0, 2.0], "ranks in the forest");
        assert_eq!(numbers[5], [0.75; 4], "the best score of the label trees");
        assert_eq!(numbers[6], [0.0, 0.0, libm::log1pf(7.0), 0.0]);
        candidates.set(both.into_iter(), 1);
        let best: Vec<_> = candidates.iter().map(|(id, scores)| (id, scores[0])).collect();
        assert_eq!(best, [(5, 0.5), (9, 0.125)]);
    }

    #[test]
    fn the_numbers_of_a_part_come_last_and_are_0_where_it_does_not_name_a_label() {
        let forest = scored(&[(5, 0.5), (1, 0.25)]);
        let found = scored(&[(9, 0.75), (5, 0.25)]);
        let parts = [craftml::Params::default().into(), names::Params::default().into()];
        let columns = Columns::of(&parts);
        let own = names::Params::default().numbers().len();
        let numbers: Vec<f32> = (0..2 * own).map(|at| at as f32 + 1.0).collect();
        let both = [said(&forest), Said { list: &found, numbers: &numbers }];
        let mut candidates = Candidates::default();
        candidates.set(both.into_iter(), 2);
        let mut known = vec![Vec::new(); columns.len()];
        candidates.append_to(&mut known, &both, &columns, &[]);
        assert_eq!(known.len(), 7 + own);
        // Labels 1, 5 and 9: the second label that `names` says is 5, the first 9.
        assert_eq!(known[7], [0.0, own as f32 + 1.0, 1.0]);
        assert_eq!(known[6 + own], [0.0, 2.0 * own as f32, own as f32]);
        assert_eq!(columns.names().count(), columns.len());
        assert_eq!(columns.names().nth(7), Some((Some(1), names::Params::default().numbers()[0])));
    }

    /// What no weighted sum of scores can tell: a label is right if the part that names it first is
    /// unsure of it.
    #[test]
    fn trees_learn_what_a_blend_cannot() {
        let lists: Vec<[Vec<Scored>; 2]> = (0..600)
            .map(|row| {
                let first = if row % 2 == 0 { 0.9 } else { 0.3 };
                [scored(&[(1, first), (2, 0.25)]), scored(&[(2, 0.3), (1, 0.2)])]
            })
            .collect();
        let truth = |row: usize| vec![1 + u32::from(row.is_multiple_of(2))];
        let rows = lists.iter().enumerate();
        let rows =
            rows.map(|(row, lists)| (lists.iter().map(|list| said(list)).collect(), truth(row)));
        let (rows, counts): (Vec<(Vec<Said<'_>>, _)>, _) = (rows.collect(), [50; 3]);
        let ranker = learn(&parts(), &rows, &counts);
        for (said, truth) in &rows[..2] {
            let ranked = ranker.rank(said, &counts, 1, &mut Scratch::default());
            assert_eq!(ranked[0].id, truth[0]);
            assert!(ranked[0].score > 0.9);
        }
        assert!(ranker.has_trees());
        let best = ranker.importance().max_by(|one, other| one.2.total_cmp(&other.2)).unwrap();
        assert_eq!((best.0, best.1), (Some(0), "best_score"));
    }

    #[test]
    fn few_rows_teach_the_blend_alone() {
        let list = scored(&[(1, 0.5)]);
        let row = (vec![said(&list), said(&list)], vec![1]);
        let ranker = learn(&parts(), &vec![row; LEAST_ROWS - 1], &[9; 2]);
        assert!(!ranker.has_trees());
        assert!(ranker.probability(&[0.5, 0.5], 9) > 0.5);
    }
}
