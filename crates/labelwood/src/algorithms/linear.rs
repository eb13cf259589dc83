//! What algorithms of linear classifiers share in making their units smaller.

use super::{Shrink, Shrunk, StoredAs, WriteUnit};
use crate::base::store::{ArrayRef, StoreError, Stored};
use crate::learn::linear::Precision;
use crate::learn::linear::stored::{Sizes, arrays, read_nodes};

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
