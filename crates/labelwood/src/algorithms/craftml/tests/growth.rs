//! Properties of every grown tree, for random and unusual rows.

use super::super::grow::depth_limit;
use super::super::tasks::grow_each;
use super::super::tree::Child;
use super::reference::{prepared, walk};
use super::*;
use crate::learn::weighting::Weighting;
use proptest::prelude::*;
use std::sync::Mutex;

/// Checks the properties that every forest has.
pub(super) fn check(rows: &Rows, forest: &Forest) {
    let count = rows.features.len() as u64;
    let expected: Vec<u64> =
        rows.labels.view().column_counts().into_iter().map(u64::from).collect();
    for tree in &forest.trees {
        let instances: u64 =
            (0..tree.leaves()).map(|leaf| u64::from(tree.leaf_instances.get(leaf))).sum();
        assert_eq!(instances, count, "every row is in one leaf");
        let mut counts = vec![0; forest.labels];
        for (label, votes) in (0..tree.leaves()).flat_map(|leaf| tree.leaf(leaf)) {
            counts[label as usize] += u64::from(votes);
        }
        assert_eq!(counts, expected, "leaves count every label once");
        for node in 0..tree.nodes() {
            assert!((2..=forest.params.branches).contains(&tree.child_range(node).len()));
        }
        if count > 0 {
            tree.check().unwrap();
        }
        assert!(tree.figures().depth <= depth_limit(count as usize) as u64);
    }
}

/// The rows of each leaf of a tree, found by the reference router.
fn members(rows: &Rows, forest: &Forest, tree: usize) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); forest.trees[tree].leaves()];
    for (at, row) in rows.features.rows().enumerate() {
        let visits =
            walk(forest, tree, &prepared(forest, row), 1).expect("one path makes no close call");
        assert_eq!(visits.len(), 1);
        members[visits[0].0 as usize].push(at);
    }
    members
}

/// Checks that the reference router takes rows to the leaves that they were counted in.
pub(super) fn check_members(rows: &Rows, forest: &Forest) {
    for (number, tree) in forest.trees.iter().enumerate() {
        for (leaf, members) in members(rows, forest, number).iter().enumerate() {
            assert_eq!(members.len() as u32, tree.leaf_instances.get(leaf));
            let mut counts = std::collections::BTreeMap::new();
            for &row in members {
                for &label in rows.labels.row(row).indices {
                    *counts.entry(label).or_insert(0u32) += 1;
                }
            }
            assert_eq!(tree.leaf(leaf).collect::<Vec<_>>(), Vec::from_iter(counts));
        }
    }
}

pub(super) fn shapes() -> impl Strategy<Value = (Shape, Params)> {
    let projection =
        || prop::sample::select(&[Projection::None, Projection::Hashing, Projection::Gaussian]);
    let diversity = prop::sample::select(&[Diversity::SxSy, Diversity::SxDy, Diversity::DxDy]);
    let tree = (2usize..=16, 2usize..15, 2usize..200, any::<u64>());
    let stored = (
        prop::sample::select(&[Metric::Cosine, Metric::Euclidean]),
        prop::sample::select(&[Precision::Half, Precision::Byte]),
        prop::option::of(0.1f64..=1.0),
        prop::sample::select(&[Starts::Random, Starts::PlusPlus]),
    );
    let rows = (0usize..250, 1usize..60, 1usize..15, any::<u64>());
    (rows, tree, projection(), projection(), diversity, stored).prop_map(
        |(rows, (branches, leaf, sample, seed), features, labels, diversity, stored)| {
            let (metric, precision, keep, starts) = stored;
            let params = Params {
                trees: 2,
                branches,
                leaf,
                sample,
                seed,
                diversity,
                metric,
                precision,
                keep,
                starts,
                keep_at_least: 3,
                feature_projection: features,
                feature_dimensions: 20,
                label_projection: labels,
                label_dimensions: 6,
                ..Params::default()
            };
            (Shape(rows.0, rows.1, rows.2, rows.3), params)
        },
    )
}

/// What [`Rows::random`] is called with; short in a failure's report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape(pub usize, pub usize, pub usize, pub u64);

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_row_is_counted_in_the_one_leaf_that_it_is_routed_to((rows, params) in shapes()) {
        let rows = Rows::random(rows.0, rows.1, rows.2, rows.3);
        let forest = rows.forest(params);
        check(&rows, &forest);
        check_members(&rows, &forest);
    }

    #[test]
    fn predictions_do_not_depend_on_the_batch((rows, params) in shapes(), beam in 1usize..6) {
        let rows = Rows::random(rows.0, rows.1, rows.2, rows.3);
        let forest = rows.forest(params);
        let features = rows.features.view();
        let predict = |features: CsrView<'_>| bits(&forest.predict(features.into(), Query { beam: Some(beam), ..Query::top(5) }, &run(1)).unwrap());
        let together = predict(features);
        for (at, expected) in together.iter().enumerate() {
            prop_assert_eq!(&predict(features.slice(at..at + 1).view())[0], expected);
        }
        let backwards: Vec<usize> = (0..features.len()).rev().collect();
        let mut turned = predict(features.select(&backwards).view());
        turned.reverse();
        prop_assert_eq!(turned, together);
    }
}

#[test]
fn leaves_are_small_or_cannot_be_divided() {
    // Rows without labels belong to no cluster, so that a leaf with them may be too large.
    let all = Rows::random(3000, 60, 10, 8);
    let labelled: Vec<usize> = (0..3000).filter(|&row| !all.labels.row(row).is_empty()).collect();
    let rows = Rows {
        features: all.features.view().select(&labelled),
        labels: all.labels.view().select(&labelled),
    };
    let params = Params { trees: 3, leaf: 6, branches: 4, ..Params::default() };
    let forest = rows.forest(params);
    check(&rows, &forest);
    check_members(&rows, &forest);
    let mut undivided = 0;
    for number in 0..forest.trees.len() {
        for members in members(&rows, &forest, number) {
            let equal_labels = members
                .iter()
                .all(|&row| rows.labels.row(row).indices == rows.labels.row(members[0]).indices);
            // Rows that differ only in length are equal once they are scaled to length 1.
            let direction = |row| {
                let row = prepared(&forest, rows.features.row(row));
                (row.columns, row.values.iter().map(|v| (v * 1e5).round()).collect::<Vec<f32>>())
            };
            let equal_features = members.iter().all(|&row| direction(row) == direction(members[0]));
            if members.len() >= 6 && !equal_labels && !equal_features {
                undivided += members.len();
            }
        }
    }
    assert!(
        undivided < 3 * labelled.len() / 20,
        "{undivided} of {} rows are in leaves that could be divided",
        3 * labelled.len()
    );
}

#[test]
fn threads_do_not_change_a_forest_and_seeds_do() {
    let rows = Rows::random(5000, 80, 20, 4);
    let params = |seed| Params { trees: 3, sample: 900, seed, ..Params::default() };
    let grow = |seed, threads| forest(&rows.trainer(params(seed)), &run(threads));
    let forest = grow(1, 1);
    check(&rows, &forest);
    let expected =
        bits(&forest.predict(rows.features.view().into(), Query::top(5), &run(1)).unwrap());
    for threads in [1, 2, 7] {
        let again = grow(1, threads);
        assert!(again == forest, "{threads} threads give the same arrays");
        let found =
            again.predict(rows.features.view().into(), Query::top(5), &run(threads)).unwrap();
        assert!(bits(&found) == expected, "{threads} threads give the same scores");
    }
    let other = grow(2, 1);
    assert!((0..3).all(|tree| other.trees[tree] != forest.trees[tree]));
    assert!(forest.trees[0] != forest.trees[1], "trees differ from each other");
}

#[test]
fn one_tree_alone_is_the_same_tree() {
    let rows = Rows::random(300, 40, 8, 2);
    let params = Params { trees: 4, ..Params::default() };
    let forest = rows.forest(params.clone());
    let alone = Mutex::new(None);
    let keep = |_, tree| {
        *alone.lock().unwrap() = Some(tree);
        Ok(())
    };
    grow_each(&rows.trainer(params.clone()), [2].into_iter(), &run(2), keep).unwrap();
    assert!(alone.into_inner().unwrap().unwrap() == forest.trees[2]);
    let fewer = rows.forest(Params { trees: 2, ..params });
    assert!(fewer.trees == forest.trees[..2], "more trees leave the first as they are");
}

#[test]
fn unknown_columns_are_ignored() {
    let rows = Rows::random(200, 30, 8, 3);
    let forest = rows.forest(Params { trees: 3, ..Params::default() });
    let mut wider = Csr::new(1000);
    for row in rows.features.rows() {
        let indices: Vec<u32> = row.indices.iter().copied().chain([30, 999]).collect();
        let values: Vec<f32> = row.values.iter().copied().chain([7.0, -3.0]).collect();
        wider.push_row(&indices, &values).unwrap();
    }
    let predict = |features: &Csr| {
        bits(&forest.predict(features.view().into(), Query::top(5), &run(1)).unwrap())
    };
    assert_eq!(predict(&wider), predict(&rows.features));
}

/// Grows the default and the paper's forest, checks them and predicts.
fn works(rows: &Rows) -> Forest {
    let mut forests = Vec::new();
    for preset in [Params::paper(), Params::default()] {
        let forest = rows.forest(Params { trees: 3, ..preset });
        check(rows, &forest);
        for beam in [None, Some(1), Some(50)] {
            let found = forest
                .predict(rows.features.view().into(), Query { beam, ..Query::top(3) }, &run(1))
                .unwrap();
            assert_eq!(found.len(), rows.features.len());
            assert!(
                found.rows().flatten().all(|scored| scored.score > 0.0 && scored.score <= 1.00001)
            );
        }
        forests.push(forest);
    }
    forests.remove(1)
}

#[test]
fn a_forest_of_a_single_row_predicts_its_labels() {
    let mut rows = Rows::new(4, 5);
    rows.push(&[(1, 2.0)], &[0, 3]);
    let forest = works(&rows);
    let found = forest.predict(rows.features.view().into(), Query::top(5), &run(1)).unwrap();
    assert_eq!(
        found.row(0).iter().map(|s| (s.id, s.score)).collect::<Vec<_>>(),
        [(0, 1.0), (3, 1.0)]
    );
    assert!(
        forest
            .predict(rows.features.view().into(), Query::top(0), &run(1))
            .unwrap()
            .row(0)
            .is_empty()
    );
    assert!(forest.predict(Csr::new(4).view().into(), Query::top(5), &run(1)).unwrap().is_empty());
}

#[test]
fn empty_data_and_rows_without_features_or_labels_are_accepted() {
    works(&Rows::new(3, 3));
    works(&Rows::new(0, 0));
    let mut empty = Rows::new(3, 2);
    (0..40).for_each(|_| empty.push(&[], &[]));
    works(&empty);
    let mut unlabelled = Rows::new(3, 0);
    (0..40).for_each(|at| unlabelled.push(&[(at % 3, 1.0)], &[]));
    works(&unlabelled);
    let mut featureless = Rows::new(0, 7);
    (0..40).for_each(|at| featureless.push(&[], &[at % 7]));
    works(&featureless);
    let mut some = Rows::new(3, 7);
    (0..90).for_each(|at| match at % 3 {
        0 => some.push(&[], &[at % 7]),
        1 => some.push(&[(at % 2, 1.5)], &[]),
        _ => some.push(&[(at % 3, 1.0)], &[at % 7]),
    });
    works(&some);
}

#[test]
fn equal_labels_or_equal_features_make_one_leaf() {
    let mut equal_labels = Rows::new(50, 3);
    (0..100).for_each(|at| equal_labels.push(&[(at % 50, 1.0)], &[1, 2]));
    assert!(works(&equal_labels).trees.iter().all(|tree| tree.leaves() == 1));
    let mut equal_features = Rows::new(50, 30);
    (0..4000).for_each(|at| equal_features.push(&[(3, 1.0), (7, 2.0)], &[at % 30]));
    assert!(works(&equal_features).trees.iter().all(|tree| tree.leaves() == 1));
}

#[test]
fn one_feature_divides_only_by_its_sign() {
    let mut rows = Rows::new(1, 9);
    (0..300).for_each(|at| rows.push(&[(0, at as f32 - 149.5)], &[at / 40]));
    let forest = works(&rows);
    assert!(forest.trees.iter().all(|tree| tree.leaves() <= 2));
}

/// The depth of the deepest node of each tree.
fn depths(forest: &Forest) -> Vec<u64> {
    forest.trees.iter().map(|tree| tree.figures().depth).collect()
}

#[test]
fn values_of_all_magnitudes_are_accepted() {
    let mut rows = Rows::new(70, 70);
    for at in 0..70u32 {
        rows.push(
            &[(at, 2f32.powi(at as i32 * 3 - 100)), ((at + 1) % 70, 1.0)]
                .into_iter()
                .collect::<std::collections::BTreeMap<_, _>>()
                .into_iter()
                .collect::<Vec<_>>(),
            &[at],
        );
    }
    works(&rows);
}

#[test]
fn splits_that_take_off_few_rows_end_at_the_depth_limit() {
    // With two branches and geometric sizes each split takes off few of the remaining rows.
    let mut rows = Rows::new(900, 900);
    for at in 0..900u32 {
        let features: Vec<(u32, f32)> =
            (0..=at.min(60)).map(|low| (at - low, 0.9f32.powi(low as i32))).rev().collect();
        rows.push(&features, &(0..=at).step_by(1 + at as usize / 20).collect::<Vec<u32>>());
    }
    for metric in [Metric::Cosine, Metric::Euclidean, Metric::Linear] {
        let params = Params { trees: 3, branches: 2, leaf: 2, metric, ..Params::default() };
        let forest = forest(&rows.trainer(params), &run(2));
        check(&rows, &forest);
        forest
            .predict(rows.features.view().into(), Query { beam: Some(8), ..Query::top(5) }, &run(2))
            .unwrap();
    }
}

/// Three queries for each product, with some of the product's words and the product as label, so that
/// labels are rare. With `kinds`, each row also has the label of its product's kind.
fn near_unique(products: u32, kinds: u32) -> Rows {
    let mut random = Stream::new(3);
    let mut rows = Rows::new(4000, (kinds + products) as usize);
    for product in 0..products {
        let words: Vec<u32> = (0..5).map(|_| random.below(4000) as u32).collect();
        for _ in 0..3 {
            let mut some = words.clone();
            random.shuffle(&mut some);
            let features: std::collections::BTreeMap<u32, f32> =
                some[..3].iter().map(|&word| (word, 1.0)).collect();
            let kind = (kinds > 0).then(|| product % kinds);
            let labels: Vec<u32> = kind.into_iter().chain([kinds + product]).collect();
            rows.push(&Vec::from_iter(features), &labels);
        }
    }
    rows
}

#[test]
fn rare_labels_make_shallow_trees_on_any_number_of_threads() {
    // No further label, one that all rows have, or one of three.
    for (kinds, depth) in [(0, 10), (1, 14), (3, 14)] {
        let rows = near_unique(2000, kinds);
        let trainer = rows.trainer(Params { trees: 4, ..Params::default() });
        let grown = forest(&trainer, &run(1));
        check(&rows, &grown);
        assert!(depths(&grown).iter().all(|&found| found <= depth), "{:?}", depths(&grown));
        for threads in [2, 7] {
            assert!(forest(&trainer, &run(threads)) == grown, "{threads} threads");
        }
    }
}

#[test]
fn every_node_and_leaf_but_the_root_has_one_parent() {
    let rows = Rows::random(400, 40, 10, 12);
    let forest = rows.forest(Params { trees: 3, ..Params::default() });
    for tree in &forest.trees {
        let mut parents = vec![0; tree.nodes() + tree.leaves()];
        for node in 0..tree.nodes() {
            for at in tree.child_range(node) {
                match tree.child(node, at) {
                    Child::Node(node) => parents[node as usize] += 1,
                    Child::Leaf(leaf) => parents[tree.nodes() + leaf as usize] += 1,
                }
            }
        }
        assert_eq!(parents[0], 0);
        assert!(parents[1..].iter().all(|&count| count == 1));
    }
}

#[test]
fn pruning_keeps_entries_as_large_as_the_smallest_kept() {
    let mut rows = Rows::new(200, 10);
    for at in 0..100u32 {
        let features: Vec<(u32, f32)> = (0..10).map(|next| (at % 10 * 20 + next, 1.0)).collect();
        rows.push(&features, &[at % 10]);
    }
    let entries = |keep| {
        let params = Params {
            trees: 1,
            weighting: Weighting::None,
            keep: Some(keep),
            keep_at_least: 4,
            ..Params::default()
        };
        rows.forest(params).trees[0].figures()
    };
    assert_eq!(entries(0.3), entries(1.0), "all values are equal, so none is smaller");
}

#[test]
fn tiny_values_are_scaled_like_others() {
    let mut rows = Rows::new(6, 6);
    for at in 0..60u32 {
        rows.push(&[(at % 6, if at % 2 == 0 { 1e-40 } else { 0.5 })], &[at % 6]);
    }
    let trainer = rows.trainer(Params { trees: 1, ..Params::default() });
    assert!(
        trainer.instances.features.view().values.iter().all(|value| (value - 1.0).abs() < 1e-5)
    );
}

#[test]
fn a_tree_whose_nodes_share_children_is_refused() {
    let rows = Rows::random(200, 30, 6, 3);
    let tree = rows.forest(Params { trees: 1, ..Params::default() }).trees.remove(0);
    assert_eq!(tree.check(), Ok(()));
    let mut children = tree.children.to_vec();
    children[1] = children[0];
    let damaged = Tree { children: children.into(), ..tree };
    assert!(damaged.check().unwrap_err().contains("impossible children"));
}

/// A chain of `levels` nodes, each with the next node and a leaf as children.
fn chain(levels: u32) -> Tree {
    let rows = Rows::random(2, 3, 2, 1);
    let one_leaf = rows.forest(Params { trees: 1, ..Params::default() }).trees.remove(0);
    assert_eq!((one_leaf.nodes(), one_leaf.leaves()), (0, 1));
    let leaf = |leaf: u32| Child::Leaf(leaf).reference();
    let below = |node: u32| match node + 1 < levels {
        true => Child::Node(node + 1).reference(),
        false => leaf(levels),
    };
    Tree {
        branches: 2,
        children_start: (0..=levels).map(|node| node * 2).collect::<Vec<_>>().into(),
        children: (0..levels).flat_map(|node| [below(node), leaf(node)]).collect::<Vec<_>>().into(),
        scales: vec![1.0; levels as usize * 2].into(),
        words_start: vec![0; levels as usize + 1].into(),
        values_start: vec![0; levels as usize + 1].into(),
        leaf_start: vec![0; levels as usize + 2].into(),
        leaf_instances: vec![1; levels as usize + 1].into(),
        leaf_labels: Vec::new().into(),
        leaf_counts: Vec::new().into(),
        ..one_leaf
    }
}

#[test]
fn a_tree_with_too_many_levels_or_unreachable_leaves_is_refused() {
    let deep = chain(1000);
    assert_eq!((deep.check(), deep.figures().depth), (Ok(()), 1000));
    assert_eq!(chain(1001).check().unwrap_err(), "it has more than 1000 levels");
    let leaves = deep.leaves() + 1;
    let more = Tree {
        leaf_start: vec![0; leaves + 1].into(),
        leaf_instances: vec![1; leaves].into(),
        ..deep
    };
    assert!(more.check().unwrap_err().contains("no node leads to"));
}

#[test]
fn children_damaged_after_the_check_are_read_as_leaves() {
    let tree = chain(3);
    let to = |reference: u32| Tree { children: vec![reference; 6].into(), ..tree.clone() };
    for damaged in [to(0), to(1), to(9), to(Child::Leaf(9).reference())] {
        let found: Vec<Child> = (0..6).map(|at| damaged.child(at / 2, at)).collect();
        let known = |child: &Child| matches!(child, Child::Leaf(0) | Child::Node(1));
        assert!(found.iter().all(known), "{found:?}");
        assert!(found[2..].iter().all(|&child| child == Child::Leaf(0)), "{found:?}");
    }
    let jumbled = Tree { children_start: vec![6, 2, u32::MAX, 6].into(), ..tree };
    assert!((0..4).all(|node| jumbled.child_range(node).is_empty()));
}
