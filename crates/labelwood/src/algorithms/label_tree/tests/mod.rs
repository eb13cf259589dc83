//! Tests of growth, prediction and updates, and what they share.

mod growth;
mod prediction;
mod update;

use super::{LabelTrees, Params, Trainer, Tree, VOTES};
use crate::algorithms::{Algorithm, Predict};
use crate::base::random::derive;
use crate::base::run::{Pool, Stopped, Task};
use crate::base::sparse::{Csr, LabelRows};
use crate::learn::linear::testing::view;
use crate::learn::linear::{Child, Nodes};
use proptest::prelude::*;

/// Settings of small trees of every shape.
fn params() -> impl Strategy<Value = Params> {
    let shape = (1usize..6, any::<bool>(), 0usize..4, 1usize..4, 1usize..5, 1usize..4);
    let tail_weight = prop::sample::select(vec![None, Some(1.0)]);
    (shape, 1usize..3, tail_weight, any::<bool>(), 0u64..5).prop_map(
        |(
            (branches, balanced, collapse, leaf, depth, smallest_group),
            trees,
            tail_weight,
            leaf_beam,
            seed,
        )| Params {
            trees,
            branches: Some(branches),
            balanced,
            collapse,
            leaf: Some(leaf),
            depth,
            smallest_group,
            tail_weight,
            leaf_beam,
            seed,
            ..Params::default()
        },
    )
}

fn grown(features: &Csr, labels: &LabelRows, params: &Params, threads: usize) -> LabelTrees {
    all_trees(
        &trainer(features, labels, params),
        features.columns(),
        &Pool::new(threads).unwrap().task(),
    )
    .unwrap()
}

fn trainer(features: &Csr, labels: &LabelRows, params: &Params) -> Trainer {
    Trainer::new(view(features, labels), params.resolve(features.view(), labels.view()))
}

/// All trees of rows with so many features.
fn all_trees(trainer: &Trainer, features: usize, task: &Task) -> Result<LabelTrees, Stopped> {
    let tree = |tree| {
        let root = trainer.root(tree, task)?;
        trainer.grower(task).tree(root, derive(trainer.params.seed, tree as u64))
    };
    Ok(LabelTrees {
        params: trainer.params.clone(),
        weights: trainer.training.weights.clone(),
        features,
        labels: trainer.training.label_count(),
        trees: (0..trainer.params.trees).map(tree).collect::<Result<_, _>>()?,
        votes: VOTES,
    })
}

/// The root and the subtrees of a tree.
fn root_and_subtrees(tree: &Tree) -> impl Iterator<Item = &Nodes> {
    tree.subtrees.iter().chain([&tree.root])
}

/// The labels that a tree leads to, in increasing order.
fn labels_of(tree: &Tree) -> Vec<u32> {
    let children = root_and_subtrees(tree).flat_map(|nodes| {
        let all = (0..nodes.len()).flat_map(|node| nodes.children(node));
        all.map(|at| nodes.child(at))
    });
    let label = |child| match child {
        Child::Label(label) => Some(label),
        Child::Node(_) => None,
    };
    let mut labels: Vec<u32> = children.filter_map(label).collect();
    labels.sort_unstable();
    labels
}
