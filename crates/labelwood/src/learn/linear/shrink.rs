//! Shrinks nodes: fewer weights, stored with fewer bits.

use super::nodes::{Nodes, Precision, Values};
use crate::base::array::Numbers;

impl Nodes {
    /// A copy without the weights of magnitude at most `prune`, as training drops them, and with the
    /// others stored in `precision`. Features without weights are dropped, too; children and their
    /// biases stay.
    pub(crate) fn shrunk(&self, prune: f32, precision: Precision) -> Nodes {
        let (mut features_start, mut features) = (vec![0], Vec::new());
        let (mut weights_start, mut ends) = (vec![0], Vec::new());
        let (mut owners, mut values) = (Vec::new(), Vec::new());
        for node in 0..self.len() {
            let base = owners.len();
            for (feature, weights) in self.weights_by_feature(node) {
                let before = owners.len();
                for weight in weights {
                    let value = self.values.get(weight);
                    if value.abs() > prune {
                        owners.push(self.owners.get(weight));
                        values.push(value);
                    }
                }
                if owners.len() > before {
                    features.push(feature);
                    ends.push((owners.len() - base) as u32);
                }
            }
            features_start.push(features.len() as u64);
            weights_start.push(owners.len() as u64);
        }
        Nodes {
            features_start: features_start.into(),
            features: features.into(),
            weights_start: weights_start.into(),
            ends: ends.into(),
            owners: Numbers::from(owners),
            values: Values::new(values, precision),
            ..self.clone()
        }
    }

    /// The largest magnitude of all weights; 0 if there is none.
    pub(crate) fn largest_weight(&self) -> f32 {
        let weights = (0..self.values.len()).map(|at| self.values.get(at).abs());
        weights.fold(0.0, f32::max)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NodeSpec, nodes};
    use super::super::{Child, Limits};
    use super::*;

    fn specs() -> Vec<NodeSpec> {
        let first = NodeSpec {
            children: vec![(Child::Node(1), 0.5), (Child::Label(2), -0.5)],
            weights: vec![(1, 0, 0.2), (1, 1, -0.05), (4, 1, 0.1), (6, 0, -0.3)],
        };
        let second =
            NodeSpec { children: vec![(Child::Label(3), 0.0)], weights: vec![(2, 0, 1.0)] };
        vec![first, second]
    }

    #[test]
    fn small_weights_go_and_features_without_weights_with_them() {
        let mut kept = specs();
        kept[0].weights = vec![(1, 0, 0.2), (6, 0, -0.3)];
        let shrunk = nodes(&specs()).shrunk(0.1, Precision::Single);
        assert_eq!(shrunk, nodes(&kept));
        assert!(shrunk.check(Limits::none(None)).is_ok());
    }

    #[test]
    fn nothing_goes_without_a_threshold() {
        let all = nodes(&specs());
        assert_eq!(all.shrunk(0.0, Precision::Single), all);
        let half = all.shrunk(0.0, Precision::Half);
        assert_eq!((half.precision(), half.values.len()), (Precision::Half, all.values.len()));
        assert_eq!(half.shrunk(0.0, Precision::Half), half);
        for at in 0..all.values.len() {
            let (narrow, wide) = (half.values.get(at), all.values.get(at));
            assert!((narrow - wide).abs() <= wide.abs() / 2048.0, "{narrow} {wide}");
        }
    }

    #[test]
    fn a_threshold_above_all_weights_leaves_the_biases() {
        let bare = nodes(&specs()).shrunk(9.0, Precision::Half);
        assert!(bare.check(Limits::none(None)).is_ok());
        assert_eq!((bare.figures().weights, bare.figures().labels), (0, 2));
        assert_eq!(*bare.biases, [0.5, -0.5, 0.0]);
    }
}
