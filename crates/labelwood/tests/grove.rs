//! A grove of three parts does all that a grove of two does.

use labelwood::Settings;
use labelwood::algorithms::{craftml, grove, label_forest, label_tree, one_vs_rest};
use labelwood::data::Dataset;
use labelwood::data::generate::{Generator, Profile};
use labelwood::model::{
    Model, Shrink, StoredAs, TrainError, TrainOptions, Trained, UpdateStart, shrink, train,
    train_with, update,
};
use labelwood::run::{Pool, Task};
use labelwood::settings::Weighting;
use labelwood::shard::{self, Combiner, ModelShare, Plan, Scores, Share, Work};
use labelwood::sparse::{Csr, LabelRows, LabelSet, Predictions, Query};
use labelwood::store::{Manifest, Options, Start};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn rows(range: std::ops::Range<u64>, task: &Task) -> Dataset {
    let profile = Profile { instances: 250, ..Profile::named("eurlex-4k").unwrap() };
    let (features, labels) = Generator::new(profile, 1).unwrap().rows(range, task).unwrap();
    Dataset { features, labels, label_names: None, named: None }
}

fn grove_of(parts: Vec<Settings>) -> Settings {
    grove::Params { parts, choose: false, ..Default::default() }.into()
}

fn three_parts() -> Settings {
    // With weights of features, each part has a unit of its own for them.
    let weighting = Weighting::Idf;
    let forest = craftml::Params { trees: 3, leaf: 5, weighting, ..Default::default() };
    let trees = label_tree::Params {
        trees: 2,
        branches: Some(6),
        leaf: Some(30),
        weighting,
        ..Default::default()
    };
    let linear = one_vs_rest::Params { weighting, ..Default::default() };
    grove_of(vec![forest.into(), trees.into(), linear.into()])
}

/// The names and bytes of all files in a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let file = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read(path).unwrap())
    };
    paths.map(file).collect()
}

/// The bytes of the units of a part.
fn bytes_of(manifest: &Manifest, part: &str) -> u64 {
    let own = manifest.units.iter().filter(|unit| unit.name().starts_with(part));
    own.map(|unit| unit.bytes).sum()
}

/// Predictions by their bits.
fn bits(predictions: &Predictions) -> Vec<Vec<(u32, u32)>> {
    let row = |row: &[labelwood::sparse::Scored]| {
        row.iter().map(|scored| (scored.id, scored.score.to_bits())).collect()
    };
    predictions.rows().map(row).collect()
}

/// A task that is cancelled once so many units of a stage are done.
fn stopping(stage: &'static str, after: u64) -> Task {
    let task = Pool::new(1).unwrap().task();
    let canceller = task.canceller();
    task.on_progress(move |progress| {
        if progress.stage.name() == stage && progress.done >= after {
            canceller.cancel();
        }
    })
}

#[test]
fn three_parts_are_trained_stored_resumed_and_merged_to_the_same_bytes() {
    let (task, folder) = (Pool::new(2).unwrap().task(), tempfile::tempdir().unwrap());
    let (dataset, settings) = (rows(0..250, &task), three_parts());
    let path = |name: &str| folder.path().join(name);
    train(&dataset, &settings, &path("whole"), Start::default(), &task).unwrap();
    let expected = files(&path("whole"));
    for unit in [
        "craftml-tree-0002",
        "craftml-features",
        "label-tree-tree-0001-root",
        "label-tree-tree-0001-subtree-00000",
        "label-tree-features",
        "one-vs-rest-block-00000",
        "one-vs-rest-features",
        "ranker",
    ] {
        assert!(expected.keys().any(|name| name.starts_with(unit)), "{unit} is missing");
    }

    // Stopped after the ranker, and again in each part.
    let mut last = 0;
    for (stage, after) in [("ranker", 4), ("trees", 2), ("units", 1)] {
        let start = Start { resume: last > 0, overwrite: false };
        let stopped = train(&dataset, &settings, &path("stopped"), start, &stopping(stage, after));
        let Err(TrainError::Stopped { finished, total, .. }) = stopped else {
            panic!("{stage}: {stopped:?}")
        };
        assert!(finished < total && !path("stopped").exists(), "{stage}: {finished} of {total}");
        let kept = files(&path("stopped.partial"));
        assert!(kept.keys().any(|name| name.starts_with("ranker-")));
        assert!(last < kept.len() && kept.len() < expected.len(), "{stage}: {}", kept.len());
        last = kept.len();
    }
    let resume = Start { resume: true, overwrite: false };
    let resumed = train(&dataset, &settings, &path("stopped"), resume, &task).unwrap();
    assert!(matches!(resumed, Trained::Written(_)));
    assert!(files(&path("stopped")) == expected);

    let options = shard::Options { shards: 3, ..Default::default() };
    let (plan, training) = (path("plan"), TrainOptions::default());
    let plan = Plan::make(&plan, dataset.view(), training, &settings, &options, &task).unwrap();
    for stage in 1..=plan.stages() {
        for shard in 0..3 {
            let work = Work { stage: Some(stage), ..Work::default() };
            plan.train(dataset.view(), &[shard], work, &task).unwrap();
        }
    }
    plan.merge(&[], &path("merged"), false, &task).unwrap();
    assert!(files(&path("merged")) == expected);
}

#[test]
fn three_parts_predict_whole_and_by_parts_of_a_model_bit_for_bit() {
    let (task, folder) = (Pool::new(2).unwrap().task(), tempfile::tempdir().unwrap());
    let (dataset, settings) = (rows(0..250, &task), three_parts());
    let path = folder.path().join("model");
    train(&dataset, &settings, &path, Start::default(), &task).unwrap();
    let model = Model::open(&path, Options::default(), &task).unwrap();
    let in_memory =
        Model::train(dataset.view(), TrainOptions::default(), &settings, &task).unwrap();
    let (features, few) = (dataset.features.view(), (0..400).step_by(3).collect::<LabelSet>());
    let combiner = Combiner::open(&path, Options::default(), &task).unwrap();
    for query in [
        Query::top(5),
        Query::top(150),
        Query { beam: Some(2), ..Query::top(3) },
        Query { allowed: Some(&few), ..Query::top(5) },
    ] {
        let whole = model.predict(features, query, &task).unwrap();
        assert!(whole.rows().any(|row| !row.is_empty()));
        assert!(whole.rows().flatten().all(|scored| (0.0..=1.0).contains(&scored.score)));
        assert_eq!(bits(&in_memory.predict(features, query, &task).unwrap()), bits(&whole));
        for of in [1, 2, 3, 7] {
            let part = |index| -> Scores {
                let share = Share { index, of };
                let part = ModelShare::open(&path, share, Options::default(), &task).unwrap();
                part.scores(features, query, &task).unwrap()
            };
            let scores: Vec<Scores> = (0..of).rev().map(part).collect();
            let combined = combiner.combine(&scores, query, &task).unwrap();
            assert_eq!(bits(&combined), bits(&whole), "{of} parts, {query:?}");
        }
    }
    let figures = model.learned().figures();
    let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
    for (part, members) in [("craftml-", 3), ("label-tree-", 2), ("one-vs-rest-", 4)] {
        assert_eq!(names.iter().filter(|name| name.starts_with(part)).count(), members, "{part}");
    }
    let ranker = &model.learned().tables()[0].rows[0];
    for column in ["instances", "craftml", "label_tree", "one_vs_rest", "all"] {
        assert!(ranker.contains_key(column), "{column}");
    }
    assert_eq!(model.learned().clusters(1).unwrap().len(), 6);
}

#[test]
fn three_parts_become_smaller() {
    let (task, folder) = (Pool::new(2).unwrap().task(), tempfile::tempdir().unwrap());
    let dataset = rows(0..250, &task);
    let (from, to) = (folder.path().join("model"), folder.path().join("small"));
    train(&dataset, &three_parts(), &from, Start::default(), &task).unwrap();
    let how = Shrink { prune: Some(0.2), values: Some(StoredAs::F16) };
    let (before, after) = shrink(&from, &to, how, false, &task).unwrap();
    for part in ["craftml-tree-", "label-tree-tree-", "one-vs-rest-block-"] {
        assert!(bytes_of(&after, part) < bytes_of(&before, part), "{part}");
    }
    let model = Model::open(&to, Options::default(), &task).unwrap();
    let settings = model.learned().settings();
    for part in ["label-tree", "one-vs-rest"] {
        let threshold = settings.find(&format!("{part}.weight_threshold")).unwrap();
        assert_eq!(threshold.as_f64(), Some(f64::from(0.2f32)), "{part}");
    }
    let found = model.predict(dataset.features.view(), Query::top(5), &task).unwrap();
    assert_eq!(found.len(), 250);
    assert!(found.rows().any(|row| !row.is_empty()));
    let bytes = Shrink { prune: None, values: Some(StoredAs::U8) };
    let error = shrink(&from, &folder.path().join("x"), bytes, false, &task).unwrap_err();
    assert!(error.to_string().contains("grove stores values as f16"), "{error}");
}

/// Rows with labels of their own, after those of the model and in other blocks.
fn with_new_labels(task: &Task) -> Dataset {
    let more = rows(200..250, task);
    let known = more.labels.columns();
    let mut labels = LabelRows::new(known + 2000);
    for row in more.labels.rows() {
        let own: Vec<u32> = row.indices.iter().copied().chain([known as u32 + 1999]).collect();
        labels.push_row(&own, &vec![(); own.len()]).unwrap();
    }
    Dataset { labels, ..more }
}

#[test]
fn three_parts_are_updated_with_their_rows_and_without() {
    let (task, folder) = (Pool::new(2).unwrap().task(), tempfile::tempdir().unwrap());
    let (dataset, more) = (rows(0..200, &task), with_new_labels(&task));
    let new = more.labels.columns() as u32 - 1;
    for keep_rows in [false, true] {
        let path = folder.path().join(keep_rows.to_string());
        let options = TrainOptions { keep_rows, ..TrainOptions::default() };
        train_with(&dataset, options, &three_parts(), &path, Start::default(), &task).unwrap();
        let model = Model::open(&path, Options::default(), &task).unwrap();
        let updated = update(&model, &more, &path, UpdateStart::default(), &task).unwrap();
        assert_eq!((updated.manifest.instances, updated.new_labels), (250, 2000));
        let model = Model::open(&path, Options::default(), &task).unwrap();
        let found = model.predict(more.features.view(), Query::top(20), &task).unwrap();
        let knows = found.rows().flatten().any(|scored| scored.id == new);
        assert!(knows || !keep_rows, "the new label is found");
    }
}

#[test]
fn a_part_that_cannot_be_updated_keeps_the_grove_from_it() {
    let (task, folder) = (Pool::new(2).unwrap().task(), tempfile::tempdir().unwrap());
    let (dataset, path) = (rows(0..60, &task), folder.path().join("model"));
    let forest = || Settings::from(craftml::Params { trees: 2, ..Default::default() });
    let submodels = label_forest::Params { submodels: 2, ..Default::default() };
    let linear = || Settings::from(one_vs_rest::Params::default());
    let updated = |parts| {
        let start = Start { overwrite: true, ..Start::default() };
        train(&dataset, &grove_of(parts), &path, start, &task).unwrap();
        let model = Model::open(&path, Options::default(), &task).unwrap();
        let more = rows(60..70, &task);
        update(&model, &more, &path, UpdateStart::default(), &task).unwrap_err()
    };
    let error = updated(vec![forest(), submodels.into()]);
    assert!(error.to_string().contains("model cannot be updated"), "{error}");
    let error = updated(vec![linear()]);
    assert!(error.to_string().contains("train it with --keep-rows"), "{error}");
}

#[test]
fn a_grove_of_one_part_ranks_as_that_part_does() {
    let task = Pool::new(2).unwrap().task();
    let dataset = rows(0..120, &task);
    let alone = Settings::from(one_vs_rest::Params::default());
    let learn = |settings: &Settings| {
        Model::train(dataset.view(), TrainOptions::default(), settings, &task).unwrap()
    };
    let (grove, alone) = (learn(&grove_of(vec![alone.clone()])), learn(&alone));
    let empty = Csr::new(3);
    assert_eq!(grove.predict(empty.view(), Query::top(3), &task).unwrap().len(), 0);
    let features = dataset.features.view();
    let best = |model: &Model| model.predict(features, Query::top(1), &task).unwrap();
    let (grove, alone) = (best(&grove), best(&alone));
    let same = (0..120).filter(|&row| grove.row(row)[0].id == alone.row(row)[0].id).count();
    // Frequent labels may be trusted more than rare ones.
    assert!(same > 100, "{same} of 120");
}
