//! Puts the nodes of a root and of its subtrees into one array.

use super::nodes::{Child, Nodes, Values};
use crate::base::array::{LazyPerNode, Numbers};

impl Nodes {
    /// The nodes of `root`, whose [`Child::Node`] are numbers of subtrees, followed by those of each
    /// subtree. Children are renumbered; that of a subtree's number becomes the subtree's first node.
    pub(crate) fn flattened(root: &Nodes, subtrees: &[Nodes]) -> Nodes {
        let starts: Vec<u32> = subtrees
            .iter()
            .scan(root.len() as u32, |next, nodes| {
                Some(std::mem::replace(next, *next + nodes.len() as u32))
            })
            .collect();
        let all = || [root].into_iter().chain(subtrees);
        // Reserved: an array that grows takes half as much again, and twice that while it moves.
        let total = |len: fn(&Nodes) -> usize| all().map(len).sum::<usize>() + 1;
        let mut children: Vec<u32> = Vec::with_capacity(total(|nodes| nodes.children.len()));
        let mut biases = Vec::with_capacity(children.capacity());
        let mut features = Vec::with_capacity(total(|nodes| nodes.features.len()));
        let mut ends = Vec::with_capacity(features.capacity());
        let (mut children_start, mut features_start, mut weights_start) =
            (vec![0], vec![0], vec![0]);
        let mut weights = 0u64;
        for (number, nodes) in all().enumerate() {
            let renumbered = |at: usize| match nodes.child(at) {
                Child::Node(child) if number == 0 => Child::Node(starts[child as usize]),
                Child::Node(child) => Child::Node(starts[number - 1] + child),
                label => label,
            };
            let shift = (children.len() as u32, features.len() as u64, weights);
            children_start.extend(nodes.children_start[1..].iter().map(|start| start + shift.0));
            features_start.extend(nodes.features_start[1..].iter().map(|start| start + shift.1));
            weights_start.extend(nodes.weights_start[1..].iter().map(|start| start + shift.2));
            children.extend((0..nodes.children.len()).map(|at| renumbered(at).pack()));
            biases.extend_from_slice(&nodes.biases);
            features.extend_from_slice(&nodes.features);
            ends.extend_from_slice(&nodes.ends);
            weights += nodes.owners.len() as u64;
        }
        Nodes {
            children_start: children_start.into(),
            children: children.into(),
            biases: biases.into(),
            features_start: features_start.into(),
            features: features.into(),
            weights_start: weights_start.into(),
            ends: ends.into(),
            owners: Numbers::concat(all().map(|nodes| &nodes.owners)),
            values: Values::concat(all().map(|nodes| &nodes.values), root.precision()),
            feature_indexes: LazyPerNode::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Limits;
    use super::super::testing::{NodeSpec, nodes};
    use super::*;

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
        let second =
            nodes(&[node(&[Node(1), Node(2)], 2), node(&[Label(3)], 4), node(&[Label(4)], 6)]);
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
        let half = root.shrunk(0.0, super::super::Precision::Half);
        assert_eq!(Nodes::flattened(&half, &[]), half);
    }
}
