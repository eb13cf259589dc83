//! What is asked of a training besides the algorithm, and what determines a model.

use super::text;
use crate::algorithms::Settings;
use crate::base::store::Training;
use crate::data::DatasetView;
use crate::learn::favour::Favour;
use crate::text::TextReader;

/// What is asked of a training besides the algorithm and its settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrainOptions<'a> {
    /// How text became the rows.
    pub text: Option<&'a TextReader>,
    /// Whether scores are made probabilities, at the cost of a second training: on nine tenths of
    /// the rows, to see how often labels of each score are true among the others. A grove's scores
    /// are probabilities without.
    pub calibrate: bool,
    /// Whether the threshold of scores with the best micro-F1 is learned, at the cost of a second training on
    /// the same rows, of a part of the trees if there are many. Calibration and groves learn it without.
    pub threshold: bool,
    /// Which labels come before others of a better score.
    pub favour: Favour,
    /// Whether the model holds the rows, from which [`update`](super::update()) learns again what
    /// more rows touch.
    pub keep_rows: bool,
}

impl TrainOptions<'_> {
    /// Whether some rows are held out to learn what scores mean.
    pub(super) fn holds_out(&self) -> bool {
        self.calibrate || self.threshold
    }

    /// The options without what these settings, or other options, make needless.
    pub(super) fn needed_with(self, settings: &Settings) -> Self {
        let has_threshold = self.calibrate || settings.facts().is_calibrated;
        TrainOptions { threshold: self.threshold && !has_threshold, ..self }
    }
}

/// What determines a model.
pub(super) fn describe(
    dataset: DatasetView<'_>,
    options: TrainOptions<'_>,
    settings: &Settings,
) -> Training {
    let TrainOptions { text, calibrate, threshold, favour, keep_rows } = options;
    let data = format!("{:032x}", dataset.digest());
    let plain = Training::of(settings.name(), settings.values(), data);
    Training { text: text.map(text::settings), calibrate, threshold, favour, keep_rows, ..plain }
}
