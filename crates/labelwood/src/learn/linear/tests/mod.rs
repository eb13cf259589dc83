//! Scores compared with plain sums, and checks that refuse damaged arrays.

mod flatten;
mod shrink;
pub(crate) mod testing;

use super::nodes::Values;
use super::{Child, Limits, Nodes, RowAtNode, Scorer};
use crate::base::array::{Array, Numbers};
use crate::base::sparse::Entries;
use half::f16;
use proptest::prelude::*;
use testing::{NodeSpec, margins, nodes};

/// All features of these tests are below this.
const FEATURES: usize = 40 * 99;

/// Scores of rows at nodes, visit by visit.
fn scored(
    nodes: &Nodes,
    entries: Entries<'_>,
    visits: &[(usize, u32)],
    rows: usize,
) -> Vec<Vec<f32>> {
    let mut found = vec![None; visits.len()];
    let numbered: Vec<(usize, (usize, u32))> = visits.iter().copied().enumerate().collect();
    let row_at_node = |&(_, (node, row)): &_| RowAtNode { nodes, node, row: entries.row(row) };
    Scorer::new(FEATURES, rows).score(&numbered, row_at_node, |&(at, _), margins| {
        assert!(found[at].replace(margins.to_vec()).is_none());
    });
    found.into_iter().map(|margins| margins.expect("every visit is scored")).collect()
}

fn in_half(nodes: &Nodes) -> Nodes {
    let narrow = |at| f16::from_f32(nodes.values.get(at)).to_bits();
    let values: Vec<u16> = (0..nodes.values.len()).map(narrow).collect();
    Nodes { values: Values::Half(values.into()), ..nodes.clone() }
}

fn one_node(children: usize) -> impl Strategy<Value = NodeSpec> {
    let weights = prop::collection::btree_map((0u32..40, 0..children as u32), -2.0f32..2.0, 0..200);
    (prop::collection::vec(-1.0f32..1.0, children), weights).prop_map(|(biases, weights)| {
        NodeSpec {
            children: (0..).map(Child::Label).zip(biases).collect(),
            weights: weights
                .into_iter()
                .map(|((feature, child), weight)| (feature, child, weight))
                .collect(),
        }
    })
}

proptest! {
    #[test]
    fn scores_are_the_plain_sums_however_features_are_found(
        specs in prop_oneof![
            prop::collection::vec(one_node(3), 1..4),
            prop::collection::vec(one_node(300), 1..3),
        ],
        rows in prop::collection::vec(prop::collection::btree_map(0u32..40, -1.0f32..1.0, 0..20), 1..9),
        apart in prop_oneof![Just(1u32), Just(99)],
    ) {
        let mut specs = specs;
        let weights = specs.iter_mut().flat_map(|node| &mut node.weights);
        weights.for_each(|(feature, ..)| *feature *= apart);
        let (mut offsets, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for row in &rows {
            columns.extend(row.keys().map(|column| column * apart));
            values.extend(row.values().copied());
            offsets.push(columns.len() as u64);
        }
        let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
        let all: Vec<u32> = (0..rows.len() as u32).collect();
        let single = nodes(&specs);
        // No subtrees, since all children are labels.
        prop_assert!(single.check(Limits::none(Some(0))).is_ok());
        for nodes in [&in_half(&single), &single] {
            let plain = |&(node, row): &(usize, u32)| {
                margins(nodes, node, entries.row(row).0, entries.row(row).1)
            };
            // Neighbouring visits to a node are scored together, others are interleaved.
            let visit = |node| all.iter().map(move |&row| (node, row));
            let together: Vec<(usize, u32)> = (0..nodes.len()).flat_map(visit).collect();
            let at = |row| (0..nodes.len()).map(move |node| (node, row));
            let apart: Vec<(usize, u32)> = all.iter().flat_map(|&row| at(row)).collect();
            for visits in [together, apart] {
                let expected: Vec<Vec<f32>> = visits.iter().map(plain).collect();
                // Small batches build feature indexes, which large batches then use, too.
                for rows in [1000, 1, 1000] {
                    prop_assert_eq!(&scored(nodes, entries, &visits, rows), &expected);
                }
            }
        }
    }
}

#[test]
fn a_label_s_weights_are_found_largest_first() {
    let specs = NodeSpec {
        children: vec![(Child::Label(5), 0.0), (Child::Label(9), 0.5)],
        weights: vec![(3, 0, -1.0), (3, 1, 0.25), (7, 1, 2.0)],
    };
    let nodes = nodes(&[specs]);
    assert_eq!(nodes.weights_of(9), [(7, 2.0), (3, 0.25)]);
    assert_eq!(nodes.weights_of(5), [(3, -1.0)]);
    assert!(nodes.weights_of(1).is_empty());
    let figures = nodes.figures();
    assert_eq!((figures.nodes, figures.labels, figures.weights), (1, 2, 3));
}

#[test]
fn damaged_arrays_are_refused() {
    let first = NodeSpec {
        children: vec![(Child::Node(1), 0.0), (Child::Label(2), 0.0)],
        weights: vec![(1, 0, 1.0), (4, 1, 1.0)],
    };
    let second = NodeSpec { children: vec![(Child::Label(3), 0.0)], weights: vec![(2, 0, 1.0)] };
    let good = nodes(&[first, second]);
    good.check(Limits::none(None)).unwrap();
    // In a root, a child node is a subtree, and each subtree must be a child.
    let root = nodes(&[NodeSpec {
        children: vec![(Child::Node(1), 0.0), (Child::Label(2), 0.0), (Child::Node(0), 0.0)],
        weights: Vec::new(),
    }]);
    root.check(Limits::none(Some(2))).unwrap();
    let refused = |nodes: &Nodes, within| nodes.check(within).unwrap_err();
    assert_eq!(refused(&root, Limits::none(Some(1))), "a child of node 0 does not exist");
    assert_eq!(refused(&root, Limits::none(Some(3))), "node 2 has no parent");
    let few = Limits { labels: 3, ..Limits::none(None) };
    assert_eq!(refused(&good, few), "it has label 3, but the model has 3");
    let few = Limits { features: 4, ..Limits::none(None) };
    assert_eq!(refused(&good, few), "node 0 has feature 4, but the model has 4");

    fn with<T: crate::base::array::Element>(
        array: &Array<T>,
        change: impl Fn(&mut Vec<T>),
    ) -> Array<T> {
        let mut numbers = array.to_vec();
        change(&mut numbers);
        numbers.into()
    }
    let g = || good.clone();
    let back_to_itself = good.children[0] - 1;
    let beyond = good.children[0] + 1;
    let damaged = [
        Nodes { children_start: Vec::new().into(), ..g() },
        Nodes { children_start: vec![0].into(), ..g() },
        Nodes { children_start: with(&good.children_start, |at| at[1] = 9), ..g() },
        Nodes { children_start: with(&good.children_start, |at| at[0] = 1), ..g() },
        Nodes { children: with(&good.children, |at| at.truncate(2)), ..g() },
        Nodes { children: with(&good.children, |at| at[0] = back_to_itself), ..g() },
        Nodes { children: with(&good.children, |at| at[0] = beyond), ..g() },
        Nodes { biases: with(&good.biases, |at| at.truncate(1)), ..g() },
        Nodes { biases: with(&good.biases, |at| at[0] = f32::NAN), ..g() },
        Nodes { features_start: with(&good.features_start, |at| at[1] = 1), ..g() },
        Nodes { features_start: with(&good.features_start, |at| at.truncate(2)), ..g() },
        Nodes { features: with(&good.features, |at| at[1] = 1), ..g() },
        Nodes { weights_start: with(&good.weights_start, |at| at[2] = 4), ..g() },
        Nodes { weights_start: with(&good.weights_start, |at| at[1] = u64::MAX), ..g() },
        Nodes { ends: with(&good.ends, |at| at[1] = 3), ..g() },
        Nodes { ends: with(&good.ends, |at| at.truncate(1)), ..g() },
        Nodes { owners: Numbers::from(vec![0]), ..g() },
        Nodes { values: Values::Single(vec![1.0].into()), ..g() },
    ];
    for (at, nodes) in damaged.iter().enumerate() {
        assert!(nodes.check(Limits::none(None)).is_err(), "{at}: {nodes:?}");
    }
}

#[test]
fn nodes_with_two_parents_no_parent_or_too_many_levels_are_refused() {
    let node = |children: &[Child]| NodeSpec {
        children: children.iter().map(|&child| (child, 0.0)).collect(),
        weights: Vec::new(),
    };
    use Child::{Label, Node};
    let check = |specs: &[NodeSpec]| nodes(specs).check(Limits::none(None));
    let twice = [node(&[Node(1), Node(1)]), node(&[Label(0)])];
    assert_eq!(check(&twice).unwrap_err(), "node 1 has two parents");
    let shared = [node(&[Node(1), Node(2)]), node(&[Node(2)]), node(&[Label(0)])];
    assert_eq!(check(&shared).unwrap_err(), "node 2 has two parents");
    let apart = [node(&[Label(0)]), node(&[Label(1)])];
    assert_eq!(check(&apart).unwrap_err(), "node 1 has no parent");
    let chain = |levels: u32| -> Vec<NodeSpec> {
        let inner = (1..levels).map(|next| node(&[Node(next), Label(next)]));
        inner.chain([node(&[Label(0)])]).collect()
    };
    check(&chain(1000)).unwrap();
    assert_eq!(check(&chain(1001)).unwrap_err(), "it has more than 1000 levels");
}

#[test]
fn an_owner_or_a_feature_that_does_not_exist_is_passed_over() {
    let specs = NodeSpec { children: vec![(Child::Label(0), 0.5)], weights: vec![(1, 0, 1.0)] };
    let good = nodes(&[specs]);
    let entries = Entries { offsets: &[0, 2], columns: &[1, 3], values: &[1.0, 1.0] };
    // One row at the node, and several.
    for visits in [1, 9].map(|count| vec![(0, 0); count]) {
        let expected = |margin: f32| vec![vec![margin]; visits.len()];
        assert_eq!(scored(&good, entries, &visits, 1), expected(1.5));
        let wrong_owner = Nodes { owners: Numbers::from(vec![7]), ..good.clone() };
        assert_eq!(scored(&wrong_owner, entries, &visits, 1), expected(0.5));
        let wrong_feature = Nodes { features: vec![4_000_000].into(), ..good.clone() };
        assert_eq!(scored(&wrong_feature, entries, &visits, 1), expected(0.5));
    }
}
