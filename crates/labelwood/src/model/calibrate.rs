//! Calibration of a model: learning it, and its unit.

use crate::algorithms::{Interrupted, Settings, UnitSink, learn_in_memory};
use crate::base::array::Array;
use crate::base::run::{Stage, Task};
use crate::base::settings::ParamError;
use crate::base::sparse::Query;
use crate::base::store::{FormatError, Stored};
use crate::data::DatasetView;
use crate::learn::calibration::{Calibration, held_out, hold_out};
use crate::learn::threshold::{THRESHOLD, best_threshold, threshold_of};

/// The name of the unit.
pub(super) const UNIT: &str = "calibration";
/// Labels of each row that a calibration is learned from.
const CALIBRATED: usize = 30;

/// Learns how the scores of an algorithm become probabilities, and which of them are worth giving: trains
/// it on nine tenths of the rows and looks at how often labels of each score are true among the others.
/// The settings must have been checked.
fn calibrate(
    dataset: DatasetView<'_>,
    settings: &Settings,
    task: &Task,
) -> Result<(Calibration, Option<f32>), Interrupted> {
    let (held_out, rest) = hold_out(dataset.len(), held_out(dataset.len()), 0);
    if held_out.is_empty() {
        return Ok((Calibration::learn([]), None));
    }
    let learned = learn_in_memory(settings, dataset.select(&rest).view(), task)?;
    let held_out = dataset.select(&held_out);
    let predictions = learned.predict(held_out.rows(), Query::top(CALIBRATED), task)?;
    let rows = predictions.rows().zip(held_out.labels.rows());
    let seen = rows.flat_map(|(scored, truth)| {
        let is_true = move |id| truth.indices.binary_search(&id).is_ok();
        scored.iter().map(move |label| (label.score, is_true(label.id)))
    });
    let seen: Vec<(f32, bool)> = seen.collect();
    let calibration = Calibration::learn(seen.iter().copied());
    let probable =
        seen.into_iter().map(|(score, is_true)| (calibration.probability(score), is_true));
    let threshold = best_threshold(probable.collect(), held_out.labels.entries());
    Ok((calibration, threshold))
}

/// Refuses to calibrate what gives probabilities already.
pub(super) fn check(settings: &Settings) -> Result<(), ParamError> {
    if settings.facts().is_calibrated {
        let name = settings.name();
        let expected = format!("left out: the scores of a {name} are probabilities already");
        return Err(ParamError::new("calibrate", true, expected));
    }
    Ok(())
}

/// Learns the calibration if it is not there yet and writes it.
pub(super) fn write(
    dataset: DatasetView<'_>,
    settings: &Settings,
    units: &UnitSink<'_>,
    task: &Task,
) -> Result<(), Interrupted> {
    if units.lacks(UNIT) {
        let piece = task.piece_of(Stage::Steps("calibration"), 0, 1);
        let (calibration, threshold) = calibrate(dataset, settings, &piece)?;
        let threshold = threshold.as_slice();
        units.write(
            UNIT,
            &[("weights", calibration.weights[..].into()), (THRESHOLD, threshold.into())],
        )?;
    }
    Ok(())
}

/// Reads how scores become probabilities, and the threshold if there is one.
pub(super) fn read(stored: &Stored) -> Result<(Calibration, Option<f32>), FormatError> {
    let unit = stored.unit(UNIT)?;
    let threshold = threshold_of(unit)?;
    let weights: Array<f32> = unit.array("weights")?;
    match <[f32; 3]>::try_from(&weights[..]) {
        Ok(weights) if weights.iter().all(|weight| weight.is_finite()) => {
            Ok((Calibration { weights }, threshold))
        }
        _ => Err(unit.refused("it does not have 3 finite weights")),
    }
}
