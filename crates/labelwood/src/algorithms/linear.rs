//! What algorithms of linear classifiers share in writing, opening, shrinking and explaining their units.

use super::explain::{Contribution, Step};
use super::{Interrupted, Shrink, Shrunk, StoredAs, WriteUnit, weights};
use crate::base::run::{Stage, Task};
use crate::base::store::{ArrayRef, FormatError, StoreError, Stored};
use crate::learn::linear::stored::{Sizes, arrays, read_nodes};
use crate::learn::linear::{Nodes, Precision, RowAtNode, Scorer};
use crate::learn::weighting::FeatureWeights;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes the missing of so many units, several at a time, and counts those that are there.
pub(super) fn write_each<U: Sync>(
    missing: &[U],
    (total, noun): (usize, &'static str),
    task: &Task,
    write: impl Fn(&U) -> Result<(), Interrupted> + Sync,
) -> Result<(), Interrupted> {
    let done = AtomicU64::new((total - missing.len()) as u64);
    let report = |done| task.progress(Stage::Units(noun), done, total as u64);
    report(done.load(Ordering::Relaxed));
    task.install(|| {
        missing.par_iter().with_max_len(1).try_for_each(|unit| {
            write(unit)?;
            report(done.fetch_add(1, Ordering::Relaxed) + 1);
            Ok(())
        })
    })
}

/// The weights of the features, and what the manifest says about all nodes.
pub(super) fn sizes(
    stored: &Stored,
    precision: Precision,
) -> Result<(FeatureWeights, Sizes), FormatError> {
    let (weights, features) = weights::read(stored)?;
    Ok((weights, Sizes { labels: stored.manifest().labels as usize, features, precision }))
}

/// The threshold and the precision of weights after shrinking; nothing if weights are not stored so.
pub(super) fn shrunk(
    how: Shrink,
    threshold: f32,
    precision: Precision,
) -> Option<(f32, Precision)> {
    let precision = match how.values {
        None => precision,
        Some(StoredAs::F16) => Precision::Half,
        Some(StoredAs::F32) => Precision::Single,
        Some(StoredAs::U8) => return None,
    };
    Some((threshold.max(how.prune.unwrap_or(0.0)), precision))
}

/// Writes a unit of nodes with fewer or smaller weights; arrays that are not of the nodes stay.
pub(super) fn shrink_unit(
    how: Shrink,
    precision: Precision,
    stored: &Stored,
    name: &str,
    subtrees: Option<usize>,
    write: &WriteUnit<'_>,
) -> Result<Option<Shrunk>, StoreError> {
    let Some((_, smaller)) = shrunk(how, 0.0, precision) else { return Ok(None) };
    let (unit, manifest) = (stored.unit(name)?, stored.manifest());
    let (labels, features) = (manifest.labels as usize, manifest.features as usize);
    let nodes = read_nodes(unit, Sizes { labels, features, precision }, subtrees)?;
    let shrunk = nodes.shrunk(how.prune.unwrap_or(0.0), smaller);
    let [before, after] = [&nodes, &shrunk].map(|nodes| nodes.figures().weights);
    let largest = if after == 0 { nodes.largest_weight() } else { 0.0 };
    let (starts, groups);
    let mut all: Vec<(&str, ArrayRef<'_>)> = arrays(&shrunk);
    if unit.names().iter().any(|name| name == "groups_start") {
        (starts, groups) = (unit.array::<u64>("groups_start")?, unit.array::<u32>("groups")?);
        all.extend([("groups_start", starts[..].into()), ("groups", groups[..].into())]);
    }
    let file = write(&all)?;
    Ok(Some(Shrunk { file, what: "weights", before, after, largest }))
}

/// What the classifier of a node's child says of a row, which makes a margin a probability by `link`. Its tree, level and number of labels are 0.
pub(super) fn step(
    (nodes, node, child): (&Nodes, usize, usize),
    row: (&[u32], &[f32]),
    scorer: &mut Scorer,
    link: impl Fn(f32) -> f32,
) -> Step {
    let (mut margin, mut children) = (0.0, 0);
    scorer.score(
        &[()],
        |()| RowAtNode { nodes, node, row },
        |(), margins| {
            (margin, children) = (margins.get(child).copied().unwrap_or(0.0), margins.len());
        },
    );
    let (bias, terms) = nodes.contributions(node, child, row);
    let terms = terms.into_iter().map(|(feature, it)| Contribution::new(feature, it)).collect();
    Step {
        tree: 0,
        level: 0,
        labels: 0,
        children,
        margin,
        bias,
        log_probability: link(margin),
        terms,
        rest: None,
    }
}

impl Step {
    /// The same step at a place of a tree, where it leads to so many labels.
    pub(super) fn at(self, tree: usize, level: usize, labels: usize) -> Self {
        Step { tree, level, labels, ..self }
    }
}
