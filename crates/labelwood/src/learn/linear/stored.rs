//! Nodes of linear classifiers as the arrays of a unit.

use super::{Limits, Nodes, Precision, Values};
use crate::base::array::LazyPerNode;
use crate::base::store::{ArrayRef, FormatError, Unit};

/// What a manifest says about all nodes of a model.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub labels: usize,
    pub features: usize,
    pub precision: Precision,
}

/// The arrays of some nodes by their names.
pub(crate) fn arrays(nodes: &Nodes) -> Vec<(&'static str, ArrayRef<'_>)> {
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

/// Reads nodes; `subtrees` is how many subtrees their children lead to, if they lead to such.
pub(crate) fn read_nodes(
    unit: &Unit,
    sizes: Sizes,
    subtrees: Option<usize>,
) -> Result<Nodes, FormatError> {
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
        feature_indexes: LazyPerNode::default(),
    };
    let limits = Limits { labels, features, subtrees };
    if !unit.is_own() {
        nodes.check(limits).map_err(|reason| unit.refused(reason))?;
    }
    Ok(nodes)
}
