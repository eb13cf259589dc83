//! Adding rows to grown trees.

use super::super::division::Clusters;
use super::super::update::with_rows;
use super::growth::{check, check_members, shapes};
use super::*;
use proptest::prelude::*;

/// The first rows, without the labels from `labels` on, so that those may be new in later rows.
fn first_rows(all: &Rows, first: usize, labels: usize) -> Rows {
    let mut known = LabelRows::new(labels);
    for row in all.labels.rows().take(first) {
        let own: Vec<u32> =
            row.indices.iter().copied().filter(|&id| (id as usize) < labels).collect();
        known.push_row(&own, &vec![(); own.len()]).unwrap();
    }
    Rows { features: all.features.view().slice(0..first), labels: known }
}

/// All rows, the first with the labels they have in `first`.
fn with_first(first: &Rows, all: &Rows) -> Rows {
    let mut labels = LabelRows::new(all.labels.columns());
    let rest = all.labels.rows().skip(first.labels.len());
    for row in first.labels.rows().chain(rest) {
        labels.push_row(row.indices, row.values).unwrap();
    }
    Rows { features: all.features.clone(), labels }
}

/// The forest with all rows but the first added; `knows` says whether it is given the first, too.
fn updated(forest: &Forest, all: &Rows, first: usize, knows: bool, threads: usize) -> Forest {
    let task = run(threads);
    let from = if knows { 0 } else { first };
    let features = all.features.view().slice(from..all.features.len());
    let labels = all.labels.view().slice(from..all.labels.len());
    let rows = DatasetView {
        features: features.view(),
        labels: labels.view(),
        label_names: None,
        named: None,
    };
    let instances = Instances::new(rows, &forest.weights);
    let known = knows.then_some(first);
    let tree = |tree| with_rows(forest, tree, (&instances, &Clusters), known, &task).unwrap();
    let trees = (0..forest.trees.len()).map(tree).collect();
    Forest { trees, labels: all.labels.columns(), ..forest.clone() }
}

#[test]
fn a_leaf_counts_its_new_rows_and_their_new_labels() {
    let mut first = Rows::new(2, 2);
    for _ in 0..3 {
        first.push(&[(0, 1.0)], &[0]);
        first.push(&[(1, 1.0)], &[1]);
    }
    let params = Params { trees: 1, leaf: 2, branches: 2, ..Params::default() };
    let forest = first.forest(params);
    assert_eq!((forest.trees[0].nodes(), forest.trees[0].leaves()), (1, 2));
    let mut more = Rows::new(2, 4);
    more.push(&[(0, 2.0)], &[0, 3]);
    more.push(&[(0, 5.0)], &[]);
    let instances = Instances::new(more.view(), &forest.weights);
    let tree = with_rows(&forest, 0, (&instances, &Clusters), None, &run(1)).unwrap();
    let mut leaves: Vec<(u32, Vec<(u32, u32)>)> =
        (0..2).map(|leaf| (tree.leaf_instances.get(leaf), tree.leaf(leaf).collect())).collect();
    leaves.sort();
    assert_eq!(leaves, [(3, vec![(1, 3)]), (5, vec![(0, 4), (3, 1)])]);
    // Nothing but the leaves has changed.
    assert_eq!(tree.children, forest.trees[0].children);
    assert_eq!(
        (tree.words, tree.values),
        (forest.trees[0].words.clone(), forest.trees[0].values.clone())
    );
}

#[test]
fn a_leaf_that_became_too_large_is_divided() {
    let mut all = Rows::new(3, 3);
    for feature in [0, 1, 0, 1] {
        all.push(&[(feature, 1.0)], &[feature]);
    }
    for _ in 0..6 {
        all.push(&[(1, 1.0), (2, 1.0)], &[2]);
    }
    let first = first_rows(&all, 4, 2);
    let params = Params { trees: 1, leaf: 5, branches: 2, ..Params::default() };
    let forest = first.forest(params);
    assert_eq!(forest.trees[0].nodes(), 0);
    let counted = updated(&forest, &all, 4, false, 1);
    assert_eq!((counted.trees[0].nodes(), counted.trees[0].leaf_instances.get(0)), (0, 10));
    let grown = updated(&forest, &all, 4, true, 1);
    assert!(grown.trees[0].nodes() > 0);
    check_members(&all, &grown);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn added_rows_are_counted_in_the_leaf_that_they_are_routed_to((shape, params) in shapes(), share in 0.1f64..1.0, labels in 1usize..15) {
        let all = Rows::random(shape.0 + 2, shape.1, shape.2, shape.3);
        let first = 1 + (share * shape.0 as f64) as usize;
        let known = first_rows(&all, first, labels.min(shape.2));
        let all = with_first(&known, &all);
        let forest = known.forest(params);
        for knows in [false, true] {
            let grown = updated(&forest, &all, first, knows, 1);
            check(&all, &grown);
            check_members(&all, &grown);
            prop_assert_eq!(&grown, &updated(&forest, &all, first, knows, 3));
            if !knows {
                prop_assert_eq!(grown.trees[0].leaves(), forest.trees[0].leaves());
            }
        }
    }

    #[test]
    fn rows_added_at_once_or_in_turn_give_the_same_forest((shape, params) in shapes()) {
        let all = Rows::random(shape.0 + 3, shape.1, shape.2, shape.3);
        let first = 1 + shape.0 / 2;
        let next = (first + all.labels.len()) / 2;
        let forest = first_rows(&all, first, shape.2).forest(params);
        let upto = first_rows(&all, next, shape.2);
        let halfway = updated(&forest, &upto, first, false, 1);
        prop_assert_eq!(updated(&halfway, &all, next, false, 1), updated(&forest, &all, first, false, 1));
    }

    #[test]
    fn a_leaf_that_is_not_too_large_stays_one((shape, params) in shapes()) {
        let all = Rows::random(shape.0 + 2, shape.1, shape.2, shape.3);
        let params = Params { leaf: 1000, ..params };
        let first = 1 + shape.0 / 2;
        let forest = first_rows(&all, first, shape.2).forest(params);
        prop_assert_eq!(updated(&forest, &all, first, true, 1), updated(&forest, &all, first, false, 1));
    }
}
