//! What the tests of linear models share: nodes given as lists, small rows, a plain score.

use crate::base::array::{LazyPerNode, Numbers};
use crate::base::sparse::{Csr, LabelRows};
use crate::data::DatasetView;
use crate::learn::linear::nodes::{Child, Limits, Nodes, Values};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

impl Limits {
    /// Any labels and features, and this number of subtrees.
    pub(crate) fn none(subtrees: Option<usize>) -> Self {
        Limits { labels: usize::MAX, features: usize::MAX, subtrees }
    }
}

impl Nodes {
    /// The weights of a label as (feature, weight), largest first; none if the label is not here.
    pub(crate) fn weights_of(&self, label: u32) -> Vec<(u32, f32)> {
        let mut found = Vec::new();
        for node in 0..self.len() {
            let children = self.children(node);
            let owner = children.clone().position(|at| self.child(at) == Child::Label(label));
            let Some(owner) = owner else { continue };
            for (feature, weights) in self.weights_by_feature(node) {
                for weight in weights {
                    if self.owners.get(weight) as usize == owner {
                        found.push((feature, self.values.get(weight)));
                    }
                }
            }
        }
        found.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
        found
    }
}

/// A node: its children with their biases, and weights as (feature, child, weight).
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeSpec {
    pub children: Vec<(Child, f32)>,
    pub weights: Vec<(u32, u32, f32)>,
}

/// Nodes made from lists, with weights in single precision.
pub(crate) fn nodes(specs: &[NodeSpec]) -> Nodes {
    let (mut children_start, mut features_start, mut weights_start) = (vec![0], vec![0], vec![0]);
    let (mut children, mut biases, mut features) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ends, mut owners, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for node in specs {
        for &(child, bias) in &node.children {
            children.push(child.pack());
            biases.push(bias);
        }
        let mut weights = node.weights.clone();
        weights.sort_by_key(|&(feature, child, _)| (feature, child));
        let first = owners.len();
        for of_feature in weights.chunk_by(|left, right| left.0 == right.0) {
            owners.extend(of_feature.iter().map(|weight| weight.1));
            values.extend(of_feature.iter().map(|weight| weight.2));
            features.push(of_feature[0].0);
            ends.push((owners.len() - first) as u32);
        }
        children_start.push(children.len() as u32);
        features_start.push(features.len() as u64);
        weights_start.push(owners.len() as u64);
    }
    Nodes {
        children_start: children_start.into(),
        children: children.into(),
        biases: biases.into(),
        features_start: features_start.into(),
        features: features.into(),
        weights_start: weights_start.into(),
        ends: ends.into(),
        owners: Numbers::from(owners),
        values: Values::Single(values.into()),
        feature_indexes: LazyPerNode::default(),
    }
}

/// Features and labels as a view without names.
pub(crate) fn view<'a>(features: &'a Csr, labels: &'a LabelRows) -> DatasetView<'a> {
    DatasetView { features: features.view(), labels: labels.view(), label_names: None, named: None }
}

/// The margins of a node's children for a row, by a plain sum.
pub(crate) fn margins(nodes: &Nodes, node: usize, columns: &[u32], factors: &[f32]) -> Vec<f32> {
    let mut margins = nodes.biases[nodes.children(node)].to_vec();
    let (first, last) = (nodes.features_start[node] as usize, nodes.features_start[node + 1]);
    for (&column, &factor) in columns.iter().zip(factors) {
        let mut start = 0;
        for at in first..last as usize {
            let end = nodes.ends[at];
            if nodes.features[at] == column {
                for weight in start..end {
                    let weight = nodes.weights_start[node] as usize + weight as usize;
                    margins[nodes.owners.get(weight) as usize] += factor * nodes.values.get(weight);
                }
            }
            start = end;
        }
    }
    margins
}

/// Up to `rows` rows of 8 features and 12 labels. Rows may lack features or labels, and labels rows.
pub(crate) fn small_rows(rows: usize) -> impl Strategy<Value = (Csr, LabelRows)> {
    let features = prop::collection::btree_map(0u32..8, 0.1f32..2.0, 0..5);
    let labels = prop::collection::btree_set(0u32..12, 0..4);
    prop::collection::vec((features, labels), 1..rows).prop_map(|rows| collect(&rows))
}

/// Rows of 8 features and 12 labels as matrices.
pub(crate) fn collect(rows: &[(BTreeMap<u32, f32>, BTreeSet<u32>)]) -> (Csr, LabelRows) {
    let (mut features, mut labels) = (Csr::new(8), LabelRows::new(12));
    for (row, of_row) in rows {
        let (columns, values): (Vec<u32>, Vec<f32>) = row.iter().unzip();
        features.push_row(&columns, &values).unwrap();
        let of_row: Vec<u32> = of_row.iter().copied().collect();
        labels.push_row(&of_row, &vec![(); of_row.len()]).unwrap();
    }
    (features, labels)
}

/// Rows with one feature and one label of the same number.
pub(crate) fn one_hot_rows(rows: u32, labels: u32) -> (Csr, LabelRows) {
    let mut features = Csr::new(labels as usize);
    let mut label_rows = LabelRows::new(labels as usize);
    for row in 0..rows {
        features.push_row(&[row % labels], &[1.0]).unwrap();
        label_rows.push_row(&[row % labels], &[()]).unwrap();
    }
    (features, label_rows)
}
