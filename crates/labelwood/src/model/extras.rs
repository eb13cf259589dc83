//! What a training keeps beside the learned state.

use crate::favour::Favour;
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
    /// Whether the model holds the rows, from which [`update`](super::update) learns again what more rows touch.
    pub keep_rows: bool,
}
