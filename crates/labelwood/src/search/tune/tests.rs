use super::*;
use crate::base::run::Pool;
use crate::data::Dataset;
use crate::data::generate::{Generator, Profile};
use std::fs;

fn rows(count: usize) -> Dataset {
    let task = Pool::new(1).unwrap().task();
    let profile = Profile { instances: count as u64, ..Profile::named("eurlex-4k").unwrap() };
    let (features, labels) =
        Generator::new(profile, 1).unwrap().rows(0..count as u64, &task).unwrap();
    Dataset { features, labels, label_names: None, named: None }
}

fn plan(dataset: &Dataset, folds: usize) -> Plan {
    let start =
        Settings::from(crate::algorithms::craftml::Params { trees: 9, ..Default::default() });
    Plan::new(dataset.view(), &[start], &["weighting".to_owned()], Measure::Precision, folds)
        .unwrap()
}

fn results(figures: &[f64], bytes: u64) -> Results {
    Results { figures: figures.to_vec(), bytes, seconds: 1.0 }
}

/// The outcome without times.
fn timeless(outcome: &Outcome) -> Vec<Vec<Standing>> {
    let mut rounds = outcome.rounds.clone();
    rounds.iter_mut().flatten().for_each(|standing| standing.seconds = 0.0);
    rounds
}

#[test]
fn candidates_are_ranked_by_score_then_size_then_order() {
    let tried = [
        results(&[0.5, 0.5], 9),
        results(&[1.0, 0.5], 9),
        results(&[0.5, 1.0], 4),
        results(&[1.0, 0.5], 4),
    ];
    let ranked = standings(&[0, 3, 5, 7], &tried, 1);
    let order: Vec<usize> = ranked.iter().map(|standing| standing.candidate).collect();
    assert_eq!(order, [5, 7, 3, 0]);
    assert_eq!((ranked[0].score, ranked[0].lead, ranked[0].bytes), (0.75, 0.25, 4));
}

#[test]
fn the_settings_to_start_from_always_go_on() {
    let before = standings(
        &[0, 1, 2, 3],
        &[results(&[0.1], 0), results(&[0.4], 0), results(&[0.2], 0), results(&[0.3], 0)],
        1,
    );
    assert_eq!(going_on(&before, 2), [0, 1]);
    assert_eq!(going_on(&before, 3), [0, 1, 3]);
}

#[test]
fn only_a_sure_lead_is_taken() {
    let chosen = |better: &[f64]| {
        choose(&standings(&[0, 4], &[results(&[0.5; 4], 0), results(better, 0)], 1))
    };
    assert_eq!(chosen(&[0.6; 4]), 4);
    // A mean of 0.6 with a standard error of 0.035 is not three of them above 0.5.
    assert_eq!(chosen(&[0.6, 0.7, 0.6, 0.5]), 0);
    assert_eq!(chosen(&[0.4; 4]), 0);
    assert_eq!(chosen(&[0.5; 4]), 0);
}

#[test]
fn threads_and_missing_trials_change_nothing() {
    let dataset = rows(600);
    let plan = plan(&dataset, 2);
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [one, many] = [1, 4].map(|threads| Pool::new(threads).unwrap().task());
    let first = tune(dataset.view(), &plan, folders[0].path(), &one).unwrap();
    let second = tune(dataset.view(), &plan, folders[1].path(), &many).unwrap();
    assert!(first.is_finished());
    assert_eq!(timeless(&first), timeless(&second));
    let trials: Vec<_> = fs::read_dir(folders[0].path().join("trials")).unwrap().collect();
    assert_eq!(trials.len(), plan.trials());
    for trial in trials.into_iter().step_by(2) {
        fs::remove_file(trial.unwrap().path()).unwrap();
    }
    let again = tune(dataset.view(), &plan, folders[0].path(), &many).unwrap();
    assert_eq!(timeless(&again), timeless(&first));
    // What is there is not tried again: a cancelled run still gets to the end.
    one.canceller().cancel();
    let whole = tune(dataset.view(), &plan, folders[0].path(), &one).unwrap();
    assert_eq!(whole.rounds, again.rounds);
}

#[test]
fn a_run_that_is_late_decides_with_the_rounds_it_has() {
    let dataset = rows(600);
    let plan = plan(&dataset, 2);
    let folder = tempfile::tempdir().unwrap();
    let task = Pool::new(1).unwrap().task();
    let now = Some(std::time::Instant::now());
    let late = || tune(dataset.view(), &plan, folder.path(), &task.until(now));
    let error = late().unwrap_err();
    assert!(matches!(error, TrialError::TimeUp { finished: 0, total: 26 }), "{error}");
    tune(dataset.view(), &plan, folder.path(), &task).unwrap();
    for trial in fs::read_dir(folder.path().join("trials")).unwrap() {
        let path = trial.unwrap().path();
        if path.to_string_lossy().contains("round-2") {
            fs::remove_file(path).unwrap();
        }
    }
    let outcome = late().unwrap();
    assert_eq!((outcome.is_finished(), outcome.rounds().len()), (false, 1));
    assert!(outcome.verdict().ends_with("1 of 2 rounds are done"), "{}", outcome.verdict());
    task.canceller().cancel();
    let error = tune(dataset.view(), &plan, folder.path(), &task).unwrap_err();
    assert!(matches!(error, TrialError::Stopped { finished: 18, total: 26, .. }), "{error}");
}

#[test]
fn a_folder_of_something_else_is_refused() {
    let (dataset, task) = (rows(100), Pool::new(1).unwrap().task());
    task.canceller().cancel();
    let folder = tempfile::tempdir().unwrap();
    let refused = |plan: &Plan, dataset: &Dataset| {
        tune(dataset.view(), plan, folder.path(), &task).unwrap_err().to_string()
    };
    let first = plan(&dataset, 2);
    assert_eq!(refused(&first, &dataset), "0 of 26 trials are finished");
    assert!(refused(&plan(&dataset, 3), &dataset).contains("folds was 2, but is 3 now"));
    let other = rows(110);
    assert!(refused(&plan(&other, 2), &other).contains("begun with other data"));
    let seed = Settings::from(crate::algorithms::craftml::Params {
        trees: 9,
        seed: 1,
        ..Default::default()
    });
    let keep = ["weighting".to_owned()];
    let seed = Plan::new(dataset.view(), &[seed], &keep, Measure::Precision, 2).unwrap();
    assert!(refused(&seed, &dataset).contains("the setting craftml.seed was another"));
    let damaged = folder.path().join("trials/round-1-candidate-01-fold-1.json");
    fs::create_dir_all(folder.path().join("trials")).unwrap();
    fs::write(&damaged, "{\"seconds\":1.0,\"bytes\":1,\"hits\":[1]}").unwrap();
    assert!(refused(&first, &dataset).contains("it has 1 row rather than 50; delete it"));
    fs::remove_file(folder.path().join("plan.json")).unwrap();
    assert!(refused(&first, &dataset).contains("this is no tuning but holds trials"));
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    let dataset = rows(30);
    let start = Settings::from(crate::algorithms::craftml::Params::default());
    let refused = |keep: &[&str], folds| {
        let keep: Vec<String> = keep.iter().map(|&name| name.to_owned()).collect();
        Plan::new(dataset.view(), std::slice::from_ref(&start), &keep, Measure::Precision, folds)
            .unwrap_err()
            .to_string()
    };
    assert!(refused(&[], 1).starts_with("1 fold of 30 rows"));
    assert!(refused(&[], 4).starts_with("4 folds of 30 rows"));
    let all = ["leaf", "repel", "weighting"];
    assert!(refused(&all, 3).contains("every setting of craftml"));
}

#[test]
fn of_several_algorithms_one_setting_at_a_time_is_changed() {
    let dataset = rows(100);
    let starts = ["craftml", "label-tree"].map(|name| Settings::named(name).unwrap());
    let keep = ["weighting", "weight_threshold", "branches", "names"].map(str::to_owned);
    let plan = Plan::new(dataset.view(), &starts, &keep, Measure::Precision, 2).unwrap();
    let described: Vec<String> = plan.candidates().iter().map(Candidate::describe).collect();
    assert_eq!(
        described,
        [
            "(as given)",
            "leaf 5",
            "leaf 20",
            "repel 0",
            "repel 0.5",
            "algorithm label-tree",
            "algorithm label-tree, cost 0.3",
            "algorithm label-tree, cost 3",
        ]
    );
    assert_eq!(plan.candidates()[5].settings, starts[1]);
    assert_eq!(plan.written()["algorithm"], "craftml, label-tree");
}

#[test]
fn the_table_shows_each_candidate_once() {
    let dataset = rows(600);
    let plan = plan(&dataset, 2);
    let standing = |candidate, score: f64, lead| Standing {
        candidate,
        score,
        lead,
        error: 0.001,
        bytes: 1_500_000,
        seconds: 0.25,
    };
    let first = [4, 0, 2].map(|at| standing(at, 0.5 - at as f64 / 100.0, 0.0)).to_vec();
    let last = vec![standing(2, 0.625, 0.0125), standing(0, 0.6125, 0.0)];
    let outcome = Outcome { plan, rounds: vec![first, last], chosen: 2 };
    let expected = "\
| settings   | 500 rows | 600 rows |  lead | ± error |  MB |   s |
| ---------- | -------: | -------: | ----: | ------: | --: | --: |
| leaf 20    |    48.00 |    62.50 | +1.25 |    0.10 | 1.5 | 0.5 |
| (as given) |    50.00 |    61.25 |       |         | 1.5 | 0.5 |
| leaf 5, repel 0 |    46.00 |          |  0.00 |    0.10 | 1.5 | 0.2 |
";
    let squeezed =
        |text: &str| text.split(' ').filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let rows = |text: &str| {
        text.lines().filter(|line| !line.contains("---")).map(squeezed).collect::<Vec<_>>()
    };
    assert_eq!(rows(&outcome.table()), rows(expected));
    assert_eq!(
        outcome.verdict(),
        "by the mean of P@1, P@3 and P@5 in percent, leaf 20 is 1.25 points better than the settings as \
         given, with a standard error of 0.10: take it"
    );
    let chart = outcome.chart();
    assert_eq!(chart.matches("<circle").count(), 5);
    assert!(chart.contains(">+1.25 leaf 20</text>") && chart.contains(">600 rows</text>"));
}
