//! What scores mean: learning a calibration and a threshold, and their unit.

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

/// A threshold is learned from a training with one of so many trees: it changes little with more.
const FEWER_TREES: usize = 4;

/// The scores of labels of rows that were held out, each with whether the label is true, and how many
/// labels these rows have: what an algorithm says of them that was trained on nine tenths of the rows.
/// The settings must have been checked.
fn scores_of_held_out(
    dataset: DatasetView<'_>,
    settings: &Settings,
    task: &Task,
) -> Result<(Vec<(f32, bool)>, usize), Interrupted> {
    let (held_out, rest) = hold_out(dataset.len(), held_out(dataset.len()), 0);
    if held_out.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let learned = learn_in_memory(settings, dataset.select(&rest).view(), task)?;
    let held_out = dataset.select(&held_out);
    let predictions = learned.predict(held_out.rows(), Query::top(CALIBRATED), task)?;
    let rows = predictions.rows().zip(held_out.labels.rows());
    let seen = rows.flat_map(|(scored, truth)| {
        let is_true = move |id| truth.indices.binary_search(&id).is_ok();
        scored.iter().map(move |label| (label.score, is_true(label.id)))
    });
    Ok((seen.collect(), held_out.labels.entries()))
}

/// The settings with which a threshold is learned.
pub(crate) fn reduced(settings: &Settings) -> Settings {
    settings.reduced(FEWER_TREES)
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

/// Learns the calibration, or the threshold alone, if it is not there yet and writes it.
pub(super) fn write(
    dataset: DatasetView<'_>,
    settings: &Settings,
    calibrate: bool,
    units: &UnitSink<'_>,
    task: &Task,
) -> Result<(), Interrupted> {
    if units.lacks(UNIT) {
        let piece = task.piece_of(Stage::Steps("calibration"), 0, 1);
        if calibrate {
            let (seen, truths) = scores_of_held_out(dataset, settings, &piece)?;
            let calibration = Calibration::learn(seen.iter().copied());
            let probable = seen.into_iter().map(|(score, is)| (calibration.probability(score), is));
            let threshold = best_threshold(probable.collect(), truths);
            let arrays = [
                ("weights", calibration.weights[..].into()),
                (THRESHOLD, threshold.as_slice().into()),
            ];
            units.write(UNIT, &arrays)?;
        } else {
            let (seen, truths) = scores_of_held_out(dataset, &reduced(settings), &piece)?;
            units.write(UNIT, &[(THRESHOLD, best_threshold(seen, truths).as_slice().into())])?;
        }
    }
    Ok(())
}

/// Reads the threshold, if there is one.
pub(super) fn read_threshold(stored: &Stored) -> Result<Option<f32>, FormatError> {
    threshold_of(stored.unit(UNIT)?)
}

/// Reads how scores become probabilities.
pub(super) fn read(stored: &Stored) -> Result<Calibration, FormatError> {
    let unit = stored.unit(UNIT)?;
    let weights: Array<f32> = unit.array("weights")?;
    match <[f32; 3]>::try_from(&weights[..]) {
        Ok(weights) if weights.iter().all(|weight| weight.is_finite()) => {
            Ok(Calibration { weights })
        }
        _ => Err(unit.refused("it does not have 3 finite weights")),
    }
}
