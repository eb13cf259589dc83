//! Forests on whole data sets.

use labelwood::algorithms::craftml::Params;
use labelwood::data::generate::{Generator, Profile};
use labelwood::data::{self, Dataset, ReadOptions};
use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
use labelwood::model::Model;
use labelwood::run::{Pool, Task};
use labelwood::sparse::{Predictions, Query, Scored};
use std::path::Path;

/// P@1 and P@5 of predictions.
fn precision(train: &Dataset, test: &Dataset, predictions: &Predictions) -> (f64, f64) {
    let counts = train.labels.view().column_counts();
    let training = TrainingCounts { instances: train.len(), labels: &counts };
    let options = MetricOptions { at: vec![1, 5], ..MetricOptions::default() };
    let evaluation = Evaluation::new(test.labels.view(), predictions, training, &options).unwrap();
    let metrics = evaluation.metrics();
    (metrics.at[0].precision, metrics.at[1].precision)
}

fn grow(train: &Dataset, params: Params, task: &Task) -> Model {
    Model::train(train.view(), Default::default(), &params.into(), task).unwrap()
}

fn forest_precision(forest: &Model, train: &Dataset, test: &Dataset, task: &Task) -> (f64, f64) {
    let predictions = forest.predict(test.features.view(), Query::top(5), task).unwrap();
    precision(train, test, &predictions)
}

/// The same most frequent labels for every row.
fn popularity(train: &Dataset, test: &Dataset) -> (f64, f64) {
    let counts = train.labels.view().column_counts();
    let mut ids: Vec<u32> = (0..counts.len() as u32).collect();
    ids.sort_by_key(|&id| std::cmp::Reverse(counts[id as usize]));
    let row: Vec<Scored> = ids[..5]
        .iter()
        .enumerate()
        .map(|(at, &id)| Scored { id, score: 1.0 / (at + 1) as f32 })
        .collect();
    let mut predictions = Predictions::default();
    (0..test.len()).for_each(|_| predictions.push_row(&row));
    precision(train, test, &predictions)
}

#[test]
fn a_forest_beats_popularity_and_the_paper_s_single_path() {
    let task = Pool::new(2).unwrap().task();
    let profile =
        Profile { instances: 2000, test_instances: 2000, ..Profile::named("eurlex-4k").unwrap() };
    let generator = Generator::new(profile, 7).unwrap();
    let rows = |range| {
        let (features, labels) = generator.rows(range, &task).unwrap();
        Dataset { features, labels, label_names: None, named: None }
    };
    let (train, test) = (rows(0..2000), rows(generator.test_rows()));
    let default = grow(&train, Params { trees: 10, ..Params::default() }, &task);
    let paper = grow(&train, Params { trees: 10, ..Params::paper() }, &task);
    let found = forest_precision(&default, &train, &test, &task);
    let single = forest_precision(&paper, &train, &test, &task);
    let popular = popularity(&train, &test);
    println!("P@1 and P@5: default {found:?}, paper {single:?}, popularity {popular:?}");
    assert!(found.0 > popular.0 + 0.1 && found.1 > popular.1 + 0.05, "{found:?} {popular:?}");
    assert!(found.0 > single.0 && found.1 > single.1, "{found:?} {single:?}");
}

#[test]
fn bibtex_is_learned_as_well_as_it_should_be() {
    let Some(folder) = std::env::var_os("LABELWOOD_DATA") else {
        println!("skipped: LABELWOOD_DATA is not set");
        return;
    };
    let task = Pool::new(0).unwrap().task();
    let read = |name| {
        let path = Path::new(&folder).join("bibtex").join(name);
        data::read(&path, &ReadOptions::default(), &task).unwrap().dataset
    };
    let (train, test) = (read("train.txt.zst"), read("test.txt.zst"));
    let forest = grow(&train, Params { seed: 1, ..Params::default() }, &task);
    let (first, fifth) = forest_precision(&forest, &train, &test, &task);
    println!("bibtex: P@1 {first:.4}, P@5 {fifth:.4}");
    assert!(first >= 0.65 && fifth >= 0.29, "P@1 {first}, P@5 {fifth}");
}
