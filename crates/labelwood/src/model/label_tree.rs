//! Label trees in a model folder: one unit for each root, one for each subtree below it, and one
//! for the feature weights.

use super::store::{ArrayRef, FormatError, StoreError, Stored, Unit, UnitFile};
use super::units::{Stop, Units};
use super::{FEATURES, TrainError, read_weights, write_weights};
use crate::array::Array;
use crate::label_tree::{LabelTrees, Params, Root, Trainer, Tree};
use crate::linear::{Nodes, Precision, Values};
use crate::run::Run;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

fn root_stem(tree: usize) -> String {
    format!("tree-{tree:04}-root")
}

fn part_stem(tree: usize, part: usize) -> String {
    format!("tree-{tree:04}-part-{part:05}")
}

/// Grows the parts that are not there yet and writes each as it is done.
pub(super) fn write(
    trainer: &Trainer,
    units: &Units<'_>,
    run: &Run,
) -> Result<Vec<UnitFile>, TrainError> {
    write_weights(trainer.feature_weights(), units)?;
    let trees = trainer.params().trees;
    let mut total = trees;
    let grown = roots(trainer, units, run).and_then(|groups| {
        total += groups.iter().map(Vec::len).sum::<usize>();
        subtrees(trainer, units, &groups, total as u64, run).map(|()| groups)
    });
    match grown {
        Err(Stop::Store(error)) => Err(error.into()),
        Err(Stop::Cancelled(source)) => {
            let finished = units.count("tree-");
            Err(TrainError::Cancelled { finished, total, units: "parts", source })
        }
        Ok(groups) => {
            let stems = groups.iter().enumerate().flat_map(|(tree, groups)| {
                let parts = (0..groups.len()).map(move |part| part_stem(tree, part));
                [root_stem(tree)].into_iter().chain(parts)
            });
            Ok(units.listed(stems.chain([FEATURES.to_owned()])))
        }
    }
}

/// The labels of each tree's subtrees, from its root, which is grown if it is not there.
fn roots(trainer: &Trainer, units: &Units<'_>, run: &Run) -> Result<Vec<Vec<Vec<u32>>>, Stop> {
    let trees = trainer.params().trees;
    let root = |tree| {
        let stem = root_stem(tree);
        if let Some(unit) = units.find(&stem) {
            return Ok(read_groups(&units.open(&unit)?).map_err(StoreError::from)?);
        }
        let Root { nodes, groups } = trainer.root(tree, run)?;
        let mut starts = vec![0u64];
        starts.extend(groups.iter().scan(0, |end, group| {
            *end += group.len() as u64;
            Some(*end)
        }));
        let labels = groups.concat();
        let mut arrays = arrays(&nodes);
        arrays.extend([("groups_start", starts[..].into()), ("groups", labels[..].into())]);
        units.write(&stem, &arrays)?;
        run.progress("parts", tree as u64 + 1, trees as u64);
        Ok(groups)
    };
    (0..trees).map(root).collect()
}

fn subtrees(
    trainer: &Trainer,
    units: &Units<'_>,
    groups: &[Vec<Vec<u32>>],
    total: u64,
    run: &Run,
) -> Result<(), Stop> {
    let all = groups.iter().enumerate().flat_map(|(tree, groups)| {
        groups.iter().enumerate().map(move |(part, labels)| (tree, part, labels))
    });
    let missing: Vec<_> =
        all.filter(|&(tree, part, _)| units.find(&part_stem(tree, part)).is_none()).collect();
    let done = AtomicU64::new(total - missing.len() as u64);
    run.progress("parts", done.load(Ordering::Relaxed), total);
    run.install(|| {
        missing.par_iter().with_max_len(1).try_for_each(|&(tree, part, labels)| {
            let nodes = trainer.subtree(tree, part, labels, run)?;
            units.write(&part_stem(tree, part), &arrays(&nodes))?;
            run.progress("parts", done.fetch_add(1, Ordering::Relaxed) + 1, total);
            Ok(())
        })
    })
}

/// The arrays of some nodes by their names.
fn arrays(nodes: &Nodes) -> Vec<(&'static str, ArrayRef<'_>)> {
    vec![
        ("children_start", nodes.children_start[..].into()),
        ("children", nodes.children[..].into()),
        ("biases", nodes.biases[..].into()),
        ("features_start", nodes.features_start[..].into()),
        ("features", nodes.features[..].into()),
        ("weights_start", nodes.weights_start[..].into()),
        ("ends", nodes.ends[..].into()),
        ("owners", (&nodes.owners).into()),
        (
            "values",
            match &nodes.values {
                Values::Half(values) => values[..].into(),
                Values::Single(values) => values[..].into(),
            },
        ),
    ]
}

fn read_groups(unit: &Unit) -> Result<Vec<Vec<u32>>, FormatError> {
    let starts: Array<u64> = unit.array("groups_start")?;
    let labels: Array<u32> = unit.array("groups")?;
    let group =
        |range: &[u64]| labels.get(range[0] as usize..range[1] as usize).map(<[u32]>::to_vec);
    let groups: Option<Vec<_>> = starts.windows(2).map(group).collect();
    groups.ok_or_else(|| unit.refused("its groups do not fit its labels"))
}

/// Reads the trees back.
pub(super) fn read(stored: &Stored, params: Params) -> Result<LabelTrees, FormatError> {
    let (weights, features) = read_weights(stored)?;
    let tree = |tree| {
        let unit = stored.unit(&root_stem(tree))?;
        let parts = unit.array::<u64>("groups_start")?.len().saturating_sub(1);
        let root = read_nodes(unit, params.precision, Some(parts))?;
        let part = |part| {
            let unit = stored.unit(&part_stem(tree, part))?;
            let nodes = read_nodes(unit, params.precision, None)?;
            if nodes.is_empty() { Err(unit.refused("it has no nodes")) } else { Ok(nodes) }
        };
        let subtrees = (0..parts).into_par_iter().map(part).collect::<Result<_, _>>()?;
        if root.len() == 1 {
            Ok(Tree { root, subtrees })
        } else {
            Err(unit.refused("a root is one node"))
        }
    };
    let trees = (0..params.trees).map(tree).collect::<Result<_, _>>()?;
    let labels = stored.manifest().labels as usize;
    Ok(LabelTrees { params, weights, features, labels, trees })
}

/// Reads nodes; `outer` is how many nodes elsewhere their children may name.
fn read_nodes(
    unit: &Unit,
    precision: Precision,
    outer: Option<usize>,
) -> Result<Nodes, FormatError> {
    let nodes = Nodes {
        children_start: unit.array("children_start")?,
        children: unit.array("children")?,
        biases: unit.array("biases")?,
        features_start: unit.array("features_start")?,
        features: unit.array("features")?,
        weights_start: unit.array("weights_start")?,
        ends: unit.array("ends")?,
        owners: unit.numbers("owners")?,
        values: match precision {
            Precision::Half => Values::Half(unit.array("values")?),
            Precision::Single => Values::Single(unit.array("values")?),
        },
    };
    nodes.check(outer).map_err(|reason| unit.refused(reason))?;
    Ok(nodes)
}
