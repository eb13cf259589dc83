//! A stored model: it predicts what the forest in memory predicts, and damage does no harm.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use labelwood::Settings;
use labelwood::algorithms::craftml::{Metric, Params, Precision, Projection};
use labelwood::algorithms::{grove, label_tree};
use labelwood::data::Dataset;
use labelwood::data::generate::{Generator, Profile};
use labelwood::model::{Model, TrainOptions, Trained, train};
use labelwood::run::{Canceller, Pool, Task};
use labelwood::settings::Weighting;
use labelwood::sparse::{CsrView, Predictions, Query};
use labelwood::store::{Load, Options, Start, StoreError, Stored};
use proptest::prelude::*;
use tempfile::TempDir;

/// Rows with something to learn.
fn rows(instances: u64, seed: u64) -> Dataset {
    let profile = Profile {
        instances,
        test_instances: 0,
        features: 60,
        labels: 25,
        entries_per_row: 8.0,
        labels_per_row: 2.0,
        skew: 0.75,
    };
    let task = Pool::new(1).unwrap().task();
    let generator = Generator::new(profile, seed).unwrap();
    let (features, labels) = generator.rows(0..instances, &task).unwrap();
    Dataset { features, labels, label_names: None, named: None }
}

/// Predictions by their bits, so that not even the sign of a zero may differ.
fn bits(predictions: &Predictions) -> Vec<Vec<(u32, u32)>> {
    predictions
        .rows()
        .map(|row| row.iter().map(|scored| (scored.id, scored.score.to_bits())).collect())
        .collect()
}

fn store(dataset: &Dataset, params: &Params, task: &Task) -> (TempDir, PathBuf) {
    store_any(dataset, &Settings::from(params.clone()), task)
}

fn store_any(dataset: &Dataset, algorithm: &Settings, task: &Task) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("model");
    train(dataset, algorithm, &target, Start::default(), task).unwrap();
    (folder, target)
}

fn small_grove() -> Settings {
    let forest = Params { trees: 2, branches: 3, leaf: 4, ..Params::default() };
    let label_tree = label_tree::Params {
        trees: 1,
        branches: Some(3),
        leaf: Some(4),
        weighting: Weighting::Idf,
        ..label_tree::Params::default()
    };
    let parts = vec![forest.into(), label_tree.into()];
    grove::Params { parts, ..grove::Params::default() }.into()
}

#[test]
fn a_stored_grove_predicts_what_the_grove_in_memory_does() {
    let dataset = rows(90, 3);
    let task = Pool::new(2).unwrap().task();
    let grove =
        Model::train(dataset.view(), TrainOptions::default(), &small_grove(), &task).unwrap();
    let (_folder, target) = store_any(&dataset, &small_grove(), &task);
    let features = dataset.features.view();
    for load in [Load::Map, Load::Copy] {
        let model = Model::open(&target, Options { load, verify: true }, &task).unwrap();
        for beam in [None, Some(1), Some(30)] {
            let query = Query { beam, ..Query::top(5) };
            let expected = grove.predict(features, query, &task).unwrap();
            assert_eq!(bits(&model.predict(features, query, &task).unwrap()), bits(&expected));
        }
    }
}

fn params() -> impl Strategy<Value = Params> {
    let projection = || {
        prop_oneof![Just(Projection::None), Just(Projection::Hashing), Just(Projection::Gaussian)]
    };
    (
        (1..4usize, 2..17usize, 2..12usize, any::<u64>(), 1..10usize),
        (projection(), 1..70usize, projection(), 1..30usize),
        prop_oneof![Just(Metric::Cosine), Just(Metric::Euclidean)],
        prop_oneof![Just(Weighting::Auto), Just(Weighting::None), Just(Weighting::Idf)],
        prop_oneof![Just(Precision::Half), Just(Precision::Byte)],
        prop_oneof![Just(1.0f64), 0.1f64..1.0],
    )
        .prop_map(|(tree, projected, metric, weighting, precision, keep)| {
            let (trees, branches, leaf, seed, beam) = tree;
            let (feature_projection, feature_dimensions, label_projection, label_dimensions) =
                projected;
            Params {
                trees,
                branches,
                leaf,
                seed,
                beam,
                feature_projection,
                feature_dimensions,
                label_projection,
                label_dimensions,
                metric,
                weighting,
                precision,
                keep: Some(keep),
                ..Params::default()
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stored_model_predicts_what_the_forest_in_memory_does(
        params in params(),
        instances in 1u64..120,
        seed in any::<u64>(),
        copy in any::<bool>(),
    ) {
        let dataset = rows(instances, seed);
        let task = Pool::new(2).unwrap().task();
        let features = dataset.features.view();
        let settings = Settings::from(params.clone());
        let forest = Model::train(dataset.view(), Default::default(), &settings, &task).unwrap();
        let (_folder, target) = store(&dataset, &params, &task);
        let load = if copy { Load::Copy } else { Load::Map };
        let model = Model::open(&target, Options { load, verify: true }, &task).unwrap();
        for beam in [None, Some(1), Some(30)] {
            let expected = forest.predict(features, Query { beam, ..Query::top(5) }, &task).unwrap();
            let found = model.predict(features, Query { beam, ..Query::top(5) }, &task).unwrap();
            prop_assert_eq!(bits(&found), bits(&expected));
        }
    }
}

#[test]
fn a_model_knows_its_labels_and_fills_up_with_the_frequent_ones() {
    let dataset = rows(80, 3);
    let task = Pool::new(1).unwrap().task();
    let (_folder, target) = store(&dataset, &Params { trees: 2, ..Params::default() }, &task);
    let model = Model::open(&target, Options::default(), &task).unwrap();
    let counts = dataset.labels.view().column_counts();
    assert_eq!(model.labels().counts(), counts);
    let frequent = model.labels().most_frequent(25);
    assert!(frequent.is_sorted_by_key(|&id| (std::cmp::Reverse(counts[id as usize]), id)));

    let mut nothing = Predictions::default();
    nothing.push_row(&[]);
    let filled = model.fill(&nothing, Query::top(3));
    let mut ids: Vec<u32> = filled.row(0).iter().map(|scored| scored.id).collect();
    ids.sort_unstable();
    let mut expected = frequent[..3].to_vec();
    expected.sort_unstable();
    assert_eq!(ids, expected);
}

#[test]
fn a_run_cancelled_at_its_last_step_leaves_its_units_and_no_model() {
    let dataset = rows(80, 1);
    let algorithm = Settings::from(Params { trees: 3, ..Params::default() });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let canceller = Arc::new(OnceLock::<Canceller>::new());
    let seen = canceller.clone();
    let task = Pool::new(1).unwrap().task().on_progress(move |progress| {
        if progress.done == progress.total {
            seen.get().unwrap().cancel();
        }
    });
    canceller.set(task.canceller()).unwrap();
    let error = train(&dataset, &algorithm, &path, Start::default(), &task).unwrap_err();
    assert!(error.to_string().contains("resume"), "{error}");
    assert!(!path.exists());

    let resume = Start { resume: true, ..Start::default() };
    let task = Pool::new(1).unwrap().task();
    train(&dataset, &algorithm, &path, resume, &task).unwrap();
    assert!(Model::open(&path, Options::default(), &task).is_ok());
}

#[test]
fn the_same_training_finds_itself_finished() {
    let dataset = rows(40, 5);
    let task = Pool::new(1).unwrap().task();
    let params = Params { trees: 2, ..Params::default() };
    let (_folder, target) = store(&dataset, &params, &task);
    let start = Start { resume: true, overwrite: false };
    let again = train(&dataset, &Settings::from(params.clone()), &target, start, &task).unwrap();
    assert!(matches!(again, Trained::AlreadyThere(_)), "{again:?}");
    let other = Settings::from(Params { leaf: 3, ..params });
    let error = train(&dataset, &other, &target, start, &task).unwrap_err();
    assert!(error.to_string().contains("leaf is 10 there but 3 here"), "{error}");
}

/// A tiny model of each precision and metric and a tiny grove, as the bytes of its files, and rows to predict.
struct Tiny {
    dataset: Dataset,
    models: Vec<Vec<(String, Vec<u8>)>>,
    /// The same models, each as one file.
    archives: Vec<Vec<u8>>,
}

fn tiny() -> &'static Tiny {
    static TINY: OnceLock<Tiny> = OnceLock::new();
    TINY.get_or_init(|| {
        let dataset = rows(30, 11);
        let task = Pool::new(1).unwrap().task();
        let some = [
            (Precision::Byte, Metric::Cosine, Projection::None, Weighting::None),
            (Precision::Half, Metric::Euclidean, Projection::Hashing, Weighting::Idf),
        ];
        let algorithm = |&(precision, metric, feature_projection, weighting)| {
            let params = Params {
                trees: 1,
                branches: 3,
                leaf: 4,
                precision,
                metric,
                feature_projection,
                weighting,
                ..Params::default()
            };
            Settings::from(params)
        };
        let stored = |algorithm| {
            let (folder, target) = store_any(&dataset, &algorithm, &task);
            let one_file = folder.path().join("one.labelwood");
            let stored = Stored::open(&target, Options::default(), &task).unwrap();
            stored.save(&one_file, false).unwrap();
            let entries = fs::read_dir(target).unwrap().map(Result::unwrap);
            let mut files: Vec<(String, Vec<u8>)> = entries
                .map(|entry| {
                    let name = entry.file_name().into_string().unwrap();
                    (name, fs::read(entry.path()).unwrap())
                })
                .collect();
            files.sort();
            (files, fs::read(one_file).unwrap())
        };
        let algorithms = some.iter().map(algorithm).chain([small_grove()]);
        let (models, archives) = algorithms.map(stored).unzip();
        Tiny { models, archives, dataset }
    })
}

fn write(folder: &Path, files: &[(String, Vec<u8>)]) {
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

/// Whether all that differs is which blanks stand between the values of the manifest.
fn differ_in_blanks(one: &[(String, Vec<u8>)], two: &[(String, Vec<u8>)]) -> bool {
    let value = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).ok();
    one.iter().zip(two).all(|((name, left), (_, right))| {
        left == right || (name == "manifest.json" && value(left) == value(right))
    })
}

fn open_and_predict(
    folder: &Path,
    options: Options,
    features: CsrView<'_>,
    task: &Task,
) -> Result<(), StoreError> {
    let model = Model::open(folder, options, task)?;
    for beam in [None, Some(1)] {
        let predictions = model.predict(features, Query { beam, ..Query::top(5) }, task).unwrap();
        assert_eq!(predictions.len(), features.len());
        for scored in predictions.rows().flatten() {
            assert!((scored.id as usize) < model.labels().counts().len(), "{scored:?}");
        }
    }
    let frequent = model.labels().most_frequent(3);
    assert!(frequent.len() <= 3);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes_are_refused_and_without_checksums_never_crash(
        model in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1u8..), 1..4),
        copy in any::<bool>(),
    ) {
        let tiny = tiny();
        let mut files = model.get(&tiny.models).clone();
        let whole = files.clone();
        for (file, at, mask) in &flips {
            let (_, bytes) = &mut files[file.index(whole.len())];
            let at = at.index(bytes.len());
            bytes[at] ^= mask;
        }
        prop_assume!(files != whole && !differ_in_blanks(&files, &whole));
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &files);
        let task = Pool::new(1).unwrap().task();
        let features = tiny.dataset.features.view();
        let load = if copy { Load::Copy } else { Load::Map };
        let verified = Options { load, verify: true };
        prop_assert!(Model::open(folder.path(), verified, &task).is_err(), "{flips:?}");
        // Right or wrong, an answer or an error; a panic or an endless walk fails the test.
        let _ = open_and_predict(folder.path(), Options { load, verify: false }, features, &task);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes_of_one_file_never_crash_even_without_checksums(
        model in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..4),
        copy in any::<bool>(),
    ) {
        let tiny = tiny();
        let (folder, task) = (tempfile::tempdir().unwrap(), Pool::new(1).unwrap().task());
        let path = folder.path().join("model.labelwood");
        let mut bytes = model.get(&tiny.archives).clone();
        for (at, mask) in &flips {
            let at = at.index(bytes.len());
            bytes[at] ^= mask;
        }
        fs::write(&path, bytes).unwrap();
        let load = if copy { Load::Copy } else { Load::Map };
        let _ = open_and_predict(
            &path,
            Options { load, verify: false },
            tiny.dataset.features.view(),
            &task,
        );
    }
}

#[test]
fn files_cut_short_or_gone_are_refused_even_without_checksums() {
    let tiny = tiny();
    let task = Pool::new(1).unwrap().task();
    let features = tiny.dataset.features.view();
    for files in &tiny.models {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), files);
        let options = Options { load: Load::Map, verify: false };
        open_and_predict(folder.path(), options, features, &task).unwrap();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            let lengths = (0..bytes.len()).step_by(bytes.len() / 40 + 1).chain([bytes.len() - 1]);
            // The manifest ends in a line end that may be missing.
            let lengths = lengths.filter(|&len| name != "manifest.json" || len + 1 < bytes.len());
            for len in lengths {
                fs::write(&path, &bytes[..len]).unwrap();
                for verify in [true, false] {
                    let options = Options { load: Load::Map, verify };
                    let opened = open_and_predict(folder.path(), options, features, &task);
                    assert!(opened.is_err(), "{name} cut to {len} bytes");
                }
            }
            fs::remove_file(&path).unwrap();
            assert!(Model::open(folder.path(), options, &task).is_err(), "{name} is gone");
            fs::write(&path, bytes).unwrap();
        }
    }
}

#[test]
fn a_model_trained_in_memory_is_byte_for_byte_the_one_of_a_folder_and_of_a_file() {
    let (dataset, task) = (rows(60, 1), Pool::new(2).unwrap().task());
    // Rows without names teach nothing to what goes by names alone.
    for name in Settings::names().into_iter().filter(|&name| name != "names") {
        let algorithm = Settings::preset(name, "default").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let places = ["trained", "saved", "trained.labelwood", "saved.labelwood"];
        let [trained, saved, one_file, saved_file] = places.map(|name| folder.path().join(name));
        train(&dataset, &algorithm, &one_file, Start::default(), &task).unwrap();
        train(&dataset, &algorithm, &trained, Start::default(), &task).unwrap();
        let model =
            Model::train(dataset.view(), TrainOptions::default(), &algorithm, &task).unwrap();
        model.stored().save(&saved, false).unwrap();
        model.stored().save(&saved_file, false).unwrap();
        assert_eq!(fs::read(&one_file).unwrap(), fs::read(saved_file).unwrap(), "{name}");
        let names = |folder: &Path| -> Vec<_> {
            let mut names: Vec<_> =
                fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&trained), names(&saved));
        for file in names(&trained) {
            assert_eq!(
                fs::read(trained.join(&file)).unwrap(),
                fs::read(saved.join(&file)).unwrap()
            );
        }
        let query = Query::top(3);
        let opened = Model::open(&trained, Options::default(), &task).unwrap();
        let predict = |model: &Model| model.predict(dataset.features.view(), query, &task).unwrap();
        assert_eq!(bits(&predict(&model)), bits(&predict(&opened)), "{name}");
        for load in [Load::Map, Load::Copy] {
            let options = Options { load, ..Options::default() };
            let opened = Model::open(&one_file, options, &task).unwrap();
            assert_eq!(bits(&predict(&model)), bits(&predict(&opened)), "{name}, one file");
        }
    }
}
