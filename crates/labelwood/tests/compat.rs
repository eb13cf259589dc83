//! Models that older versions wrote, one of each algorithm: they open, and predict what they always did.
//!
//! All learned from the texts and names of labels in `compat/v1`, so that they have all kinds of units.

use labelwood::Settings;
use labelwood::data::documents::{Documents, Format, Labels, Options};
use labelwood::data::{Dataset, LabelIndex, LabelIndexBuilder};
use labelwood::model::{Model, train_text};
use labelwood::run::{Pool, Task};
use labelwood::sparse::Query;
use labelwood::store::{Load, Options as Opening, Start};
use labelwood::text::{self, TextReader};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/v1").join(name)
}

/// What the model says of each text, with a wide and with a narrow beam; scores by their bits, so that
/// they are exact.
fn answers(model: &Model, task: &Task) -> String {
    let texts = fs::read_to_string(place("texts.tsv")).unwrap();
    let texts: Vec<&str> = texts.lines().map(|line| line.split('\t').next().unwrap()).collect();
    let rows = model.read_texts(&texts, task).unwrap();
    let mut answers = String::new();
    for beam in [None, Some(1)] {
        writeln!(answers, "beam {beam:?}").unwrap();
        let predictions = model.predict(rows.view(), Query { beam, ..Query::top(3) }, task);
        for row in predictions.unwrap().rows() {
            for label in row {
                let name = model.labels().name(label.id).unwrap();
                write!(answers, "{name}={:08x} ({}) ", label.score.to_bits(), label.score).unwrap();
            }
            answers.push('\n');
        }
    }
    answers
}

#[test]
fn models_of_format_1_predict_as_they_always_did() {
    let task = Pool::new(1).unwrap().task();
    for algorithm in Settings::names() {
        let expected = fs::read_to_string(place(&format!("{algorithm}.txt")))
            .unwrap_or_else(|error| panic!("there is no model of {algorithm}: {error}"));
        for load in [Load::Map, Load::Copy] {
            let options = Opening { load, verify: true };
            let model = Model::open(&place(algorithm), options, &task).unwrap();
            assert_eq!(model.manifest().training.algorithm, algorithm);
            assert_eq!(answers(&model, &task), expected, "{algorithm}");
        }
    }
}

#[test]
#[ignore = "writes models of the current format anew: only for a format that nobody uses yet"]
fn write_models_of_the_current_format() {
    let task = Pool::new(1).unwrap().task();
    let known = LabelIndex::read(&place("labels.txt"), &task).unwrap();
    let options = Options::default();
    let texts = fs::read(place("texts.tsv")).unwrap();
    for algorithm in Settings::names() {
        let documents = Documents::from_bytes(
            &texts,
            "texts.tsv",
            Format::Tsv,
            &options,
            Labels::Required,
            &task,
        );
        let known = LabelIndexBuilder::new(&known);
        let (reader, dataset): (TextReader, Dataset) =
            TextReader::fit(documents.unwrap(), &options, text::Params::default(), known, &task)
                .unwrap();
        let start = Start { resume: false, overwrite: true };
        let target = place(algorithm);
        train_text(&dataset, &reader, &small(algorithm), &target, start, &task).unwrap();
        let model = Model::open(&target, Opening::default(), &task).unwrap();
        fs::write(place(&format!("{algorithm}.txt")), answers(&model, &task)).unwrap();
    }
}

/// Settings for a model that takes little room, with all units that the algorithm may have.
fn small(algorithm: &str) -> Settings {
    let with_means = Settings::preset(algorithm, "pfastrexml");
    let mut settings = with_means.or_else(|| Settings::named(algorithm)).unwrap();
    let values = [("trees", 2), ("submodels", 2), ("craftml.trees", 2), ("label-tree.trees", 2)];
    for (setting, value) in values {
        settings = settings.set(setting, value).unwrap_or(settings);
    }
    settings
}
