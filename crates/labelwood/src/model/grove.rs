//! Groves in a model folder: the units of both parts, and one for the blend.

use super::calibrate::read_weights;
use super::store::{FormatError, StoreError, Stored, UnitFile};
use super::units::Units;
use super::{Labels, TrainError, craftml, linear};
use crate::grove::{Blend, Grove, Params, Trainer};
use crate::run::Run;

const BLEND: &str = "blend";

/// Learns what is not there yet, the blend first, and writes each unit as it is done.
pub(super) fn write(
    trainer: &Trainer<'_>,
    units: &Units<'_>,
    run: &Run,
) -> Result<Vec<UnitFile>, TrainError> {
    if units.find(BLEND).is_none() {
        let blend = trainer.blend(run).map_err(|source| {
            let (finished, total) = (units.count("tree-"), trainer.params().forest.trees);
            TrainError::Cancelled { finished, total, units: "trees", source }
        })?;
        write_blend(&blend, units)?;
    }
    let mut written = craftml::write(&trainer.forest(), units, run)?;
    written.extend(linear::write_trees(&trainer.label_tree(), linear::GROVE, units, run)?);
    written.extend(units.find(BLEND));
    Ok(written)
}

pub(super) fn write_blend(blend: &Blend, units: &Units<'_>) -> Result<UnitFile, StoreError> {
    units.write(BLEND, &[("weights", blend.weights[..].into())])
}

/// Reads a grove back.
pub(super) fn read(stored: &Stored, params: Params, labels: &Labels) -> Result<Grove, FormatError> {
    let forest = craftml::read(stored, params.forest)?;
    let label_tree = linear::read_trees(stored, linear::GROVE, params.label_tree)?;
    let blend = Blend { weights: read_weights(stored.unit(BLEND)?)? };
    Ok(Grove::new(forest, label_tree, blend, labels.shared_counts()))
}
