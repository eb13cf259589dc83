//! CRAFTML forests in a model folder: one unit a tree, and one for the feature weights.

use super::store::{ArrayRef, FormatError, Stored, Unit};
use super::units::{Stop, Units};
use super::{FEATURES, TrainError, read_weights, write_weights};
use crate::algorithms::craftml::{Forest, NodeIndexes, Params, Trainer, Tree};
use crate::base::run::{Stopped, Task};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) fn stem(tree: usize) -> String {
    format!("tree-{tree:04}")
}

/// The names of all units, in the manifest's order.
pub(super) fn stems(params: &Params) -> impl Iterator<Item = String> {
    (0..params.trees).map(stem).chain([FEATURES.to_owned()])
}

/// Grows the trees that are not there yet and writes each as it is done.
pub(super) fn write(
    trainer: &Trainer<'_>,
    units: &Units<'_>,
    run: &Task,
) -> Result<(), TrainError> {
    let total = trainer.params().trees;
    let grown = grow(trainer, total, || true, units, run);
    grown.map_err(|stop| stop.into_error(units, "tree-", total, "trees"))
}

/// Grows trees that are not there yet, in order, as long as `goes_on` says so before each; says how
/// many there are from the first on. Trees that the end of the time cuts off are left out.
pub(super) fn write_some(
    trainer: &Trainer<'_>,
    most: usize,
    goes_on: impl Fn() -> bool + Sync,
    units: &Units<'_>,
    run: &Task,
) -> Result<usize, Stop> {
    match grow(trainer, most, goes_on, units, run) {
        Err(Stop::Stopped(Stopped::Late)) => {}
        other => other?,
    }
    Ok((0..most).take_while(|&tree| units.find(&stem(tree)).is_some()).count())
}

fn grow(
    trainer: &Trainer<'_>,
    most: usize,
    goes_on: impl Fn() -> bool + Sync,
    units: &Units<'_>,
    run: &Task,
) -> Result<(), Stop> {
    write_weights(FEATURES, trainer.feature_weights(), units)?;
    let missing: Vec<usize> = (0..most).filter(|&tree| units.lacks(&stem(tree))).collect();
    let count = AtomicUsize::new(most - missing.len());
    run.progress("trees", (most - missing.len()) as u64, most as u64);
    trainer.grow_each(missing.into_iter().take_while(|_| goes_on()), run, |tree, grown| {
        units.write(&stem(tree), &arrays(&grown))?;
        run.progress("trees", count.fetch_add(1, Ordering::Relaxed) as u64 + 1, most as u64);
        Ok(())
    })
}

/// Whether a unit of this name is a tree.
pub(super) fn is_tree(stem: &str) -> bool {
    stem.starts_with("tree-")
}

/// The arrays of a tree by their names.
pub(super) fn arrays(tree: &Tree) -> [(&'static str, ArrayRef<'_>); 12] {
    [
        ("children_start", tree.children_start[..].into()),
        ("children", tree.children[..].into()),
        ("scales", tree.scales[..].into()),
        ("biases", tree.biases[..].into()),
        ("words_start", tree.words_start[..].into()),
        ("words", tree.words[..].into()),
        ("values_start", tree.values_start[..].into()),
        ("values", tree.values[..].into()),
        ("leaf_start", tree.leaf_start[..].into()),
        ("leaf_instances", (&tree.leaf_instances).into()),
        ("leaf_labels", (&tree.leaf_labels).into()),
        ("leaf_counts", (&tree.leaf_counts).into()),
    ]
}

/// Reads a forest back, or some of its trees.
pub(super) fn read(
    stored: &Stored,
    params: Params,
    numbers: Range<usize>,
) -> Result<Forest, FormatError> {
    let (weights, features) = read_weights(stored, FEATURES)?;
    let read = |tree| read_tree(stored.unit(&stem(tree))?, &params);
    let first = numbers.start;
    let trees = numbers.into_par_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let labels = stored.manifest().labels as usize;
    Ok(Forest { params, weights, features, labels, trees, first })
}

/// Reads a tree back.
pub(super) fn read_tree(unit: &Unit, params: &Params) -> Result<Tree, FormatError> {
    let tree = Tree {
        branches: params.branches,
        precision: params.precision,
        children_start: unit.array("children_start")?,
        children: unit.array("children")?,
        scales: unit.array("scales")?,
        biases: unit.array("biases")?,
        words_start: unit.array("words_start")?,
        words: unit.array("words")?,
        values_start: unit.array("values_start")?,
        values: unit.array("values")?,
        leaf_start: unit.array("leaf_start")?,
        leaf_instances: unit.numbers("leaf_instances")?,
        leaf_labels: unit.numbers("leaf_labels")?,
        leaf_counts: unit.numbers("leaf_counts")?,
        indexes: NodeIndexes::default(),
    };
    tree.check().map_err(|reason| unit.refused(reason))?;
    Ok(tree)
}
