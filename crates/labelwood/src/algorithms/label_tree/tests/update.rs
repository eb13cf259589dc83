//! Updates of trees with new rows.

use super::*;
use crate::algorithms::label_tree::update::{UpdatedTree, Updater};
use crate::base::sparse::Query;
use crate::learn::linear::Limits;
use crate::learn::linear::testing::{one_hot_rows, small_rows};

/// All trees after an update; they were grown from the first `known` rows.
fn updated(
    trees: &LabelTrees,
    features: &Csr,
    labels: &LabelRows,
    known: usize,
) -> Vec<UpdatedTree> {
    let task = Pool::new(2).unwrap().task();
    let touched = labels.rows().skip(known).flat_map(|row| row.indices.to_vec()).collect();
    let updater = Updater::new(trees, view(features, labels), &touched, &task).unwrap();
    (0..trees.trees.len()).map(|tree| updater.tree(tree, &task).unwrap()).collect()
}

/// The trees with updated roots and subtrees in place of the old ones.
fn replaced(trees: &LabelTrees, updated: Vec<UpdatedTree>, labels: usize) -> LabelTrees {
    let whole = |(old, new): (&Tree, UpdatedTree)| {
        let subtrees = old.subtrees.iter().zip(new.subtrees);
        let subtrees = subtrees.map(|(old, new)| new.unwrap_or_else(|| old.clone())).collect();
        Tree { root: new.root.nodes, subtrees }
    };
    let whole = trees.trees.iter().zip(updated).map(whole).collect();
    LabelTrees { trees: whole, labels, ..trees.clone() }
}

#[test]
fn a_new_label_joins_those_that_are_most_like_it() {
    // Labels 0 to 3 have a feature each, labels 0 and 1 share one, and so do 2 and 3.
    let mut features = Csr::new(7);
    let mut labels = LabelRows::new(5);
    for row in 0..40u32 {
        let label = row % 4;
        features.push_row(&[label, 4 + label / 2], &[1.0, 1.0]).unwrap();
        labels.push_row(&[label], &[()]).unwrap();
    }
    let known = features.len();
    let params = Params { branches: Some(2), leaf: Some(2), trees: 1, ..Params::default() };
    let trees = grown(&features, &labels, &params, 1);
    assert_eq!(trees.trees[0].subtrees.len(), 2);
    for _ in 0..10 {
        features.push_row(&[5, 6], &[1.0, 1.0]).unwrap();
        labels.push_row(&[4], &[()]).unwrap();
    }
    let again = updated(&trees, &features, &labels, known);
    let group = again[0].root.groups.iter().position(|group| group.contains(&4)).unwrap();
    assert_eq!(again[0].root.groups[group], [2, 3, 4]);
    // The other subtree has no new rows.
    assert!(again[0].subtrees[group].is_some() && again[0].subtrees[1 - group].is_none());
    let trees = replaced(&trees, again, 5);
    let task = Pool::new(1).unwrap().task();
    let predictions = trees.predict(features.view().into(), Query::top(1), &task).unwrap();
    for (row, expected) in labels.rows().enumerate() {
        assert_eq!(predictions.row(row)[0].id, expected.indices[0], "row {row}");
    }
}

#[test]
fn a_root_that_leads_to_labels_takes_new_ones() {
    let (features, labels) = one_hot_rows(12, 4);
    let first = labels.view().slice(0..3);
    let trees =
        grown(&features.view().slice(0..3), &first, &Params { depth: 1, ..Params::default() }, 1);
    let again = updated(&trees, &features, &labels, 3);
    let trees = replaced(&trees, again, 4);
    trees.trees.iter().for_each(|tree| assert_eq!(labels_of(tree), [0, 1, 2, 3]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_rows_learned_again_give_the_same_trees((features, labels) in small_rows(24), params in params()) {
        let trees = grown(&features, &labels, &params, 1);
        // If all rows are new, every node is learned again; if none is, only the roots are.
        for known in [0, features.len()] {
            let again = updated(&trees, &features, &labels, known);
            prop_assert!(known == 0 || again.iter().all(|tree| tree.subtrees.iter().all(Option::is_none)));
            prop_assert_eq!(&replaced(&trees, again, labels.columns()), &trees);
        }
    }

    #[test]
    fn every_label_that_occurs_is_in_every_tree((features, labels) in small_rows(24), params in params(), share in 0.0f64..1.0) {
        let known = (share * features.len() as f64) as usize;
        let first = features.view().slice(0..known);
        let trees = grown(&first, &labels.view().slice(0..known), &params, 1);
        let again = replaced(&trees, updated(&trees, &features, &labels, known), labels.columns());
        let counts = labels.view().column_counts();
        let occurring: Vec<u32> = (0..counts.len() as u32).filter(|&at| counts[at as usize] > 0).collect();
        for tree in &again.trees {
            prop_assert_eq!(labels_of(tree), occurring.clone());
            tree.root.check(Limits::none(Some(tree.subtrees.len()))).unwrap();
            tree.subtrees.iter().for_each(|nodes| nodes.check(Limits::none(None)).unwrap());
        }
    }
}
