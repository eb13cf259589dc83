//! Growth: trees by hand, and what every tree has in common.

use super::*;
use crate::base::random::Stream;
use crate::base::sparse::{Csr, Query};
use crate::data::generate::{Generator, Profile};
use crate::learn::linear::testing::{collect, one_hot_rows, small_rows};
use crate::learn::linear::{Limits, Precision};
use crate::learn::solver::{self, Loss};
use std::collections::{BTreeMap, BTreeSet};

/// The number of levels, the root included.
fn depth(tree: &Tree) -> usize {
    fn below(nodes: &Nodes, node: usize) -> usize {
        let child = |at| match nodes.child(at) {
            Child::Label(_) => 0,
            Child::Node(child) => below(nodes, child as usize),
        };
        1 + nodes.children(node).map(child).max().unwrap_or(0)
    }
    1 + tree.subtrees.iter().map(|nodes| below(nodes, 0)).max().unwrap_or(0)
}

#[test]
fn few_labels_make_few_groups_unless_settings_say_otherwise() {
    let resolved = |labels: usize, params: &Params| {
        let params = params.resolve_for(Csr::new(0).view(), labels);
        (params.branches(), params.leaf())
    };
    let default = Params::default();
    assert_eq!(resolved(3, &default), (2, 2));
    assert_eq!(resolved(27, &default), (6, 6));
    assert_eq!(resolved(24_579, &default), (100, 100));
    let given = Params { branches: Some(7), leaf: Some(1), ..Params::default() };
    assert_eq!(resolved(27, &given), (7, 1));
    assert_eq!(resolved(27, &Params::preset("bonsai").unwrap()), (100, 100));
}

#[test]
fn two_rows_and_two_labels_by_hand() {
    // Of weights (a, -a) and no bias, a^2 + 2 (1 - a)^2 is least at a = 2 / 3.
    let (features, labels) = one_hot_rows(2, 2);
    let solver = solver::Params { tolerance: 1e-4, iterations: 1000, ..solver::Params::default() };
    let params = Params { trees: 1, solver, ..Params::default() };
    let trees = grown(&features, &labels, &params, 1);
    let [tree] = &trees.trees[..] else { panic!("one tree") };
    assert_eq!((tree.subtrees.len(), labels_of(tree)), (0, vec![0, 1]));
    for (feature, weight) in tree.root.weights_of(0) {
        assert!((weight - if feature == 0 { 2.0 / 3.0 } else { -2.0 / 3.0 }).abs() < 1e-3);
    }
    let predictions = trees
        .predict(features.view().into(), Query::top(2), &Pool::new(1).unwrap().task())
        .unwrap();
    for row in 0..2 {
        let [best, other] = predictions.row(row) else { panic!("two labels") };
        assert_eq!((best.id, other.id), (row as u32, 1 - row as u32));
        assert!((best.score - (-1.0f32 / 9.0).exp()).abs() < 1e-3);
        assert!((other.score - (-25.0f32 / 9.0).exp()).abs() < 1e-3);
    }
}

#[test]
fn one_branch_and_a_single_label_and_no_label_make_one_node() {
    let (features, labels) = one_hot_rows(24, 8);
    let one_branch = Params { branches: Some(1), leaf: Some(1), trees: 1, ..Params::default() };
    for (rows, expected) in [(24, 8), (1, 1), (0, 0)] {
        let few: Vec<usize> = (0..rows).collect();
        let (features, labels) = (features.view().select(&few), labels.view().select(&few));
        for params in [&one_branch, &Params { depth: 1, branches: Some(4), ..one_branch.clone() }] {
            let trees = grown(&features, &labels, params, 1);
            let tree = &trees.trees[0];
            assert_eq!((tree.root.len(), tree.subtrees.len()), (1, 0));
            assert_eq!(labels_of(tree).len(), expected);
        }
    }
}

#[test]
fn collapsing_more_layers_than_there_are_gives_each_group_its_own_child() {
    let (features, labels) = one_hot_rows(24, 8);
    let params = Params {
        trees: 1,
        branches: Some(2),
        balanced: true,
        leaf: Some(1),
        collapse: 50,
        ..Params::default()
    };
    let trees = grown(&features, &labels, &params, 1);
    let tree = &trees.trees[0];
    assert_eq!((tree.root.children(0).len(), tree.subtrees.len()), (8, 8));
    assert_eq!(depth(tree), 2);
    let collapse_one = Params { collapse: 1, ..params };
    let trees = grown(&features, &labels, &collapse_one, 1);
    assert_eq!(trees.trees[0].root.children(0).len(), 4);
}

#[test]
fn every_preset_learns_which_feature_means_which_label() {
    let (features, labels) = one_hot_rows(40, 8);
    let task = Pool::new(2).unwrap().task();
    for name in Params::PRESETS {
        let preset = Params::preset(name).unwrap();
        for params in [preset.clone(), Params { leaf: Some(2), branches: Some(3), ..preset }] {
            params.check().unwrap();
            let trees = grown(&features, &labels, &params, 2);
            let predictions = trees.predict(features.view().into(), Query::top(1), &task).unwrap();
            for (row, best) in predictions.rows().enumerate() {
                assert_eq!(best[0].id, row as u32 % 8, "{name}");
            }
        }
    }
    assert_eq!(Params::preset("oak"), None);
}

#[test]
fn a_node_of_half_the_rows_may_have_twice_the_cost() {
    let (features, labels) = one_hot_rows(32, 8);
    let shape =
        Params { trees: 1, branches: Some(2), balanced: true, leaf: Some(4), ..Params::default() };
    let with = |loss, cost, scale_cost| {
        let solver = solver::Params { loss, cost, ..shape.solver };
        let tree = grown(&features, &labels, &Params { solver, scale_cost, ..shape.clone() }, 1);
        tree.trees.into_iter().next().unwrap()
    };
    let [plain, scaled] = [false, true].map(|scale| with(Loss::Logistic, 1.0, scale));
    let doubled = with(Loss::Logistic, 2.0, false);
    assert_eq!(scaled.root, plain.root);
    assert_eq!(scaled.subtrees, doubled.subtrees);
    assert_ne!(scaled.subtrees, plain.subtrees);
    let [plain, scaled] = [false, true].map(|scale| with(Loss::SquaredHinge, 1.0, scale));
    assert_eq!(scaled, plain);
}

#[test]
fn settings_that_cannot_be_are_refused_by_name() {
    let good = Params::default;
    let solver = |solver| Params { solver, ..good() };
    let wrong = [
        ("trees", Params { trees: 0, ..good() }),
        ("branches", Params { branches: Some(0), ..good() }),
        ("collapse", Params { collapse: 1001, ..good() }),
        ("leaf", Params { leaf: Some(0), ..good() }),
        ("depth", Params { depth: 0, ..good() }),
        ("smallest_group", Params { smallest_group: 0, ..good() }),
        ("passes", Params { passes: 0, ..good() }),
        ("beam", Params { beam: 0, ..good() }),
        ("vector_threshold", Params { vector_threshold: f32::NAN, ..good() }),
        ("weight_threshold", Params { weight_threshold: -0.1, ..good() }),
        ("tail_weight", Params { tail_weight: Some(-1.0), ..good() }),
        ("tail_weight", Params { tail_weight: Some(f32::NAN), ..good() }),
        ("cost", solver(solver::Params { cost: 0.0, ..good().solver })),
        ("bias", solver(solver::Params { bias: -1.0, ..good().solver })),
    ];
    for (setting, params) in wrong {
        assert_eq!(params.check().unwrap_err().setting, setting);
        let (features, labels) = (Csr::new(1), LabelRows::new(1));
        let task = Pool::new(1).unwrap().task();
        assert!(params.prepare(view(&features, &labels), &task).is_err());
    }
}

#[test]
fn settings_come_back_from_their_text() {
    for name in Params::PRESETS {
        let params = Params::preset(name).unwrap();
        let text = serde_json::to_string(&params).unwrap();
        assert_eq!(serde_json::from_str::<Params>(&text).unwrap(), params);
    }
    // Models from before these settings existed do not store them.
    let params = Params::default();
    let text = serde_json::to_string(&params).unwrap();
    for newer in ["\"tail_weight\":null,", "\"scale_cost\":false,", "\"leaf_beam\":false,"] {
        let older = text.replace(newer, "");
        assert!(older != text && serde_json::from_str::<Params>(&older).unwrap() == params);
    }
}

#[test]
fn rare_labels_weigh_more_in_nodes_that_lead_to_labels_and_nowhere_else() {
    let profile = Profile { instances: 400, ..Profile::named("eurlex-4k").unwrap() };
    let task = Pool::new(2).unwrap().task();
    let (features, labels) = Generator::new(profile, 3).unwrap().rows(0..400, &task).unwrap();
    let plain = Params { trees: 1, precision: Precision::Single, ..Params::default() };
    let tail = Params { tail_weight: Some(1.0), ..plain.clone() };
    let [plain, tail] = [plain, tail].map(|params| grown(&features, &labels, &params, 2));
    let (plain, tail) = (&plain.trees[0], &tail.trees[0]);
    assert_eq!(plain.root, tail.root);
    let counts = labels.view().column_counts();
    let mut higher = [0usize; 2];
    for (plain, tail) in plain.subtrees.iter().zip(&tail.subtrees) {
        for at in 0..plain.biases.len() {
            let Child::Label(label) = plain.child(at) else {
                assert_eq!(plain.biases[at], tail.biases[at]);
                continue;
            };
            assert_eq!(tail.child(at), Child::Label(label));
            let is_frequent = usize::from(counts[label as usize] > 20);
            higher[is_frequent] += usize::from(tail.biases[at] > plain.biases[at]);
        }
    }
    let frequent = counts.iter().filter(|&&count| count > 20).count();
    let rare = counts.iter().filter(|&&count| count > 0).count() - frequent;
    assert!(higher[0] * 2 > rare, "{higher:?} of {rare} rare and {frequent} frequent labels");
    assert!(higher[1] * 2 < frequent, "{higher:?} of {rare} rare and {frequent} frequent labels");
}

#[test]
fn subtrees_grown_one_by_one_are_the_whole_tree() {
    let (features, labels) = one_hot_rows(40, 8);
    let params = Params { trees: 2, branches: Some(3), leaf: Some(1), ..Params::default() };
    let task = Pool::new(1).unwrap().task();
    let trainer = trainer(&features, &labels, &params);
    for (number, tree) in all_trees(&trainer, 8, &task).unwrap().trees.iter().enumerate() {
        let root = trainer.root(number, &task).unwrap();
        assert_eq!(root.nodes, tree.root);
        // In any order, and by a trainer whose vectors are those of these labels only.
        let other = super::trainer(&features, &labels, &params);
        for (at, group) in root.groups.iter().enumerate().rev() {
            assert_eq!(trainer.subtree(number, at, group, &task).unwrap(), tree.subtrees[at]);
            other.vectors.restrict_to(group);
            assert_eq!(other.subtree(number, at, group, &task).unwrap(), tree.subtrees[at]);
        }
    }
}

#[test]
fn a_cancelled_growth_stops() {
    let (features, labels) = one_hot_rows(40, 8);
    let task = Pool::new(1).unwrap().task();
    task.canceller().cancel();
    let trainer = trainer(&features, &labels, &Params::default());
    assert!(all_trees(&trainer, features.columns(), &task).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_label_with_rows_is_there_once_and_groups_hold_its_subtrees_labels(
        (features, labels) in small_rows(40),
        params in params(),
    ) {
        let task = Pool::new(1).unwrap().task();
        let trainer = trainer(&features, &labels, &params);
        let known: Vec<u32> =
            labels.rows().flat_map(|row| row.indices).copied().collect::<BTreeSet<_>>().into_iter().collect();
        let trees = all_trees(&trainer, features.columns(), &task).unwrap();
        for (number, tree) in trees.trees.iter().enumerate() {
            prop_assert_eq!(&labels_of(tree), &known);
            prop_assert!(depth(tree) <= params.depth);
            tree.root.check(Limits::none(Some(tree.subtrees.len()))).unwrap();
            for nodes in &tree.subtrees {
                nodes.check(Limits::none(None)).unwrap();
            }
            let root = trainer.root(number, &task).unwrap();
            for (group, nodes) in root.groups.iter().zip(&tree.subtrees) {
                let alone = Tree { root: nodes.clone(), subtrees: Vec::new() };
                let mut group = group.clone();
                group.sort_unstable();
                prop_assert_eq!(labels_of(&alone), group);
            }
            let figures = tree.figures();
            prop_assert_eq!(figures.labels, known.len() as u64);
        }
    }

    #[test]
    fn any_number_of_threads_grows_the_same_bytes(
        (features, labels) in small_rows(40),
        params in params(),
    ) {
        let alone = grown(&features, &labels, &params, 1);
        prop_assert_eq!(&grown(&features, &labels, &params, 2), &alone);
        prop_assert_eq!(&grown(&features, &labels, &params, 7), &alone);
    }
}

#[test]
fn threads_do_not_matter_on_more_rows_either() {
    let mut random = Stream::new(1);
    let mut row = |_| {
        let columns = (0..4).map(|_| (random.below(8) as u32, random.unit() as f32 + 0.1));
        let columns: BTreeMap<u32, f32> = columns.collect();
        let labels = columns.keys().map(|&column| column + 4 * random.below(2) as u32).collect();
        (columns, labels)
    };
    let rows: Vec<_> = (0..2000).map(&mut row).collect();
    let (features, labels) = collect(&rows);
    for loss in [Loss::SquaredHinge, Loss::Hinge, Loss::Logistic] {
        let solver = solver::Params { loss, ..solver::Params::default() };
        let params = Params { branches: Some(3), leaf: Some(2), solver, ..Params::default() };
        assert_eq!(grown(&features, &labels, &params, 1), grown(&features, &labels, &params, 3));
    }
}

#[test]
fn estimates_follow_the_shape_of_the_tree() {
    let (features, labels) = one_hot_rows(5000, 1000);
    let estimate = |params: &Params| params.estimate(view(&features, &labels), 2);
    let params = Params { trees: 1, ..Params::default() };
    let one = estimate(&params);
    assert!(estimate(&Params { trees: 3, ..params.clone() }).model.abs_diff(3 * one.model) <= 3);
    // Every shape has an estimate.
    for (branches, leaf, collapse) in [(1, 100, 0), (2, 1, 0), (2, 1, 1000), (65_536, 5000, 3)] {
        let found = estimate(&Params {
            branches: Some(branches),
            leaf: Some(leaf),
            collapse,
            ..params.clone()
        });
        assert!(found.model > 0 && found.memory < 1 << 32, "{found:?}");
    }
    let nothing = params.estimate(view(&Csr::new(0), &LabelRows::new(0)), 2);
    assert_eq!(nothing.model, 0);
}
