//! How far figures would be elsewhere if other rows of the same kind had been tested.
//!
//! A bootstrap: the rows are drawn anew with replacement, as many as there are, a thousand times, and the
//! middle 95 % of the figures that come of it are the interval. Many rows are put together into blocks of
//! rows that follow each other, and blocks are drawn: with thousands of them the intervals are about the
//! same, and the work is bounded.

use super::Evaluation;
use super::score::{Gains, RowScorer, ScoredRow, ratio};
use crate::base::random::{Stream, derive};
use serde::Serialize;
use std::collections::BTreeMap;

/// How often rows are drawn anew, and how many of the figures lie below an interval, and above it.
const DRAWS: u64 = 1000;
const OUTSIDE: usize = 25;
/// The most blocks that rows are put into.
const BLOCKS: usize = 4096;

/// The range in which 95 of 100 figures lie if rows are drawn anew.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Its lower end.
    pub from: f64,
    /// Its upper end.
    pub to: f64,
}

/// What some rows add to the figures at a cut.
#[derive(Clone, Copy, Default)]
struct Part {
    rows: f64,
    gains: Gains,
    hits: f64,
    /// Predicted labels and true ones together.
    both: f64,
    /// The sum of the F1 of each row.
    sample: f64,
}

/// The figures that rows add up to, by their names.
const NAMES: [&str; 8] =
    ["p", "recall", "rprecision", "ndcg", "psp", "psndcg", "micro_f1", "sample_f1"];

impl Part {
    fn add_row(&mut self, evaluation: &Evaluation<'_>, k: usize, row: &ScoredRow<'_>) {
        let hits = row.hits(k).count() as f64;
        let both = (k.min(row.ranked.len()) + row.truth.len()) as f64;
        self.rows += 1.0;
        self.gains.add(k, row, evaluation.psndcg);
        self.hits += hits;
        self.both += both;
        self.sample += ratio(2.0 * hits, both);
    }

    fn add(&mut self, other: &Part) {
        let (gains, more) = (&mut self.gains, &other.gains);
        self.rows += other.rows;
        gains.precision += more.precision;
        gains.recall += more.recall;
        gains.r_precision += more.r_precision;
        gains.ndcg += more.ndcg;
        gains.weighted += more.weighted;
        gains.ideal_weighted += more.ideal_weighted;
        gains.discounted += more.discounted;
        gains.ideal_discounted += more.ideal_discounted;
        self.hits += other.hits;
        self.both += other.both;
        self.sample += other.sample;
    }

    /// The figures in the order of their names.
    fn figures(&self) -> [f64; 8] {
        let (gains, mean) = (&self.gains, |sum| ratio(sum, self.rows));
        [
            mean(gains.precision),
            mean(gains.recall),
            mean(gains.r_precision),
            mean(gains.ndcg),
            ratio(gains.weighted, gains.ideal_weighted),
            ratio(gains.discounted, gains.ideal_discounted),
            ratio(2.0 * self.hits, self.both),
            mean(self.sample),
        ]
    }
}

impl Evaluation<'_> {
    /// The intervals of the figures that are means or ratios of sums over rows, by the names that
    /// [`Metrics::named`](super::Metrics::named) gives: all but coverage, macro-F1 and the calibration
    /// error.
    ///
    /// ```
    /// # use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
    /// # use labelwood::sparse::{LabelRows, Predictions, Scored};
    /// let (mut truth, mut predictions) = (LabelRows::new(2), Predictions::default());
    /// for row in 0..100 {
    ///     truth.push_row(&[row % 2], &[()])?;
    ///     predictions.push_row(&[Scored { id: 0, score: 0.5 }]);
    /// }
    /// let training = TrainingCounts { instances: 100, labels: &[50, 50] };
    /// let options = MetricOptions { at: vec![1], ..MetricOptions::default() };
    /// let evaluation = Evaluation::new(truth.view(), &predictions, training, &options)?;
    /// let interval = evaluation.intervals(42)["p@1"];
    /// assert!(0.35 < interval.from && interval.from < 0.45);
    /// assert!(0.55 < interval.to && interval.to < 0.65);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn intervals(&self, seed: u64) -> BTreeMap<String, Interval> {
        let rows = self.truth.len();
        let blocks = rows.min(BLOCKS);
        let mut parts = vec![vec![Part::default(); blocks]; self.at.len()];
        let mut scorer = RowScorer::new(self);
        for row in 0..rows {
            let scored = scorer.score(row);
            let block = (row as u64 * blocks as u64 / rows as u64) as usize;
            for (parts, &k) in parts.iter_mut().zip(&self.at) {
                parts[block].add_row(self, k, &scored);
            }
        }
        let mut drawn = vec![[const { Vec::new() }; NAMES.len()]; self.at.len()];
        for draw in 0..DRAWS {
            let chosen = drawn_anew(blocks, seed, draw);
            for (drawn, parts) in drawn.iter_mut().zip(&parts) {
                let mut sum = Part::default();
                chosen.iter().for_each(|&block| sum.add(&parts[block]));
                drawn.iter_mut().zip(sum.figures()).for_each(|(all, figure)| all.push(figure));
            }
        }
        let mut intervals = BTreeMap::new();
        for (figures, k) in drawn.into_iter().zip(&self.at) {
            for (name, mut all) in NAMES.into_iter().zip(figures) {
                all.sort_unstable_by(f64::total_cmp);
                let interval = Interval { from: all[OUTSIDE], to: all[all.len() - 1 - OUTSIDE] };
                intervals.insert(format!("{name}@{k}"), interval);
            }
        }
        intervals
    }
}

/// As many of `count` numbers as there are, drawn with replacement.
fn drawn_anew(count: usize, seed: u64, draw: u64) -> Vec<usize> {
    let mut stream = Stream::new(derive(seed, draw));
    (0..count).map(|_| stream.below(count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::sparse::{LabelRows, Predictions, Scored};
    use crate::metrics::{MetricOptions, Psndcg, TrainingCounts};
    use proptest::prelude::*;

    type Row = (Vec<u32>, Vec<u32>);

    /// The figures of some of the rows, in the given order.
    fn figures(rows: &[Row], chosen: &[usize], options: &MetricOptions) -> BTreeMap<String, f64> {
        let (mut truth, mut predictions) = (LabelRows::new(6), Predictions::default());
        for &row in chosen {
            let (labels, predicted) = &rows[row];
            truth.push_row(labels, &vec![(); labels.len()]).unwrap();
            let scored = |(rank, &id): (usize, &u32)| Scored { id, score: 1.0 / (rank + 1) as f32 };
            predictions.push_row(&predicted.iter().enumerate().map(scored).collect::<Vec<_>>());
        }
        let training = TrainingCounts { instances: 90, labels: &[40, 20, 10, 5, 1] };
        let evaluation = Evaluation::new(truth.view(), &predictions, training, options).unwrap();
        evaluation.metrics().named().collect()
    }

    fn row() -> impl Strategy<Value = Row> {
        let labels = || proptest::collection::btree_set(0u32..6, 0..4);
        let shuffled = Just((0..6).collect::<Vec<u32>>()).prop_shuffle();
        (labels(), shuffled, 0usize..6).prop_map(|(truth, mut predicted, count)| {
            predicted.truncate(count);
            (truth.into_iter().collect(), predicted)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]

        /// The plain way: the rows that are drawn become a set of their own, which is evaluated.
        #[test]
        fn intervals_are_those_of_sets_of_rows_that_are_drawn_anew(
            rows in proptest::collection::vec(row(), 1..12),
            is_pyxclib: bool,
            seed: u64,
        ) {
            let psndcg = if is_pyxclib { Psndcg::Pyxclib } else { Psndcg::Matlab };
            let options = MetricOptions { at: vec![1, 3], psndcg, ..MetricOptions::default() };
            let mut drawn: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            for draw in 0..DRAWS {
                let chosen = drawn_anew(rows.len(), seed, draw);
                for (name, value) in figures(&rows, &chosen, &options) {
                    drawn.entry(name).or_default().push(value);
                }
            }
            let (mut truth, mut predictions) = (LabelRows::new(6), Predictions::default());
            for (labels, predicted) in &rows {
                truth.push_row(labels, &vec![(); labels.len()]).unwrap();
                let scored = |(rank, &id): (usize, &u32)| Scored { id, score: 1.0 / (rank + 1) as f32 };
                predictions.push_row(&predicted.iter().enumerate().map(scored).collect::<Vec<_>>());
            }
            let training = TrainingCounts { instances: 90, labels: &[40, 20, 10, 5, 1] };
            let evaluation =
                Evaluation::new(truth.view(), &predictions, training, &options).unwrap();
            let intervals = evaluation.intervals(seed);
            prop_assert_eq!(intervals.len(), 2 * NAMES.len());
            for (name, Interval { from, to }) in intervals {
                let all = drawn.get_mut(&name).unwrap();
                all.sort_by(f64::total_cmp);
                prop_assert!((from - all[25]).abs() < 1e-9, "{} {} {}", name, from, all[25]);
                prop_assert!((to - all[974]).abs() < 1e-9, "{} {} {}", name, to, all[974]);
            }
        }
    }

    #[test]
    fn blocks_of_many_rows_give_about_the_interval_of_the_formula() {
        let rows = 3 * BLOCKS + 17;
        let (mut truth, mut predictions) = (LabelRows::new(2), Predictions::default());
        let mut stream = Stream::new(7);
        for _ in 0..rows {
            truth.push_row(&[u32::from(stream.unit() < 0.3)], &[()]).unwrap();
            predictions.push_row(&[Scored { id: 1, score: 1.0 }]);
        }
        let training = TrainingCounts { instances: 1, labels: &[1] };
        let options = MetricOptions { at: vec![1], ..MetricOptions::default() };
        let evaluation = Evaluation::new(truth.view(), &predictions, training, &options).unwrap();
        let share = evaluation.metrics().at[0].precision;
        let half = 1.96 * (share * (1.0 - share) / rows as f64).sqrt();
        let Interval { from, to } = evaluation.intervals(42)["p@1"];
        assert!((share - from - half).abs() < 0.15 * half, "{from} {share} {half}");
        assert!((to - share - half).abs() < 0.15 * half, "{to} {share} {half}");
    }
}
