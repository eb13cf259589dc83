use super::*;
use crate::algorithms::{craftml as forest, grove as groves, label_tree};
use crate::base::run::Pool;
use crate::data::Dataset;
use crate::data::generate::{Generator, Profile};
use std::time::{Duration, Instant};

fn grove(trees: usize, label_trees: usize) -> Settings {
    groves_params(trees, label_trees).into()
}

fn groves_params(trees: usize, label_trees: usize) -> groves::Params {
    let forest = forest::Params { trees, ..Default::default() };
    let label_tree = label_tree::Params { trees: label_trees, ..Default::default() };
    let parts = vec![forest.into(), label_tree.into()];
    groves::Params { parts, choose: false, ..Default::default() }
}

fn craftml(trees: usize, leaf: usize) -> Settings {
    Settings::from(forest::Params { trees, leaf, ..Default::default() })
}

fn rows(task: &Task) -> Dataset {
    let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").unwrap() };
    let (features, labels) = Generator::new(profile, 1).unwrap().rows(0..300, task).unwrap();
    Dataset { features, labels, label_names: None, named: None }
}

#[test]
fn limits_only_take_trees_away() {
    let leaf = forest::Params::default().leaf;
    assert!(grove(30, 3).may_become(&grove(12, 1)));
    let of_one = |part: Settings| groves::Params { parts: vec![part], ..groves_params(1, 1) };
    assert!(grove(30, 3).may_become(&of_one(craftml(12, leaf)).into()));
    assert!(!grove(30, 3).may_become(&of_one(craftml(12, leaf + 1)).into()));
    assert!(!grove(30, 3).may_become(&grove(31, 3)));
    let late = groves::Params { learn_ranker: false, ..groves_params(12, 1) };
    let late = Settings::from(late);
    assert!(grove(30, 3).may_become(&late));
    assert!(!craftml(30, leaf).may_become(&grove(30, 3)));
}

#[test]
fn a_late_start_grows_nothing_and_a_later_one_goes_on() {
    let task = Pool::new(2).unwrap().task();
    let (dataset, folder) = (rows(&task), tempfile::tempdir().unwrap());
    let target = folder.path().join("model");
    let train = |limits, start, task: &Task| {
        let extras = TrainOptions::default();
        train_within(&dataset, extras, &grove(3, 1), limits, &target, start, task)
    };
    let late = Limits { until: Some(Instant::now()), ..Limits::default() };
    let error = train(late, Start::default(), &task).unwrap_err();
    assert!(matches!(error, TrainError::TimeUp { finished: 0, .. }), "{error}");
    assert!(task.check().is_ok(), "the run may be used again");
    assert_eq!(unfinished(&target).unwrap().map(|found| found.algorithm), Some("grove".to_owned()));
    let resume = Start { resume: true, ..Start::default() };
    let trained = train(Limits::default(), resume, &task).unwrap();
    let Trained::Written(manifest) = &trained else { panic!("nothing was there") };
    assert_eq!(manifest.training.settings["parts"][0]["trees"], 3);
    assert_eq!(unfinished(&target).unwrap(), None);
    let again = train(late, resume, &task).unwrap();
    assert_eq!(again, Trained::AlreadyThere(manifest.clone()));
}

#[test]
fn time_for_trees_alone_makes_a_grove_of_a_forest() {
    let task = Pool::new(2).unwrap().task();
    let (dataset, folder) = (rows(&task), tempfile::tempdir().unwrap());
    // Trees are begun, but a label tree would have to be done before it is.
    let limits = Limits {
        until: Some(Instant::now() + Duration::from_millis(1)),
        grace: Duration::from_secs(600),
        bytes: None,
    };
    let target = folder.path().join("model");
    let start = Start::default();
    let (extras, algorithm) = (TrainOptions::default(), grove(3, 1));
    let trained = train_within(&dataset, extras, &algorithm, limits, &target, start, &task);
    match trained {
        Ok(Trained::Written(manifest)) => {
            let parts = &manifest.training.settings["parts"];
            assert_eq!(parts.as_array().map(Vec::len), Some(1), "{parts}");
            assert_eq!(parts[0]["algorithm"], "craftml");
        }
        // A machine so slow that a millisecond passes before the first tree.
        other => assert!(matches!(other, Err(TrainError::TimeUp { .. })), "{other:?}"),
    }
}

#[test]
fn algorithms_without_trees_are_refused() {
    let task = Pool::new(1).unwrap().task();
    let folder = tempfile::tempdir().unwrap();
    let algorithm = Settings::preset("one-vs-rest", "default").unwrap();
    let (extras, limits) = (TrainOptions::default(), Limits::default());
    let target = folder.path().join("model");
    let error =
        train_within(&rows(&task), extras, &algorithm, limits, &target, Start::default(), &task);
    assert!(error.unwrap_err().to_string().contains("one-vs-rest"));
}
