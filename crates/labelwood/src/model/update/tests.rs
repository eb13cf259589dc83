//! Models of all algorithms with more rows.

use super::*;
use crate::algorithms::{Settings, StoredAs};
use crate::algorithms::{
    craftml, fastxml, grove, label_forest, label_tree, neighbours, one_vs_rest,
};
use crate::base::run::Pool;
use crate::base::sparse::{LabelRows, Query};
use crate::base::store::Options;
use crate::data::generate::{Generator, Profile};
use crate::model::{TrainOptions, shrink, train_with};
use tempfile::TempDir;

const ROWS: usize = 300;

fn run(threads: usize) -> Task {
    Pool::new(threads).unwrap().task()
}

/// Rows with names, of which the last thirty have a label of their own.
fn rows() -> Dataset {
    let profile = Profile {
        instances: ROWS as u64,
        test_instances: 0,
        features: 60,
        labels: 25,
        entries_per_row: 8.0,
        labels_per_row: 2.0,
        skew: 0.75,
    };
    let (features, drawn) =
        Generator::new(profile, 3).unwrap().rows(0..ROWS as u64, &run(1)).unwrap();
    let mut labels = LabelRows::new(26);
    for (at, row) in drawn.rows().enumerate() {
        let new = (at + 30 >= ROWS).then_some(25);
        let own: Vec<u32> = row.indices.iter().copied().chain(new).collect();
        labels.push_row(&own, &vec![(); own.len()]).unwrap();
    }
    Dataset { features, labels, label_names: Some(names_of(26)), named: None }
}

fn names_of(labels: usize) -> LabelIndex {
    let names: Vec<String> = (0..labels).map(|label| format!("name {label}")).collect();
    LabelIndex::from_lines(names.iter().map(String::as_str))
}

/// Some of the rows; the first know 25 labels.
fn part(from: usize, to: usize) -> Dataset {
    let part = rows().select(&(from..to).collect::<Vec<_>>());
    if to + 30 > ROWS {
        return part;
    }
    let mut labels = LabelRows::new(25);
    part.labels.rows().for_each(|row| labels.push_row(row.indices, row.values).unwrap());
    Dataset { labels, label_names: Some(names_of(25)), ..part }
}

fn linear() -> label_tree::Params {
    label_tree::Params {
        trees: 2,
        branches: Some(4),
        leaf: Some(5),
        ..label_tree::Params::default()
    }
}

fn forest() -> craftml::Params {
    craftml::Params { trees: 3, leaf: 8, ..craftml::Params::default() }
}

fn algorithms() -> [Settings; 6] {
    [
        Settings::from(forest()),
        Settings::from(grove::Params {
            parts: vec![forest().into(), linear().into()],
            choose: false,
            ..Default::default()
        }),
        Settings::from(linear()),
        Settings::from(one_vs_rest::Params::default()),
        Settings::from(neighbours::Params::default()),
        Settings::from(fastxml::Params { trees: 3, ..fastxml::Params::pfastrexml() }),
    ]
}

/// A folder with `model`, of the first 200 rows.
fn trained(algorithm: &Settings, keep_rows: bool) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let extras = TrainOptions { keep_rows, ..TrainOptions::default() };
    let target = folder.path().join("model");
    train_with(&part(0, 200), extras, algorithm, &target, Start::default(), &run(2)).unwrap();
    folder
}

fn open(folder: &Path) -> Model {
    Model::open(folder, Options::default(), &run(1)).unwrap()
}

fn add(folder: &Path, more: &Dataset, target: &Path, threads: usize) -> Updated {
    update(&open(folder), more, target, UpdateStart::default(), &run(threads)).unwrap()
}

/// How many rows have their label 25 among the best two.
fn found(model: &Model) -> usize {
    let last = part(270, 300);
    let best = model.predict(last.features.view(), Query::top(2), &run(1)).unwrap();
    best.rows().filter(|row| row.iter().any(|label| label.id == 25)).count()
}

#[test]
fn the_same_updates_give_the_same_bytes_on_any_number_of_threads() {
    for (algorithm, keep_rows) in algorithms().iter().flat_map(|one| [(one, true), (one, false)]) {
        let folder = trained(algorithm, keep_rows);
        let (model, other) = (folder.path().join("model"), folder.path().join("other"));
        let before = open(&model);
        if !keep_rows && ["label-tree", "one-vs-rest"].contains(&algorithm.name()) {
            let error = update(&before, &part(200, 250), &other, UpdateStart::default(), &run(1))
                .unwrap_err();
            assert!(error.to_string().contains("train it with --keep-rows"), "{error}");
            assert!(error.to_string().contains("--keep-rows"));
            continue;
        }
        // Elsewhere and then in place; both times in place.
        let first = add(&model, &part(200, 250), &other, 1);
        assert_eq!((first.rows, first.new_labels, first.was_there), (50, 0, false));
        assert_eq!(open(&model).manifest(), before.manifest(), "the old model is as it was");
        assert_eq!(add(&model, &part(200, 250), &model, 3).manifest, first.manifest);
        let second = add(&other, &part(250, 300), &other, 2);
        assert_eq!(add(&model, &part(250, 300), &model, 1), second);
        assert_eq!((second.new_labels, second.manifest.instances), (1, 300));
        assert_eq!(second.manifest.training.updates.len(), 2);
        assert_eq!(second.manifest.training.updates[1].from, first.manifest.model_id().to_string());
        let after = open(&model);
        assert_eq!(after.labels().name(25), Some("name 25"));
        assert_eq!(after.labels().counts(), rows().labels.view().column_counts());
        // The label trees of a grove without its rows do not know the new label, and hold it back.
        let is_held_back = !keep_rows && algorithm.name() == "grove";
        assert!(found(&after) > 0 || is_held_back, "{} finds no new label", algorithm.name());
    }
}

#[test]
fn a_model_that_holds_its_rows_divides_leaves() {
    let algorithm = Settings::from(forest());
    let leaves = |model: &Model| -> u64 {
        let figures = model.learned().figures();
        figures.iter().map(|(_, tree)| tree["leaves"].as_u64().unwrap()).sum()
    };
    for keep_rows in [false, true] {
        let folder = trained(&algorithm, keep_rows);
        let model = folder.path().join("model");
        let before = leaves(&open(&model));
        add(&model, &part(200, 300), &model, 2);
        assert_eq!(leaves(&open(&model)) > before, keep_rows);
    }
}

#[test]
fn a_stopped_update_leaves_the_old_model_and_goes_on_when_it_is_repeated() {
    for algorithm in algorithms() {
        let folder = trained(&algorithm, true);
        let (model, whole) = (folder.path().join("model"), folder.path().join("whole"));
        let expected = add(&model, &part(200, 300), &whole, 1).manifest;
        let before = open(&model);
        let stopping = run(1);
        let canceller = stopping.canceller();
        let stopping = stopping.on_progress(move |progress| {
            if progress.done > 0 {
                canceller.cancel();
            }
        });
        let stopped = update(&before, &part(200, 300), &model, UpdateStart::default(), &stopping);
        // One-vs-rest has one block here and is done with it, and neighbours are one file.
        if !["one-vs-rest", "neighbours"].contains(&algorithm.name()) {
            assert!(matches!(stopped, Err(UpdateError::Stopped { .. })), "{stopped:?}");
            assert_eq!(open(&model).manifest(), before.manifest());
            let other = update(&before, &part(200, 250), &model, UpdateStart::default(), &run(1))
                .unwrap_err();
            assert!(other.to_string().contains("is unfinished here"), "{other}");
            assert_eq!(add(&model, &part(200, 300), &model, 2).manifest, expected);
        }
        assert_eq!(open(&model).manifest(), &expected);
        // What is finished is not done again.
        assert!(add(&whole, &part(200, 201), &folder.path().join("new"), 1).rows == 1);
        let again =
            update(&before, &part(200, 300), &whole, UpdateStart::default(), &run(1)).unwrap();
        assert!(again.was_there);
    }
}

#[test]
fn updates_keep_a_model_that_was_made_smaller_in_order() {
    let folder = trained(&Settings::from(forest()), true);
    let (model, small) = (folder.path().join("model"), folder.path().join("small"));
    let how = crate::model::Shrink { prune: Some(0.2), values: Some(StoredAs::U8) };
    shrink(&model, &small, how, false, &run(1)).unwrap();
    add(&small, &part(200, 300), &small, 2);
    assert!(found(&open(&small)) > 0);
}

#[test]
fn rows_that_do_not_fit_are_refused_or_fitted() {
    let folder = trained(&Settings::from(forest()), false);
    let model = folder.path().join("model");
    let refused = |more: &Dataset| {
        update(&open(&model), more, &model, UpdateStart::default(), &run(1)).unwrap_err()
    };
    assert!(refused(&part(200, 200)).to_string().contains("there is nothing to add"));
    let mut bare = part(200, 201);
    bare.labels = LabelRows::new(25);
    bare.labels.push_row(&[], &[]).unwrap();
    assert!(refused(&bare).to_string().contains("the row to add has no label"));
    let mut renamed = part(200, 210);
    renamed.label_names = Some(LabelIndex::from_lines(["name 0", "something else"]));
    let error = refused(&renamed).to_string();
    assert!(error.contains("label 1 is called `something else`"), "{error}");
    // Features that the model does not know are left out, and names may be missing.
    let mut wide = part(200, 210);
    wide.features.widen(90);
    wide.features.push_row(&[3, 80], &[1.0, 1.0]).unwrap();
    wide.labels.widen(30);
    wide.labels.push_row(&[27], &[()]).unwrap();
    wide.label_names = None;
    let updated = add(&model, &wide, &model, 1);
    assert_eq!((updated.manifest.features, updated.manifest.labels), (60, 30));
    assert_eq!(open(&model).labels().name(27), Some("27"));
    let tree = label_tree::Params { trees: 1, ..linear() };
    let forest = label_forest::Params { submodels: 3, tree, ..Default::default() };
    let folder = trained(&Settings::from(forest), true);
    let model = open(&folder.path().join("model"));
    let error = update(&model, &part(200, 210), folder.path(), UpdateStart::default(), &run(1))
        .unwrap_err();
    assert!(error.to_string().contains("model cannot be updated"), "{error}");
}

/// What is in a folder beside the model: an unfinished update, or nothing.
fn beside(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "model").collect()
}

#[test]
fn the_same_rows_are_added_once_unless_it_is_insisted() {
    for (algorithm, keep_rows) in algorithms().iter().zip([false, true, true, true, false]) {
        let folder = trained(algorithm, keep_rows);
        let (model, other) = (folder.path().join("model"), folder.path().join("other"));
        // The last thirty rows have a new label, which the model then knows.
        let more = part(260, 300);
        let first = add(&model, &more, &model, 1);
        let repeated = add(&model, &more, &model, 1);
        assert!(repeated.was_there);
        assert_eq!(repeated.manifest, first.manifest);
        let elsewhere = update(&open(&model), &more, &other, UpdateStart::default(), &run(1));
        assert!(elsewhere.unwrap_err().to_string().contains("added the same rows"));
        let again = UpdateStart { again: true, ..UpdateStart::default() };
        let third = update(&open(&model), &more, &model, again, &run(1)).unwrap();
        assert_eq!((third.was_there, third.manifest.instances), (false, 280));
        // Only the last update can be one that was killed late.
        add(&model, &part(200, 210), &model, 1);
        assert_eq!(add(&model, &more, &model, 1).manifest.instances, 330);
        assert!(beside(&folder).is_empty());
    }
}

#[test]
fn a_model_that_was_replaced_after_it_was_opened_is_not_replaced() {
    let algorithm = Settings::from(forest());
    let folder = trained(&algorithm, false);
    let model = folder.path().join("model");
    let (opened, also_opened) = (open(&model), open(&model));
    let newer = add(&model, &part(200, 250), &model, 1).manifest;
    for (overwrite, again) in [(false, false), (true, false), (false, true), (true, true)] {
        let start = UpdateStart { overwrite, again };
        let late = update(&opened, &part(250, 300), &model, start, &run(1)).unwrap_err();
        assert!(matches!(late, UpdateError::Store(StoreError::Replaced { .. })), "{late}");
        assert_eq!(open(&model).manifest(), &newer);
        assert!(beside(&folder).is_empty());
    }
    // The same update by two processes is one, unless it is insisted.
    let same = update(&also_opened, &part(200, 250), &model, UpdateStart::default(), &run(1));
    assert!(same.unwrap().was_there);
    let again = UpdateStart { again: true, ..UpdateStart::default() };
    let insisting = update(&also_opened, &part(200, 250), &model, again, &run(1)).unwrap_err();
    assert!(matches!(insisting, UpdateError::Store(StoreError::Replaced { .. })));
    let start = Start { overwrite: true, ..Start::default() };
    train_with(&part(0, 150), TrainOptions::default(), &algorithm, &model, start, &run(1)).unwrap();
    let late = update(&opened, &part(200, 250), &model, UpdateStart::default(), &run(1));
    assert!(matches!(late, Err(UpdateError::Store(StoreError::Replaced { .. }))));
    assert_eq!(open(&model).manifest().instances, 150);
}

#[cfg(unix)]
#[test]
fn a_folder_and_a_link_to_it_have_one_lock() {
    let folder = trained(&Settings::from(forest()), false);
    let (model, link) = (folder.path().join("model"), folder.path().join("link"));
    std::os::unix::fs::symlink("model", &link).unwrap();
    let before = open(&model).manifest().clone();
    let training = describe(&before, &part(200, 250), None);
    let held = Staging::begin_from(&before, &model, &training, Start::default()).unwrap();
    let busy = update(&open(&link), &part(250, 300), &link, UpdateStart::default(), &run(1));
    assert!(busy.unwrap_err().to_string().contains("is writing here"));
    drop(held);
    let other = update(&open(&link), &part(250, 300), &link, UpdateStart::default(), &run(1));
    assert!(other.unwrap_err().to_string().contains("is unfinished here"));
    assert_eq!(add(&link, &part(200, 250), &link, 1).manifest.instances, 250);
    assert_eq!(add(&model, &part(250, 300), &model, 1).manifest.instances, 300);
}
