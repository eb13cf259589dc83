//! How far figures would be elsewhere if other rows of the same kind had been tested.
//!
//! A bootstrap: the rows are drawn anew with replacement, as many as there are, a thousand times, and the
//! middle 95 % of the figures that come of it are the interval.

use super::Evaluation;
use super::bootstrap::{Bootstrap, bounds};
use super::score::{Gains, RowScorer, ScoredRow, ratio};
use serde::Serialize;
use std::collections::BTreeMap;

/// How often rows are drawn anew.
const DRAWS: usize = 1000;
/// The share of the figures that lies below an interval, and above it.
const TAIL: f64 = 0.025;

/// The range in which 95 of 100 figures lie if rows are drawn anew.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Its lower end.
    pub from: f64,
    /// Its upper end.
    pub to: f64,
}

/// The figures that are sums over rows divided by others, by their names.
const NAMES: [&str; 8] =
    ["p", "recall", "rprecision", "ndcg", "psp", "psndcg", "micro_f1", "sample_f1"];

/// What a row adds to both sides of the figures at a cut.
fn sides(evaluation: &Evaluation<'_>, k: usize, row: &ScoredRow<'_>) -> [[f64; 8]; 2] {
    let mut gains = Gains::default();
    gains.add(k, row, evaluation.psndcg);
    let Gains { precision, recall, r_precision, ndcg, weighted, discounted, .. } = gains;
    // Hits count in the predicted and in the true labels.
    let hits = 2.0 * row.hits(k).count() as f64;
    let both = (k.min(row.ranked.len()) + row.truth.len()) as f64;
    [
        [precision, recall, r_precision, ndcg, weighted, discounted, hits, ratio(hits, both)],
        [1.0, 1.0, 1.0, 1.0, gains.ideal_weighted, gains.ideal_discounted, both, 1.0],
    ]
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
        let mut bootstrap = Bootstrap::new(rows, 2 * NAMES.len() * self.at.len(), seed);
        let mut scorer = RowScorer::new(self);
        let mut values = Vec::new();
        for row in 0..rows {
            let scored = scorer.score(row);
            values.clear();
            values.extend(self.at.iter().flat_map(|&k| sides(self, k, &scored)).flatten());
            bootstrap.add(row, &values);
        }
        let mut drawn = vec![Vec::new(); NAMES.len() * self.at.len()];
        for draw in 0..DRAWS {
            let sums = bootstrap.draw(draw);
            let sides = sums.chunks(2 * NAMES.len()).map(|cut| cut.split_at(NAMES.len()));
            let figures = sides.flat_map(|(parts, wholes)| {
                parts.iter().zip(wholes).map(|(&part, &whole)| ratio(part, whole))
            });
            drawn.iter_mut().zip(figures).for_each(|(all, figure)| all.push(figure));
        }
        let names = self.at.iter().flat_map(|k| NAMES.map(|name| format!("{name}@{k}")));
        let interval = |drawn| {
            let (from, to) = bounds(drawn, TAIL);
            Interval { from, to }
        };
        names.zip(drawn.into_iter().map(interval)).collect()
    }
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
            let mut each = Bootstrap::new(rows.len(), rows.len(), seed);
            for row in 0..rows.len() {
                let mut own = vec![0.0; rows.len()];
                own[row] = 1.0;
                each.add(row, &own);
            }
            for draw in 0..DRAWS {
                let times = each.draw(draw);
                let chosen = (0..rows.len()).flat_map(|row| vec![row; times[row] as usize]);
                let chosen: Vec<usize> = chosen.collect();
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
                prop_assert!((from - all[24]).abs() < 1e-9, "{} {} {}", name, from, all[24]);
                prop_assert!((to - all[975]).abs() < 1e-9, "{} {} {}", name, to, all[975]);
            }
        }
    }
}
