//! Whether scores are probabilities.

use super::Evaluation;
use super::score::{RowScorer, ratio};
use serde::Serialize;

/// How many ranges of scores predictions are put into, to see whether scores are probabilities.
const BINS: usize = 20;

/// Predictions of about the same score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CalibrationBin {
    /// How many there are.
    pub predictions: u64,
    /// The mean of their scores; those beyond 0 and 1 count as these.
    pub mean_score: f64,
    /// The share of them that is true.
    pub precision: f64,
}

/// The sums of predictions by the range of their scores.
#[derive(Default)]
pub(super) struct Bins([Bin; BINS]);

#[derive(Clone, Copy, Default)]
struct Bin {
    predictions: u64,
    scores: f64,
    hits: f64,
}

impl Bins {
    pub(super) fn add(&mut self, score: f32, is_hit: bool) {
        let score = f64::from(score).clamp(0.0, 1.0);
        let bin = &mut self.0[((score * BINS as f64) as usize).min(BINS - 1)];
        bin.scores += score;
        bin.hits += f64::from(u8::from(is_hit));
        bin.predictions += 1;
    }

    /// The expected calibration error.
    pub(super) fn error(&self) -> f64 {
        let gaps: f64 = self.0.iter().map(|bin| (bin.scores - bin.hits).abs()).sum();
        ratio(gaps, self.0.iter().map(|bin| bin.predictions).sum::<u64>() as f64)
    }
}

impl Evaluation<'_> {
    /// The predictions up to the largest cut in twenty ranges of scores, lowest first: what the expected
    /// calibration error is the mean gap of. Ranges without predictions are left out.
    ///
    /// ```
    /// # use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
    /// # use labelwood::sparse::{LabelRows, Predictions, Scored};
    /// # let mut truth = LabelRows::new(3);
    /// # truth.push_row(&[0, 2], &[(), ()])?;
    /// # let mut predictions = Predictions::default();
    /// # predictions.push_row(&[Scored { id: 2, score: 0.75 }, Scored { id: 1, score: 0.4 }]);
    /// # let training = TrainingCounts { instances: 200, labels: &[120, 30, 4] };
    /// # let options = MetricOptions::default();
    /// // Row 0 has labels 0 and 2; label 2 is predicted with 0.75 and label 1 with 0.4.
    /// let evaluation = Evaluation::new(truth.view(), &predictions, training, &options)?;
    /// let best = evaluation.calibration()[1];
    /// assert_eq!((best.predictions, best.mean_score, best.precision), (1, 0.75, 1.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn calibration(&self) -> Vec<CalibrationBin> {
        let mut scorer = RowScorer::new(self);
        let mut bins = Bins::default();
        for row in 0..self.truth.len() {
            scorer
                .score(row)
                .ranked
                .iter()
                .for_each(|ranked| bins.add(ranked.score, ranked.is_hit));
        }
        let filled = bins.0.into_iter().filter(|bin| bin.predictions > 0);
        filled
            .map(|Bin { predictions, scores, hits }| CalibrationBin {
                predictions,
                mean_score: scores / predictions as f64,
                precision: hits / predictions as f64,
            })
            .collect()
    }
}
