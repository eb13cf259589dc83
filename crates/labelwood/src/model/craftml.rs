//! CRAFTML forests in a model folder: one unit a tree, and one for the feature weights.

use super::TrainError;
use super::store::{FormatError, Partial, StoreError, Stored, Unit, UnitFile};
use crate::craftml::{FeatureWeights, Forest, Params, Trainer, Tree};
use crate::run::{Cancelled, Run};
use rayon::prelude::*;
use std::sync::Mutex;

const FEATURES: &str = "features";

fn stem(tree: usize) -> String {
    format!("tree-{tree:04}")
}

/// The settings as the manifest keeps them.
pub(super) fn settings(params: &Params) -> serde_json::Value {
    serde_json::to_value(params).expect("settings are numbers and names")
}

/// Grows the trees that are not there yet and writes each as it is done.
pub(super) fn write(
    trainer: &Trainer<'_>,
    partial: &Partial,
    run: &Run,
) -> Result<Vec<UnitFile>, TrainError> {
    let total = trainer.params().trees;
    let finished = Mutex::new(partial.finished_units(run)?);
    let keep = |unit| finished.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(unit);
    let known = |stem: &str| {
        let finished = finished.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        finished.iter().any(|unit| unit.stem() == stem)
    };
    if let Some(weights) = trainer.feature_weights()
        && !known(FEATURES)
    {
        keep(partial.write_unit(FEATURES, &[("weights", weights.into())])?);
    }
    let missing: Vec<usize> = (0..total).filter(|&tree| !known(&stem(tree))).collect();
    let grown = trainer.grow_each(&missing, run, |tree, grown| -> Result<(), Stop> {
        keep(write_tree(partial, tree, &grown)?);
        Ok(())
    });
    let units = finished.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let find = |stem: String| units.iter().find(|unit| unit.stem() == stem).cloned();
    let trees: Vec<UnitFile> = (0..total).filter_map(|tree| find(stem(tree))).collect();
    match grown {
        Err(Stop::Store(error)) => Err(error.into()),
        Err(Stop::Cancelled(source)) => {
            Err(TrainError::Cancelled { finished: trees.len(), total, source })
        }
        Ok(()) => Ok(trees.into_iter().chain(find(FEATURES.to_owned())).collect()),
    }
}

enum Stop {
    Cancelled(Cancelled),
    Store(StoreError),
}

impl From<Cancelled> for Stop {
    fn from(cancelled: Cancelled) -> Self {
        Stop::Cancelled(cancelled)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Stop::Store(error)
    }
}

fn write_tree(partial: &Partial, number: usize, tree: &Tree) -> Result<UnitFile, StoreError> {
    partial.write_unit(
        &stem(number),
        &[
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
        ],
    )
}

/// Reads a forest back.
pub(super) fn read(stored: &Stored) -> Result<Forest, FormatError> {
    let manifest = stored.manifest();
    let params: Params = serde_json::from_value(manifest.training.settings.clone())
        .map_err(|error| stored.refused(format!("its settings cannot be read: {error}")))?;
    params.check().map_err(|error| stored.refused(format!("its settings are refused: {error}")))?;
    // Columns are 32-bit numbers everywhere; more would ask for memory that no model needs.
    let features = u32::try_from(manifest.features)
        .map_err(|_| stored.refused(format!("{} features are too many", manifest.features)))?
        as usize;
    let has_weights = manifest.units.iter().any(|unit| unit.stem() == FEATURES);
    let weights = if has_weights {
        let unit = stored.unit(FEATURES)?;
        let weights = unit.array::<f32>("weights")?;
        if weights.len() != features || !weights.iter().all(|weight| weight.is_finite()) {
            return Err(unit.refused("its weights do not fit the features"));
        }
        Some(weights)
    } else {
        None
    };
    let read = |tree| read_tree(stored.unit(&stem(tree))?, &params);
    let trees = (0..params.trees).into_par_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let labels = manifest.labels as usize;
    Ok(Forest { params, weights: FeatureWeights(weights), features, labels, trees })
}

fn read_tree(unit: &Unit, params: &Params) -> Result<Tree, FormatError> {
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
    };
    tree.check().map_err(|reason| unit.refused(reason))?;
    Ok(tree)
}
