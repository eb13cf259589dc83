//! A reference router, which takes one row at a time and dense centroids, compared with the real one.

use super::super::grow::FEATURE_PROJECTION;
use super::super::project::Projector;
use super::super::shares::ROUNDING;
use super::super::tree::Child;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The centroids of a node as dense vectors, one for each child, decoded from the stored arrays.
fn centroids(tree: &Tree, node: usize, dimensions: usize) -> Vec<Vec<f32>> {
    let children = tree.child_range(node).len();
    let mut dense = vec![vec![0.0; dimensions]; children];
    let words = &tree.words[tree.words_start[node] as usize..tree.words_start[node + 1] as usize];
    let mut value_at = tree.values_start[node] as usize;
    let (mut at, mut next) = (0, 0u32);
    while at < words.len() {
        let word = u32::from(words[at]);
        let child_bits = word & ((1 << tree.branches) - 1);
        let mut gap = word >> tree.branches;
        at += 1;
        if gap == 0 {
            gap = u32::from(words[at]);
            at += 1;
        }
        if gap == 0 {
            gap = u32::from(words[at]) | u32::from(words[at + 1]) << 16;
            at += 2;
        }
        next += gap;
        for (child, centroid) in dense.iter_mut().enumerate() {
            if child_bits >> child & 1 == 1 {
                let bytes = &tree.values[value_at..];
                centroid[next as usize - 1] = match tree.precision {
                    Precision::Byte => f32::from(bytes[0] as i8),
                    Precision::Half => half::f16::from_le_bytes([bytes[0], bytes[1]]).to_f32(),
                };
                value_at += tree.precision.bytes();
            }
        }
    }
    assert_eq!(value_at as u64, tree.values_start[node + 1]);
    dense
}

/// Whether two numbers are so close that adding in another order may change which is larger.
fn is_close_call(left: f32, right: f32) -> bool {
    (left - right).abs() <= 1e-4 * left.abs().max(right.abs())
}

/// The children that a row follows, with their shares of its weight; `None` on a close call (see
/// [`is_close_call`]).
fn shares(near: &[f32], beam: usize) -> Option<Vec<(usize, f32)>> {
    let count = near.len() as f32;
    let best = (0..near.len()).rev().max_by(|&l, &r| near[l].total_cmp(&near[r])).unwrap();
    let mean = near.iter().sum::<f32>() / count;
    let deviation = (near.iter().map(|n| (n - mean) * (n - mean)).sum::<f32>() / count).sqrt();
    let differ = deviation * deviation > ROUNDING * mean * mean;
    if beam == 1 || !differ {
        return Some(vec![(best, 1.0)]);
    }
    let exponents = near.iter().map(|near_j| 3.0 / deviation * (near_j - near[best]));
    if exponents.clone().any(|exponent| is_close_call(exponent, -2.5)) {
        return None;
    }
    let weight = |near_j: f32| {
        let exponent = 3.0 / deviation * (near_j - near[best]);
        // Children further away are not followed and do not count in the total.
        if exponent > -2.5 { libm::expf(exponent) } else { 0.0 }
    };
    let total: f32 = near.iter().map(|&near| weight(near)).sum();
    if near.iter().any(|&near| is_close_call(weight(near), 0.1 * total)) {
        return None;
    }
    let followed: Vec<(usize, f32)> = near
        .iter()
        .enumerate()
        .map(|(child, &near)| (child, weight(near)))
        .filter(|&(child, weight)| child == best || weight > 0.0 && weight >= 0.1 * total)
        .collect();
    let kept: f32 = followed.iter().map(|followed| followed.1).sum();
    Some(followed.into_iter().map(|(child, weight)| (child, weight / kept)).collect())
}

/// The end of a path: a node with its seed, or a leaf.
#[derive(Clone, Copy)]
enum Place {
    Node(u32, u64),
    Leaf(u32),
}

impl Place {
    fn new(child: Child, seed: u64) -> Self {
        match child {
            Child::Node(node) => Place::Node(node, seed),
            Child::Leaf(leaf) => Place::Leaf(leaf),
        }
    }

    /// Decides between paths of equal weight.
    fn rank(&self) -> (bool, u32) {
        match *self {
            Place::Node(node, _) => (false, node),
            Place::Leaf(leaf) => (true, leaf),
        }
    }
}

/// The leaves of a tree that a row reaches, and with what weight; `None` on a close call.
pub(super) fn walk(
    forest: &Forest,
    number: usize,
    row: &OwnedEntries,
    beam: usize,
) -> Option<Vec<(u32, f32)>> {
    let (params, tree) = (&forest.params, &forest.trees[number]);
    let projector = Projector::of_features(params, forest.features);
    let root = tree_seed(params, number);
    let mut paths = vec![(Place::new(tree.root(), root), 1.0f32)];
    while paths.iter().any(|(place, _)| matches!(place, Place::Node(..))) {
        let mut next = Vec::new();
        for (place, weight) in paths {
            let Place::Node(node, seed) = place else {
                next.push((place, weight));
                continue;
            };
            let from = if params.diversity.features_differ() { seed } else { root };
            let projected = match (projector.is_identity(), params.diversity.features_differ()) {
                (true, false) => row.clone(),
                _ => projector.project(row.view(), 0..1, derive(from, FEATURE_PROJECTION)),
            };
            let range = tree.child_range(node as usize);
            let dense = centroids(tree, node as usize, projector.dimensions);
            let near: Vec<f32> = range
                .clone()
                .zip(&dense)
                .map(|(at, centroid)| {
                    let (columns, values) = projected.view().row(0);
                    let products = columns.iter().zip(values);
                    let dot =
                        products.fold(0.0, |sum, (&at, value)| sum + value * centroid[at as usize]);
                    dot * tree.scales[at] + tree.biases.get(at).copied().unwrap_or(0.0)
                })
                .collect();
            for (child, share) in shares(&near, beam)? {
                let place = Place::new(
                    tree.child(node as usize, range.start + child),
                    derive(seed, child as u64),
                );
                next.push((place, weight * share));
            }
        }
        if next.len() > beam {
            next.sort_by(|l, r| r.1.total_cmp(&l.1).then(l.0.rank().cmp(&r.0.rank())));
            if is_close_call(next[beam - 1].1, next[beam].1) {
                return None;
            }
            next.truncate(beam);
            let total: f32 = next.iter().map(|path| path.1).sum();
            next.iter_mut().for_each(|path| path.1 /= total);
        }
        paths = next;
    }
    let leaf = |(place, weight)| match place {
        Place::Leaf(leaf) => (leaf, weight),
        Place::Node(..) => unreachable!("the walk goes on until all paths are at leaves"),
    };
    Some(paths.into_iter().map(leaf).collect())
}

/// One row, weighted and of length 1.
pub(super) fn prepared(forest: &Forest, row: Row<'_>) -> OwnedEntries {
    let mut prepared = OwnedEntries::with_capacity(1, row.len());
    for (column, value) in row.iter().filter(|entry| (entry.0 as usize) < forest.features) {
        let weight = forest.weights.0.as_ref().map(|weights| weights[column as usize]);
        let weigh = |weight: f32| libm::log1pf(value.abs()).copysign(value) * weight;
        prepared.columns.push(column);
        prepared.values.push(weight.map_or(value, weigh));
    }
    prepared.end_unit_row();
    prepared
}

/// The score of every label that has one; `None` on a close call.
fn scores(forest: &Forest, row: Row<'_>, beam: usize) -> Option<BTreeMap<u32, f64>> {
    let row = prepared(forest, row);
    let mut scores = BTreeMap::new();
    for (number, tree) in forest.trees.iter().enumerate() {
        for (leaf, weight) in walk(forest, number, &row, beam)? {
            let instances = f64::from(tree.leaf_instances.get(leaf as usize));
            for (label, count) in tree.leaf(leaf as usize) {
                let vote = f64::from(weight) * f64::from(count) / instances;
                *scores.entry(label).or_insert(0.0) += vote / forest.trees.len() as f64;
            }
        }
    }
    Some(scores)
}

/// Compares the forest's predictions with the reference's; returns how many rows were compared.
fn compare(forest: &Forest, features: CsrView<'_>, beam: usize) -> Result<usize, String> {
    const K: usize = 5;
    let mut compared = 0;
    let found = forest
        .predict(features.into(), Query { beam: Some(beam), ..Query::top(K) }, &run(1))
        .unwrap();
    for (at, row) in features.rows().enumerate() {
        let Some(expected) = scores(forest, row, beam) else { continue };
        compared += 1;
        let found = found.row(at);
        let wrong = |what: String| format!("row {at}, beam {beam}, {:?}: {what}", forest.params);
        if found.len() != expected.len().min(K) {
            return Err(wrong(format!("{} labels of {}", found.len(), expected.len())));
        }
        for scored in found {
            let score = expected.get(&scored.id).copied().unwrap_or(0.0);
            if (f64::from(scored.score) - score).abs() > 1e-5 {
                return Err(wrong(format!("{scored:?}, but the reference score is {score}")));
            }
        }
        let last = found.last().map_or(0.0, |scored| f64::from(scored.score));
        let left_out = |label: &u32| found.iter().all(|scored| scored.id != *label);
        let better =
            expected.iter().find(|(label, score)| left_out(label) && **score > last + 1e-5);
        if let Some(better) = better {
            return Err(wrong(format!("{better:?} is missing among {found:?}")));
        }
    }
    Ok(compared)
}

const PROJECTIONS: [Projection; 3] = [Projection::None, Projection::Hashing, Projection::Gaussian];
const DIVERSITIES: [Diversity; 4] =
    [Diversity::SxSy, Diversity::SxDy, Diversity::DxSy, Diversity::DxDy];
const METRICS: [Metric; 2] = [Metric::Cosine, Metric::Euclidean];
const PRECISIONS: [Precision; 2] = [Precision::Half, Precision::Byte];

#[test]
fn every_kind_of_forest_predicts_what_the_reference_router_does() {
    let rows = Rows::random(60, 40, 12, 5);
    let new = Rows::random(20, 45, 12, 6);
    let (mut rows_compared, mut all) = (0, 0);
    for feature_projection in PROJECTIONS {
        for diversity in DIVERSITIES {
            for metric in METRICS {
                for precision in PRECISIONS {
                    for keep in [1.0, 0.4] {
                        let forest = rows.forest(Params {
                            trees: 2,
                            branches: 5,
                            leaf: 4,
                            feature_projection,
                            feature_dimensions: 17,
                            label_dimensions: 7,
                            label_projection: feature_projection,
                            diversity,
                            metric,
                            precision,
                            keep: Some(keep),
                            keep_at_least: 3,
                            ..Params::default()
                        });
                        for beam in [1, 2, 4, 100] {
                            let compared = compare(&forest, new.features.view(), beam).unwrap();
                            (rows_compared, all) = (rows_compared + compared, all + 20);
                        }
                    }
                }
            }
        }
    }
    assert!(rows_compared * 100 > all * 95, "{rows_compared} of {all} rows were compared");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn forests_of_any_shape_predict_what_the_reference_router_does(
        (count, branches, leaf, seed) in (1usize..150, 2usize..=16, 2usize..12, any::<u64>()),
        (features, labels, dimensions) in (1usize..80, 1usize..20, 1usize..30),
        (projection, diversity) in (prop::sample::select(&PROJECTIONS), prop::sample::select(&DIVERSITIES)),
        (metric, precision) in (prop::sample::select(&METRICS), prop::sample::select(&PRECISIONS)),
        (keep, beam) in (prop::option::of(0.1f64..=1.0), prop::sample::select(&[1usize, 2, 3, 4, 100])),
    ) {
        let rows = Rows::random(count, features, labels, seed);
        let forest = rows.forest(Params {
            trees: 2, branches, leaf, seed, diversity, metric, precision, keep, keep_at_least: 4,
            feature_projection: projection, feature_dimensions: dimensions,
            ..Params::default()
        });
        let new = Rows::random(12, features + 3, labels, seed ^ 1);
        for features in [new.features.view(), rows.features.view()] {
            if let Err(difference) = compare(&forest, features, beam) {
                prop_assert!(false, "{}", difference);
            }
        }
    }
}
