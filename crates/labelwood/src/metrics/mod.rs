//! How good predictions are: P@k, recall@k, nDCG@k, their propensity-scored forms, coverage@k and F1@k,
//! F1 at a [threshold](Evaluation::at_threshold), and whether their scores are probabilities.
//!
//! An [`Evaluation`] joins the true labels, the predictions and what training saw.
//! [`Evaluation::metrics`] gives the figures of the whole set, [`Evaluation::instances`] those of
//! each row (what a significance test needs) and [`Evaluation::labels`] those of each label.
//! [`Evaluation::intervals`] says how sure the figures are, [`Evaluation::by_threshold`] and its siblings
//! give curves, and [`Evaluation::exchanges`] and [`Evaluation::doubts`] what a person may want to look at.
//!
//! The conventions, all chosen so that figures compare with published tables:
//! - `y` are a row's true labels, `top` its best k predictions. P@k divides by k even when a row
//!   has fewer predictions, and every mean runs over all rows, those without labels included.
//! - A label of the test rows that training never saw keeps its place in every denominator.
//! - Sums are in `f64` in row order, and logarithms and powers come from `libm`, so the figures
//!   are the same on every machine.

mod bands;
mod bootstrap;
mod calibration;
mod curves;
mod exchanges;
mod f1;
mod intervals;
mod score;
mod tables;

pub use crate::learn::propensity::Propensity;
pub use bands::Band;
pub(crate) use bootstrap::{Bootstrap, bounds};
pub use calibration::CalibrationBin;
pub use curves::CurvePoint;
pub use exchanges::{Answer, Doubt, Exchange};
pub use intervals::Interval;
pub use score::{InstanceAtK, InstanceScores};
pub(crate) use score::{discounts, precision_and_ndcg};
pub use tables::LabelScores;

use crate::base::sparse::{LabelRowsView, Predictions, Scored};
use crate::base::words::plural;
use score::{RowScorer, Sums};
use serde::Serialize;
use thiserror::Error;

/// True labels and predictions of the same rows, ready to be scored.
///
/// ```
/// use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
/// use labelwood::sparse::{LabelRows, Predictions, Scored};
///
/// let mut truth = LabelRows::new(3);
/// truth.push_row(&[0, 2], &[(), ()])?;
/// let mut predictions = Predictions::default();
/// predictions.push_row(&[Scored { id: 2, score: 0.9 }, Scored { id: 1, score: 0.4 }]);
///
/// let training = TrainingCounts { instances: 200, labels: &[120, 30, 4] };
/// let options = MetricOptions { at: vec![1, 2], ..MetricOptions::default() };
/// let metrics = Evaluation::new(truth.view(), &predictions, training, &options)?.metrics();
/// assert_eq!(metrics.at[0].precision, 1.0);
/// assert_eq!(metrics.at[1].precision, 0.5);
/// assert_eq!(metrics.at[1].recall, 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Evaluation<'a> {
    truth: LabelRowsView<'a>,
    predictions: &'a Predictions,
    training: TrainingCounts<'a>,
    at: Vec<usize>,
    propensity: Propensity,
    psndcg: Psndcg,
    filter: &'a [(usize, u32)],
}

/// What training saw: the base of propensities and of the head, torso and tail slices.
#[derive(Clone, Copy, Debug)]
pub struct TrainingCounts<'a> {
    /// The number of training rows.
    pub instances: usize,
    /// How many training rows have each label. Labels beyond the end have none.
    pub labels: &'a [u32],
}

/// What to compute.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricOptions {
    /// The cuts k, in any order; repeated ones count once.
    pub at: Vec<usize>,
    /// The constants of the propensity model.
    pub propensity: Propensity,
    /// Which of the two definitions of PSnDCG@k.
    pub psndcg: Psndcg,
}

impl Default for MetricOptions {
    /// Cuts 1, 3 and 5 with the propensities of most public sets.
    fn default() -> Self {
        let (propensity, psndcg) = (Propensity::default(), Psndcg::default());
        MetricOptions { at: vec![1, 3, 5], propensity, psndcg }
    }
}

/// The two definitions of PSnDCG@k in use, which give different figures.
///
/// Both divide the mean over rows by the mean that the ideal ranking reaches; they differ in what a
/// row's sum is divided by before that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Psndcg {
    /// By `sum of 1/log2(i+1) for i <= k`, the same for every row: the XC repository's Matlab code,
    /// and so its tables.
    #[default]
    Matlab,
    /// By the sum over `i <= min(k, |y|)`: pyxclib and napkinXC. Rows with few labels weigh more.
    Pyxclib,
}

/// Why an [`Evaluation`] is refused: rows or labels that do not match, cuts or propensities without a
/// meaning.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{0}")]
pub struct MetricError(String);

/// The figures of a whole set, as fractions of 1.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Metrics {
    /// Rows evaluated, those without labels included.
    pub instances: usize,
    /// The number of labels: the wider of data and training.
    pub labels: usize,
    /// Rows without a true label.
    pub unlabelled: usize,
    /// Distinct true labels that no training row has.
    pub unseen_labels: usize,
    /// The constants of the propensity model.
    pub propensity: Propensity,
    /// Which definition of PSnDCG@k was used.
    pub psndcg: Psndcg,
    /// One entry for each cut, smallest first.
    pub at: Vec<AtK>,
    /// The expected calibration error: how far, in the mean over the predictions up to the largest
    /// cut, a score lies from the share of true ones among predictions with about that score. 0 says
    /// that scores are probabilities. Twenty ranges of scores; scores beyond 0 and 1 count as these.
    /// Not a number, and left out of tables, where predictions came without scores.
    pub ece: f64,
    /// Head, torso and tail, in this order.
    pub slices: [SliceMetrics; 3],
}

/// The figures at one cut.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AtK {
    /// The cut.
    pub k: usize,
    /// P@k: the mean of `|top ∩ y| / k`.
    pub precision: f64,
    /// Recall@k: the mean of `|top ∩ y| / |y|`, 0 for a row without labels.
    pub recall: f64,
    /// R-precision@k: the mean of `|top ∩ y| / min(k, |y|)`, 0 for a row without labels.
    pub r_precision: f64,
    /// nDCG@k: the mean of `sum of [top_i in y]/log2(i+1)`, divided by the same sum of a perfect
    /// ranking, 0 for a row without labels.
    pub ndcg: f64,
    /// PSP@k: the sum of the hits' inverse propensities, divided by that of the ideal ranking.
    pub psp: f64,
    /// PSnDCG@k: as PSP@k with each hit divided by `log2(rank+1)`; see [`Psndcg`].
    pub psndcg: f64,
    /// Coverage@k: distinct labels predicted rightly at least once, divided by distinct true labels.
    pub coverage: f64,
    /// Micro-F1@k: F1 of all pairs of a row and a label together, the best k predictions against the
    /// true ones.
    pub micro_f1: f64,
    /// Macro-F1@k: the mean of the F1 of each label that is true or among the best k predictions anywhere.
    pub macro_f1: f64,
    /// Sample-F1@k: the mean of the F1 of each row, 0 for a row without labels.
    pub sample_f1: f64,
}

/// The figures of the predictions whose score reaches a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AtThreshold {
    /// The least score.
    pub threshold: f32,
    /// The share of the predictions that are true.
    pub precision: f64,
    /// The share of the true labels that are predicted.
    pub recall: f64,
    /// F1 of all pairs of a row and a label together.
    pub micro_f1: f64,
    /// The mean of the F1 of each label that is true or predicted anywhere.
    pub macro_f1: f64,
    /// The mean of the F1 of each row; 1 for a row that has no labels and gets none.
    pub sample_f1: f64,
    /// Predictions per row.
    pub labels_per_row: f64,
    /// The share of rows without any prediction.
    pub empty_rows: f64,
}

/// A figure at a cut.
type Figure = fn(&AtK) -> f64;

/// The figures at a cut: each one's name in JSON and in Python, and in tables.
pub(crate) const FIGURES: [(&str, &str, Figure); 10] = [
    ("p", "P", |at| at.precision),
    ("recall", "recall", |at| at.recall),
    ("rprecision", "R-precision", |at| at.r_precision),
    ("ndcg", "nDCG", |at| at.ndcg),
    ("psp", "PSP", |at| at.psp),
    ("psndcg", "PSnDCG", |at| at.psndcg),
    ("coverage", "coverage", |at| at.coverage),
    ("micro_f1", "micro-F1", |at| at.micro_f1),
    ("macro_f1", "macro-F1", |at| at.macro_f1),
    ("sample_f1", "sample-F1", |at| at.sample_f1),
];

/// Some of the labels, by how often training saw them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slice {
    /// At least 100 training rows.
    Head,
    /// 10 to 99 training rows.
    Torso,
    /// Fewer than 10 training rows, none included.
    Tail,
}

/// The figures of one slice.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SliceMetrics {
    /// The slice.
    pub slice: Slice,
    /// How many labels it has.
    pub labels: usize,
    /// How many of the (row, true label) pairs are its.
    pub true_labels: u64,
    /// One entry for each cut, smallest first.
    pub at: Vec<SliceAtK>,
}

/// A slice's figures at one cut.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SliceAtK {
    /// The cut.
    pub k: usize,
    /// Hits on the slice's labels, divided by k and by all rows: the slices add up to P@k.
    pub precision: f64,
    /// Hits on the slice's labels, divided by its true labels.
    pub recall: f64,
}

impl Slice {
    /// All slices, most frequent labels first.
    pub const ALL: [Slice; 3] = [Slice::Head, Slice::Torso, Slice::Tail];

    /// The slice of a label with this many training rows.
    pub fn of(training_rows: u32) -> Slice {
        match training_rows {
            100.. => Slice::Head,
            10..=99 => Slice::Torso,
            0..=9 => Slice::Tail,
        }
    }

    /// `head`, `torso` or `tail`.
    pub fn name(self) -> &'static str {
        match self {
            Slice::Head => "head",
            Slice::Torso => "torso",
            Slice::Tail => "tail",
        }
    }
}

impl TrainingCounts<'_> {
    /// How many training rows have `label`.
    pub fn of(&self, label: u32) -> u32 {
        self.labels.get(label as usize).copied().unwrap_or(0)
    }
}

impl<'a> Evaluation<'a> {
    /// Checks that everything fits together.
    ///
    /// No row of `predictions` may name a label twice.
    pub fn new(
        truth: LabelRowsView<'a>,
        predictions: &'a Predictions,
        training: TrainingCounts<'a>,
        options: &MetricOptions,
    ) -> Result<Self, MetricError> {
        let refused = |reason| Err(MetricError(reason));
        let (rows, predicted) = (truth.len(), predictions.len());
        if rows != predicted {
            return refused(format!(
                "{} of predictions for {} of data: predict exactly the rows to evaluate",
                plural(predicted, "row"),
                plural(rows, "row")
            ));
        }
        let labels = truth.columns().max(training.labels.len());
        for (row, scored) in predictions.rows().enumerate() {
            if let Some(Scored { id, .. }) = scored.iter().find(|one| one.id as usize >= labels) {
                return refused(format!(
                    "prediction row {}: label {id} is out of range: data and training have {}",
                    row + 1,
                    plural(labels, "label")
                ));
            }
        }
        let mut at = options.at.clone();
        at.sort_unstable();
        at.dedup();
        if at.first().is_none_or(|&k| k == 0) {
            let reason = "the cuts k must be a list of numbers of at least 1, such as 1,3,5";
            return refused(reason.to_owned());
        }
        let &MetricOptions { propensity, psndcg, .. } = options;
        if !propensity.is_possible() {
            let Propensity { a, b } = propensity;
            return refused(format!(
                "propensity constants a={a}, b={b}: both must be finite, a at least 0 and b above 0"
            ));
        }
        Ok(Evaluation { truth, predictions, training, at, propensity, psndcg, filter: &[] })
    }

    /// Leaves the given (row, label) pairs out of truth and predictions alike, before the cut at k.
    ///
    /// The XC repository's title sets ask for this: there a page that is its own answer is no feat.
    /// The pairs must be sorted.
    ///
    /// ```
    /// # use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
    /// # use labelwood::sparse::{LabelRows, Predictions, Scored};
    /// # let mut truth = LabelRows::new(3);
    /// # truth.push_row(&[0, 2], &[(), ()])?;
    /// # let mut predictions = Predictions::default();
    /// # predictions.push_row(&[Scored { id: 2, score: 0.9 }, Scored { id: 1, score: 0.4 }]);
    /// # let training = TrainingCounts { instances: 200, labels: &[120, 30, 4] };
    /// # let options = MetricOptions::default();
    /// // Row 0 has labels 0 and 2, and its best prediction is 2.
    /// let evaluation = Evaluation::new(truth.view(), &predictions, training, &options)?;
    /// assert_eq!(evaluation.metrics().at[0].precision, 1.0);
    /// assert_eq!(evaluation.without(&[(0, 2)])?.metrics().at[0].precision, 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn without(self, pairs: &'a [(usize, u32)]) -> Result<Self, MetricError> {
        match pairs.windows(2).position(|pair| pair[0] > pair[1]) {
            Some(before) => Err(MetricError(format!(
                "filter pair {} is out of order: sort the (row, label) pairs",
                before + 1
            ))),
            None => Ok(Evaluation { filter: pairs, ..self }),
        }
    }

    /// The figures of the whole set.
    pub fn metrics(&self) -> Metrics {
        let mut scorer = RowScorer::new(self);
        let mut sums = Sums::new(self);
        for row in 0..self.truth.len() {
            sums.add(self, scorer.score(row));
        }
        sums.finish(self)
    }

    /// The figures of all predictions whose score is at least `threshold`, whatever the cuts are.
    ///
    /// ```
    /// # use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
    /// # use labelwood::sparse::{LabelRows, Predictions, Scored};
    /// # let mut truth = LabelRows::new(3);
    /// # truth.push_row(&[0, 2], &[(), ()])?;
    /// # let mut predictions = Predictions::default();
    /// # predictions.push_row(&[Scored { id: 2, score: 0.9 }, Scored { id: 1, score: 0.4 }]);
    /// # let training = TrainingCounts { instances: 200, labels: &[120, 30, 4] };
    /// # let options = MetricOptions::default();
    /// // Row 0 has labels 0 and 2; label 2 is predicted with 0.9 and label 1 with 0.4.
    /// let evaluation = Evaluation::new(truth.view(), &predictions, training, &options)?;
    /// assert_eq!(evaluation.at_threshold(0.5).precision, 1.0);
    /// assert_eq!(evaluation.at_threshold(0.4).micro_f1, 0.5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn at_threshold(&self, threshold: f32) -> AtThreshold {
        f1::at_threshold(self, threshold)
    }

    /// The figures of each row, in order.
    pub fn instances(&self) -> impl ExactSizeIterator<Item = InstanceScores> {
        let mut scorer = RowScorer::new(self);
        (0..self.truth.len()).map(move |row| scorer.score(row).instance(row, &self.at))
    }

    /// The figures of each label that occurs in truth or predictions, by id, at the largest cut.
    pub fn labels(&self) -> Vec<LabelScores> {
        tables::label_scores(self)
    }

    /// The cuts, smallest first.
    pub fn cuts(&self) -> &[usize] {
        &self.at
    }

    /// The number of labels: the wider of data and training.
    fn width(&self) -> usize {
        self.truth.columns().max(self.training.labels.len())
    }

    /// The largest cut.
    fn largest_cut(&self) -> usize {
        self.at[self.at.len() - 1]
    }
}

impl Metrics {
    /// Every figure of the whole set by its name: `p@1`, `recall@1`, `rprecision@1`, `ndcg@1`,
    /// `psp@1`, `psndcg@1`, `coverage@1`, `micro_f1@1`, `macro_f1@1`, `sample_f1@1`, then those of the
    /// next cut; last `ece`.
    pub fn named(&self) -> impl Iterator<Item = (String, f64)> + '_ {
        let cuts = self.at.iter().flat_map(|at| {
            FIGURES.iter().map(|(name, _, of)| (format!("{name}@{}", at.k), of(at)))
        });
        cuts.chain([("ece".to_owned(), self.ece)])
    }
}

impl SliceMetrics {
    /// Every figure of the slice by its name: `p@1`, `recall@1`, then those of the next cut.
    pub fn named(&self) -> impl Iterator<Item = (String, f64)> + '_ {
        self.at.iter().flat_map(|at| {
            [("p", at.precision), ("recall", at.recall)]
                .map(|(name, value)| (format!("{name}@{}", at.k), value))
        })
    }
}

#[cfg(test)]
mod tests;
