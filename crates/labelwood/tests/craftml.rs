//! Forests on whole data sets, and models that older versions wrote.

use labelwood::Settings;
use labelwood::algorithms::craftml::Params;
use labelwood::data::generate::{Generator, Profile};
use labelwood::data::{self, Dataset, LabelIndex, ReadOptions};
use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
use labelwood::model::{Model, train};
use labelwood::run::{Pool, Task};
use labelwood::sparse::{Predictions, Query, Scored};
use labelwood::store::{Load, Options, Start};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

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

/// Where the models that older versions wrote are.
fn compat() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/v1")
}

fn compat_rows(task: &Task) -> Dataset {
    let mut dataset =
        data::read(&compat().join("rows.txt"), &ReadOptions::default(), task).unwrap().dataset;
    let names = LabelIndex::read(&compat().join("labels.txt"), task);
    dataset.label_names = Some(names.unwrap());
    dataset
}

/// Predictions as text, one line for each row; scores by their bits, so that they are exact.
fn compat_text(model: &Model, rows: &Dataset, task: &Task) -> String {
    let mut text = String::new();
    for beam in [None, Some(1)] {
        writeln!(text, "beam {}", beam.map_or("default".to_owned(), |beam| beam.to_string()))
            .unwrap();
        for row in model
            .predict(rows.features.view(), Query { beam, ..Query::top(3) }, task)
            .unwrap()
            .rows()
        {
            let scored: Vec<String> = row
                .iter()
                .map(|scored| {
                    let name = model.labels().name(scored.id).unwrap();
                    format!("{name}={:08x} ({})", scored.score.to_bits(), scored.score)
                })
                .collect();
            writeln!(text, "{}", scored.join(" ")).unwrap();
        }
    }
    text
}

#[test]
fn a_model_of_format_1_predicts_as_it_always_did() {
    let task = Pool::new(1).unwrap().task();
    let rows = compat_rows(&task);
    let expected = fs::read_to_string(compat().join("expected.txt")).unwrap();
    for load in [Load::Map, Load::Copy] {
        let options = Options { load, verify: true };
        let model = Model::open(&compat().join("model"), options, &task).unwrap();
        assert_eq!(compat_text(&model, &rows, &task), expected);
    }
}

/// Rows and label names for a new fixture.
fn write_compat_rows(task: &Task) {
    let profile = Profile {
        instances: 30,
        test_instances: 0,
        features: 24,
        labels: 8,
        entries_per_row: 5.0,
        labels_per_row: 1.6,
        skew: 0.75,
    };
    let (features, labels) = Generator::new(profile, 3).unwrap().rows(0..30, task).unwrap();
    let dataset = Dataset { features, labels, label_names: None, named: None };
    fs::create_dir_all(compat()).unwrap();
    data::write(&compat().join("rows.txt"), &dataset, None).unwrap();
    let names: String = (0..8).map(|id| format!("c{id}\tname-{id}\n")).collect();
    fs::write(compat().join("labels.txt"), names).unwrap();
}

#[test]
#[ignore = "writes the fixture of the current format anew: only for a format that nobody uses yet"]
fn write_the_fixture_of_the_current_format() {
    let task = Pool::new(1).unwrap().task();
    write_compat_rows(&task);
    let rows = compat_rows(&task);
    let params = Params { trees: 3, branches: 4, leaf: 4, ..Params::default() };
    let start = Start { resume: false, overwrite: true };
    let target = compat().join("model");
    train(&rows, &Settings::from(params), &target, start, &task).unwrap();
    let model = Model::open(&target, Options::default(), &task).unwrap();
    fs::write(compat().join("expected.txt"), compat_text(&model, &rows, &task)).unwrap();
}
