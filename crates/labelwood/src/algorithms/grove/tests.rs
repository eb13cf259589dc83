use super::*;
use crate::base::run::Pool;
use crate::base::sparse::{Csr, LabelRows, LabelSet};
use crate::data::generate::{Generator, Profile, TEST_START};

fn rows(count: u64, run: &Task) -> (Csr, LabelRows) {
    let profile = Profile { instances: count, ..Profile::named("eurlex-4k").unwrap() };
    Generator::new(profile, 1).unwrap().rows(0..count, run).unwrap()
}

fn small() -> Params {
    let mut params = Params::default();
    params.forest.trees = 4;
    params.label_tree.trees = 2;
    params
}

fn grown(count: u64, run: &Task) -> (Csr, LabelRows, Grove) {
    let (features, labels) = rows(count, run);
    let grove = Trainer::new(features.view(), labels.view(), small()).unwrap().grove(run).unwrap();
    (features, labels, grove)
}

fn ids(predictions: &Predictions) -> Vec<Vec<u32>> {
    predictions.rows().map(|row| row.iter().map(|label| label.id).collect()).collect()
}

#[test]
fn a_blend_that_trusts_one_part_ranks_as_that_part_does() {
    let run = Pool::new(2).unwrap().task();
    let (features, _, mut grove) = grown(400, &run);
    let query = Query::top(5);
    let only = |at: usize| {
        let mut weights = [0.0; blend::TERMS];
        weights[at] = 1.0;
        Blend { weights }
    };
    // Where a part has fewer labels than are asked for, the other fills up with ties.
    let agree = |found: &Predictions, part: &Predictions| {
        ids(found).iter().zip(&ids(part)).all(|(found, part)| found.starts_with(part))
    };
    grove.blend = only(2);
    let forest = grove.forest.predict(features.view(), query, &run).unwrap();
    assert!(agree(&grove.predict(features.view(), query, &run).unwrap(), &forest));
    grove.blend = only(4);
    let trees = grove.label_tree.predict(features.view(), query, &run).unwrap();
    assert!(agree(&grove.predict(features.view(), query, &run).unwrap(), &trees));
    assert_ne!(ids(&forest), ids(&trees));
}

#[test]
fn the_threads_do_not_change_a_grove_or_its_answers() {
    let one = Pool::new(1).unwrap().task();
    let (features, _, grove) = grown(300, &one);
    let expected = grove.predict(features.view(), Query::top(5), &one).unwrap();
    let many = Pool::new(5).unwrap().task();
    let (_, _, again) = grown(300, &many);
    assert!(grove == again);
    assert_eq!(again.predict(features.view(), Query::top(5), &many).unwrap(), expected);
    for at in 0..20 {
        let row = features.view().slice(at..at + 1);
        let alone = grove.predict(row.view(), Query::top(5), &many).unwrap();
        assert_eq!(alone.row(0), expected.row(at));
    }
}

#[test]
fn more_labels_than_candidates_can_be_asked_for_and_some_forbidden() {
    let run = Pool::new(2).unwrap().task();
    let (features, _, grove) = grown(400, &run);
    let many = grove.predict(features.view(), Query::top(300), &run).unwrap();
    let few = grove.predict(features.view(), Query::top(5), &run).unwrap();
    assert!(many.row(0).len() > CANDIDATES && few.row(0).len() == 5);
    let allowed: LabelSet = [few.row(0)[1].id, few.row(0)[3].id].into_iter().collect();
    let query = Query { allowed: Some(&allowed), ..Query::top(5) };
    let chosen = grove.predict(features.view(), query, &run).unwrap();
    assert!(chosen.rows().flatten().all(|label| allowed.contains(label.id)));
    assert_eq!(chosen.row(0).len(), 2);
}

#[test]
fn rows_without_features_or_labels_and_few_rows_are_learned_from() {
    let run = Pool::new(1).unwrap().task();
    for count in [1, 9, 12] {
        let (mut features, mut labels) = (Csr::new(4), LabelRows::new(3));
        for row in 0..count {
            match row % 3 {
                0 => features.push_row(&[0, 2], &[1.0, 0.5]).unwrap(),
                1 => features.push_row(&[1], &[1.0]).unwrap(),
                _ => features.push_row(&[], &[]).unwrap(),
            }
            let own: &[u32] = if row % 3 == 2 { &[] } else { &[(row % 3) as u32] };
            labels.push_row(own, &vec![(); own.len()]).unwrap();
        }
        let trainer = Trainer::new(features.view(), labels.view(), small()).unwrap();
        let grove = trainer.grove(&run).unwrap();
        let found = grove.predict(features.view(), Query::top(1), &run).unwrap();
        assert_eq!(found.row(0)[0].id, 0, "{count} rows");
        assert_eq!(count < 10, *grove.blend() == Blend::default());
    }
}

#[test]
fn a_cancelled_run_grows_nothing() {
    let run = Pool::new(1).unwrap().task();
    let (features, labels) = rows(60, &run);
    run.canceller().cancel();
    let trainer = Trainer::new(features.view(), labels.view(), small()).unwrap();
    assert!(trainer.blend(&run).is_err() && trainer.grove(&run).is_err());
}

#[test]
fn the_scores_of_new_rows_are_probabilities() {
    let run = Pool::new(2).unwrap().task();
    let profile = Profile { instances: 2000, ..Profile::named("eurlex-4k").unwrap() };
    let generator = Generator::new(profile, 1).unwrap();
    let (features, labels) = generator.rows(0..2000, &run).unwrap();
    let grove = Trainer::new(features.view(), labels.view(), small()).unwrap().grove(&run).unwrap();
    let (features, truth) = generator.rows(TEST_START..TEST_START + 500, &run).unwrap();
    let found = grove.predict(features.view(), Query::top(5), &run).unwrap();
    let (mut expected, mut hits) = (0.0, 0.0);
    for (row, truth) in found.rows().zip(truth.rows()) {
        expected += row.iter().map(|label| f64::from(label.score)).sum::<f64>();
        let is_true = |label: &&Scored| truth.indices.binary_search(&label.id).is_ok();
        hits += row.iter().filter(is_true).count() as f64;
    }
    assert!((expected / hits - 1.0).abs() < 0.15, "{expected} hits expected, {hits} found");
}

#[test]
fn a_blend_that_is_not_to_be_learned_is_the_default_one() {
    let run = Pool::new(2).unwrap().task();
    let (features, labels) = rows(300, &run);
    let params = Params { learn_blend: false, ..small() };
    let trainer = Trainer::new(features.view(), labels.view(), params).unwrap();
    let grove = trainer.grove(&run).unwrap();
    assert_eq!((grove.blend, grove.params()), (Blend::default(), trainer.params().clone()));
    let learned = Trainer::new(features.view(), labels.view(), small()).unwrap();
    assert_ne!(learned.blend(&run).unwrap(), Blend::default());
}

#[test]
fn settings_tell_only_of_a_blend_that_is_not_learned() {
    let written = serde_json::to_value(small()).unwrap();
    assert_eq!(written.get("learn_blend"), None);
    assert_eq!(serde_json::from_value::<Params>(written).unwrap(), small());
    let late = Params { learn_blend: false, ..small() };
    let written = serde_json::to_value(&late).unwrap();
    assert_eq!(serde_json::from_value::<Params>(written).unwrap(), late);
}
