//! Reasons add up to the scores of predictions, whatever the algorithm.

use super::dataset;
use crate::algorithms::explain::{Evidence, Reasons};
use crate::algorithms::*;
use crate::base::run::Pool;
use crate::base::sparse::{Csr, LabelRows, Votes};
use crate::data::LabelIndex;
use crate::data::documents::Options as Documents;
use crate::learn::linear::Link;
use crate::text::{Params as TextParams, learn};
use serde_json::json;

const VOTE: f64 = (1u64 << 40) as f64;

fn small() -> Vec<Settings> {
    let with = |name: &str, changes: &[(&str, Value)]| {
        let settings = Settings::named(name).unwrap();
        changes.iter().fold(settings, |settings, (setting, value)| {
            settings.set(setting, value.clone()).unwrap()
        })
    };
    let hashed = [("trees", json!(3)), ("feature_projection", json!("hashing"))];
    vec![
        with("one-vs-rest", &[]),
        with("label-tree", &[("trees", json!(2))]),
        with(
            "label-tree",
            &[("trees", json!(1)), ("precision", json!("single")), ("beam", json!(2))],
        ),
        with("label-forest", &[("submodels", json!(5)), ("rate", json!(0.5))]),
        with("craftml", &[("trees", json!(3))]),
        with("craftml", &[&hashed[..], &[("feature_dimensions", json!(200))]].concat()),
        with("craftml", &[&hashed[..], &[("diversity", json!("dxdy"))]].concat()),
        with("craftml", &[("trees", json!(2)), ("metric", json!("euclidean"))]),
        with("fastxml", &[("trees", json!(3)), ("cost", json!(50.0))]),
        with("neighbours", &[("neighbours", json!(7))]),
        with("grove", &[("trees", json!(3)), ("choose", json!(false))]),
        with("toy", &[]),
    ]
}

/// What an algorithm says of each row: the labels that it predicts, then one that it does not.
fn explained(
    settings: &Settings,
    rows: &Dataset,
    task: &Task,
) -> Vec<(Vec<Scored>, u32, Vec<Vec<Reasons>>)> {
    let learned = learn_in_memory(settings, rows.view(), task).unwrap();
    let query = Query::top(5);
    let of_row = |row: usize| {
        let own = rows.rows().slice(row..row + 1);
        let predicted = learned.predict(own.view(), query, task).unwrap().row(0).to_vec();
        let mut labels: Vec<u32> = predicted.iter().map(|best| best.id).collect();
        let rare = (0..rows.labels.columns() as u32).rev().find(|label| !labels.contains(label));
        labels.push(rare.unwrap());
        let reasons = learned.explain(own.view(), &labels, query, task).unwrap();
        assert_eq!(reasons.len(), labels.len());
        (predicted, rare.unwrap(), reasons)
    };
    (0..8).map(of_row).collect()
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 2e-5 * (1.0 + other.abs())
}

/// The probability that a link makes of a margin, for the links of [`small`].
fn log_probability(settings: &Settings, margin: f32) -> f32 {
    let link: Link = serde_json::from_value(settings.find("link").unwrap()).unwrap();
    link.log_probability(margin)
}

fn check(own: &Reasons, settings: &Settings) {
    let sum = |terms: &[explain::Contribution]| -> f64 {
        terms.iter().map(|term| f64::from(term.contribution)).sum()
    };
    let total = f64::from(own.bias.unwrap_or(0.0)) + sum(&own.terms);
    match &own.evidence {
        Evidence::Linear { trees, voting, steps } => {
            assert!(!steps.is_empty());
            let mut logs = std::collections::BTreeMap::<usize, f32>::new();
            for step in steps {
                let margin = step.terms.iter().fold(step.bias, |sum, term| sum + term.contribution);
                assert_eq!(margin.to_bits(), step.margin.to_bits(), "{step:?}");
                let log = log_probability(settings, margin);
                assert_eq!(log.to_bits(), step.log_probability.to_bits(), "{step:?}");
                *logs.entry(step.tree).or_insert(0.0) += log;
            }
            // From the margins to the score, to the last bit.
            let probability = |tree: &usize| f64::from(libm::expf(logs[tree]));
            let score = match settings.name() {
                "one-vs-rest" => libm::expf(logs[&voting[0]]),
                _ => {
                    let units: u64 =
                        voting.iter().map(|tree| Votes::units(probability(tree))).sum();
                    (units as f64 * (1.0 / (VOTE * *trees as f64))) as f32
                }
            };
            assert_eq!(score.to_bits(), own.score.to_bits(), "{own:?}");
            let whole: f64 = voting.iter().map(probability).sum();
            if whole > 1e-3 {
                let share = |tree: usize| match voting.contains(&tree) {
                    true => probability(&tree) / whole,
                    false => 0.0,
                };
                let margins: f64 =
                    steps.iter().map(|it| share(it.tree) * f64::from(it.margin)).sum();
                assert!(near(total, margins), "{total} is not {margins}: {own:?}");
            }
        }
        Evidence::Forest { trees, voting, leaves } => {
            let units = |leaf: &explain::Leaf| {
                assert!(leaf.having <= leaf.rows && leaf.having > 0);
                let each = Votes::units(f64::from(leaf.weight) / f64::from(leaf.rows));
                each * u64::from(leaf.having)
            };
            let units: u64 = leaves.iter().map(units).sum();
            let score = (units as f64 * (1.0 / (VOTE * *trees as f64))) as f32;
            assert_eq!(score.to_bits(), own.score.to_bits(), "{own:?}");
            assert!(*voting <= *trees && *voting > 0);
            assert!(leaves.iter().all(|leaf| leaf.depth == 0) || !own.terms.is_empty(), "{own:?}");
        }
        Evidence::Neighbours { rows, having, .. } => {
            assert_eq!(rows.iter().filter(|row| row.has_label).count(), *having);
            for row in rows {
                assert!(near(sum(&row.terms), row.similarity.into()), "{row:?}");
            }
            let shares = rows.iter().filter(|row| row.has_label).map(|row| f64::from(row.share));
            assert!(
                near(shares.sum(), own.score.into()) && near(total, own.score.into()),
                "{own:?}"
            );
        }
        Evidence::Ranker { log_odds } => {
            let odds = f64::from(*log_odds);
            assert!(near(total, odds), "{total} is not {odds}: {own:?}");
            assert!(near(1.0 / (1.0 + (-odds).exp()), own.score.into()));
        }
        Evidence::Names { found, .. } => assert!(own.score > 0.0 && *found > 0),
        Evidence::Counts { rows } => assert!(*rows > 0),
        Evidence::None => assert_eq!((own.score, own.terms.len()), (0.0, 0)),
    }
}

#[test]
fn contributions_add_up_to_margins_and_scores_to_the_last_bit() {
    let task = Pool::new(2).unwrap().task();
    let rows = dataset(150, &task);
    for settings in small() {
        let name = settings.name();
        let mut kinds = 0;
        for (predicted, _, reasons) in explained(&settings, &rows, &task) {
            for (best, parts) in predicted.iter().zip(&reasons) {
                let last = parts.last().unwrap();
                assert_eq!(last.score.to_bits(), best.score.to_bits(), "{name}: {last:?}");
            }
            for own in reasons.iter().flatten() {
                let of_part = settings.parts().iter().find(|part| part.name() == own.part);
                check(own, of_part.unwrap_or(&settings));
                kinds += usize::from(own.evidence != Evidence::None);
            }
        }
        assert!(kinds > 10, "{name}");
    }
}

#[test]
fn reasons_are_the_same_on_any_number_of_threads() {
    let [one, four] = [1, 4].map(|threads| Pool::new(threads).unwrap().task());
    let rows = dataset(120, &one);
    for settings in small() {
        let [one, four] = [&one, &four].map(|task| explained(&settings, &rows, task));
        assert_eq!(one, four, "{}", settings.name());
    }
}

#[test]
fn names_tell_how_often_they_were_found() {
    let task = Pool::new(1).unwrap().task();
    let texts = ["old maps of Rome", "maps", "old birds", "a bird of Rome"];
    let labels = LabelRows::try_new(3, vec![0, 2, 3, 4, 6], vec![0, 2, 0, 1, 1, 2], vec![(); 6]);
    let names = LabelIndex::from_lines(["a\tmaps", "b\tbirds", "c\tRome"]);
    let params = TextParams { min_df: crate::text::Frequency::Count(1), ..Default::default() };
    let (_, rows) =
        learn(&texts, labels.unwrap(), names, Documents::default(), params, &task).unwrap();
    let names = Settings::named("names").unwrap();
    let learned = learn_in_memory(&names, rows.view(), &task).unwrap();
    let own = rows.rows().slice(0..1);
    let reasons = learned.explain(own.view(), &[0, 1, 2], Query::top(5), &task).unwrap();
    let found: Vec<_> = reasons.iter().map(|it| it[0].evidence.clone()).collect();
    let named = |found| Evidence::Names { names: vec![], found, in_one_piece: true };
    assert_eq!(found, [named(2), Evidence::None, named(2)]);
    let predicted = learned.predict(own.view(), Query::top(5), &task).unwrap();
    let scores: Vec<f32> = predicted.row(0).iter().map(|best| best.score).collect();
    assert!(scores.contains(&reasons[0][0].score) && scores.contains(&reasons[2][0].score));
}

#[test]
fn the_words_that_lead_to_a_leaf_are_those_that_its_rows_have() {
    // Two kinds of rows, with a feature of their own each and one that all have.
    let (mut features, mut labels) = (Csr::new(3), LabelRows::new(2));
    for row in 0..200u32 {
        features.push_row(&[row % 2, 2], &[1.0, 1.0]).unwrap();
        labels.push_row(&[row % 2], &[()]).unwrap();
    }
    let task = Pool::new(1).unwrap().task();
    let rows = Dataset { features, labels, label_names: None, named: None };
    let settings = Settings::named("craftml").unwrap().set("weighting", json!("none")).unwrap();
    let settings = settings.set("trees", 5).unwrap();
    let learned = learn_in_memory(&settings, rows.view(), &task).unwrap();
    for row in 0..2 {
        let own = rows.rows().slice(row..row + 1);
        let reasons = learned.explain(own.view(), &[row as u32], Query::top(1), &task).unwrap();
        let strongest = &reasons[0][0].terms[0];
        assert_eq!(strongest.feature, row as u32, "{reasons:?}");
        assert!(strongest.contribution > 0.0);
    }
}
