//! What a training keeps beside the learned state, and what determines a model.

use super::{Algorithm, text};
use crate::base::store::Training;
use crate::data::DatasetView;
use crate::learn::favour::Favour;
use crate::text::TextReader;

/// What a model holds besides what was learned from the rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras<'a> {
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
    extras: Extras<'_>,
    resolved: &Algorithm,
) -> Training {
    Training {
        algorithm: resolved.name().to_owned(),
        settings: resolved.settings(),
        data: format!("{:032x}", dataset.digest()),
        text: extras.text.map(text::settings),
        calibrate: extras.calibrate,
        favour: extras.favour,
        shrunk: None,
        keep_rows: extras.keep_rows,
        updates: Vec::new(),
    }
}
