//! Linear models in a model folder: one unit for each root of a label tree and one for each subtree
//! below it, or one for each submodel of a label forest, or one for each block of labels; and one
//! for the feature weights.

use super::store::{ArrayRef, FormatError, Partial, StoreError, Stored, Unit, UnitFile};
use super::units::{Stop, Units};
use super::{FEATURES, TrainError, read_weights, write_weights};
use crate::algorithms::label_forest::{self, LabelForest};
use crate::algorithms::label_tree::{self, LabelTrees, Root, Tree};
use crate::algorithms::one_vs_rest::{self, OneVsRest, block_labels};
use crate::base::array::{Array, OnDemand};
use crate::base::run::Task;
use crate::learn::linear::{Child, Limits, Nodes, Precision, Values};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the units of label trees are called.
#[derive(Clone, Copy)]
pub(super) struct Names {
    /// A tree.
    tree: &'static str,
    /// The feature weights.
    features: &'static str,
}

/// The names in a folder of nothing but label trees,
pub(super) const TREES: Names = Names { tree: "tree", features: FEATURES };
/// and in that of a grove, whose forest has trees and feature weights of its own.
pub(super) const GROVE: Names = Names { tree: "label-tree", features: "linear-features" };

impl Names {
    pub fn root(&self, tree: usize) -> String {
        format!("{}-{tree:04}{ROOT}", self.tree)
    }

    pub fn part(&self, tree: usize, part: usize) -> String {
        part_below(&self.root(tree), part)
    }

    /// The name of the feature weights.
    pub fn features(&self) -> &'static str {
        self.features
    }

    /// The names of the roots.
    pub fn roots(self, params: &label_tree::Params) -> impl Iterator<Item = String> {
        (0..params.trees).map(move |tree| self.root(tree))
    }

    /// The names of all units, in the manifest's order; `parts` says how many parts are below the
    /// root of a tree.
    pub fn stems(
        self,
        params: &label_tree::Params,
        parts: impl Fn(&str) -> usize,
    ) -> impl Iterator<Item = String> {
        let tree = move |tree| {
            let root = self.root(tree);
            let parts = (0..parts(&root)).map(move |part| self.part(tree, part));
            [root].into_iter().chain(parts)
        };
        (0..params.trees).flat_map(tree).chain([self.features.to_owned()])
    }
}

/// The names of all units of a label forest, in the manifest's order,
pub(super) fn forest_stems(params: &label_forest::Params) -> impl Iterator<Item = String> {
    (0..params.submodels).map(submodel_stem).chain([FEATURES.to_owned()])
}

/// and of one-vs-rest.
pub(super) fn block_stems(labels: usize) -> impl Iterator<Item = String> {
    (0..labels.div_ceil(one_vs_rest::BLOCK)).map(block_stem).chain([FEATURES.to_owned()])
}

/// How many parts are below a root; none if it is not there.
pub(super) fn parts_below(units: &Units<'_>, root: &str) -> usize {
    let root = units.open(root).ok().flatten();
    root.and_then(|root| part_sizes(&root).ok()).map_or(0, |sizes| sizes.len())
}

/// How many labels each part below a root has.
pub(super) fn part_sizes(root: &Unit) -> Result<Vec<usize>, FormatError> {
    Ok(read_groups(root)?.iter().map(Vec::len).collect())
}

/// How the names of roots end.
const ROOT: &str = "-root";

/// The name of a part below a root of that name.
pub(super) fn part_below(root: &str, part: usize) -> String {
    format!("{}-part-{part:05}", root.strip_suffix(ROOT).unwrap_or(root))
}

fn submodel_stem(submodel: usize) -> String {
    format!("submodel-{submodel:04}")
}

/// Grows the parts of label trees that are not there yet and writes each as it is done.
pub(super) fn write_trees(
    trainer: &label_tree::Trainer,
    names: Names,
    units: &Units<'_>,
    run: &Task,
) -> Result<(), TrainError> {
    write_weights(names.features, trainer.feature_weights(), units)?;
    let mut total = trainer.params().trees;
    let grown = write_roots(trainer, names, units, run).and_then(|groups| {
        total += groups.iter().map(Vec::len).sum::<usize>();
        write_subtrees(trainer, names, units, &groups, total as u64, run)
    });
    grown.map_err(|stop| stop.into_error(units, names.tree, total, "parts"))
}

/// The same for the submodels of a label forest, each of them whole: there are many, and few labels
/// in each.
pub(super) fn write_forest(
    trainer: &label_forest::Trainer,
    units: &Units<'_>,
    run: &Task,
) -> Result<(), TrainError> {
    write_weights(FEATURES, trainer.feature_weights(), units)?;
    let total = trainer.params().submodels;
    let missing: Vec<usize> =
        (0..total).filter(|&number| units.lacks(&submodel_stem(number))).collect();
    let done = AtomicU64::new((total - missing.len()) as u64);
    run.progress("submodels", done.load(Ordering::Relaxed), total as u64);
    let grown = run.install(|| {
        missing.par_iter().with_max_len(1).try_for_each(|&number| -> Result<(), Stop> {
            let submodel = trainer.submodel(number, run)?;
            units.write(&submodel_stem(number), &arrays(&submodel.root))?;
            run.progress("submodels", done.fetch_add(1, Ordering::Relaxed) + 1, total as u64);
            Ok(())
        })
    });
    grown.map_err(|stop| stop.into_error(units, "submodel-", total, "submodels"))
}

pub(super) fn block_stem(block: usize) -> String {
    format!("block-{block:05}")
}

/// The same for the blocks of one-vs-rest, one after the other: each works on all threads.
pub(super) fn write_blocks(
    trainer: &one_vs_rest::Trainer,
    units: &Units<'_>,
    run: &Task,
) -> Result<(), TrainError> {
    write_weights(FEATURES, trainer.feature_weights(), units)?;
    let total = trainer.blocks();
    for block in 0..total {
        run.progress("parts", block as u64, total as u64);
        if !units.lacks(&block_stem(block)) {
            continue;
        }
        let nodes = trainer.block(block, run).map_err(|source| TrainError::Stopped {
            finished: units.count("block-"),
            total,
            units: "parts",
            source,
        })?;
        units.write(&block_stem(block), &arrays(&nodes))?;
    }
    run.progress("parts", total as u64, total as u64);
    Ok(())
}

/// The labels of each tree's subtrees, from its root, which is grown if it is to be; one after the
/// other, since each works on all threads. A root that is another's work has no subtrees yet.
fn write_roots(
    trainer: &label_tree::Trainer,
    names: Names,
    units: &Units<'_>,
    run: &Task,
) -> Result<Vec<Vec<Vec<u32>>>, Stop> {
    let total = trainer.params().trees;
    let root = |tree| {
        let stem = names.root(tree);
        let groups = match units.open(&stem)? {
            Some(unit) => read_groups(&unit).map_err(StoreError::from)?,
            None if !units.lacks(&stem) => Vec::new(),
            None => {
                let Root { nodes, groups } = trainer.root(tree, run)?;
                with_groups(&nodes, &groups, |arrays| units.write(&stem, arrays))?;
                groups
            }
        };
        run.progress("parts", tree as u64 + 1, total as u64);
        Ok(groups)
    };
    (0..total).map(root).collect()
}

fn write_subtrees(
    trainer: &label_tree::Trainer,
    names: Names,
    units: &Units<'_>,
    groups: &[Vec<Vec<u32>>],
    total: u64,
    run: &Task,
) -> Result<(), Stop> {
    let all = groups.iter().enumerate().flat_map(|(tree, groups)| {
        groups.iter().enumerate().map(move |(part, labels)| (tree, part, labels))
    });
    let is_missing =
        |&(tree, part, _): &(usize, usize, &Vec<u32>)| units.lacks(&names.part(tree, part));
    let missing: Vec<_> = all.filter(is_missing).collect();
    let labels: Vec<u32> = missing.iter().flat_map(|(.., labels)| labels.iter().copied()).collect();
    trainer.restrict_vectors_to(&labels);
    let done = AtomicU64::new(total - missing.len() as u64);
    run.progress("parts", done.load(Ordering::Relaxed), total);
    run.install(|| {
        missing.par_iter().with_max_len(1).try_for_each(|&(tree, part, labels)| {
            let nodes = trainer.subtree(tree, part, labels, run)?;
            units.write(&names.part(tree, part), &arrays(&nodes))?;
            run.progress("parts", done.fetch_add(1, Ordering::Relaxed) + 1, total);
            Ok(())
        })
    })
}

/// The arrays of a root and of the labels of the subtrees below it, for `write`.
pub(super) fn with_groups<T>(
    nodes: &Nodes,
    groups: &[Vec<u32>],
    write: impl FnOnce(&[(&str, ArrayRef<'_>)]) -> T,
) -> T {
    let mut starts = vec![0u64];
    starts.extend(groups.iter().scan(0, |end, group| {
        *end += group.len() as u64;
        Some(*end)
    }));
    let labels = groups.concat();
    let mut arrays = arrays(nodes);
    arrays.extend([("groups_start", starts[..].into()), ("groups", labels[..].into())]);
    write(&arrays)
}

/// The arrays of some nodes by their names.
pub(super) fn arrays(nodes: &Nodes) -> Vec<(&'static str, ArrayRef<'_>)> {
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

/// Reads label trees back, or some of them.
pub(super) fn read_trees(
    stored: &Stored,
    names: Names,
    params: label_tree::Params,
    numbers: Range<usize>,
) -> Result<LabelTrees, FormatError> {
    let (weights, features) = read_weights(stored, names.features)?;
    let labels = stored.manifest().labels as usize;
    let sizes = Sizes { labels, features, precision: params.precision };
    let tree = |tree| read_tree(stored, names, tree, sizes);
    let trees = numbers.map(tree).collect::<Result<_, _>>()?;
    Ok(LabelTrees { params, weights, features, labels, trees })
}

/// Reads a label forest back, or some of its submodels.
pub(super) fn read_forest(
    stored: &Stored,
    params: label_forest::Params,
    numbers: Range<usize>,
) -> Result<LabelForest, FormatError> {
    let (weights, features) = read_weights(stored, FEATURES)?;
    let labels = stored.manifest().labels as usize;
    let sizes = Sizes { labels, features, precision: params.tree.precision };
    let submodel = |number| {
        let root = read_nodes(stored.unit(&submodel_stem(number))?, sizes, None)?;
        Ok(Tree { root, subtrees: Vec::new() })
    };
    let submodels = numbers.into_par_iter().map(submodel).collect::<Result<_, _>>()?;
    Ok(LabelForest::new(params, weights, features, labels, submodels))
}

/// Reads the classifiers of one-vs-rest back, or some of their blocks.
pub(super) fn read_blocks(
    stored: &Stored,
    params: one_vs_rest::Params,
    numbers: Range<usize>,
) -> Result<OneVsRest, FormatError> {
    let (weights, features) = read_weights(stored, FEATURES)?;
    let labels = stored.manifest().labels as usize;
    let sizes = Sizes { labels, features, precision: params.precision };
    let block = |block| {
        let unit = stored.unit(&block_stem(block))?;
        let nodes = read_nodes(unit, sizes, Some(0))?;
        if nodes.len() != 1 {
            return Err(unit.refused("a block is one node"));
        }
        // Each of the labels once: a prediction would name it as often.
        let own = block_labels(block, labels);
        let mut seen = vec![false; own.len()];
        let is_new = |child| match child {
            Child::Label(label) if own.contains(&label) => {
                !std::mem::replace(&mut seen[(label - own.start) as usize], true)
            }
            _ => false,
        };
        let fits = nodes.children_of(0).all(is_new);
        let twice = || unit.refused("it has a label twice, or one of another block");
        if fits { Ok(nodes) } else { Err(twice()) }
    };
    let blocks = numbers.into_par_iter().map(block).collect::<Result<_, _>>()?;
    Ok(OneVsRest { params, weights, features, labels, blocks })
}

fn read_tree(
    stored: &Stored,
    names: Names,
    tree: usize,
    sizes: Sizes,
) -> Result<Tree, FormatError> {
    let unit = stored.unit(&names.root(tree))?;
    let parts = unit.array::<u64>("groups_start")?.len().saturating_sub(1);
    let root = read_nodes(unit, sizes, Some(parts))?;
    let part = |part| read_nodes(stored.unit(&names.part(tree, part))?, sizes, None);
    let subtrees = (0..parts).into_par_iter().map(part).collect::<Result<_, _>>()?;
    if root.len() == 1 {
        Ok(Tree { root, subtrees })
    } else {
        Err(unit.refused("a root is one node"))
    }
}

/// Whether a unit of this name holds nodes.
pub(super) fn holds_nodes(stem: &str) -> bool {
    ["tree-", "label-tree-", "submodel-", "block-"].iter().any(|name| stem.starts_with(name))
}

/// Writes the unit of some nodes again as `change` leaves them; the groups of a root stay.
pub(super) fn rewrite(
    unit: &Unit,
    stem: &str,
    sizes: Sizes,
    change: impl Fn(Nodes) -> Nodes,
    partial: &Partial,
) -> Result<UnitFile, StoreError> {
    let is_root = unit.names().iter().any(|name| name == "groups_start");
    let groups = if is_root { Some(read_groups(unit)?) } else { None };
    let parts = match &groups {
        Some(groups) => Some(groups.len()),
        None => stem.starts_with("block-").then_some(0),
    };
    let nodes = change(read_nodes(unit, sizes, parts)?);
    match groups {
        Some(groups) => with_groups(&nodes, &groups, |arrays| partial.write_unit(stem, arrays)),
        None => partial.write_unit(stem, &arrays(&nodes)),
    }
}

/// What the manifest says about all nodes of a model.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub labels: usize,
    pub features: usize,
    pub precision: Precision,
}

/// Reads nodes; `parts` is how many parts of the tree their children name, if they name parts.
fn read_nodes(unit: &Unit, sizes: Sizes, parts: Option<usize>) -> Result<Nodes, FormatError> {
    let Sizes { labels, features, precision } = sizes;
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
        feature_indexes: OnDemand::default(),
    };
    let within = Limits { labels, features, subtrees: parts };
    nodes.check(within).map_err(|reason| unit.refused(reason))?;
    Ok(nodes)
}
