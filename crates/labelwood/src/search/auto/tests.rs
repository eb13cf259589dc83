use super::*;
use crate::base::run::Pool;
use crate::base::sparse::{Csr, LabelRows};
use crate::data::Dataset;
use crate::data::generate::{Generator, Profile};

fn choice(rows: u64, threads: usize) -> Choice {
    let profile = Profile { instances: rows, ..Profile::named("eurlex-4k").unwrap() };
    let task = Pool::new(threads).unwrap().task();
    let (features, labels) = Generator::new(profile, 1).unwrap().rows(0..rows, &task).unwrap();
    let dataset = Dataset { features, labels, label_names: None, named: None };
    choose(dataset.view(), 7, Limits::default(), |_| true, &task).unwrap()
}

#[test]
fn a_grove_and_what_of_it_does_well_alone_are_chosen_among() {
    let among = |labels| {
        let (features, labels) = (Csr::new(1), LabelRows::new(labels));
        let dataset = Dataset { features, labels, label_names: None, named: None };
        let found = algorithms(dataset.view(), 7);
        assert!(found.iter().all(|one| one.seed() == 7));
        found.iter().map(|one| one.name()).collect::<Vec<_>>()
    };
    assert_eq!(among(100), ["grove", "craftml", "label-tree", "one-vs-rest"]);
    assert_eq!(among(100_000), ["grove", "craftml", "label-tree"]);
}

#[test]
fn without_limits_a_grove_is_trained() {
    let choice = choice(10, 1);
    assert_eq!((choice.settings.name(), choice.settings.seed()), ("grove", 7));
    assert_eq!(choice.why, ["so grove is trained"]);
}

#[test]
fn algorithms_for_few_labels_are_tried_where_labels_are_few() {
    let few = |threads| {
        let task = Pool::new(threads).unwrap().task();
        let profile = Profile {
            features: 500,
            labels: 100,
            entries_per_row: 20.0,
            ..Profile::named("eurlex-4k").unwrap()
        };
        let rows = Generator::new(profile, 1).unwrap().rows(0..400, &task).unwrap();
        let dataset = Dataset { features: rows.0, labels: rows.1, label_names: None, named: None };
        choose(dataset.view(), 1, Limits::default(), |_| true, &task).unwrap()
    };
    let choice = few(1);
    assert!(choice.why[0].starts_with("with 100 labels one-vs-rest was tried"), "{choice:?}");
    assert_eq!(choice, few(3), "the choice follows from the rows and the seed alone");
}
