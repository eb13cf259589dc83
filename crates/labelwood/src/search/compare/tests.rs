use super::*;
use crate::base::run::Pool;
use crate::base::sparse::Query;
use crate::data::generate::{Generator, Profile, TEST_START};
use crate::model::Model;
use std::time::Instant;

fn rows() -> (Dataset, Dataset) {
    let task = Pool::new(1).unwrap().task();
    let profile = Profile { instances: 150, ..Profile::named("eurlex-4k").unwrap() };
    let generator = Generator::new(profile, 1).unwrap();
    let drawn = |range| {
        let (features, labels) = generator.rows(range, &task).unwrap();
        Dataset { features, labels, label_names: None, named: None }
    };
    (drawn(0..150), drawn(TEST_START..TEST_START + 60))
}

fn contestants() -> Vec<Contestant> {
    let fewer = |name: &str| {
        let Contestant { name, settings } = Contestant::named(name).unwrap();
        Contestant { name, settings: settings.reduced(10) }
    };
    vec![fewer("craftml"), fewer("neighbours"), fewer("label-tree")]
}

/// Without what depends on the clock.
fn timeless(outcome: &Outcome) -> Value {
    let mut value = serde_json::to_value(outcome).unwrap();
    for system in value["systems"].as_array_mut().unwrap() {
        system.as_object_mut().unwrap().remove("costs");
    }
    value
}

#[test]
fn figures_are_those_of_an_evaluation_and_means_over_the_seeds() {
    let (train, test) = rows();
    let task = Pool::new(2).unwrap().task();
    let split = Split { train: &train, test: &test, reader: None };
    let mut comparison = Comparison::new(contestants(), 2, 5, 1, None).unwrap();
    comparison.try_out(&split, &task).unwrap();
    let outcome = comparison.outcome(&task).unwrap();
    assert_eq!((outcome.rows, outcome.rounds, outcome.planned_rounds), (60, 2, 2));
    let counts = train.labels.view().column_counts();
    for contestant in contestants() {
        let mut expected = [0.0; 7];
        for seed in [5, 6] {
            let settings = contestant.settings.set("seed", seed).unwrap();
            let model = Model::train(train.view(), Default::default(), &settings, &task).unwrap();
            let predictions = model.predict(test.rows(), Query::top(5), &task).unwrap();
            let training = TrainingCounts { instances: train.len(), labels: &counts };
            let options = MetricOptions::default();
            let evaluation =
                Evaluation::new(test.labels.view(), &predictions, training, &options).unwrap();
            let at = evaluation.metrics().at;
            let found = [
                at[0].precision,
                at[1].precision,
                at[2].precision,
                at[2].ndcg,
                at[0].psp,
                at[1].psp,
                at[2].psp,
            ];
            expected.iter_mut().zip(found).for_each(|(sum, figure)| *sum += figure / 2.0);
        }
        let system = outcome.systems.iter().find(|one| one.name == contestant.name).unwrap();
        for (found, expected) in system.figures.all().iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{}: {found} {expected}", system.name);
        }
        assert_eq!(system.lead.is_none(), system.name == outcome.systems[0].name);
    }
}

#[test]
fn a_comparison_that_was_stopped_goes_on_to_the_same_figures() {
    let (train, test) = rows();
    let split = Split { train: &train, test: &test, reader: None };
    let task = Pool::new(2).unwrap().task();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("comparison");
    let open = || Comparison::new(contestants(), 1, 1, 1, Some(&path)).unwrap();

    let late = task.until(Some(Instant::now()));
    let mut stopped = open();
    stopped.try_out(&split, &late).unwrap();
    assert!(matches!(stopped.outcome(&late), Err(TrialError::TimeUp { finished: 0, total: 3 })));

    let mut whole = open();
    whole.try_out(&split, &task).unwrap();
    let whole = timeless(&whole.outcome(&task).unwrap());
    // One trial is lost.
    std::fs::remove_file(path.join("trials").join("split-1-seed-1-2.json")).unwrap();
    let mut again = open();
    again.try_out(&split, &task).unwrap();
    assert_eq!(timeless(&again.outcome(&task).unwrap()), whole);
    // What is there counts when the time is up, and the rest is named.
    std::fs::remove_file(path.join("trials").join("split-1-seed-1-3.json")).unwrap();
    let mut short = open();
    short.try_out(&split, &task.until(Some(Instant::now()))).unwrap();
    let short = short.outcome(&task).unwrap();
    assert_eq!((short.systems.len(), &short.unfinished[..]), (2, &["label-tree".to_owned()][..]));
    assert!(short.verdict().ends_with("; without time: label-tree"), "{}", short.verdict());
}

#[test]
fn other_data_and_other_algorithms_are_refused() {
    let (train, test) = rows();
    let task = Pool::new(1).unwrap().task();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("comparison");
    let one = || vec![Contestant::named("neighbours").unwrap()];
    let mut comparison = Comparison::new(one(), 1, 1, 1, Some(&path)).unwrap();
    comparison.try_out(&Split { train: &train, test: &test, reader: None }, &task).unwrap();

    let refused = |found: Result<Comparison, TrialError>| found.err().unwrap().to_string();
    let other = Comparison::new(contestants(), 1, 1, 1, Some(&path));
    assert!(refused(other).contains("compares other algorithms"));
    let seeds = refused(Comparison::new(one(), 2, 1, 1, Some(&path)));
    assert!(seeds.contains("the seeds were others"), "{seeds}");
    let twice = Comparison::new([one(), one()].concat(), 1, 1, 1, None);
    assert!(refused(twice).contains("takes part twice"));
    let mut again = Comparison::new(one(), 1, 1, 1, Some(&path)).unwrap();
    let swapped = Split { train: &test, test: &train, reader: None };
    let error = again.try_out(&swapped, &task).unwrap_err().to_string();
    assert!(error.contains("other data"), "{error}");
    std::fs::write(path.join("trials").join("split-1-seed-1-1.json"), "{").unwrap();
    let mut damaged = Comparison::new(one(), 1, 1, 1, Some(&path)).unwrap();
    let split = Split { train: &train, test: &test, reader: None };
    let error = damaged.try_out(&split, &task).unwrap_err().to_string();
    assert!(error.contains("damaged") && error.contains("delete it"), "{error}");
}

#[test]
fn who_is_surely_behind_is_told_from_who_may_be_as_good() {
    let (train, test) = rows();
    let task = Pool::new(2).unwrap().task();
    let split = Split { train: &train, test: &test, reader: None };
    let contestant = Contestant::named("neighbours").unwrap();
    let mut comparison = Comparison::new(vec![contestant], 1, 1, 1, None).unwrap();
    comparison.try_out(&split, &task).unwrap();
    let alone = comparison.outcome(&task).unwrap();
    assert!(alone.verdict().starts_with("neighbours stands alone"), "{}", alone.verdict());
    // One that knows the truth, one that knows nothing, and one that is the same but for a row.
    let (mut oracle, mut nothing, mut twin) =
        (Predictions::default(), Predictions::default(), Predictions::default());
    for row in test.labels.rows() {
        let scored = |ids: &[u32]| -> Vec<Scored> {
            ids.iter().take(5).map(|&id| Scored { id, score: 1.0 }).collect()
        };
        oracle.push_ranked(&scored(row.indices));
        let labels = if twin.is_empty() { &[][..] } else { row.indices };
        twin.push_ranked(&scored(labels));
        nothing.push_row(&[]);
    }
    comparison.join("öracle", &oracle, &split).unwrap();
    comparison.join("nothing", &nothing, &split).unwrap();
    comparison.join("twin", &twin, &split).unwrap();
    assert!(comparison.join("öracle", &oracle, &split).is_err());
    let outcome = comparison.outcome(&task).unwrap();
    let names: Vec<&str> = outcome.systems.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["öracle", "twin", "neighbours", "nothing"]);
    let verdict = outcome.verdict();
    let expected = "öracle has the best figures, but twin may be as good; surely behind: neighbours and nothing \
        (mean of P@1, P@3 and P@5; paired bootstrap over 60 test rows, 95 % for 3 differences together)";
    assert_eq!(verdict, expected);
    let oracle = outcome.systems[0].figures;
    assert_eq!((oracle.p_at_1, oracle.psp_at_1, oracle.ndcg_at_5), (1.0, oracle.psp_at_1, 1.0));
    assert!(outcome.systems[1].may_be_best[0] && !outcome.systems[3].may_be_best[0]);
    assert!(outcome.page().contains("öracle has the best figures"));
    let markdown = outcome.markdown();
    assert_eq!(markdown.lines().count(), 6);
    assert!(markdown.contains("**100.00**"), "{markdown}");
    let latex = outcome.latex();
    assert!(
        latex.contains("\\textbf{100.00} & ") && latex.ends_with("\\end{tabular}\n"),
        "{latex}"
    );
}

#[test]
fn names_are_algorithms_and_presets() {
    assert_eq!(Contestant::named("craftml:default").unwrap().name, "craftml");
    assert_eq!(Contestant::named("label-tree:bonsai").unwrap().name, "label-tree:bonsai");
    let all: Vec<String> = Contestant::all(&rows().0).into_iter().map(|one| one.name).collect();
    assert!(all.contains(&"grove".to_owned()) && !all.contains(&"names".to_owned()), "{all:?}");
}
