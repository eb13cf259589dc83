//! FastXML forests of real rows, and models that older versions wrote.

use labelwood::Settings;
use labelwood::algorithms::fastxml::Params;
use labelwood::data::{self, Dataset, LabelIndex, ReadOptions};
use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
use labelwood::model::{Model, train};
use labelwood::run::{Pool, Task};
use labelwood::sparse::Query;
use labelwood::store::{Load, Options, Start};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn bibtex_is_learned_as_well_as_it_should_be_and_rare_labels_better_with_pfastrexml() {
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
    let counts = train.labels.view().column_counts();
    let measured = |params: Params| {
        let model = Model::train(train.view(), Default::default(), &params.into(), &task).unwrap();
        let predictions = model.predict(test.features.view(), Query::top(5), &task).unwrap();
        let training = TrainingCounts { instances: train.len(), labels: &counts };
        let options = MetricOptions::default();
        let labels = test.labels.view();
        let evaluation = Evaluation::new(labels, &predictions, training, &options).unwrap();
        let at = |at: usize| {
            let metrics = &evaluation.metrics().at[at];
            (metrics.precision, metrics.psp)
        };
        [at(0), at(1), at(2)]
    };
    let (usual, rare) = (measured(Params::default()), measured(Params::pfastrexml()));
    println!("(P, PSP) at 1, 3, 5: {usual:?}, pfastrexml {rare:?}");
    // The paper's, less what its split and ours differ by for CRAFTML.
    for (found, expected) in usual.iter().zip([0.608, 0.375, 0.277]) {
        assert!(found.0 > expected, "{usual:?}");
    }
    assert!(usual.iter().zip(&rare).all(|(usual, rare)| usual.1 < rare.1), "{usual:?} {rare:?}");
}

/// Where the models that older versions wrote are.
fn compat(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat").join(name)
}

/// The rows of all fixtures.
fn compat_rows(task: &Task) -> Dataset {
    let read = data::read(&compat("v1/rows.txt"), &ReadOptions::default(), task);
    let names = LabelIndex::read(&compat("v1/labels.txt"), task).unwrap();
    Dataset { label_names: Some(names), ..read.unwrap().dataset }
}

/// Predictions as text, one line for each row; scores by their bits, so that they are exact.
fn compat_text(model: &Model, rows: &Dataset, task: &Task) -> String {
    let mut text = String::new();
    for row in model.predict(rows.features.view(), Query::top(3), task).unwrap().rows() {
        for scored in row {
            let name = model.labels().name(scored.id).unwrap();
            let bits = scored.score.to_bits();
            write!(text, "{name}={bits:08x} ({}) ", scored.score).unwrap();
        }
        text.push('\n');
    }
    text
}

#[test]
fn a_model_of_format_1_predicts_as_it_always_did() {
    let task = Pool::new(1).unwrap().task();
    let rows = compat_rows(&task);
    let expected = fs::read_to_string(compat("v1-fastxml/expected.txt")).unwrap();
    for load in [Load::Map, Load::Copy] {
        let options = Options { load, verify: true };
        let model = Model::open(&compat("v1-fastxml/model"), options, &task).unwrap();
        assert_eq!(compat_text(&model, &rows, &task), expected);
    }
}

#[test]
#[ignore = "writes the fixture of the current format anew: only for a format that nobody uses yet"]
fn write_the_fixture_of_the_current_format() {
    let task = Pool::new(1).unwrap().task();
    let rows = compat_rows(&task);
    let settings = Settings::from(Params { trees: 2, ..Params::pfastrexml() });
    let start = Start { resume: false, overwrite: true };
    let target = compat("v1-fastxml/model");
    train(&rows, &settings, &target, start, &task).unwrap();
    let model = Model::open(&target, Options::default(), &task).unwrap();
    let text = compat_text(&model, &rows, &task);
    fs::write(compat("v1-fastxml/expected.txt"), text).unwrap();
}
