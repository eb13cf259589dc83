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

/// For a threshold, so many times as many labels of each row are looked at as the row has that has most:
/// those that have many weigh much in micro-F1,
const MORE: usize = 2;
/// but no more than this.
const MOST: usize = 500;

/// A threshold is learned from one of so many trees, whose scores lie about where those of all do,
const FEWER: usize = 4;
/// but from at least so many: those of fewer trees are farther apart. One is enough if it can judge texts.
const LEAST_TREES: usize = 15;
/// What learning from held-out rows takes, compared with a training on all.
const COST: f64 = 0.8;

/// Scores of labels, each with whether the label is true.
type Seen = Vec<(f32, bool)>;

/// What an algorithm that was trained on nine tenths of the rows says of the others.
#[derive(Default)]
struct HeldOut {
    /// The best labels of each row, best first.
    rows: Vec<Seen>,
    /// How many labels the rows have.
    truths: usize,
}

impl HeldOut {
    /// The labels that a calibration is learned from.
    fn calibrated(&self) -> impl Iterator<Item = (f32, bool)> {
        self.rows.iter().flat_map(|row| row.iter().take(CALIBRATED).copied())
    }

    /// The best threshold of scores.
    fn threshold(&self) -> Option<f32> {
        best_threshold(self.rows.iter().flatten().copied(), self.truths)
    }
}

/// Trains on nine tenths of the rows and asks about the others. The settings must have been checked.
fn ask_held_out(
    dataset: DatasetView<'_>,
    settings: &Settings,
    task: &Task,
) -> Result<HeldOut, Interrupted> {
    let (held_out, rest) = hold_out(dataset.len(), held_out(dataset.len()), 0);
    if held_out.is_empty() {
        return Ok(HeldOut::default());
    }
    let most_labels = dataset.labels.rows().map(|row| row.indices.len()).max().unwrap_or(0);
    let looked_at = most_labels.saturating_mul(MORE).clamp(CALIBRATED, MOST);
    let learned = learn_in_memory(settings, dataset.select(&rest).view(), task)?;
    let held_out = dataset.select(&held_out);
    let predictions = learned.predict(held_out.rows(), Query::top(looked_at), task)?;
    let rows = predictions.rows().zip(held_out.labels.rows()).map(|(scored, truth)| {
        let is_true = |id| truth.indices.binary_search(&id).is_ok();
        scored.iter().map(|label| (label.score, is_true(label.id))).collect()
    });
    Ok(HeldOut { rows: rows.collect(), truths: held_out.labels.entries() })
}

/// The settings to learn a threshold with, with fewer trees if that is possible.
fn with_fewer_trees(settings: &Settings) -> Settings {
    let facts = settings.facts();
    let Some(size) = settings.size().first().copied().filter(|_| facts.grows.is_some()) else {
        return settings.to_settings();
    };
    let least = if facts.judges { 1 } else { LEAST_TREES };
    settings.resized(&[size.count.div_ceil(FEWER).max(least).min(size.count)])
}

/// The share of the work that is learning what scores mean, or a threshold alone.
pub(super) fn share(settings: &Settings, calibrate: bool) -> f64 {
    let trees = |settings: &Settings| settings.size().first().map_or(1, |size| size.count) as f64;
    let part = trees(&with_fewer_trees(settings)) / trees(settings);
    let cost = if calibrate { COST } else { COST * part };
    cost / (1.0 + cost)
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
            let held_out = ask_held_out(dataset, settings, &piece)?;
            let calibration = Calibration::learn(held_out.calibrated());
            let threshold = held_out.threshold().map(|score| calibration.probability(score));
            let arrays = [
                ("weights", calibration.weights[..].into()),
                (THRESHOLD, threshold.as_slice().into()),
            ];
            units.write(UNIT, &arrays)?;
        } else {
            let held_out = ask_held_out(dataset, &with_fewer_trees(settings), &piece)?;
            units.write(UNIT, &[(THRESHOLD, held_out.threshold().as_slice().into())])?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_learned_from_fewer_trees_but_not_from_a_handful() {
        let fewer = |name: &str, trees: usize| {
            let settings = Settings::named(name).unwrap().resized(&[trees]);
            with_fewer_trees(&settings).size()[0].count
        };
        assert_eq!([3, 9, 4].map(|trees| fewer("label-tree", trees)), [1, 3, 1]);
        assert_eq!([30, 100, 10, 4].map(|trees| fewer("craftml", trees)), [15, 25, 10, 4]);
        // Its submodels divide the labels among them.
        assert_eq!(fewer("label-forest", 100), 100);
        let whole = Settings::named("one-vs-rest").unwrap();
        assert_eq!(with_fewer_trees(&whole), whole);
    }
}
