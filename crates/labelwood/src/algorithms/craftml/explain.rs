//! What the leaves of a forest say for a label, and the features that led a row there.
//!
//! At a node, a row's nearness to a child is a sum over its features, so each feature brings the row nearer to
//! the child it follows than to all children in the mean by a known amount. Divided by how far the children
//! lie apart, as routing does, these amounts are comparable from node to node. They are added up along the way
//! to each leaf, and over the leaves by what each votes for the label.

use super::grow::FEATURE_PROJECTION;
use super::node_index::{self, BatchSize};
use super::params::Projection;
use super::project::Projector;
use super::tree::{Child, Tree};
use super::values::add_products;
use super::vote::{ReachedLeaf, reached_leaves};
use super::{Forest, tree_seed};
use crate::algorithms::explain::{Evidence, Fact, LabelCount, Leaf, NamedLabel, Reasons, Sums};
use crate::base::random::derive;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, Entries, OwnedEntries, Query, Votes};
use crate::learn::cluster::lanes::Lanes;
use std::collections::HashMap;

/// How many other labels of a leaf are named.
const OTHERS: usize = 3;

/// A leaf that the row comes to, with the labels there and what led there once that was asked for.
struct Reached {
    tree: usize,
    leaf: ReachedLeaf,
    labels: Vec<(u32, u32)>,
}

/// A node on the way to a leaf, the position of the child that leads on, and the node's seed.
type Passed = (usize, usize, u64);

/// How many nodes led to a leaf, and what each feature did.
type Way = (usize, Vec<(u32, f64)>);
/// The ways to leaves, by their trees and numbers.
type Ways = HashMap<(usize, u32), Way>;

impl Forest {
    /// The reasons of each label for a row, the only one; `part` is the algorithm that the forest is of.
    pub(in crate::algorithms) fn reasons(
        &self,
        part: &'static str,
        features: CsrView<'_>,
        labels: &[u32],
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Reasons>, Stopped> {
        let rows = self.weights.apply(features, self.features);
        let reached = task.install(|| reached_leaves(self, features, query, task))?;
        let leaves = reached.iter().enumerate().flat_map(|(tree, reached)| {
            let of_row = reached.of_row(0).iter();
            of_row.map(move |&leaf| Reached {
                tree,
                leaf,
                labels: self.trees[tree].leaf(leaf.leaf as usize).collect(),
            })
        });
        let leaves: Vec<Reached> = leaves.collect();
        let mut ways = Ways::new();
        let mut reasons = Vec::with_capacity(labels.len());
        for &label in labels {
            task.check()?;
            reasons.push(self.reasons_of((part, label), rows.view(), &leaves, &mut ways));
        }
        Ok(reasons)
    }

    fn reasons_of(
        &self,
        (part, label): (&'static str, u32),
        row: Entries<'_>,
        reached: &[Reached],
        ways: &mut Ways,
    ) -> Reasons {
        let (mut leaves, mut votes) = (Vec::new(), Vec::new());
        for at in reached {
            let rows = self.trees[at.tree].leaf_instances.get(at.leaf.leaf as usize);
            let having = at.labels.iter().find(|own| own.0 == label).map_or(0, |own| own.1);
            if having == 0 {
                continue;
            }
            let each = Votes::units(f64::from(at.leaf.weight) / f64::from(rows));
            votes.push((label, each.wrapping_mul(u64::from(having))));
            leaves.push((at, rows, having));
        }
        let best = Votes::best_of(self.labels, &votes, 1, |_| self.params.trees);
        let Some(best) = best.first() else { return Reasons::none(part) };
        let all: f64 = votes.iter().map(|vote| vote.1 as f64).sum();
        let (mut sums, mut found) = (Sums::default(), Vec::new());
        for ((at, rows, having), (_, units)) in leaves.into_iter().zip(votes) {
            let key = (at.tree, at.leaf.leaf);
            let (depth, way) = ways.entry(key).or_insert_with(|| self.way(at, row));
            way.iter().for_each(|&(feature, it)| sums.add(feature, units as f64 / all * it));
            let labels = others(&at.labels, label);
            let (tree, weight) = (self.first + at.tree, at.leaf.weight);
            found.push((units, Leaf { tree, depth: *depth, weight, rows, having, labels }));
        }
        // The sort is stable: equal votes stay in the order of the trees.
        found.sort_by_key(|&(units, _)| std::cmp::Reverse(units));
        let leaves: Vec<Leaf> = found.into_iter().map(|(_, leaf)| leaf).collect();
        let mut trees: Vec<usize> = leaves.iter().map(|leaf| leaf.tree).collect();
        trees.sort_unstable();
        trees.dedup();
        let (trees, voting) = (self.params.trees, trees.len());
        let how = vec![
            Fact::new(format!("{part}: trees that vote for the label, of {trees}"), voting as f64),
            Fact::new(
                format!("{part}: mean share of the rows in its leaves that have it"),
                best.score,
            ),
        ];
        let evidence = Evidence::Forest { trees, voting, leaves };
        Reasons { terms: sums.finish(), how, ..Reasons::new(part, best.score, evidence) }
    }

    /// How many nodes there are on the way to a leaf, and what each feature did to lead there.
    fn way(&self, at: &Reached, row: Entries<'_>) -> Way {
        let (tree, number) = (&self.trees[at.tree], self.first + at.tree);
        let path = tree.path_to(at.leaf.leaf, tree_seed(&self.params, number)).unwrap_or_default();
        let projector = Projector::of_features(&self.params, self.features);
        let nodes_differ = self.params.diversity.features_differ();
        let project = |seed| Projected::new(&projector, row, derive(seed, FEATURE_PROJECTION));
        let mut shared = None;
        let mut sums: HashMap<u32, f64> = HashMap::new();
        for &(node, child, seed) in &path {
            let seed = if nodes_differ { seed } else { tree_seed(&self.params, number) };
            let projected = match &shared {
                Some(known) if !nodes_differ => known,
                _ => shared.insert(project(seed)),
            };
            for (dimension, pull) in tree.pulls(node, child, projected.entries.view()) {
                for &(feature, share) in projected.origins.get(&dimension).into_iter().flatten() {
                    *sums.entry(feature).or_default() += pull * share;
                }
            }
        }
        let mut way: Vec<(u32, f64)> = sums.into_iter().collect();
        way.sort_unstable_by_key(|&(feature, _)| feature);
        (path.len(), way)
    }
}

/// A row as a tree reads it.
struct Projected {
    entries: OwnedEntries,
    /// The features that make up each dimension, with the share of each in its value.
    origins: HashMap<u32, Vec<(u32, f64)>>,
}

impl Projected {
    fn new(projector: &Projector, row: Entries<'_>, seed: u64) -> Self {
        let entries = projector.project(row, 0..1, seed);
        let (columns, values) = row.row(0);
        let mut origins: HashMap<u32, Vec<(u32, f64)>> = HashMap::new();
        match projector.kind {
            // Each dimension is made of all features: none can be told to have led anywhere.
            Projection::Gaussian => {}
            Projection::None | Projection::Auto => {
                columns.iter().for_each(|&column| {
                    origins.insert(column, vec![(column, 1.0)]);
                });
            }
            Projection::Hashing => {
                let mut alone = OwnedEntries::with_capacity(columns.len(), columns.len());
                for &column in columns {
                    alone.columns.push(column);
                    alone.values.push(1.0);
                    alone.end_row();
                }
                let alone = projector.project(alone.view(), 0..columns.len() as u32, seed);
                for (at, (&column, &value)) in columns.iter().zip(values).enumerate() {
                    if let ([dimension], [sign]) = alone.view().row(at as u32) {
                        let signed = f64::from(*sign) * f64::from(value);
                        origins.entry(*dimension).or_default().push((column, signed));
                    }
                }
                for features in origins.values_mut() {
                    let sum: f64 = features.iter().map(|&(_, value)| value).sum();
                    features.iter_mut().for_each(|(_, value)| *value /= sum);
                    features.retain(|(_, share)| share.is_finite());
                }
            }
        }
        Projected { entries, origins }
    }
}

impl Tree {
    /// The nodes from the root on to a leaf. Nodes and leaves are numbered in preorder, so the leaves below a
    /// child start where those of the child before it end.
    fn path_to(&self, leaf: u32, seed: u64) -> Option<Vec<Passed>> {
        let (mut path, mut at, mut seed) = (Vec::new(), self.root(), seed);
        loop {
            match at {
                Child::Leaf(found) => return (found == leaf).then_some(path),
                Child::Node(node) => {
                    let node = node as usize;
                    let range = self.child_range(node);
                    let first = range.start;
                    let below = |at: &usize| self.first_leaf(self.child(node, *at)) <= leaf;
                    let next = range.rev().find(below)?;
                    path.push((node, next - first, seed));
                    seed = derive(seed, (next - first) as u64);
                    at = self.child(node, next);
                }
            }
        }
    }

    /// The first leaf below a child; children come after their node, so that this ends.
    fn first_leaf(&self, mut at: Child) -> u32 {
        while let Child::Node(node) = at {
            at = self.child(node as usize, self.child_range(node as usize).start);
        }
        match at {
            Child::Leaf(leaf) | Child::Node(leaf) => leaf,
        }
    }

    /// By how much each entry of a row brings it nearer to a child than to all children of the node in the mean,
    /// in standard deviations of the nearness to the children.
    fn pulls(&self, node: usize, child: usize, row: Entries<'_>) -> Vec<(u32, f64)> {
        let children = self.child_range(node);
        let (count, nearness) = (children.len(), self.nearness(children));
        let (columns, values) = row.row(0);
        let (mut pulls, mut sum, mut hits) = (Vec::new(), Lanes::ZERO, Vec::new());
        for (&column, &value) in columns.iter().zip(values) {
            hits.clear();
            node_index::find(self, node, (&[column], &[value]), BatchSize::Small, &mut hits);
            let mut near = Lanes::ZERO;
            let stored = self.values_of(node);
            hits.iter().for_each(|&hit| add_products(&mut near, hit, stored, self.precision));
            near.scale(&nearness.scales);
            let lanes = near.0[..count].iter().map(|&lane| f64::from(lane));
            let mean = lanes.sum::<f64>() / count as f64;
            if let Some(&own) = near.0[..count].get(child) {
                pulls.push((column, f64::from(own) - mean));
            }
            (0..count).for_each(|lane| sum.0[lane] += near.0[lane]);
        }
        if let Some(biases) = &nearness.biases {
            (0..count).for_each(|lane| sum.0[lane] += biases.0[lane]);
        }
        let lanes = || sum.0[..count].iter().map(|&lane| f64::from(lane));
        let mean = lanes().sum::<f64>() / count as f64;
        let variance =
            lanes().map(|lane| (lane - mean) * (lane - mean)).sum::<f64>() / count as f64;
        if variance <= 0.0 {
            return Vec::new();
        }
        let spread = variance.sqrt();
        pulls.iter_mut().for_each(|(_, pull)| *pull /= spread);
        pulls
    }
}

/// The labels that most rows of a leaf have, besides one.
fn others(labels: &[(u32, u32)], label: u32) -> Vec<LabelCount> {
    let mut others: Vec<(u32, u32)> = labels.iter().copied().filter(|own| own.0 != label).collect();
    others.sort_by_key(|&(id, rows)| (std::cmp::Reverse(rows), id));
    others.truncate(OTHERS);
    let named = |(id, rows)| LabelCount { label: NamedLabel::unnamed(id), rows };
    others.into_iter().map(named).collect()
}
