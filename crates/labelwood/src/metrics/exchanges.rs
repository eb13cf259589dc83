//! Which labels are given instead of which, and which rows look wrong.
//!
//! Here a row is given as many of its best predictions as it has true labels, so that every wrong one
//! stands in the place of a right one.

use super::score::{Ranked, RowScorer, ScoredRow};
use super::{Evaluation, LabelScores};

/// A label that is given instead of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The label that is true and not given.
    pub missed: u32,
    /// The one that is given and not true.
    pub given: u32,
    /// In how many rows.
    pub rows: u32,
    /// The first of them, counted from 0.
    pub example: usize,
}

/// A row with a label that the predictions are sure of and the data lack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubt {
    /// The row, counted from 0.
    pub row: usize,
    /// The label.
    pub label: u32,
    /// Its score.
    pub score: f32,
}

/// A row's labels as they are in the data, and those predicted, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The row, counted from 0.
    pub row: usize,
    /// The true labels.
    pub truth: Vec<u32>,
    /// The predicted labels with their scores, and whether they are true.
    pub predicted: Vec<(u32, f32, bool)>,
}

/// How many labels are looked at for exchanges: those missed most often, and those given wrongly most
/// often.
const LABELS: usize = 1000;
/// The labels of a row that are looked at.
const OF_ROW: usize = 100;

impl ScoredRow<'_> {
    /// As many predictions as there are true labels.
    fn given(&self) -> &[Ranked] {
        &self.ranked[..self.truth.len().min(self.ranked.len())]
    }

    fn wrong(&self) -> impl Iterator<Item = u32> {
        self.given().iter().filter(|ranked| !ranked.is_hit).map(|ranked| ranked.label).take(OF_ROW)
    }

    fn missed(&self) -> impl Iterator<Item = u32> {
        let is_given = |label: &u32| self.given().iter().any(|ranked| ranked.label == *label);
        self.truth.iter().copied().take(OF_ROW).filter(move |label| !is_given(label))
    }
}

/// The places of some labels among those looked at; none for others.
struct Places(Vec<u16>);

impl Places {
    /// The labels with the highest counts, at most [`LABELS`] of them; also gives which they are.
    fn of_highest(counts: &[u32]) -> (Self, Vec<u32>) {
        let mut labels: Vec<u32> = (0..counts.len() as u32).collect();
        labels.retain(|&label| counts[label as usize] > 0);
        labels.sort_by_key(|&label| std::cmp::Reverse(counts[label as usize]));
        labels.truncate(LABELS);
        let mut places = vec![u16::MAX; counts.len()];
        labels.iter().zip(0..).for_each(|(&label, place)| places[label as usize] = place);
        (Places(places), labels)
    }

    fn of(&self, label: u32) -> Option<usize> {
        Some(self.0[label as usize]).filter(|&place| place != u16::MAX).map(usize::from)
    }
}

impl Evaluation<'_> {
    /// This evaluation with all predictions, whatever the cuts are.
    fn without_cuts(&self) -> Self {
        Evaluation { at: vec![usize::MAX], ..self.clone() }
    }

    /// The pairs of labels of which one is given instead of the other, most often first, at most `most` of
    /// them. A row is given as many of its best predictions as it has true labels. Where it misses several,
    /// each wrong label may be instead of each of them, and its pairs count accordingly less in the order.
    ///
    /// Where there are thousands of labels, those are looked at that are missed most often, or given
    /// wrongly most often.
    ///
    /// ```
    /// # use labelwood::metrics::{Evaluation, Exchange, MetricOptions, TrainingCounts};
    /// # use labelwood::sparse::{LabelRows, Predictions, Scored};
    /// # let mut truth = LabelRows::new(3);
    /// # truth.push_row(&[0, 2], &[(), ()])?;
    /// # let mut predictions = Predictions::default();
    /// # predictions.push_row(&[Scored { id: 2, score: 0.9 }, Scored { id: 1, score: 0.4 }]);
    /// # let training = TrainingCounts { instances: 200, labels: &[120, 30, 4] };
    /// # let options = MetricOptions::default();
    /// // Row 0 has labels 0 and 2 and is given 2 and 1.
    /// let evaluation = Evaluation::new(truth.view(), &predictions, training, &options)?;
    /// assert_eq!(evaluation.exchanges(9), [Exchange { missed: 0, given: 1, rows: 1, example: 0 }]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exchanges(&self, most: usize) -> Vec<Exchange> {
        let all = self.without_cuts();
        let (mut missed, mut wrong) = (vec![0u32; all.width()], vec![0u32; all.width()]);
        let mut scorer = RowScorer::new(&all);
        for row in 0..all.truth.len() {
            let row = scorer.score(row);
            row.missed().for_each(|label| missed[label as usize] += 1);
            row.wrong().for_each(|label| wrong[label as usize] += 1);
        }
        let ((missed, missed_labels), (wrong, wrong_labels)) =
            (Places::of_highest(&missed), Places::of_highest(&wrong));
        let mut pairs = vec![(0.0f64, 0u32, 0usize); missed_labels.len() * wrong_labels.len()];
        let mut scorer = RowScorer::new(&all);
        for row in 0..all.truth.len() {
            let scored = scorer.score(row);
            let share = 1.0 / scored.missed().count().max(1) as f64;
            for missed in scored.missed().filter_map(|label| missed.of(label)) {
                for wrong in scored.wrong().filter_map(|label| wrong.of(label)) {
                    let (shares, rows, first) = &mut pairs[missed * wrong_labels.len() + wrong];
                    *shares += share;
                    *rows += 1;
                    if *rows == 1 {
                        *first = row;
                    }
                }
            }
        }
        let found = pairs.iter().enumerate().filter(|(_, (_, rows, _))| *rows > 0);
        let mut found: Vec<(f64, Exchange)> = found
            .map(|(at, &(shares, rows, example))| {
                let missed = missed_labels[at / wrong_labels.len()];
                let given = wrong_labels[at % wrong_labels.len()];
                (shares, Exchange { missed, given, rows, example })
            })
            .collect();
        found.sort_by(|(shares, pair), (others, other)| {
            let by_shares = others.total_cmp(shares);
            by_shares.then((pair.missed, pair.given).cmp(&(other.missed, other.given)))
        });
        found.truncate(most);
        found.into_iter().map(|(_, pair)| pair).collect()
    }

    /// The figures of each label that is true or given somewhere, by id, if a row is given as many of its
    /// best predictions as it has true labels.
    pub fn labels_in_place(&self) -> Vec<LabelScores> {
        let all = self.without_cuts();
        let label = |label| {
            let training_rows = all.training.of(label);
            LabelScores { label, training_rows, ..LabelScores::default() }
        };
        let mut labels: Vec<LabelScores> = (0..all.width() as u32).map(label).collect();
        let mut scorer = RowScorer::new(&all);
        for row in 0..all.truth.len() {
            let row = scorer.score(row);
            row.truth.iter().for_each(|&label| labels[label as usize].support += 1);
            for ranked in row.given() {
                let label = &mut labels[ranked.label as usize];
                label.predicted += 1;
                label.hits += u64::from(ranked.is_hit);
            }
        }
        labels.retain(|label| label.support > 0 || label.predicted > 0);
        labels
    }

    /// The rows with the best scored wrong labels, at most `most` of them: where the predictions are surest,
    /// the data may be wrong.
    pub fn doubts(&self, most: usize) -> Vec<Doubt> {
        let all = self.without_cuts();
        let mut doubts: Vec<Doubt> = Vec::new();
        let surest_first = |doubts: &mut Vec<Doubt>| {
            doubts.sort_by(|left, right| {
                right.score.total_cmp(&left.score).then(left.row.cmp(&right.row))
            });
            doubts.truncate(most);
        };
        let mut scorer = RowScorer::new(&all);
        for row in 0..all.truth.len() {
            let wrong = scorer.score(row).ranked.iter().filter(|ranked| !ranked.is_hit);
            // Of equal scores the first one. A model that favours rare labels does not order by score.
            let surest =
                wrong.copied().reduce(|best, one| if one.score > best.score { one } else { best });
            doubts.extend(surest.map(|Ranked { label, score, .. }| Doubt { row, label, score }));
            if doubts.len() >= 2 * most.max(1000) {
                surest_first(&mut doubts);
            }
        }
        surest_first(&mut doubts);
        doubts
    }

    /// For each of some labels the first row that has it and is given it, or is not given it, as asked, if
    /// there is one.
    pub fn examples(&self, wanted: &[(u32, bool)]) -> Vec<Option<usize>> {
        let all = self.without_cuts();
        let mut found = vec![None; wanted.len()];
        let mut scorer = RowScorer::new(&all);
        for row in 0..all.truth.len() {
            if found.iter().all(Option::is_some) {
                break;
            }
            let scored = scorer.score(row);
            for (found, &(label, is_given)) in found.iter_mut().zip(wanted) {
                let is_hit = |ranked: &Ranked| ranked.label == label && ranked.is_hit;
                if found.is_none()
                    && scored.truth.binary_search(&label).is_ok()
                    && scored.given().iter().any(is_hit) == is_given
                {
                    *found = Some(row);
                }
            }
        }
        found
    }

    /// The labels of some rows, which must be in increasing order.
    pub fn answers(&self, rows: &[usize]) -> Vec<Answer> {
        let all = self.without_cuts();
        let mut scorer = RowScorer::new(&all);
        rows.iter()
            .map(|&row| {
                let scored = scorer.score(row);
                let predicted = scored.ranked.iter();
                Answer {
                    row,
                    truth: scored.truth.to_vec(),
                    predicted: predicted.map(|one| (one.label, one.score, one.is_hit)).collect(),
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::sparse::{LabelRows, Predictions, Scored};
    use crate::metrics::{MetricOptions, TrainingCounts};

    /// The true labels of a row, and the predicted ones with their scores.
    type Row<'a> = (&'a [u32], &'a [(u32, f32)]);

    fn rows(rows: &[Row<'_>]) -> (LabelRows, Predictions) {
        let (mut truth, mut predictions) = (LabelRows::new(5), Predictions::default());
        for (labels, predicted) in rows {
            truth.push_row(labels, &vec![(); labels.len()]).unwrap();
            let scored = predicted.iter().map(|&(id, score)| Scored { id, score });
            predictions.push_row(&scored.collect::<Vec<_>>());
        }
        (truth, predictions)
    }

    #[test]
    fn exchanges_doubts_and_labels_are_those_that_paper_and_pencil_give() {
        let (truth, predictions) = rows(&[
            // Given 1 instead of 0; label 2 comes too late to be given.
            (&[0], &[(1, 0.9), (2, 0.5)]),
            (&[0, 3], &[(3, 0.8), (1, 0.7)]),
            // Both are wrong: each may be instead of each.
            (&[0, 2], &[(4, 0.95), (1, 0.2)]),
            // Too few predictions: what is missed is not exchanged.
            (&[2], &[]),
            (&[], &[(3, 0.1)]),
            (&[4], &[(4, 0.99)]),
        ]);
        let training = TrainingCounts { instances: 9, labels: &[3, 2, 1] };
        let options = MetricOptions { at: vec![1], ..MetricOptions::default() };
        let evaluation = Evaluation::new(truth.view(), &predictions, training, &options).unwrap();
        let exchange = |missed, given, rows, example| Exchange { missed, given, rows, example };
        let expected = [
            exchange(0, 1, 3, 0),
            exchange(0, 4, 1, 2),
            exchange(2, 1, 1, 2),
            exchange(2, 4, 1, 2),
        ];
        assert_eq!(evaluation.exchanges(9), expected);
        assert_eq!(evaluation.exchanges(2), expected[..2]);

        let doubt = |row, label, score| Doubt { row, label, score };
        let doubts = [doubt(2, 4, 0.95), doubt(0, 1, 0.9), doubt(1, 1, 0.7), doubt(4, 3, 0.1)];
        assert_eq!(evaluation.doubts(9), doubts);
        assert_eq!(evaluation.doubts(1), doubts[..1]);

        let labels = evaluation.labels_in_place();
        let counts = |one: &LabelScores| (one.label, one.support, one.predicted, one.hits);
        let expected = [(0, 3, 0, 0), (1, 0, 3, 0), (2, 2, 0, 0), (3, 1, 1, 1), (4, 1, 2, 1)];
        assert_eq!(labels.iter().map(counts).collect::<Vec<_>>(), expected);
        assert_eq!(labels[0].training_rows, 3);

        let wanted = [(0, false), (0, true), (3, true), (2, false), (4, true)];
        assert_eq!(evaluation.examples(&wanted), [Some(0), None, Some(1), Some(2), Some(5)]);

        let answers = evaluation.answers(&[1, 5]);
        let predicted = vec![(3, 0.8, true), (1, 0.7, false)];
        assert_eq!(answers[0], Answer { row: 1, truth: vec![0, 3], predicted });
        assert_eq!(answers[1].row, 5);
    }

    #[test]
    fn a_row_that_misses_many_labels_counts_less_for_each() {
        let (truth, predictions) = rows(&[
            (&[0, 1], &[(3, 0.9), (4, 0.5)]),
            (&[0, 1, 2], &[(3, 0.9), (4, 0.5)]),
            (&[2], &[(3, 0.9)]),
        ]);
        let training = TrainingCounts { instances: 9, labels: &[] };
        let options = MetricOptions::default();
        let evaluation = Evaluation::new(truth.view(), &predictions, training, &options).unwrap();
        let found = evaluation.exchanges(3);
        let pairs: Vec<_> = found.iter().map(|pair| (pair.missed, pair.given, pair.rows)).collect();
        // 1 + 1/3 of a row, then 1/2 + 1/3 each.
        assert_eq!(pairs, [(2, 3, 2), (0, 3, 2), (0, 4, 2)]);
    }

    #[test]
    fn pairs_that_are_left_out_are_no_exchange() {
        let (truth, predictions) = rows(&[(&[0, 2], &[(1, 0.9), (3, 0.5), (2, 0.1)])]);
        let training = TrainingCounts { instances: 9, labels: &[] };
        let options = MetricOptions::default();
        let evaluation = Evaluation::new(truth.view(), &predictions, training, &options).unwrap();
        let left_out = [(0, 0), (0, 1)];
        let found = evaluation.without(&left_out).unwrap().exchanges(9);
        assert_eq!(found, [Exchange { missed: 2, given: 3, rows: 1, example: 0 }]);
    }
}
