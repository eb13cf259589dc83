//! Models of neighbours that older versions wrote.

use labelwood::Settings;
use labelwood::algorithms::neighbours::Params;
use labelwood::data::{self, Dataset, LabelIndex, ReadOptions};
use labelwood::model::{Model, train};
use labelwood::run::{Pool, Task};
use labelwood::sparse::Query;
use labelwood::store::{Load, Options, Start};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

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
    let expected = fs::read_to_string(compat("v1-neighbours/expected.txt")).unwrap();
    for load in [Load::Map, Load::Copy] {
        let options = Options { load, verify: true };
        let model = Model::open(&compat("v1-neighbours/model"), options, &task).unwrap();
        assert_eq!(compat_text(&model, &rows, &task), expected);
    }
}

#[test]
#[ignore = "writes the fixture of the current format anew: only for a format that nobody uses yet"]
fn write_the_fixture_of_the_current_format() {
    let task = Pool::new(1).unwrap().task();
    let rows = compat_rows(&task);
    let settings = Settings::from(Params { neighbours: 5, ..Params::default() });
    let start = Start { resume: false, overwrite: true };
    let target = compat("v1-neighbours/model");
    train(&rows, &settings, &target, start, &task).unwrap();
    let model = Model::open(&target, Options::default(), &task).unwrap();
    let text = compat_text(&model, &rows, &task);
    fs::write(compat("v1-neighbours/expected.txt"), text).unwrap();
}
