//! Roots and subtrees in one array.

use super::testing::{NodeSpec, nodes};
use crate::learn::linear::{Child, Limits, Nodes, Precision};

fn node(children: &[Child], feature: u32) -> NodeSpec {
    NodeSpec {
        children: children.iter().map(|&child| (child, feature as f32)).collect(),
        weights: vec![(feature, 0, 1.0), (feature + 1, children.len() as u32 - 1, -0.5)],
    }
}

#[test]
fn subtrees_follow_their_root() {
    use Child::{Label, Node};
    let root = nodes(&[node(&[Node(0), Label(7), Node(1)], 1)]);
    let first = nodes(&[node(&[Label(1), Node(1)], 3), node(&[Label(2)], 5)]);
    let second = nodes(&[node(&[Node(1), Node(2)], 2), node(&[Label(3)], 4), node(&[Label(4)], 6)]);
    let flattened = Nodes::flattened(&root, &[first, second]);
    flattened.check(Limits::none(None)).unwrap();
    let expected = nodes(&[
        node(&[Node(1), Label(7), Node(3)], 1),
        node(&[Label(1), Node(2)], 3),
        node(&[Label(2)], 5),
        node(&[Node(4), Node(5)], 2),
        node(&[Label(3)], 4),
        node(&[Label(4)], 6),
    ]);
    assert_eq!(flattened, expected);
}

#[test]
fn a_root_without_subtrees_stays_as_it_is() {
    let root = nodes(&[node(&[Child::Label(0), Child::Label(1)], 0)]);
    assert_eq!(Nodes::flattened(&root, &[]), root);
    let half = root.shrunk(0.0, Precision::Half);
    assert_eq!(Nodes::flattened(&half, &[]), half);
}
