//! What a report says of predictions: every number of it, before it becomes a page.

use crate::metrics::{
    Answer, AtThreshold, Band, CalibrationBin, CurvePoint, Doubt, Evaluation, Exchange, Interval,
    LabelScores, Metrics,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// How many labels, pairs of labels and rows are shown.
const BEST: usize = 10;
const EXCHANGES: usize = 20;
const DOUBTS: usize = 20;

/// Everything that is to be known of the predictions of one system.
///
/// ```
/// use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
/// use labelwood::report::Study;
/// use labelwood::sparse::{LabelRows, Predictions, Scored};
/// let mut truth = LabelRows::new(3);
/// truth.push_row(&[0, 2], &[(), ()])?;
/// let mut predictions = Predictions::default();
/// predictions.push_row(&[Scored { id: 2, score: 0.9 }, Scored { id: 1, score: 0.4 }]);
/// let training = TrainingCounts { instances: 200, labels: &[120, 30, 4] };
/// let evaluation =
///     Evaluation::new(truth.view(), &predictions, training, &MetricOptions::default())?;
/// let study = Study::of(&evaluation, Some(0.5), true, 42);
/// assert_eq!(study.exchanges[0].missed, 0);
/// assert_eq!(study.at_threshold.map(|at| at.precision), Some(1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Study {
    /// The figures, those that `evaluate` prints.
    pub metrics: Metrics,
    /// The intervals of figures, by their names; none if there are fewer than ten rows.
    pub intervals: BTreeMap<String, Interval>,
    /// The figures at the threshold, if there is one.
    pub at_threshold: Option<AtThreshold>,
    /// Whether scores tell how sure a prediction is.
    pub has_scores: bool,
    /// What can be drawn.
    pub curves: Curves,
    /// The labels with the highest F1 of those with enough rows, and with the lowest.
    pub best: Vec<LabelExample>,
    /// None of them is among the best.
    pub worst: Vec<LabelExample>,
    /// How many rows a label must have to be among the best or the worst.
    pub enough: u64,
    /// Which label is given instead of which.
    pub exchanges: Vec<Exchange>,
    /// The rows that the predictions contradict most surely.
    pub doubts: Vec<Doubt>,
    /// The labels of every row that is shown, by its number.
    pub answers: BTreeMap<usize, Answer>,
}

/// The curves of a report. Those of scores are empty if there are none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Curves {
    /// For evenly spaced thresholds.
    pub by_threshold: Vec<CurvePoint>,
    /// The highest scores first.
    pub precision_against_recall: Vec<CurvePoint>,
    /// Ranges of scores, lowest first.
    pub calibration: Vec<CalibrationBin>,
    /// Labels by how often training saw them, rarest first.
    pub by_frequency: Vec<Band>,
}

/// A label with a row to look at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelExample {
    /// Its figures, if each row is given as many labels as it has.
    pub scores: LabelScores,
    /// A row that has it: one that is given it for the best labels, else one that is not.
    pub row: Option<usize>,
}

impl Study {
    /// Studies the predictions of an evaluation; those beyond its cuts count where a threshold decides.
    /// `has_scores` is false where scores only say which prediction is better. The seed draws the rows of
    /// intervals.
    pub fn of(
        evaluation: &Evaluation<'_>,
        threshold: Option<f32>,
        has_scores: bool,
        seed: u64,
    ) -> Self {
        let mut metrics = evaluation.metrics();
        if !has_scores {
            metrics.ece = f64::NAN;
        }
        let (enough, best, worst) = extremes(evaluation);
        let exchanges = evaluation.exchanges(EXCHANGES);
        let doubts = if has_scores { evaluation.doubts(DOUBTS) } else { Vec::new() };
        let mut rows: Vec<usize> =
            best.iter().chain(&worst).filter_map(|label| label.row).collect();
        rows.extend(exchanges.iter().map(|pair| pair.example));
        rows.extend(doubts.iter().map(|doubt| doubt.row));
        rows.sort_unstable();
        rows.dedup();
        let has_intervals = metrics.instances >= 10;
        Study {
            intervals: if has_intervals { evaluation.intervals(seed) } else { BTreeMap::new() },
            at_threshold: threshold.map(|least| evaluation.at_threshold(least)),
            has_scores,
            curves: Curves::of(evaluation, has_scores),
            answers: evaluation.answers(&rows).into_iter().map(|one| (one.row, one)).collect(),
            metrics,
            best,
            worst,
            enough,
            exchanges,
            doubts,
        }
    }

    /// The rows whose texts and ids a page shows, in increasing order.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        self.answers.keys().copied()
    }
}

impl Curves {
    fn of(evaluation: &Evaluation<'_>, has_scores: bool) -> Self {
        let mut curves = Curves {
            by_threshold: Vec::new(),
            precision_against_recall: Vec::new(),
            calibration: Vec::new(),
            by_frequency: evaluation.by_frequency(),
        };
        if has_scores {
            curves.by_threshold = evaluation.by_threshold();
            curves.precision_against_recall = evaluation.precision_against_recall();
            curves.calibration = evaluation.calibration();
        }
        curves
    }
}

/// How many rows are enough for a label, and the best and worst of those labels.
fn extremes(evaluation: &Evaluation<'_>) -> (u64, Vec<LabelExample>, Vec<LabelExample>) {
    let mut labels = evaluation.labels_in_place();
    let count = |enough| labels.iter().filter(|label| label.support >= enough).count();
    // As many as make figures of labels mean something, where there are enough such labels.
    let enough = [20, 10, 5, 2].into_iter().find(|&enough| count(enough) >= 2 * BEST).unwrap_or(1);
    labels.retain(|label| label.support >= enough);
    labels.sort_by(|left, right| {
        let by_f1 = right.f1().total_cmp(&left.f1());
        by_f1.then(right.support.cmp(&left.support)).then(left.label.cmp(&right.label))
    });
    let half = labels.len().div_ceil(2);
    let best: Vec<LabelScores> = labels[..half].iter().copied().take(BEST).collect();
    // The lowest first; of labels that are equally bad, those with most rows.
    let mut rest = labels.split_off(half);
    rest.sort_by(|left, right| {
        let by_f1 = left.f1().total_cmp(&right.f1());
        by_f1.then(right.support.cmp(&left.support)).then(left.label.cmp(&right.label))
    });
    rest.truncate(BEST);
    let wanted: Vec<(u32, bool)> = best
        .iter()
        .map(|label| (label.label, true))
        .chain(rest.iter().map(|label| (label.label, false)))
        .collect();
    let mut rows = evaluation.examples(&wanted).into_iter();
    let mut with_rows = |labels: Vec<LabelScores>| -> Vec<LabelExample> {
        let row = |scores| LabelExample { scores, row: rows.next().flatten() };
        labels.into_iter().map(row).collect()
    };
    let best = with_rows(best);
    (enough, best, with_rows(rest))
}
