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
    /// Which labels come before others of a better score.
    pub favour: Favour,
    /// Whether the model holds the rows, from which [`update`](super::update()) learns again what
    /// more rows touch.
    pub keep_rows: bool,
}

/// What determines a model.
pub(super) fn describe(
    dataset: DatasetView<'_>,
    options: TrainOptions<'_>,
    settings: &Settings,
) -> Training {
    let TrainOptions { text, calibrate, favour, keep_rows } = options;
    let data = format!("{:032x}", dataset.digest());
    let plain = Training::of(settings.name(), settings.values(), data);
    Training { text: text.map(text::settings), calibrate, favour, keep_rows, ..plain }
}
