//! Blocks against the solver, label by label.

use super::*;
use crate::algorithms::{Algorithm, Predict};
use crate::base::random::Stream;
use crate::base::run::Pool;
use crate::base::sparse::{Csr, LabelRows, LabelSet, Query, Scored, best_first, top_k};
use crate::learn::linear::testing::{margins, one_hot_rows, small_rows, view};
use crate::learn::linear::{Limits, Precision};
use crate::learn::solver::{self, Workspace};
use proptest::prelude::*;

fn trainer(features: &Csr, labels: &LabelRows, params: Params) -> Trainer {
    let weights = FeatureWeights::learn(params.weighting, features.view());
    Trainer::new(view(features, labels), params, weights)
}

/// All blocks, learned one after the other.
fn learned(trainer: &Trainer, features: usize, task: &Task) -> OneVsRest {
    let blocks = (0..trainer.blocks()).map(|number| trainer.block(number, task).unwrap());
    OneVsRest {
        params: trainer.params.clone(),
        weights: trainer.training.weights.clone(),
        features,
        labels: trainer.training.label_count(),
        blocks: blocks.collect(),
    }
}

fn exact() -> Params {
    Params {
        solver: solver::Params { tolerance: 1e-5, iterations: 20_000, ..solver::Params::default() },
        weight_threshold: 0.0,
        precision: Precision::Single,
        ..Params::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn each_label_s_weights_are_those_that_it_gets_alone(
        (features, labels) in small_rows(40),
        tail_weight in prop::sample::select(vec![None, Some(0.5), Some(1.0)]),
    ) {
        let task = Pool::new(2).unwrap().task();
        let trainer = trainer(&features, &labels, Params { tail_weight, ..exact() });
        let block = trainer.block(0, &task).unwrap();
        block.check(Limits::none(Some(0))).unwrap();
        for label in 0..labels.columns() as u32 {
            let positives = trainer.training.rows_of(label);
            let is_known = (0..block.children.len()).find(|&at| block.child(at) == Child::Label(label));
            prop_assert_eq!(is_known.is_some(), !positives.is_empty());
            let Some(child) = is_known else { continue };
            let mut workspace = Workspace::default();
            let weight = trainer.training.emphasis_of(label);
            prop_assert!(tail_weight.is_some() || weight == 1.0);
            let alone = workspace.solve(
                &trainer.training.rows, &[positives], &[weight], &exact().solver, &mut Stream::new(7),
            );
            prop_assert!((block.biases[child] - alone.bias.0[0]).abs() < 1e-4);
            let found = block.weights_of(label);
            for (column, feature) in trainer.training.rows.features().iter().enumerate() {
                let weight = found.iter().find(|weight| weight.0 == *feature).map_or(0.0, |weight| weight.1);
                prop_assert!((weight - alone.columns[column].0[0]).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn predictions_are_the_best_margins_of_allowed_labels(
        (features, labels) in small_rows(30),
        allowed in prop::option::of(prop::collection::vec(0u32..14, 0..6)),
        k in 0usize..6,
    ) {
        let task = Pool::new(2).unwrap().task();
        let trainer = trainer(&features, &labels, Params::default());
        let model = learned(&trainer, features.columns(), &task);
        prop_assert_eq!(&learned(&trainer, features.columns(), &Pool::new(7).unwrap().task()), &model);
        let allowed: Option<LabelSet> = allowed.map(|labels| labels.into_iter().collect());
        let query = Query { k, beam: None, allowed: allowed.as_ref() };
        let predictions = model.predict(features.view().into(), query, &task).unwrap();
        let rows = model.weights.apply(features.view(), features.columns());
        let block = &model.blocks[0];
        for (row, best) in predictions.rows().enumerate() {
            let (columns, values) = rows.view().row(row as u32);
            let margins = margins(block, 0, columns, values);
            let mut expected: Vec<Scored> = (0..margins.len())
                .filter_map(|at| match block.child(at) {
                    Child::Label(id) if query.allows(id) => Some(Scored { id, score: margins[at] }),
                    _ => None,
                })
                .collect();
            top_k(&mut expected, k);
            for best in &mut expected {
                best.score = libm::expf(model.params.link.log_probability(best.score));
            }
            expected.sort_by(best_first);
            prop_assert_eq!(best, expected);
        }
    }
}

#[test]
fn labels_fall_into_fixed_blocks_that_are_learned_in_any_order() {
    let (features, labels) = one_hot_rows(1100, 1100);
    let task = Pool::new(2).unwrap().task();
    let trainer = trainer(&features, &labels, Params::default());
    assert_eq!(trainer.blocks(), 2);
    let last = trainer.block(1, &task).unwrap();
    let model = learned(&trainer, features.columns(), &task);
    assert_eq!(model.blocks[1], last);
    let sizes: Vec<u64> = model.blocks.iter().map(|block| block.figures().labels).collect();
    assert_eq!(sizes, [1024, 76]);
    let predictions = model.predict(features.view().into(), Query::top(3), &task).unwrap();
    for (row, best) in predictions.rows().enumerate() {
        assert_eq!(best[0].id, row as u32);
    }
    // Threads without rows share the labels.
    for task in [1, 2, 3].map(|threads| Pool::new(threads).unwrap().task()) {
        for row in [0, 500, 1099] {
            let alone = features.view().slice(row..row + 1);
            let alone = model.predict(alone.view().into(), Query::top(3), &task).unwrap();
            assert_eq!(alone.row(0), predictions.row(row));
        }
    }
}

#[test]
fn ppdsparse_has_a_third_of_the_weights_of_dismec_and_the_same_on_any_threads() {
    let (mut features, mut labels) = (Csr::new(60), LabelRows::new(20));
    let mut random = Stream::new(3);
    for _ in 0..300 {
        let mut columns: Vec<u32> = (0..8).map(|_| random.below(60) as u32).collect();
        columns.sort_unstable();
        columns.dedup();
        features.push_row(&columns, &vec![1.0; columns.len()]).unwrap();
        // A label for each of the first columns.
        let own: Vec<u32> = columns.into_iter().filter(|&column| column < 20).collect();
        labels.push_row(&own, &vec![(); own.len()]).unwrap();
    }
    let learned = |preset, threads| {
        let task = Pool::new(threads).unwrap().task();
        learned(&trainer(&features, &labels, Params::preset(preset).unwrap()), 60, &task)
    };
    let sparse = learned("ppdsparse", 1);
    assert_eq!(sparse, learned("ppdsparse", 3));
    let weights = |model: &OneVsRest| model.blocks[0].figures().weights;
    assert!(weights(&sparse) >= 20 && weights(&sparse) * 3 < weights(&learned("dismec", 2)));
    let task = Pool::new(2).unwrap().task();
    let predictions = sparse.predict(features.view().into(), Query::top(1), &task).unwrap();
    for (row, best) in predictions.rows().enumerate() {
        let own = labels.row(row).indices;
        assert!(own.is_empty() || own.contains(&best[0].id));
    }
}

#[test]
fn without_labels_or_rows_nothing_is_predicted() {
    let task = Pool::new(1).unwrap().task();
    for columns in [0, 3] {
        let (features, labels) = (Csr::new(2), LabelRows::new(columns));
        let trainer = trainer(&features, &labels, Params::default());
        let model = learned(&trainer, features.columns(), &task);
        let mut row = Csr::new(2);
        row.push_row(&[0], &[1.0]).unwrap();
        let predictions = model.predict(row.view().into(), Query::top(3), &task).unwrap();
        assert!(predictions.row(0).is_empty());
    }
}

#[test]
fn settings_are_checked_and_come_back_from_their_text() {
    for name in Params::PRESETS {
        let params = Params::preset(name).unwrap();
        params.check().unwrap();
        let text = serde_json::to_string(&params).unwrap();
        assert_eq!(serde_json::from_str::<Params>(&text).unwrap(), params);
    }
    assert_eq!(Params::preset("oak"), None);
    let wrong = Params { weight_threshold: f32::NAN, ..Params::default() };
    assert_eq!(wrong.check().unwrap_err().setting, "weight_threshold");
}

#[test]
fn estimates_grow_with_threads_and_with_the_weights_that_are_kept() {
    let (features, labels) = one_hot_rows(5000, 100);
    let estimate = |params: &Params, threads| params.estimate(view(&features, &labels), threads);
    let params = Params::default();
    let one = estimate(&params, 1);
    assert!(estimate(&params, 8).memory > one.memory);
    assert_eq!(estimate(&params, 8).model, one.model);
    let fewer = Params { weight_threshold: 0.5, ..params.clone() };
    assert!(estimate(&fewer, 1).model < one.model);
    assert!(estimate(&Params { precision: Precision::Single, ..params }, 1).model > one.model);
    // The rows alone, as read and as learned from.
    assert!(one.memory > 2 * 5000 * 8);
}
