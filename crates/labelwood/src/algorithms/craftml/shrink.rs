//! Shrinking trees: centroids with fewer entries or lower precision.

use super::builder::{Builder, NewNode};
use super::centroids::quantize;
use super::params::{Metric, Params};
use super::tree::Tree;
use super::values::expand;
use crate::learn::cluster::lanes::{LANES, Lanes};

impl Tree {
    /// A copy of the tree whose centroids lack the entries with a magnitude of at most `prune`, the
    /// others stored in the precision of `params`.
    ///
    /// `prune` applies to centroids as the metric defines them: vectors of length 1, means, or the
    /// weights of classifiers. Pruned centroids of length 1 are scaled to length 1 again; means and
    /// weights are not scaled. `features` is the number of features. Leaves do not change.
    pub(crate) fn shrunk(&self, prune: f32, features: usize, params: &Params) -> Tree {
        if prune == 0.0 && params.precision == self.precision {
            return self.clone();
        }
        let mut builder = Builder::new(self.branches, params.precision);
        for node in 0..self.nodes() {
            let children = self.child_range(node);
            let (columns, mut table) = self.entries_above(node, prune, features);
            let mut nearness = quantize(&mut table, &[1; LANES], params);
            if params.metric == Metric::Linear {
                nearness.biases = self.nearness(children.clone()).biases;
            }
            let lanes: Vec<usize> = (0..children.len()).collect();
            builder.push_node(&NewNode {
                features: &columns,
                table: &table,
                lanes: &lanes,
                nearness: &nearness,
            });
        }
        let centroids = builder.finish();
        Tree {
            precision: params.precision,
            scales: centroids.scales,
            biases: centroids.biases,
            words_start: centroids.words_start,
            words: centroids.words,
            values_start: centroids.values_start,
            values: centroids.values,
            ..self.clone()
        }
    }

    /// How many entries the centroids of all nodes have.
    pub(crate) fn entries(&self) -> u64 {
        (self.values.len() / self.precision.bytes()) as u64
    }

    /// The largest entry of all centroids, by magnitude; 0 if there is none.
    pub(crate) fn largest_entry(&self, features: usize) -> f32 {
        let entries = (0..self.nodes()).flat_map(|node| self.entries_above(node, 0.0, features).1);
        entries.flat_map(|row| row.0).fold(0.0, |largest, entry| largest.max(entry.abs()))
    }

    /// The features of a node, and for each a lane per child with the entry of the child's centroid, or
    /// 0 if its magnitude is at most `prune`.
    fn entries_above(&self, node: usize, prune: f32, features: usize) -> (Vec<u32>, Vec<Lanes>) {
        let (words, mut values) = self.centroids(node);
        let scales = self.nearness(self.child_range(node)).scales;
        let (mut columns, mut table) = (Vec::new(), Vec::new());
        for (feature, child_bits) in words {
            // Only a damaged file has features out of range or out of order.
            if feature as usize >= features || columns.last().is_some_and(|&last| feature <= last) {
                break;
            }
            let len = child_bits.count_ones() as usize * self.precision.bytes();
            let (these, rest) = values.split_at(values.len().min(len));
            values = rest;
            let mut row = Lanes::ZERO;
            expand(&mut row, child_bits, these, self.precision);
            row.scale(&scales);
            for value in row.0.iter_mut().filter(|value| value.abs() <= prune) {
                *value = 0.0;
            }
            columns.push(feature);
            table.push(row);
        }
        (columns, table)
    }
}

#[cfg(test)]
mod tests {
    use super::super::params::Precision;
    use super::*;

    /// A root with two leaves, whose centroids are about (0.8, 0.6, 0) and (0, 0.1, -1).
    fn tree(precision: Precision, metric: Metric) -> (Tree, Params) {
        let params = Params { branches: 2, precision, metric, ..Params::default() };
        let lanes = |one: f32, other: f32| {
            let mut lanes = Lanes::ZERO;
            (lanes.0[0], lanes.0[1]) = (one, other);
            lanes
        };
        let mut table = vec![lanes(0.8, 0.0), lanes(0.6, 0.1), lanes(0.0, -1.0)];
        let mut nearness = quantize(&mut table, &[1; LANES], &params);
        if metric == Metric::Linear {
            nearness.biases = Some(lanes(0.25, -0.5));
        }
        let mut builder = Builder::new(2, precision);
        let node =
            NewNode { features: &[3, 5, 6], table: &table, lanes: &[0, 1], nearness: &nearness };
        let root = builder.push_node(&node);
        let mut labels = crate::base::sparse::LabelRows::new(2);
        labels.push_row(&[0], &[()]).unwrap();
        labels.push_row(&[1], &[()]).unwrap();
        for leaf in [0, 1] {
            let child = builder.push_leaf(labels.view(), &[leaf], &mut Vec::new());
            builder.set_child(root, leaf as usize, child);
        }
        let tree = builder.finish();
        tree.check().unwrap();
        (tree, params)
    }

    /// Each feature of the root with its value in both centroids.
    fn entries(tree: &Tree) -> Vec<(u32, f32, f32)> {
        let (columns, table) = tree.entries_above(0, 0.0, 10);
        columns.iter().zip(table).map(|(&column, row)| (column, row.0[0], row.0[1])).collect()
    }

    fn assert_near(found: &[(u32, f32, f32)], expected: &[(u32, f32, f32)]) {
        let is_near = |(one, other): (&(u32, f32, f32), &(u32, f32, f32))| {
            one.0 == other.0 && (one.1 - other.1).abs() < 0.005 && (one.2 - other.2).abs() < 0.005
        };
        let near = found.len() == expected.len() && found.iter().zip(expected).all(is_near);
        assert!(near, "{found:?}, expected {expected:?}");
    }

    #[test]
    fn small_entries_are_dropped_and_centroids_keep_their_length() {
        for precision in [Precision::Byte, Precision::Half] {
            let (tree, params) = tree(precision, Metric::Cosine);
            assert_near(&entries(&tree), &[(3, 0.8, 0.0), (5, 0.6, 0.0995), (6, 0.0, -0.995)]);
            let shrunk = tree.shrunk(0.7, 10, &params);
            shrunk.check().unwrap();
            assert_near(&entries(&shrunk), &[(3, 1.0, 0.0), (6, 0.0, -1.0)]);
            assert!(
                shrunk.values.len() < tree.values.len() && shrunk.words.len() < tree.words.len()
            );
            let bare = tree.shrunk(2.0, 10, &params);
            bare.check().unwrap();
            assert!(entries(&bare).is_empty());
            assert_eq!((tree.entries(), shrunk.entries(), bare.entries()), (4, 2, 0));
            assert!((tree.largest_entry(10) - 0.995).abs() < 0.005);
            assert_eq!(bare.largest_entry(10), 0.0);
        }
    }

    #[test]
    fn means_are_not_scaled_and_their_biases_are_computed_again() {
        let (tree, params) = tree(Precision::Half, Metric::Euclidean);
        let shrunk = tree.shrunk(0.7, 10, &params);
        assert_near(&entries(&shrunk), &[(3, 0.8, 0.0), (6, 0.0, -1.0)]);
        assert!((shrunk.biases[0] + 0.32).abs() < 0.001 && (shrunk.biases[1] + 0.5).abs() < 0.001);
    }

    #[test]
    fn classifiers_keep_their_weights_and_biases() {
        let (tree, params) = tree(Precision::Half, Metric::Linear);
        let shrunk = tree.shrunk(0.7, 10, &Params { precision: Precision::Byte, ..params });
        assert_near(&entries(&shrunk), &[(3, 0.8, 0.0), (6, 0.0, -1.0)]);
        assert_eq!(*shrunk.biases, [0.25, -0.5]);
    }

    #[test]
    fn the_same_precision_without_a_threshold_is_the_same_tree() {
        let (tree, params) = tree(Precision::Byte, Metric::Cosine);
        assert_eq!(tree.shrunk(0.0, 10, &params), tree);
        let half = tree.shrunk(0.0, 10, &Params { precision: Precision::Half, ..params });
        assert_near(&entries(&half), &entries(&tree));
    }

    #[test]
    fn a_damaged_node_ends_at_the_first_feature_out_of_range() {
        let (tree, params) = tree(Precision::Half, Metric::Cosine);
        let shrunk = tree.shrunk(0.1, 4, &params);
        assert_near(&entries(&shrunk), &[(3, 1.0, 0.0)]);
    }
}
