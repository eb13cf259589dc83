//! Groves in a model folder: the units of both parts, and one for the blend.

use super::calibrate::read_weights;
use super::members::Members;
use super::store::{FormatError, StoreError, Stored};
use super::units::Units;
use super::{Labels, TrainError, craftml, linear};
use crate::algorithms::grove::{Blend, Grove, Params, Trainer};
use crate::base::run::Task;

const BLEND: &str = "blend";

/// The names of all units, in the manifest's order; `parts` says how many parts are below the root
/// of a label tree.
pub(super) fn stems(
    params: &Params,
    parts: impl Fn(&str) -> usize,
) -> impl Iterator<Item = String> {
    let trees = linear::GROVE.stems(&params.label_tree, parts);
    craftml::stems(&params.forest).chain(trees).chain([BLEND.to_owned()])
}

/// Learns what is not there yet, the blend first, and writes each unit as it is done.
pub(super) fn write(
    trainer: &Trainer<'_>,
    units: &Units<'_>,
    run: &Task,
) -> Result<(), TrainError> {
    if units.lacks(BLEND) {
        let blend = trainer.blend(run).map_err(|source| {
            let (finished, total) = (units.count("tree-"), trainer.params().forest.trees);
            TrainError::Stopped { finished, total, units: "trees", source }
        })?;
        write_blend(&blend, units)?;
    }
    // A part that is another's work is not worth preparing the rows for.
    let Params { forest, label_tree, .. } = trainer.params();
    if craftml::stems(forest).any(|stem| units.lacks(&stem)) {
        craftml::write(&trainer.forest(), units, run)?;
    }
    let parts = |root: &str| linear::parts_below(units, root);
    if linear::GROVE.stems(label_tree, parts).any(|stem| units.lacks(&stem)) {
        linear::write_trees(&trainer.label_tree(), linear::GROVE, units, run)?;
    }
    Ok(())
}

pub(super) fn write_blend(blend: &Blend, units: &Units<'_>) -> Result<(), StoreError> {
    units.write(BLEND, &[("weights", blend.weights[..].into())])
}

/// Reads a grove back, or some trees of its parts.
pub(super) fn read(
    stored: &Stored,
    params: Params,
    members: Members,
    labels: &Labels,
) -> Result<Grove, FormatError> {
    let forest = craftml::read(stored, params.forest, members.first)?;
    let label_tree = linear::read_trees(stored, linear::GROVE, params.label_tree, members.second)?;
    let blend = Blend { weights: read_weights(stored.unit(BLEND)?)? };
    let grove = Grove::new(forest, label_tree, blend, labels.shared_counts());
    Ok(grove.with_learn_blend(params.learn_blend))
}
