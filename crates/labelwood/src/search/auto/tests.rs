use super::*;
use crate::base::run::Pool;
use crate::base::sparse::{Csr, LabelRows};
use crate::data::Dataset;
use crate::data::generate::{Generator, Profile};
use std::time::Duration;

fn needs(seconds: f64, bytes: f64) -> Needs {
    Needs { seconds, bytes }
}

fn chooser(seconds: Option<u64>, bytes: Option<u64>) -> Chooser {
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let forecasts = vec![needs(2.0, 10e6), needs(20.0, 50e6)];
    Chooser { limits: Limits { until, bytes, ..Limits::default() }, forecasts, threads: 2.0 }
}

/// A grove as it is chosen from.
fn grove() -> Settings {
    Settings::named("grove").unwrap().set("seed", 7).unwrap()
}

/// A sample on which one of the parts was better.
fn sample(label_tree_is_better: bool) -> Sample {
    let measured = |precision| Measured { needs: Needs::default(), rows: vec![precision] };
    let label_tree = if label_tree_is_better { 0.6 } else { 0.4 };
    let none = || Dataset {
        features: Csr::new(0),
        labels: LabelRows::new(0),
        label_names: None,
        named: None,
    };
    Sample {
        rows: Rows { train: none(), test: none() },
        parts: vec![measured(0.5), measured(label_tree)],
    }
}

fn chosen(chooser: &Chooser, label_tree_is_better: bool) -> Result<&'static str, ChooseError> {
    let mut why = Vec::new();
    let chosen = chooser.choose(&grove(), &sample(label_tree_is_better), |_| true, &mut why)?;
    assert!(why.last().is_some_and(|last| last.contains(chosen.name())), "{why:?}");
    assert_eq!(chosen.seed(), 7);
    Ok(chosen.name())
}

#[test]
fn a_forecast_follows_the_power_of_the_last_two_samples() {
    let points = [(1000.0, needs(1.0, 5.0)), (4000.0, needs(5.0, 20.0))];
    let found = forecast(&points, 16_000.0);
    assert!((found.seconds - 25.0).abs() < 1e-9 && found.bytes == 80.0, "{found:?}");
    // A sample that is quicker than the one before it, as small ones may be, promises nothing.
    let points = [(1000.0, needs(5.0, 5.0)), (4000.0, needs(4.0, 20.0))];
    assert!((forecast(&points, 8000.0).seconds - 8.0).abs() < 1e-9);
}

#[test]
fn without_limits_a_grove_is_trained() {
    assert_eq!(chosen(&chooser(None, None), true), Ok("grove"));
}

#[test]
fn what_takes_too_long_gives_way_to_the_better_part() {
    assert_eq!(chosen(&chooser(Some(40), None), true), Ok("grove"));
    assert_eq!(chosen(&chooser(Some(30), None), true), Ok("label-tree"));
    assert_eq!(chosen(&chooser(Some(30), None), false), Ok("craftml"));
    assert_eq!(chosen(&chooser(Some(10), None), true), Ok("craftml"));
    let error = chosen(&chooser(Some(2), None), true).unwrap_err();
    assert!(error.to_string().contains("take about 5 s"), "{error}");
}

#[test]
fn what_becomes_too_large_is_pruned_or_gives_way() {
    let pruned = chooser(None, Some(300_000_000));
    let roomy = chooser(None, Some(1_000_000_000));
    assert!(pruned.is_large(&grove()) && !roomy.is_large(&grove()));
    let choose = |chooser: &Chooser| {
        chooser.choose(&grove(), &sample(true), |_| true, &mut Vec::new()).unwrap()
    };
    assert_eq!(choose(&roomy), grove());
    let pruned = choose(&pruned);
    assert_eq!((pruned.name(), pruned.seed()), ("grove", 7));
    assert_eq!(pruned.find("craftml.keep"), Some(0.2.into()));
    assert_eq!(chosen(&chooser(None, Some(60_000_000)), true), Ok("label-tree"));
    assert_eq!(chosen(&chooser(None, Some(30_000_000)), true), Ok("craftml"));
    let error = chosen(&chooser(None, Some(1_000_000)), true).unwrap_err();
    assert!(error.to_string().contains("will take about 4000000"), "{error}");
}

#[test]
fn what_has_no_memory_is_passed_over() {
    let mut why = Vec::new();
    let fits = |settings: &Settings| settings.name() == "craftml";
    let found = chooser(None, None).choose(&grove(), &sample(true), fits, &mut why);
    assert_eq!(found.map(|found| found.name()), Ok("craftml"));
    assert!(why.contains(&"grove would take more memory than there is".to_owned()), "{why:?}");
}

#[test]
fn a_choice_without_a_clock_is_the_same_on_any_number_of_threads() {
    let profile = Profile { instances: 400, ..Profile::named("eurlex-4k").unwrap() };
    let choice = |threads| {
        let task = Pool::new(threads).unwrap().task();
        let rows = Generator::new(profile, 1).unwrap().rows(0..400, &task).unwrap();
        let dataset = Dataset { features: rows.0, labels: rows.1, label_names: None, named: None };
        choose(dataset.view(), 1, Limits::default(), |_| true, &task).unwrap()
    };
    let (one, many) = (choice(1), choice(3));
    assert_eq!(one.settings, many.settings);
    assert_eq!(one.settings.name(), "grove");
}

#[test]
fn a_handful_of_rows_makes_a_grove_untried() {
    let task = Pool::new(1).unwrap().task();
    let profile = Profile { instances: 10, ..Profile::named("eurlex-4k").unwrap() };
    let (features, labels) = Generator::new(profile, 1).unwrap().rows(0..10, &task).unwrap();
    let dataset = Dataset { features, labels, label_names: None, named: None };
    let choice = choose(dataset.view(), 1, Limits::default(), |_| true, &task).unwrap();
    assert_eq!(choice.settings.name(), "grove");
}
