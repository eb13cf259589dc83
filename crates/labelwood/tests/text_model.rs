//! Models that are trained on text keep all that is needed to read more of it.

use labelwood::Settings;
use labelwood::algorithms::craftml::Params;
use labelwood::data::documents::{Documents, Format, Labels, Options, Separator};
use labelwood::data::{Dataset, LabelIndexBuilder};
use labelwood::model::{Model, TrainError, open_text, save_text, train, train_text};
use labelwood::run::{Pool, Task};
use labelwood::sparse::Query;
use labelwood::store::{Options as Opening, Start, StoreError};
use labelwood::text::{self, TextReader};
use std::path::Path;

/// Documents on two subjects, with words of each that also occur in the other.
fn corpus() -> String {
    let birds = ["owl", "heron", "finch", "nest", "feather"];
    let maps = ["atlas", "scale", "river", "border", "legend"];
    let mut text = String::new();
    for at in 0..40 {
        let (own, other, label) =
            if at % 2 == 0 { (birds, maps, "birds") } else { (maps, birds, "maps") };
        let words = [own[at % 5], own[(at / 2) % 5], own[(at / 3) % 5], other[(at / 7) % 5]];
        text.push_str(&format!("the {}\tall;{label}\n", words.join(" ")));
    }
    text
}

fn fit(text: &str, params: text::Params, task: &Task) -> (TextReader, Dataset) {
    let options = Options::default();
    let required = Labels::Required;
    let documents =
        Documents::from_bytes(text.as_bytes(), "f", Format::Tsv, &options, required, task).unwrap();
    TextReader::fit(documents, &options, params, LabelIndexBuilder::default(), task).unwrap()
}

fn algorithm() -> Settings {
    Settings::from(Params { trees: 4, leaf: 5, ..Params::default() })
}

fn trained(
    target: &Path,
    start: Start,
    params: text::Params,
    task: &Task,
) -> Result<(), TrainError> {
    let (reader, dataset) = fit(&corpus(), params, task);
    train_text(&dataset, &reader, &algorithm(), target, start, task).map(drop)
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> = entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn a_model_of_text_reads_text_and_names_labels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let task = Pool::new(2).unwrap().task();
    trained(&path, Start::default(), text::Params::default(), &task).unwrap();
    let model = Model::open(&path, Opening::default(), &task).unwrap();
    let reader = model.text().unwrap();
    assert_eq!(reader.options().separator, Some(Separator::Text(";".to_owned())));
    assert_eq!(*reader, fit(&corpus(), text::Params::default(), &task).0);

    let rows = reader.vectoriser().transform(&["an atlas with a legend"], &task).unwrap();
    let predictions = model.predict(rows.view(), Query::top(2), &task).unwrap();
    let mut names: Vec<_> =
        predictions.row(0).iter().map(|best| model.labels().name(best.id).unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["all", "maps"]);
}

#[test]
fn the_terms_of_a_label_are_those_its_documents_have_and_others_lack() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let task = Pool::new(2).unwrap().task();
    trained(&path, Start::default(), text::Params::default(), &task).unwrap();
    let model = Model::open(&path, Opening::default(), &task).unwrap();
    let label = model.labels().names().unwrap().find("maps").unwrap();
    let terms = model.label_terms(label).unwrap();
    let mut names: Vec<&str> = terms.iter().map(|&(term, _)| term).collect();
    assert!(terms.is_sorted_by(|left, right| left.1 >= right.1) && terms[0].1 > 0.0);
    names.truncate(5);
    names.sort_unstable();
    assert_eq!(names, ["atlas", "border", "legend", "river", "scale"]);
    assert_eq!(model.label_terms(99), Some(vec![]));

    let all = model.labels().names().unwrap().find("all").unwrap();
    assert_eq!(
        model.label_terms(all),
        Some(vec![]),
        "every document has it, so nothing stands out"
    );

    let hashed = folder.path().join("hashed");
    let params = text::Params { hashing: Some(64), ..text::Params::default() };
    trained(&hashed, Start::default(), params, &task).unwrap();
    assert_eq!(Model::open(&hashed, Opening::default(), &task).unwrap().label_terms(label), None);
}

#[test]
fn the_files_of_a_text_model_do_not_depend_on_threads() {
    let folder = tempfile::tempdir().unwrap();
    let written = [1, 3].map(|threads| {
        let path = folder.path().join(threads.to_string());
        let task = Pool::new(threads).unwrap().task();
        trained(&path, Start::default(), text::Params::default(), &task).unwrap();
        files(&path)
    });
    assert!(written[0] == written[1]);
}

#[test]
fn other_text_settings_are_another_training() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let task = Pool::new(1).unwrap().task();
    trained(&path, Start::default(), text::Params::default(), &task).unwrap();
    let resume = Start { resume: true, overwrite: false };
    trained(&path, resume, text::Params::default(), &task).unwrap();
    let params = text::Params { smooth_idf: false, ..text::Params::default() };
    assert!(matches!(trained(&path, resume, params, &task), Err(TrainError::Store(_))));
}

#[test]
fn a_model_of_vectors_reads_no_text() {
    let folder = tempfile::tempdir().unwrap();
    let task = Pool::new(1).unwrap().task();
    let (_, dataset) = fit(&corpus(), text::Params::default(), &task);
    let path = folder.path().join("model");
    train(&dataset, &algorithm(), &path, Start::default(), &task).unwrap();
    let model = Model::open(&path, Opening::default(), &task).unwrap();
    assert!(model.text().is_none() && model.label_terms(0).is_none());
    assert!(open_text(&path, Opening::default(), &task).unwrap().is_none());
}

#[test]
fn a_saved_vectoriser_is_no_model_but_reads_text_as_the_model_does() {
    let folder = tempfile::tempdir().unwrap();
    let task = Pool::new(1).unwrap().task();
    let (reader, dataset) = fit(&corpus(), text::Params::default(), &task);
    let path = folder.path().join("words");
    save_text(&reader, &dataset, &path, false).unwrap();
    let (again, labels) = open_text(&path, Opening::default(), &task).unwrap().unwrap();
    assert_eq!((&again, labels.names()), (&reader, dataset.label_names.as_ref()));
    let error = Model::open(&path, Opening::default(), &task).unwrap_err();
    assert!(matches!(error, StoreError::NoModel { .. }));
    assert!(matches!(save_text(&reader, &dataset, &path, false), Err(StoreError::Exists { .. })));
    save_text(&reader, &dataset, &path, true).unwrap();
}

#[test]
fn damaged_files_of_text_give_errors_or_other_words_but_no_crash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let task = Pool::new(1).unwrap().task();
    trained(&path, Start::default(), text::Params::default(), &task).unwrap();
    let opening = Opening { verify: false, ..Opening::default() };
    let is_text = |name: &str| name.starts_with("text-") || name.starts_with("label-terms-");
    let units: Vec<_> = files(&path).into_iter().filter(|(name, _)| is_text(name)).collect();
    assert_eq!(units.len(), 2);
    for (name, bytes) in units {
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xa5;
            // A file of its own: the one before may still be mapped.
            std::fs::remove_file(path.join(&name)).unwrap();
            std::fs::write(path.join(&name), &damaged).unwrap();
            let Ok(model) = Model::open(&path, opening, &task) else { continue };
            let reader = model.text().unwrap();
            let rows = reader.vectoriser().transform(&["an owl and a legend"], &task).unwrap();
            model.predict(rows.view(), Query::top(2), &task).unwrap();
            for label in 0..4 {
                model.label_terms(label);
            }
        }
        std::fs::remove_file(path.join(&name)).unwrap();
        std::fs::write(path.join(&name), &bytes).unwrap();
    }
}
