//! Which units a model consists of, by their names.

use super::{Algorithm, FEATURES, calibrate, craftml, grove, labels, linear, rows, text};
use crate::base::store::{FormatError, Unit};

/// The names of all units that a model may have, in the manifest's order. `parts` says how many
/// parts are below a root of that name. Some models have no weights of features, no calibration, no
/// text or no rows.
pub(crate) fn all(
    algorithm: &Algorithm,
    labels: usize,
    parts: impl Fn(&str) -> usize,
) -> Vec<String> {
    let mut stems: Vec<String> = match algorithm {
        Algorithm::CraftMl(params) => craftml::stems(params).collect(),
        Algorithm::LabelTree(params) => linear::TREES.stems(params, parts).collect(),
        Algorithm::OneVsRest(_) => linear::block_stems(labels).collect(),
        Algorithm::LabelForest(params) => linear::forest_stems(params).collect(),
        Algorithm::Grove(params) => grove::stems(params, parts).collect(),
    };
    let others = [calibrate::UNIT, labels::STEM, text::TEXT, text::LABEL_TERMS];
    stems.extend(others.map(str::to_owned));
    stems.push(rows::stem(0));
    stems
}

/// The units that need no other, in the manifest's order, without those that [`is_common`].
pub(crate) fn first_stage(algorithm: &Algorithm, labels: usize, calibrate: bool) -> Vec<String> {
    let mut stems = all(algorithm, labels, |_| 0);
    stems.retain(|stem| !is_common(stem) && (calibrate || stem != calibrate::UNIT));
    stems
}

/// Whether a unit is small, and made as soon as the rows are read.
pub(crate) fn is_common(stem: &str) -> bool {
    let common = [FEATURES, linear::GROVE.features(), labels::STEM, text::TEXT, text::LABEL_TERMS];
    common.contains(&stem) || stem == rows::stem(0)
}

/// The roots of label trees, which the second stage needs.
pub(crate) fn roots(algorithm: &Algorithm) -> Vec<String> {
    match algorithm {
        Algorithm::LabelTree(params) => linear::TREES.roots(params).collect(),
        Algorithm::Grove(params) => linear::GROVE.roots(&params.label_tree).collect(),
        Algorithm::CraftMl(_) | Algorithm::OneVsRest(_) | Algorithm::LabelForest(_) => Vec::new(),
    }
}

/// How many labels each part below a root has.
pub(crate) fn part_sizes(root: &Unit) -> Result<Vec<usize>, FormatError> {
    linear::part_sizes(root)
}

/// The name of a part below the root of the given name.
pub(crate) fn part(root: &str, part: usize) -> String {
    linear::part_below(root, part)
}
