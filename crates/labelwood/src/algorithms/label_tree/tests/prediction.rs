//! Prediction compared with a plain beam search.

use super::*;
use crate::base::sparse::{LabelSet, Query, Scored, Votes, top_k};
use crate::learn::linear::testing::{margins, one_hot_rows, small_rows};

/// The best labels of a row, by following each tree's nodes level by level.
fn plain_search(
    model: &LabelTrees,
    row: (&[u32], &[f32]),
    query: Query<'_>,
    beam: usize,
) -> Vec<Scored> {
    let mut sums = vec![0u64; model.labels];
    for tree in &model.trees {
        // The subtree (none for the root), the node in it, and the logarithm of its probability.
        let mut level: Vec<(Option<u32>, u32, f32)> = vec![(None, 0, 0.0)];
        let mut found = Vec::new();
        let nodes_of = |subtree: Option<u32>| {
            subtree.map_or(&tree.root, |subtree| &tree.subtrees[subtree as usize])
        };
        let is_leaf = |&(subtree, node, _): &(Option<u32>, u32, f32)| {
            let nodes = nodes_of(subtree);
            nodes.children(node as usize).all(|at| matches!(nodes.child(at), Child::Label(_)))
        };
        while !level.is_empty() {
            let postpones_leaves = model.params.leaf_beam && !level.iter().all(is_leaf);
            let mut next = Vec::new();
            for visit @ (subtree, node, log) in level {
                if postpones_leaves && is_leaf(&visit) {
                    next.push(visit);
                    continue;
                }
                let nodes = nodes_of(subtree);
                let mut own = Vec::new();
                let margins = margins(nodes, node as usize, row.0, row.1);
                for (at, margin) in nodes.children(node as usize).zip(margins) {
                    let log = log + model.params.link.log_probability(margin);
                    match (nodes.child(at), subtree) {
                        (Child::Label(id), _) => own.push(Scored { id, score: log }),
                        (Child::Node(child), None) => next.push((Some(child), 0, log)),
                        (Child::Node(child), subtree) => next.push((subtree, child, log)),
                    }
                }
                own.retain(|label| query.allows(label.id));
                top_k(&mut own, if model.params.leaf_beam { beam } else { usize::MAX });
                found.extend(own);
            }
            next.retain(|&(subtree, node, _)| {
                let subtree = &tree.subtrees[subtree.expect("below the root") as usize];
                leads_to_allowed(subtree, node, query)
            });
            next.sort_by(|left, right| {
                right.2.total_cmp(&left.2).then((left.0, left.1).cmp(&(right.0, right.1)))
            });
            next.truncate(beam);
            level = next;
        }
        for label in &found {
            sums[label.id as usize] += Votes::units(f64::from(libm::expf(label.score)));
        }
    }
    let scale = 1.0 / ((1u64 << 40) as f64 * model.trees.len() as f64);
    let voted = (0..).zip(&sums).filter(|(_, sum)| **sum > 0);
    let mut best: Vec<Scored> =
        voted.map(|(id, &sum)| Scored { id, score: (sum as f64 * scale) as f32 }).collect();
    top_k(&mut best, query.k);
    best
}

fn leads_to_allowed(nodes: &Nodes, node: u32, query: Query<'_>) -> bool {
    nodes.children(node as usize).any(|at| match nodes.child(at) {
        Child::Label(label) => query.allows(label),
        Child::Node(child) => leads_to_allowed(nodes, child, query),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn predictions_are_those_of_a_plain_search(
        (features, labels) in small_rows(30),
        params in params(),
        beam in 1usize..5,
        k in 0usize..6,
        allowed in prop::option::of(prop::collection::vec(0u32..14, 0..6)),
    ) {
        let model = grown(&features, &labels, &params, 1);
        let allowed: Option<LabelSet> = allowed.map(|labels| labels.into_iter().collect());
        let rows = model.weights.apply(features.view(), features.columns());
        let trees = model.trees.iter().cloned().map(Tree::joined).collect();
        let joined = LabelTrees { trees, ..model.clone() };
        let task = Pool::new(1).unwrap().task();
        let check = |query: Query<'_>, beam: usize| {
            let predictions =
                model.predict(features.view().into(), query, &Pool::new(2).unwrap().task()).unwrap();
            assert_eq!(predictions.len(), features.len());
            let together = joined.predict(features.view().into(), query, &task).unwrap();
            assert_eq!(together, predictions);
            for (at, best) in predictions.rows().enumerate() {
                assert_eq!(best, plain_search(&model, rows.view().row(at as u32), query, beam));
                let row = features.view().slice(at..at + 1);
                for model in [&model, &joined] {
                    let alone = model.predict(row.view().into(), query, &task).unwrap();
                    assert_eq!(alone.row(0), best);
                }
            }
        };
        let query = Query { k, beam: Some(beam), allowed: allowed.as_ref() };
        check(query, beam);
        // With a wide beam no node is dropped.
        check(Query { beam: Some(1000), ..query }, usize::MAX);
        check(Query { beam: None, ..query }, params.beam);
    }
}

#[test]
fn a_narrow_beam_still_finds_the_one_allowed_label() {
    let (features, labels) = one_hot_rows(32, 8);
    let params =
        Params { trees: 1, branches: Some(2), balanced: true, leaf: Some(1), ..Params::default() };
    let model = grown(&features, &labels, &params, 1);
    let task = Pool::new(1).unwrap().task();
    for label in 0..8 {
        let allowed: LabelSet = [label].into_iter().collect();
        let query = Query { k: 3, beam: Some(1), allowed: Some(&allowed) };
        let predictions = model.predict(features.view().into(), query, &task).unwrap();
        for best in predictions.rows() {
            assert_eq!(best.iter().map(|best| best.id).collect::<Vec<_>>(), [label]);
        }
    }
}

#[test]
fn columns_that_training_did_not_know_are_ignored() {
    let (features, labels) = one_hot_rows(4, 2);
    let model = grown(&features, &labels, &Params::default(), 1);
    let mut wider = Csr::new(9);
    wider.push_row(&[0], &[1.0]).unwrap();
    wider.push_row(&[0, 8], &[1.0, 5.0]).unwrap();
    let predictions =
        model.predict(wider.view().into(), Query::top(2), &Pool::new(1).unwrap().task()).unwrap();
    assert_eq!(predictions.row(0), predictions.row(1));
}
