//! Which labels are drawn, and how submodels are put together.

use super::sample::draw;
use super::*;
use crate::algorithms::{Algorithm, Predict};
use crate::base::run::Pool;
use crate::base::sparse::{Csr, LabelRows, Query, Scored};
use crate::learn::linear::testing::{NodeSpec, nodes, one_hot_rows, small_rows, view};
use crate::learn::linear::{Limits, Link};
use proptest::prelude::*;
use rayon::prelude::*;
use std::collections::BTreeSet;

const SAMPLINGS: [Sampling; 4] = [
    Sampling::Uniform,
    Sampling::Partitions,
    Sampling::RandomPartitions,
    Sampling::RandomSelection,
];

fn singles(labels: u32) -> Vec<Vec<u32>> {
    (0..labels).map(|label| vec![label]).collect()
}

fn trainer(features: &Csr, labels: &LabelRows, params: &Params) -> Trainer {
    let task = Pool::new(1).unwrap().task();
    Trainer::new(view(features, labels), params.resolve(features.view(), labels.view()), &task)
}

fn forest_of(params: Params, features: usize, labels: usize, trees: Vec<Tree>) -> LabelForest {
    let (weights, tree) = (FeatureWeights(None), params.tree.clone());
    LabelForest::new(
        params,
        LabelTrees { params: tree, weights, features, labels, trees, votes: 20 },
    )
}

fn grown(trainer: &Trainer, features: &Csr, task: &Task) -> LabelForest {
    let (params, labels) = (trainer.params.clone(), trainer.training.label_count());
    let numbers = (0..params.submodels).into_par_iter();
    let trees = task.install(|| numbers.map(|at| trainer.submodel(at, task).unwrap()).collect());
    forest_of(params, features.columns(), labels, trees)
}

proptest! {
    #[test]
    fn uniform_draws_have_their_share_of_distinct_labels(
        labels in 1u32..200,
        submodels in 1usize..30,
        rate in 0.01f64..=1.0,
        cover in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let params = Params { submodels, rate, cover, ..Params::default() };
        let drawn = draw(&singles(labels), &params, seed);
        prop_assert_eq!(drawn.len(), submodels);
        let count = ((rate * f64::from(labels)).round() as usize).max(1);
        for subset in &drawn {
            prop_assert!(subset.is_sorted_by(|left, right| left < right));
            prop_assert!(subset.len() == count || cover && subset.len() > count);
        }
        let all: BTreeSet<u32> = drawn.into_iter().flatten().collect();
        prop_assert!(!cover || all.len() == labels as usize);
    }

    #[test]
    fn each_round_deals_every_label_once(
        labels in 0u32..200,
        rounds in 1usize..4,
        parts in 1usize..12,
        seed in any::<u64>(),
    ) {
        let params = Params {
            submodels: rounds * parts,
            rate: 1.0 / parts as f64,
            sampling: Sampling::Partitions,
            cover: false,
            ..Params::default()
        };
        let drawn = draw(&singles(labels), &params, seed);
        prop_assert_eq!(drawn.len(), rounds * parts);
        for round in drawn.chunks(parts) {
            let mut all = round.concat();
            all.sort_unstable();
            prop_assert!(all.into_iter().eq(0..labels));
            let sizes = || round.iter().map(Vec::len);
            prop_assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1);
        }
    }

    #[test]
    fn groups_are_drawn_whole(sizes in prop::collection::vec(1u32..5, 1..40), seed in any::<u64>()) {
        let mut next = 0;
        let mut group = |size: u32| { next += size; (next - size..next).collect::<Vec<u32>>() };
        let groups: Vec<Vec<u32>> = sizes.into_iter().map(&mut group).collect();
        for sampling in SAMPLINGS {
            let params = Params { submodels: 5, rate: 0.3, sampling, ..Params::default() };
            for subset in draw(&groups, &params, seed) {
                let is_in = |label: &u32| subset.binary_search(label).is_ok();
                prop_assert!(groups.iter().all(|group| group.iter().all(is_in) || !group.iter().any(is_in)));
            }
        }
    }
}

#[test]
fn other_seeds_draw_other_labels_and_the_same_seed_the_same() {
    let params = Params { submodels: 4, ..Params::default() };
    assert_eq!(draw(&singles(100), &params, 1), draw(&singles(100), &params, 1));
    assert_ne!(draw(&singles(100), &params, 1), draw(&singles(100), &params, 2));
    let more = Params { submodels: 9, cover: false, ..params.clone() };
    let fewer = Params { cover: false, ..params };
    // Submodels that are added later do not change the others.
    assert_eq!(draw(&singles(100), &more, 1)[..4], draw(&singles(100), &fewer, 1));
}

#[test]
fn labels_that_are_never_drawn_are_named() {
    let (features, labels) = one_hot_rows(30, 10);
    let params = Params { submodels: 2, rate: 0.2, cover: false, ..Params::default() };
    let uncovered = trainer(&features, &labels, &params);
    let mut all: Vec<u32> = uncovered.undrawn.clone();
    assert!(all.len() >= 6);
    (0..2).for_each(|submodel| all.extend(&uncovered.subsets[submodel]));
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), 10);
    let covered = trainer(&features, &labels, &Params { cover: true, ..params });
    assert!(covered.undrawn.is_empty());
}

#[test]
fn equation_14_by_hand() {
    // Margins are biases; the probability of margin 1 is 1, that of margin 0 is exp(-1).
    let tree = |margins: &[(u32, f32)]| Tree {
        root: nodes(&[NodeSpec {
            children: margins
                .iter()
                .map(|&(label, margin)| (Child::Label(label), margin))
                .collect(),
            weights: Vec::new(),
        }]),
        subtrees: Vec::new(),
    };
    let mut params = Params { submodels: 3, ..Params::default() };
    params.tree.link = Link::SquaredHinge;
    let submodels =
        vec![tree(&[(0, 1.0), (1, 0.0)]), tree(&[(1, 1.0), (2, 0.0)]), tree(&[(1, 0.0), (3, 2.0)])];
    let forest = forest_of(params, 1, 6, submodels);
    assert_eq!(forest.copies, [1, 3, 1, 1, 0, 0]);
    let mut features = Csr::new(1);
    features.push_row(&[0], &[1.0]).unwrap();
    let task = Pool::new(1).unwrap().task();
    let predictions = forest.predict(features.view().into(), Query::top(9), &task).unwrap();
    let e = (-1.0f64).exp();
    let expected = [(0, 1.0), (3, 1.0), (1, (1.0 + 2.0 * e) / 3.0), (2, e)];
    for (&Scored { id, score }, (label, mean)) in predictions.row(0).iter().zip(expected) {
        assert_eq!(id, label);
        assert!((f64::from(score) - mean).abs() < 1e-6, "{label}: {score} {mean}");
    }
    assert_eq!(predictions.row(0).len(), 4);
    let allowed: LabelSet = [1, 2].into_iter().collect();
    let query = Query { allowed: Some(&allowed), ..Query::top(1) };
    assert_eq!(forest.predict(features.view().into(), query, &task).unwrap().row(0)[0].id, 1);
}

#[test]
fn every_variant_learns_which_feature_means_which_label() {
    let (features, labels) = one_hot_rows(60, 12);
    let task = Pool::new(2).unwrap().task();
    for (at, sampling) in SAMPLINGS.into_iter().enumerate() {
        for group in [1, 3] {
            let mut params =
                Params { submodels: 11, rate: 0.25, sampling, group, ..Params::default() };
            params.tree.leaf = Some(1 + 2 * at % 3);
            params.tree.branches = Some(2);
            let forest = grown(&trainer(&features, &labels, &params), &features, &task);
            assert!(forest.copies.iter().all(|&copies| copies > 0));
            let predictions = forest.predict(features.view().into(), Query::top(2), &task).unwrap();
            for (row, best) in predictions.rows().enumerate() {
                assert_eq!(best[0].id, row as u32 % 12, "{sampling:?}");
                let alone = features.view().slice(row..row + 1);
                let alone = forest.predict(alone.view().into(), Query::top(2), &task).unwrap();
                assert_eq!(alone.row(0), best);
            }
        }
    }
}

#[test]
fn rows_without_a_drawn_label_are_negative_unless_they_are_dropped() {
    let (features, labels) = one_hot_rows(60, 12);
    let task = Pool::new(1).unwrap().task();
    let params = Params { submodels: 2, rate: 0.5, ..Params::default() };
    let scores = |params: Params| {
        let trainer = trainer(&features, &labels, &params);
        let submodel = trainer.submodel(0, &task).unwrap();
        let known = trainer.subsets[0].clone();
        let forest = forest_of(params, 12, 12, vec![submodel]);
        let predictions = forest.predict(features.view().into(), Query::top(1), &task).unwrap();
        let strangers = (0..12).filter(|label| !known.contains(label));
        strangers.map(|row| predictions.row(row as usize)[0].score).fold(0.0, f32::max)
    };
    let kept = scores(params.clone());
    let dropped = scores(Params { drop_unlabelled: true, ..params });
    assert!(kept < dropped, "{kept} {dropped}");
}

#[test]
fn settings_that_cannot_be_are_refused_by_name() {
    let good = Params::default;
    let mut two_trees = good();
    two_trees.tree.trees = 2;
    let mut no_beam = good();
    no_beam.tree.beam = 0;
    let wrong = [
        ("submodels", Params { submodels: 0, ..good() }),
        ("rate", Params { rate: 0.0, ..good() }),
        ("rate", Params { rate: 1.5, ..good() }),
        ("rate", Params { rate: f64::NAN, ..good() }),
        ("group", Params { group: 0, ..good() }),
        ("trees", two_trees),
        ("beam", no_beam),
    ];
    for (setting, params) in wrong {
        assert_eq!(params.check().unwrap_err().setting, setting);
    }
}

#[test]
fn settings_come_back_from_their_text() {
    for name in Params::PRESETS {
        let params = Params::preset(name).unwrap();
        params.check().unwrap();
        let text = serde_json::to_string(&params).unwrap();
        assert_eq!(serde_json::from_str::<Params>(&text).unwrap(), params);
    }
    assert_eq!(Params::preset("oak"), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_number_of_threads_and_any_split_grow_the_same_submodels(
        (features, labels) in small_rows(30),
        sampling in prop::sample::select(&SAMPLINGS[..]),
        group in 1usize..4,
        seed in 0u64..9,
    ) {
        let mut params = Params { submodels: 3, rate: 0.4, sampling, group, ..Params::default() };
        (params.tree.leaf, params.tree.branches, params.tree.seed) = (Some(2), Some(3), seed);
        let trainer = trainer(&features, &labels, &params);
        let forest = grown(&trainer, &features, &Pool::new(1).unwrap().task());
        prop_assert_eq!(&grown(&trainer, &features, &Pool::new(7).unwrap().task()), &forest);
        let task = Pool::new(2).unwrap().task();
        for (number, tree) in forest.submodels.trees.iter().enumerate() {
            prop_assert_eq!(&trainer.submodel(number, &task).unwrap(), tree);
            tree.root.check(Limits::none(None)).unwrap();
            prop_assert!(tree.subtrees.is_empty());
        }
        let known = labels.view().column_counts();
        for (label, (&copies, &rows)) in forest.copies.iter().zip(&known).enumerate() {
            let drawn = (0..3).filter(|&at| trainer.subsets[at].contains(&(label as u32)));
            prop_assert_eq!(copies as usize, drawn.count());
            prop_assert_eq!(copies > 0, rows > 0);
        }
    }
}

#[test]
fn a_submodel_is_estimated_at_about_its_share_of_the_full_tree() {
    let (features, labels) = one_hot_rows(5000, 1000);
    let params = Params::default();
    let estimate = |params: &Params| params.estimate(view(&features, &labels), 2);
    let forest = estimate(&params);
    let full = params.tree.estimate(view(&features, &labels), 2);
    let submodel = forest.model as f64 / 100.0;
    assert!(submodel < 0.2 * full.model as f64, "{submodel} of {full:?}");
    let half = Params { submodels: 50, ..params };
    assert!(estimate(&half).model < forest.model);
}
