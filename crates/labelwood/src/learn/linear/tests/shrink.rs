//! Nodes with fewer weights, or smaller ones.

use super::testing::{NodeSpec, nodes};
use crate::learn::linear::{Child, Limits, Precision};

fn specs() -> Vec<NodeSpec> {
    let first = NodeSpec {
        children: vec![(Child::Node(1), 0.5), (Child::Label(2), -0.5)],
        weights: vec![(1, 0, 0.2), (1, 1, -0.05), (4, 1, 0.1), (6, 0, -0.3)],
    };
    let second = NodeSpec { children: vec![(Child::Label(3), 0.0)], weights: vec![(2, 0, 1.0)] };
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
