//! Calibration of a model: learning it, and its unit.

use super::store::{FormatError, Stored, Unit};
use super::units::Units;
use super::{Algorithm, Learned, TrainError};
use crate::base::array::Array;
use crate::base::run::{Stopped, Task};
use crate::base::settings::ParamError;
use crate::base::sparse::Query;
use crate::data::DatasetView;
use crate::learn::calibration::{Calibration, hold_out};

/// The name of the unit.
pub(super) const UNIT: &str = "calibration";
/// Labels of each row that a calibration is learned from.
const CALIBRATED: usize = 30;

/// Learns how the scores of an algorithm become probabilities: trains it on nine tenths of the rows
/// and looks at how often labels of each score are true among the others.
pub fn calibrate(
    dataset: DatasetView<'_>,
    algorithm: &Algorithm,
    run: &Task,
) -> Result<Result<Calibration, Stopped>, ParamError> {
    check(algorithm)?;
    let (held_out, rest) = hold_out(dataset.len(), 0);
    if held_out.is_empty() {
        return Ok(Ok(Calibration::learn([])));
    }
    let learned = Learned::train(dataset.select(&rest).view(), algorithm, run)?;
    let held_out = dataset.select(&held_out);
    let scored = learned
        .and_then(|learned| learned.predict(held_out.features.view(), Query::top(CALIBRATED), run));
    Ok(scored.map(|predictions| {
        let rows = predictions.rows().zip(held_out.labels.rows());
        Calibration::learn(rows.flat_map(|(scored, truth)| {
            let is_true = move |id| truth.indices.binary_search(&id).is_ok();
            scored.iter().map(move |label| (label.score, is_true(label.id)))
        }))
    }))
}

/// Refuses to calibrate what gives probabilities already.
pub(super) fn check(algorithm: &Algorithm) -> Result<(), ParamError> {
    match algorithm {
        Algorithm::Grove(_) => Err(ParamError {
            setting: "calibrate",
            found: "true".to_owned(),
            expected: "left out: the scores of a grove are probabilities already",
        }),
        _ => Ok(()),
    }
}

/// Learns the calibration if it is not there yet and writes it.
pub(super) fn write(
    dataset: DatasetView<'_>,
    algorithm: &Algorithm,
    units: &Units<'_>,
    run: &Task,
) -> Result<(), TrainError> {
    if !units.lacks(UNIT) {
        return Ok(());
    }
    let calibration = calibrate(dataset, algorithm, run)?.map_err(|source| {
        TrainError::Stopped { finished: 0, total: 1, units: "calibrations", source }
    })?;
    Ok(units.write(UNIT, &[("weights", calibration.weights[..].into())])?)
}

/// Reads how scores become probabilities.
pub(super) fn read(stored: &Stored) -> Result<Calibration, FormatError> {
    Ok(Calibration { weights: read_weights(stored.unit(UNIT)?)? })
}

/// Reads so many finite weights.
pub(super) fn read_weights<const TERMS: usize>(unit: &Unit) -> Result<[f32; TERMS], FormatError> {
    let weights: Array<f32> = unit.array("weights")?;
    match <[f32; TERMS]>::try_from(&weights[..]) {
        Ok(weights) if weights.iter().all(|weight| weight.is_finite()) => Ok(weights),
        _ => Err(unit.refused(format!("it does not have {TERMS} finite weights"))),
    }
}
