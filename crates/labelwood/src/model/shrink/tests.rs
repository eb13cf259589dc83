//! Models of all algorithms made smaller.

use super::*;
use crate::algorithms::craftml::{Params, Precision as CentroidPrecision};
use crate::algorithms::{grove, label_forest, label_tree, one_vs_rest};
use crate::base::run::Pool;
use crate::base::sparse::Query;
use crate::data::generate::{Generator, Profile};
use crate::data::{Dataset, LabelIndex};
use crate::learn::linear::Precision;
use crate::model::{Model, train};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tempfile::TempDir;

fn rows(seed: u64) -> Dataset {
    let profile = Profile {
        instances: 150,
        test_instances: 0,
        features: 60,
        labels: 25,
        entries_per_row: 8.0,
        labels_per_row: 2.0,
        skew: 0.75,
    };
    let task = Pool::new(1).unwrap().task();
    let (features, labels) = Generator::new(profile, seed).unwrap().rows(0..150, &task).unwrap();
    let names: Vec<String> = (0..25).map(|label| format!("name {label}")).collect();
    let label_names = Some(LabelIndex::from_lines(names.iter().map(String::as_str)));
    Dataset { features, labels, label_names, named: None }
}

/// Every algorithm with all weights as they were learned.
fn algorithms() -> [Settings; 4] {
    let tree = label_tree::Params {
        trees: 1,
        branches: Some(4),
        leaf: Some(5),
        weight_threshold: 0.0,
        precision: Precision::Single,
        ..label_tree::Params::default()
    };
    [
        Settings::from(Params {
            trees: 2,
            precision: CentroidPrecision::Half,
            ..Params::default()
        }),
        Settings::from(label_tree::Params { trees: 2, ..tree.clone() }),
        Settings::from(one_vs_rest::Params {
            weight_threshold: 0.0,
            precision: Precision::Single,
            ..one_vs_rest::Params::default()
        }),
        Settings::from(label_forest::Params {
            submodels: 3,
            rate: 0.5,
            tree,
            ..label_forest::Params::default()
        }),
    ]
}

fn grove_of(forest: Params, label_tree: label_tree::Params) -> Settings {
    grove::Params { parts: vec![forest.into(), label_tree.into()], ..Default::default() }.into()
}

fn trained(algorithm: &Settings, dataset: &Dataset, task: &Task) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("model");
    train(dataset, algorithm, &target, Start::default(), task).unwrap();
    folder
}

/// All labels of each row by their bits, those of all paths.
fn predictions(folder: &Path, dataset: &Dataset, task: &Task) -> Vec<BTreeMap<u32, f32>> {
    let model = Model::open(folder, Options::default(), task).unwrap();
    let query = Query { beam: Some(100), ..Query::top(25) };
    let found = model.predict(dataset.features.view(), query, task).unwrap();
    found.rows().map(|row| row.iter().map(|scored| (scored.id, scored.score)).collect()).collect()
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect()
}

fn same_values(algorithm: &Settings) -> StoredAs {
    match algorithm.name() {
        "craftml" => StoredAs::F16,
        _ => StoredAs::F32,
    }
}

#[test]
fn without_a_threshold_and_with_the_same_values_nothing_changes() {
    let (dataset, task) = (rows(1), Pool::new(2).unwrap().task());
    for algorithm in algorithms() {
        let folder = trained(&algorithm, &dataset, &task);
        let (from, to) = (folder.path().join("model"), folder.path().join("same"));
        let how = Shrink { prune: Some(0.0), values: Some(same_values(&algorithm)) };
        let (before, after) = shrink(&from, &to, how, false, &task).unwrap();
        assert_eq!(after.units, before.units, "{}", algorithm.name());
        assert_ne!(after.model_id(), before.model_id(), "it tells that it was shrunk");
        let (one, two) = (predictions(&from, &dataset, &task), predictions(&to, &dataset, &task));
        assert_eq!(one, two, "{}", algorithm.name());
    }
}

#[test]
fn narrow_values_take_less_and_score_nearly_the_same() {
    let (dataset, task) = (rows(2), Pool::new(2).unwrap().task());
    for algorithm in algorithms() {
        let folder = trained(&algorithm, &dataset, &task);
        let (from, to) = (folder.path().join("model"), folder.path().join("small"));
        let (values, tolerance) = match algorithm.name() {
            "craftml" => (StoredAs::U8, 0.05),
            _ => (StoredAs::F16, 0.005),
        };
        let how = Shrink { prune: None, values: Some(values) };
        let (before, after) = shrink(&from, &to, how, false, &task).unwrap();
        assert!(after.bytes() < before.bytes(), "{}", algorithm.name());
        assert_eq!(
            (after.instances, after.features, after.labels),
            (before.instances, before.features, before.labels)
        );
        let (one, two) = (predictions(&from, &dataset, &task), predictions(&to, &dataset, &task));
        let difference = |(one, two): (&BTreeMap<u32, f32>, &BTreeMap<u32, f32>)| {
            let score = |label: &u32| two.get(label).copied().unwrap_or(0.0);
            one.iter().map(|(label, was)| f64::from((was - score(label)).abs())).sum::<f64>()
        };
        let sum: f64 = one.iter().zip(&two).map(difference).sum();
        let total: f64 = one.iter().flat_map(BTreeMap::values).map(|&score| f64::from(score)).sum();
        assert!(sum < tolerance * total, "{}: {sum} of {total}", algorithm.name());
    }
}

#[test]
fn the_smaller_model_keeps_its_labels_and_tells_where_it_comes_from() {
    let (dataset, task) = (rows(3), Pool::new(1).unwrap().task());
    let [_, algorithm, ..] = algorithms();
    let folder = trained(&algorithm, &dataset, &task);
    let (from, to) = (folder.path().join("model"), folder.path().join("small"));
    let how = Shrink { prune: Some(0.25), values: Some(StoredAs::F16) };
    let (before, after) = shrink(&from, &to, how, false, &task).unwrap();
    let model = Model::open(&to, Options::default(), &task).unwrap();
    assert_eq!(model.manifest(), &after);
    assert_eq!(model.labels().counts(), dataset.labels.view().column_counts());
    assert_eq!(model.labels().name(7), Some("name 7"));
    let settings = model.learned().settings();
    assert_eq!(settings.find("weight_threshold"), Some(0.25.into()));
    assert_eq!(settings.find("precision"), Some("half".into()));
    let told = after.training.shrunk.unwrap();
    let from_id = before.model_id().to_string();
    assert_eq!(told, serde_json::json!({"prune": 0.25, "values": "f16", "from": from_id}));
    // A training does not take it for its own.
    let start = Start { resume: true, overwrite: false };
    let error = train(&dataset, &algorithm, &to, start, &task).unwrap_err().to_string();
    assert!(error.contains(r#""prune":0.25,"values":"f16"} there but not set here"#), "{error}");
}

#[test]
fn what_cannot_be_done_is_refused_and_leaves_nothing() {
    let (dataset, task) = (rows(4), Pool::new(1).unwrap().task());
    let [forest, tree, ..] = algorithms();
    let (forest, tree) = (trained(&forest, &dataset, &task), trained(&tree, &dataset, &task));
    let (from, to) = (tree.path().join("model"), tree.path().join("small"));
    let some = Shrink { prune: Some(0.1), values: None };
    let message = |from: &Path, to: &Path, how| {
        let error = shrink(from, to, how, false, &task).unwrap_err().to_string();
        assert!(!to.with_file_name("small.partial").exists(), "{error}");
        error
    };
    assert!(message(&from, &to, Shrink::default()).contains("nothing would become smaller"));
    let negative = Shrink { prune: Some(-1.0), ..some };
    assert!(message(&from, &to, negative).contains("prune is -1"));
    assert!(message(&from, &to, Shrink { prune: Some(f32::NAN), ..some }).contains("prune is NaN"));
    let bytes = Shrink { values: Some(StoredAs::U8), ..some };
    assert!(message(&from, &to, bytes).contains("label-tree stores values as f16 or f32"));
    let wide = Shrink { values: Some(StoredAs::F32), ..some };
    let craftml = forest.path().join("model");
    assert!(message(&craftml, &to, wide).contains("craftml stores values as u8 or f16"));
    assert!(message(&from, &from, some).contains("the model to make smaller"));
    assert!(message(tree.path(), &to, some).contains("there is no model here"));
    assert!(message(&from, &craftml, some).contains("a model is already here"));
    let overwritten = shrink(&from, &craftml, some, true, &task);
    assert_eq!(overwritten.unwrap().1.training.algorithm, "label-tree");
    assert!(Model::open(&craftml, Options::default(), &task).is_ok());
}

#[test]
fn a_cancelled_run_leaves_nothing() {
    let (dataset, task) = (rows(5), Pool::new(1).unwrap().task());
    let [_, algorithm, ..] = algorithms();
    let folder = trained(&algorithm, &dataset, &task);
    task.canceller().cancel();
    let to = folder.path().join("small");
    let how = Shrink { prune: Some(0.1), values: None };
    let stopped = shrink(&folder.path().join("model"), &to, how, false, &task);
    assert!(stopped.is_err());
    assert!(!to.exists() && !to.with_file_name("small.partial").exists());
}

#[test]
fn a_threshold_that_leaves_nothing_is_refused_with_the_largest_value() {
    let (dataset, task) = (rows(6), Pool::new(2).unwrap().task());
    let forest = Params { trees: 2, leaf: 4, ..Params::default() };
    let label_tree = label_tree::Params { trees: 1, ..label_tree::Params::default() };
    for algorithm in algorithms().into_iter().chain([grove_of(forest, label_tree)]) {
        let folder = trained(&algorithm, &dataset, &task);
        let (from, to) = (folder.path().join("model"), folder.path().join("small"));
        let shrunk =
            |prune| shrink(&from, &to, Shrink { prune: Some(prune), values: None }, true, &task);
        let Err(ShrinkError::NothingLeft { prune, what, largest }) = shrunk(1e9) else {
            panic!("{}: it is refused", algorithm.name());
        };
        let of_forest = ["craftml", "grove"].contains(&algorithm.name());
        assert_eq!((prune, what == "entries of centroids"), (1e9, of_forest));
        assert!(largest > 0.0, "{}: {largest}", algorithm.name());
        assert!(largest < 1.01 || !of_forest, "centroids have length 1: {largest}");
        assert!(!to.exists() && !to.with_file_name("small.partial").exists());
        // The largest is what decides.
        let refused = shrunk(largest).unwrap_err().to_string();
        assert!(refused.contains("none would be left"), "{refused}");
        if algorithm.name() != "grove" {
            shrunk(largest * 0.999).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_higher_threshold_never_takes_more_and_threads_do_not_matter(
        which in 0..4usize,
        low in 0.0f32..0.3,
        more in 0.0f32..0.3,
        narrow in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let (dataset, task) = (rows(seed), Pool::new(2).unwrap().task());
        let algorithm = &algorithms()[which];
        let folder = trained(algorithm, &dataset, &task);
        let from = folder.path().join("model");
        let values = narrow.then_some(StoredAs::F16);
        let mut last = u64::MAX;
        for (at, prune) in [0.0, low, low + more].into_iter().enumerate() {
            let to = folder.path().join(format!("small-{at}"));
            let (_, after) = shrink(&from, &to, Shrink { prune: Some(prune), values }, false, &task).unwrap();
            // Headers have numbers of their own, whose digits vary.
            prop_assert!(after.bytes() <= last.saturating_add(400), "{prune}: {} bytes after {last}", after.bytes());
            last = after.bytes();
            prop_assert_eq!(predictions(&to, &dataset, &task).len(), dataset.len());
        }
        let (one, many) = (folder.path().join("one"), folder.path().join("many"));
        for (to, threads) in [(&one, 1), (&many, 5)] {
            let how = Shrink { prune: Some(low), values };
            shrink(&from, to, how, false, &Pool::new(threads).unwrap().task()).unwrap();
        }
        prop_assert_eq!(files(&one), files(&many));
    }
}

#[test]
fn both_parts_of_a_grove_become_smaller() {
    let (dataset, task) = (rows(3), Pool::new(2).unwrap().task());
    let forest = Params { trees: 2, leaf: 4, ..Params::default() };
    let label_tree = label_tree::Params {
        trees: 1,
        branches: Some(3),
        leaf: Some(4),
        weight_threshold: 0.0,
        ..label_tree::Params::default()
    };
    let folder = trained(&grove_of(forest, label_tree), &dataset, &task);
    let (from, to) = (folder.path().join("model"), folder.path().join("small"));
    let how = Shrink { prune: Some(0.3), values: None };
    let (before, after) = shrink(&from, &to, how, false, &task).unwrap();
    for name in ["craftml-tree-0000", "label-tree-tree-0000"] {
        let bytes = |manifest: &Manifest| -> u64 {
            let own = manifest.units.iter().filter(|unit| unit.name().starts_with(name));
            own.map(|unit| unit.bytes).sum()
        };
        assert!(bytes(&after) < bytes(&before), "{name}");
    }
    assert_eq!(predictions(&to, &dataset, &task).len(), dataset.len());
    let how = Shrink { prune: None, values: Some(StoredAs::U8) };
    let error = shrink(&from, &folder.path().join("x"), how, false, &task).unwrap_err();
    assert!(error.to_string().contains("grove stores values as f16"), "{error}");
}
