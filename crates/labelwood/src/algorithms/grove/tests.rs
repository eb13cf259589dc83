use super::blend::Blend;
use super::*;
use crate::algorithms::{Train, craftml, label_tree, learn_in_memory, one_vs_rest};
use crate::base::run::Pool;
use crate::base::sparse::{Csr, LabelRows, LabelSet, Predictions, Scored};
use crate::base::store::UnitFile;
use crate::data::Dataset;
use crate::data::generate::{Generator, Profile, TEST_START};
use serde_json::json;

fn rows(count: u64, task: &Task) -> Dataset {
    let profile = Profile { instances: count, ..Profile::named("eurlex-4k").unwrap() };
    let (features, labels) = Generator::new(profile, 1).unwrap().rows(0..count, task).unwrap();
    Dataset { features, labels, label_names: None, named: None }
}

fn small() -> Params {
    let forest = craftml::Params { trees: 4, ..Default::default() };
    let label_tree = label_tree::Params { trees: 2, ..Default::default() };
    Params { parts: vec![forest.into(), label_tree.into()], choose: false, ..Params::default() }
}

fn trainer<'a>(params: &Params, dataset: &'a Dataset) -> Trainer<'a> {
    Trainer::new(params, dataset.view(), &Pool::new(2).unwrap().task()).unwrap()
}

fn learn(dataset: &Dataset, params: &Params, task: &Task) -> Box<dyn Predict> {
    learn_in_memory(&Settings::from(params.clone()), dataset.view(), task).unwrap()
}

fn grown(count: u64, task: &Task) -> (Dataset, Box<dyn Predict>) {
    let dataset = rows(count, task);
    let grove = learn(&dataset, &small(), task);
    (dataset, grove)
}

/// All units with their checksums.
fn units(dataset: &Dataset, params: &Params, task: &Task) -> Vec<UnitFile> {
    let units = UnitSink::in_memory();
    trainer(params, dataset).train(&units, task).unwrap();
    units.all()
}

fn ids(predictions: &Predictions) -> Vec<Vec<u32>> {
    predictions.rows().map(|row| row.iter().map(|label| label.id).collect()).collect()
}

#[test]
fn a_blend_that_trusts_one_part_ranks_as_that_part_does() {
    let task = Pool::new(2).unwrap().task();
    let dataset = rows(400, &task);
    let (features, query) = (dataset.features.view(), Query::top(5));
    let resolved = trainer(&small(), &dataset).params;
    let learn = |part: &Settings| learn_in_memory(part, dataset.view(), &task).unwrap();
    let mut grove = Grove {
        parts: resolved.parts.iter().map(learn).collect(),
        ranker: Ranker::prior(&resolved.parts),
        counts: Array::from(dataset.labels.view().column_counts()),
        params: Params { learn_ranker: false, ..resolved.clone() },
    };
    let only = |at: usize| {
        let mut weights = [0.0; 11];
        weights[at] = 1.0;
        Ranker::of_blend(Blend::from_weights(weights.into_iter()), &resolved.parts)
    };
    // Where a part has fewer labels than are asked for, the other fills up with ties.
    let agree = |found: &Predictions, part: &Predictions| {
        ids(found).iter().zip(&ids(part)).all(|(found, part)| found.starts_with(part))
    };
    grove.ranker = only(2);
    let forest = grove.parts[0].predict(features.into(), query, &task).unwrap();
    assert!(agree(&grove.predict(features.into(), query, &task).unwrap(), &forest));
    grove.ranker = only(4);
    let trees = grove.parts[1].predict(features.into(), query, &task).unwrap();
    assert!(agree(&grove.predict(features.into(), query, &task).unwrap(), &trees));
    assert_ne!(ids(&forest), ids(&trees));
}

#[test]
fn the_threads_do_not_change_a_grove_or_its_answers() {
    let one = Pool::new(1).unwrap().task();
    let (dataset, grove) = grown(300, &one);
    let features = dataset.features.view();
    let expected = grove.predict(features.into(), Query::top(5), &one).unwrap();
    let many = Pool::new(5).unwrap().task();
    assert_eq!(units(&dataset, &small(), &one), units(&dataset, &small(), &many));
    let (_, again) = grown(300, &many);
    assert_eq!(again.predict(features.into(), Query::top(5), &many).unwrap(), expected);
    for at in 0..20 {
        let row = features.slice(at..at + 1);
        let alone = grove.predict(row.view().into(), Query::top(5), &many).unwrap();
        assert_eq!(alone.row(0), expected.row(at));
    }
}

#[test]
fn more_labels_than_candidates_can_be_asked_for_and_some_forbidden() {
    let task = Pool::new(2).unwrap().task();
    let (dataset, grove) = grown(400, &task);
    let features = dataset.features.view();
    let many = grove.predict(features.into(), Query::top(300), &task).unwrap();
    let few = grove.predict(features.into(), Query::top(5), &task).unwrap();
    assert!(many.row(0).len() > CANDIDATES && few.row(0).len() == 5);
    let allowed: LabelSet = [few.row(0)[1].id, few.row(0)[3].id].into_iter().collect();
    let query = Query { allowed: Some(&allowed), ..Query::top(5) };
    let chosen = grove.predict(features.into(), query, &task).unwrap();
    assert!(chosen.rows().flatten().all(|label| allowed.contains(label.id)));
    assert_eq!(chosen.row(0).len(), 2);
}

#[test]
fn rows_without_features_or_labels_and_few_rows_are_learned_from() {
    let task = Pool::new(1).unwrap().task();
    for count in [1, 9, 12] {
        let (mut features, mut labels) = (Csr::new(4), LabelRows::new(3));
        for row in 0..count {
            match row % 3 {
                0 => features.push_row(&[0, 2], &[1.0, 0.5]).unwrap(),
                1 => features.push_row(&[1], &[1.0]).unwrap(),
                _ => features.push_row(&[], &[]).unwrap(),
            }
            let own: &[u32] = if row % 3 == 2 { &[] } else { &[(row % 3) as u32] };
            labels.push_row(own, &vec![(); own.len()]).unwrap();
        }
        let dataset = Dataset { features, labels, label_names: None, named: None };
        let grove = learn(&dataset, &small(), &task);
        let found = grove.predict(dataset.features.view().into(), Query::top(1), &task).unwrap();
        assert_eq!(found.row(0)[0].id, 0, "{count} rows");
        let trainer = trainer(&small(), &dataset);
        let prior = Ranker::prior(&trainer.params.parts);
        assert_eq!(count < 10, trainer.ranker(&task).unwrap() == prior);
    }
}

#[test]
fn a_cancelled_run_grows_nothing() {
    let task = Pool::new(1).unwrap().task();
    let dataset = rows(60, &task);
    task.canceller().cancel();
    let trainer = trainer(&small(), &dataset);
    let units = UnitSink::in_memory();
    assert!(trainer.ranker(&task).is_err() && trainer.train(&units, &task).is_err());
    assert!(learn_in_memory(&small().into(), dataset.view(), &task).is_err());
    assert_eq!(units.all(), []);
}

#[test]
fn the_scores_of_new_rows_are_probabilities() {
    let task = Pool::new(2).unwrap().task();
    let profile = Profile { instances: 2000, ..Profile::named("eurlex-4k").unwrap() };
    let generator = Generator::new(profile, 1).unwrap();
    let (features, labels) = generator.rows(0..2000, &task).unwrap();
    let grove =
        learn(&Dataset { features, labels, label_names: None, named: None }, &small(), &task);
    let (features, truth) = generator.rows(TEST_START..TEST_START + 500, &task).unwrap();
    let found = grove.predict(features.view().into(), Query::top(5), &task).unwrap();
    let (mut expected, mut hits) = (0.0, 0.0);
    for (row, truth) in found.rows().zip(truth.rows()) {
        expected += row.iter().map(|label| f64::from(label.score)).sum::<f64>();
        let is_true = |label: &&Scored| truth.indices.binary_search(&label.id).is_ok();
        hits += row.iter().filter(is_true).count() as f64;
    }
    let ratio: f64 = expected / hits;
    assert!((ratio - 1.0).abs() < 0.15, "{expected} hits expected, {hits} found");
}

#[test]
fn a_ranker_that_is_not_to_be_learned_is_the_prior() {
    let task = Pool::new(2).unwrap().task();
    let dataset = rows(300, &task);
    let params = Params { learn_ranker: false, ..small() };
    let late = trainer(&params, &dataset);
    let prior = Ranker::prior(&params.parts);
    assert_eq!(late.ranker(&task).unwrap(), prior);
    assert_eq!(learn(&dataset, &params, &task).settings(), late.settings());
    let units = UnitSink::in_memory();
    late.train(&units, &task).unwrap();
    let stored = units.open(RANKER).unwrap().unwrap();
    assert_eq!(Ranker::read(&stored, &params.parts).unwrap(), prior);
    let learned = trainer(&small(), &dataset);
    assert_ne!(learned.ranker(&task).unwrap(), prior);
}

#[test]
fn settings_tell_only_of_a_ranker_that_is_not_learned() {
    let written = serde_json::to_value(small()).unwrap();
    assert_eq!(written.get("learn_ranker"), None);
    assert_eq!(serde_json::from_value::<Params>(written).unwrap(), small());
    let late = Params { learn_ranker: false, ..small() };
    let written = serde_json::to_value(&late).unwrap();
    assert_eq!(serde_json::from_value::<Params>(written).unwrap(), late);
}

#[test]
fn settings_reach_the_parts_that_have_them() {
    let settings = Settings::from(small());
    let value = |settings: &Settings, name: &str| settings.find(name).unwrap();
    let seeded = settings.set("seed", 7).unwrap();
    assert_eq!(value(&seeded, "craftml.seed"), 7);
    assert_eq!(value(&seeded, "label-tree.seed"), 7);
    let larger = settings.set("trees", 9).unwrap().set("label_trees", 3).unwrap();
    assert_eq!(value(&larger, "craftml.trees"), 9);
    assert_eq!(value(&larger, "label-tree.trees"), 3);
    assert_eq!(larger.describe_size(), "9 trees and 3 label trees");
    let own = settings.set("label-tree.leaf", 30).unwrap();
    assert_eq!(value(&own, "label-tree.leaf"), 30);
    assert_eq!(value(&own, "craftml.leaf"), value(&settings, "craftml.leaf"));
    for unknown in ["one-vs-rest.cost", "craftml.cost", "colour"] {
        assert!(settings.set(unknown, 1).is_err(), "{unknown}");
    }
    let forest = Settings::from(craftml::Params::default());
    let linear = one_vs_rest::Params { weight_threshold: 0.5, ..Default::default() };
    let mut parts = json!([forest, one_vs_rest::Params::default()]);
    parts[1]["algorithm"] = "one-vs-rest".into();
    parts[1]["weight_threshold"] = 0.5.into();
    let parsed = Settings::from_values("grove", json!({ "parts": parts })).unwrap();
    assert_eq!(parsed.parts(), [forest, linear.into()]);
}

#[test]
fn parts_that_make_no_grove_are_refused() {
    let forest = || Settings::from(craftml::Params::default());
    for parts in [vec![], vec![forest(), forest()], vec![forest(), small().into()]] {
        let refused = Params { parts, ..Params::default() }.check().unwrap_err();
        assert!(refused.to_string().contains("one algorithm or more, each once, and no grove"));
    }
    let impossible = craftml::Params { trees: 0, ..Default::default() };
    let refused = Params { parts: vec![impossible.into()], ..Params::default() }.check();
    assert!(refused.unwrap_err().to_string().starts_with("trees is 0"));
}
