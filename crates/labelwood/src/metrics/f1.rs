//! F1, which weighs the share of predictions that are true against the share of true labels predicted.

use super::score::{RowScorer, ScoredRow, ratio};
use super::{AtThreshold, Evaluation};

/// Counts over rows of what some predictions have in common with the truth.
#[derive(Clone, Default)]
pub(super) struct Counts {
    rows: u64,
    hits: u64,
    predicted: u64,
    truth: u64,
    empty: u64,
    of_rows: f64,
    /// The hits of each label, and the rows that it is predicted for and true for together.
    of_labels: Vec<(u32, u32)>,
}

impl Counts {
    pub(super) fn new(labels: usize) -> Self {
        Counts { of_labels: vec![(0, 0); labels], ..Counts::default() }
    }

    /// Adds a row of which the first `count` predictions are taken; one without labels and predictions
    /// counts as `nothing`.
    pub(super) fn add(&mut self, row: &ScoredRow<'_>, count: usize, nothing: f64) {
        let taken = &row.ranked[..count.min(row.ranked.len())];
        for &label in row.truth {
            self.of_labels[label as usize].1 += 1;
        }
        for ranked in taken {
            let (hits, both) = &mut self.of_labels[ranked.label as usize];
            *both += 1;
            *hits += u32::from(ranked.is_hit);
        }
        let hits = taken.iter().filter(|ranked| ranked.is_hit).count() as u64;
        let (predicted, truth) = (taken.len() as u64, row.truth.len() as u64);
        self.rows += 1;
        self.hits += hits;
        self.predicted += predicted;
        self.truth += truth;
        self.empty += u64::from(predicted == 0);
        self.of_rows += match predicted + truth {
            0 => nothing,
            both => 2.0 * hits as f64 / both as f64,
        };
    }

    pub(super) fn micro(&self) -> f64 {
        ratio(2.0 * self.hits as f64, (self.predicted + self.truth) as f64)
    }

    pub(super) fn sample(&self) -> f64 {
        ratio(self.of_rows, self.rows as f64)
    }

    pub(super) fn by_label(&self) -> f64 {
        let there = self.of_labels.iter().filter(|(_, both)| *both > 0);
        let (sum, count) = there.fold((0.0, 0u64), |(sum, count), &(hits, both)| {
            (sum + 2.0 * f64::from(hits) / f64::from(both), count + 1)
        });
        ratio(sum, count as f64)
    }
}

pub(super) fn at_threshold(evaluation: &Evaluation<'_>, threshold: f32) -> AtThreshold {
    let all = Evaluation { at: vec![usize::MAX], ..evaluation.clone() };
    let mut scorer = RowScorer::new(&all);
    let mut counts = Counts::new(all.width());
    for row in 0..all.truth.len() {
        let mut row = scorer.score(row);
        // A model that favours rare labels does not order by score.
        let reaching: Vec<_> =
            row.ranked.iter().copied().filter(|ranked| ranked.score >= threshold).collect();
        row.ranked = &reaching;
        counts.add(&row, usize::MAX, 1.0);
    }
    let (hits, rows) = (counts.hits as f64, counts.rows as f64);
    AtThreshold {
        threshold,
        precision: ratio(hits, counts.predicted as f64),
        recall: ratio(hits, counts.truth as f64),
        micro_f1: counts.micro(),
        macro_f1: counts.by_label(),
        sample_f1: counts.sample(),
        labels_per_row: ratio(counts.predicted as f64, rows),
        empty_rows: ratio(counts.empty as f64, rows),
    }
}

#[cfg(test)]
mod tests {
    use crate::base::sparse::{LabelRows, Predictions, Scored};
    use crate::metrics::{AtThreshold, Evaluation, MetricOptions, TrainingCounts};
    use proptest::prelude::*;

    fn scored(id: u32, score: f32) -> Scored {
        Scored { id, score }
    }

    /// Plainly, by the sets of labels of each row.
    fn reference(truth: &[Vec<u32>], predicted: &[Vec<u32>], nothing: f64) -> [f64; 3] {
        let f1 =
            |hits: usize, both: usize| if both > 0 { 2.0 * hits as f64 / both as f64 } else { 0.0 };
        let rows = || truth.iter().zip(predicted);
        let hits = |(truth, predicted): (&Vec<u32>, &Vec<u32>)| {
            truth.iter().filter(|label| predicted.contains(label)).count()
        };
        let both = |(truth, predicted): (&Vec<u32>, &Vec<u32>)| truth.len() + predicted.len();
        let micro = f1(rows().map(hits).sum(), rows().map(both).sum());
        let of_row = |row| if both(row) == 0 { nothing } else { f1(hits(row), both(row)) };
        let sample = rows().map(of_row).sum::<f64>() / truth.len().max(1) as f64;
        let of_label = |label: &u32| {
            let has = |rows: &[Vec<u32>]| rows.iter().filter(|row| row.contains(label)).count();
            let hits = rows().filter(|(one, other)| one.contains(label) && other.contains(label));
            (has(truth) + has(predicted) > 0).then(|| f1(hits.count(), has(truth) + has(predicted)))
        };
        let labels: Vec<f64> = (0..9).filter_map(|label| of_label(&label)).collect();
        [micro, labels.iter().sum::<f64>() / labels.len().max(1) as f64, sample]
    }

    #[test]
    fn a_threshold_leaves_rows_empty() {
        let mut truth = LabelRows::new(3);
        truth.push_row(&[0, 1], &[(); 2]).unwrap();
        truth.push_row(&[], &[]).unwrap();
        truth.push_row(&[2], &[()]).unwrap();
        let mut predictions = Predictions::default();
        predictions.push_row(&[scored(0, 0.9), scored(2, 0.6)]);
        predictions.push_row(&[scored(1, 0.2)]);
        predictions.push_row(&[scored(1, 0.4)]);
        let training = TrainingCounts { instances: 3, labels: &[1; 3] };
        let options = MetricOptions { at: vec![1], ..MetricOptions::default() };
        let evaluation = Evaluation::new(truth.view(), &predictions, training, &options).unwrap();
        let expected = AtThreshold {
            threshold: 0.5,
            precision: 0.5,
            recall: 1.0 / 3.0,
            micro_f1: 0.4,
            macro_f1: 1.0 / 3.0,
            sample_f1: 0.5,
            labels_per_row: 2.0 / 3.0,
            empty_rows: 2.0 / 3.0,
        };
        assert_eq!(evaluation.at_threshold(0.5), expected);
    }

    proptest! {
        #[test]
        fn f1_is_that_of_sets(
            rows in prop::collection::vec(
                (prop::collection::btree_set(0u32..9, 0..5), prop::collection::btree_map(0u32..9, 0u8..20, 0..6)),
                1..8,
            ),
            k in 1usize..7,
            least in 0u8..20,
        ) {
            let mut truth = LabelRows::new(9);
            let mut predictions = Predictions::default();
            let (mut all, mut best, mut reaching) = (Vec::new(), Vec::new(), Vec::new());
            for (labels, scores) in &rows {
                let labels: Vec<u32> = labels.iter().copied().collect();
                truth.push_row(&labels, &vec![(); labels.len()]).unwrap();
                let mut ranked: Vec<Scored> =
                    scores.iter().map(|(&id, &score)| scored(id, f32::from(score))).collect();
                ranked.sort_by(crate::base::sparse::best_first);
                predictions.push_row(&ranked);
                all.push(labels);
                best.push(ranked.iter().take(k).map(|one| one.id).collect());
                let reach = ranked.iter().filter(|one| one.score >= f32::from(least));
                reaching.push(reach.map(|one| one.id).collect());
            }
            let training = TrainingCounts { instances: 3, labels: &[1; 9] };
            let options = MetricOptions { at: vec![k], ..MetricOptions::default() };
            let evaluation = Evaluation::new(truth.view(), &predictions, training, &options).unwrap();
            let at = evaluation.metrics().at[0];
            prop_assert_eq!([at.micro_f1, at.macro_f1, at.sample_f1], reference(&all, &best, 0.0));
            let at = evaluation.at_threshold(f32::from(least));
            prop_assert_eq!([at.micro_f1, at.macro_f1, at.sample_f1], reference(&all, &reaching, 1.0));
        }
    }
}
