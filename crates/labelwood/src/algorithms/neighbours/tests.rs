//! By hand first, then against the plainest search: all products, sorted.

use super::index::{Index, ONE, Sizes, number, stored};
use super::search::{Neighbour, Searcher};
use super::*;
use crate::algorithms::{NewRows, Predict, Settings, UnitSink, learn_in_memory};
use crate::base::random::Stream;
use crate::base::run::Pool;
use crate::base::sparse::{Csr, LabelRows, LabelSet, OwnedEntries, Scored};
use crate::base::store::Unit;
use crate::data::Dataset;
use crate::learn::weighting::Weighting;
use proptest::prelude::*;

fn task(threads: usize) -> Task {
    Pool::new(threads).unwrap().task()
}

/// The features of a row with their values, and its labels.
type Written<'a> = (&'a [(u32, f32)], &'a [u32]);

fn dataset(features: usize, labels: usize, rows: &[Written<'_>]) -> Dataset {
    let (mut all, mut all_labels) = (Csr::new(features), LabelRows::new(labels));
    for (entries, labels) in rows {
        let (columns, values): (Vec<u32>, Vec<f32>) = entries.iter().copied().unzip();
        all.push_row(&columns, &values).unwrap();
        all_labels.push_row(labels, &vec![(); labels.len()]).unwrap();
    }
    Dataset { features: all, labels: all_labels, label_names: None, named: None }
}

fn learned(rows: &Dataset, params: Params) -> Box<dyn Predict> {
    learn_in_memory(&params.into(), rows.view(), &task(1)).unwrap()
}

fn predicted(model: &dyn Predict, rows: &Csr, query: Query<'_>) -> Vec<Vec<Scored>> {
    let predictions = model.predict(rows.view().into(), query, &task(1)).unwrap();
    predictions.rows().map(<[Scored]>::to_vec).collect()
}

fn few() -> Dataset {
    dataset(
        3,
        4,
        &[
            (&[(0, 3.0), (1, 4.0)], &[0]),
            (&[(0, 1.0)], &[1]),
            (&[(2, 1.0)], &[3]),
            (&[(0, 2.0)], &[1, 2]),
        ],
    )
}

#[test]
fn the_nearest_rows_vote_by_a_power_of_their_cosines() {
    let params = Params { weighting: Weighting::None, power: 2.0, ..Params::default() };
    let asked = dataset(4, 1, &[(&[(0, 7.0)], &[]), (&[(3, 1.0)], &[]), (&[], &[])]).features;
    let model = learned(&few(), params.clone());
    let found = predicted(&*model, &asked, Query::top(5));
    // Cosines 1, 1 and 0.6: the votes weigh 1, 1 and 0.36.
    let expected = [(1, 2.0 / 2.36), (2, 1.0 / 2.36), (0, 0.36 / 2.36)];
    assert_eq!(found[0].len(), 3);
    for (found, (id, score)) in found[0].iter().zip(expected) {
        assert!(found.id == id && (f64::from(found.score) - score).abs() < 1e-4, "{found:?}");
    }
    // Nothing is like a row without features that are known.
    assert_eq!(found[1..], [vec![], vec![]]);

    // Of two rows that are as near, the lower is taken.
    let nearest = learned(&few(), Params { neighbours: 1, ..params.clone() });
    assert_eq!(predicted(&*nearest, &asked, Query::top(5))[0], [Scored { id: 1, score: 1.0 }]);
    // With power 0 all three have the same vote.
    let equal = learned(&few(), Params { power: 0.0, ..params });
    assert_eq!(predicted(&*equal, &asked, Query::top(1))[0][0].score, 2.0 / 3.0);
    // Of labels that may not be named, the votes are lost.
    let allowed: LabelSet = [2].into_iter().collect();
    let query = Query { allowed: Some(&allowed), ..Query::top(5) };
    let found = predicted(&*model, &asked, query);
    assert!(found[0].len() == 1 && (found[0][0].score - 0.4237).abs() < 1e-3, "{found:?}");
}

#[test]
fn a_feature_that_all_rows_have_says_nothing() {
    let rows = dataset(
        3,
        2,
        &[(&[(0, 1.0), (1, 1.0)], &[0]), (&[(0, 1.0)], &[1]), (&[(0, 1.0), (2, 1.0)], &[1])],
    );
    let model = learned(&rows, Params::default());
    let asked = dataset(3, 1, &[(&[(0, 1.0)], &[]), (&[(0, 1.0), (1, 1.0)], &[])]).features;
    let found = predicted(&*model, &asked, Query::top(5));
    assert_eq!(found, [vec![], vec![Scored { id: 0, score: 1.0 }]]);
    assert_eq!(model.figures()[0].1["entries"], 2);
}

/// Rows of length 1 with few different values, so that many are as near as others.
fn random_rows(rows: usize, features: u32, most: usize, negative: bool, seed: u64) -> Csr {
    let (mut random, mut all) = (Stream::new(seed), Csr::new(features as usize));
    let mut number = |below: usize| random.below(below) as u32;
    for _ in 0..rows {
        let mut columns: Vec<u32> = (0..number(most + 1))
            // Low columns are in most rows, high ones in few.
            .map(|_| number(features as usize) * number(1 << 16) / (1 << 16))
            .collect();
        columns.sort_unstable();
        columns.dedup();
        let sign = |odd: u32| if negative && odd == 0 { -1.0 } else { 1.0 };
        let values: Vec<f32> =
            columns.iter().map(|_| (1 + number(3)) as f32 * sign(number(3))).collect();
        all.push_row(&columns, &values).unwrap();
    }
    all
}

fn units(rows: &Csr) -> OwnedEntries {
    FeatureWeights(None).apply(rows.view(), rows.columns())
}

/// All rows with their products, best first.
fn reference(rows: Entries<'_>, asked: (&[u32], &[f32]), wanted: usize) -> Vec<Neighbour> {
    let product = |row: u32| -> i32 {
        let (columns, values) = rows.row(row);
        let of_row = |column: &u32| {
            let at = columns.binary_search(column).ok()?;
            Some(i32::from(stored(values[at])))
        };
        let entries = asked.0.iter().zip(asked.1);
        entries.map(|(column, &value)| of_row(column).unwrap_or(0) * i32::from(stored(value))).sum()
    };
    let all = 0..rows.offsets.len() as u32 - 1;
    let mut all: Vec<Neighbour> =
        all.map(|row| Neighbour { score: product(row), row }).filter(|one| one.score > 0).collect();
    all.sort_by_key(|one| (std::cmp::Reverse(one.score), one.row));
    all.truncate(wanted);
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_search_finds_what_a_look_at_all_rows_finds(
        rows in prop_oneof![1usize..40, 8_000usize..30_000], features in 1u32..300, most in 1usize..12,
        negative: bool, wanted in prop_oneof![1usize..40, Just(100_000)], seed: u64) {
        let known = random_rows(rows, features, most, negative, seed);
        let asked = random_rows(4, features + 3, 3 * most, negative, !seed);
        let (known, asked) = (units(&known), units(&asked));
        let labels = LabelRows::try_new(1, vec![0; rows + 1], vec![], vec![]).unwrap();
        let index = Index::new(known.view(), labels.view());
        let mut searcher = Searcher::new(&index);
        for row in 0..4 {
            let (columns, values) = asked.view().row(row);
            let found = searcher.nearest(columns, values, wanted, &task(1)).unwrap();
            prop_assert_eq!(found, reference(known.view(), (columns, values), wanted));
        }
    }

    #[test]
    fn rows_that_are_added_are_as_those_that_were_there(
        first in 1usize..30, more in 1usize..30, features in 1u32..40, seed: u64) {
        let rows = random_rows(first + more, features, 6, true, seed);
        let labels: Vec<Vec<u32>> =
            (0..(first + more) as u32).map(|row| (0..row % 4).map(|at| at * 100 + row % 7).collect()).collect();
        let part = |from: usize, to: usize| {
            let mut own = LabelRows::new(400);
            labels[from..to].iter().for_each(|row| own.push_row(row, &vec![(); row.len()]).unwrap());
            Dataset { features: rows.view().slice(from..to), labels: own, label_names: None, named: None }
        };
        let of = |rows: &Dataset| Index::new(units(&rows.features).view(), rows.labels.view());
        let (first, all) = (part(0, first), part(0, first + more));
        let added = part(first.len(), all.len());
        prop_assert_eq!(of(&first).joined(&of(&added)), of(&all));
    }
}

/// Rows with labels of their own and those of others.
fn many() -> (Dataset, Csr) {
    let features = random_rows(900, 60, 9, false, 5);
    let mut labels = LabelRows::new(50);
    for row in 0..900 {
        let own: Vec<u32> = (row % 7 * 5..50).step_by(11 + row as usize % 5).collect();
        labels.push_row(&own, &vec![(); own.len()]).unwrap();
    }
    (
        Dataset { features, labels, label_names: None, named: None },
        random_rows(40, 70, 12, false, 6),
    )
}

#[test]
fn scores_are_the_shares_of_the_neighbours_weights() {
    let (rows, asked) = many();
    let params = Params { neighbours: 7, weighting: Weighting::None, ..Params::default() };
    let found = predicted(&*learned(&rows, params), &asked, Query::top(50));
    let (known, asked) = (units(&rows.features), units(&asked));
    for (row, found) in found.iter().enumerate() {
        let asked = asked.view().row(row as u32);
        let nearest = reference(known.view(), asked, 7);
        let weight = |near: &Neighbour| (f64::from(near.score) / f64::from(ONE * ONE)).powi(3);
        let total: f64 = nearest.iter().map(weight).sum();
        let mut shares = vec![0.0; 50];
        for near in &nearest {
            for &label in rows.labels.row(near.row as usize).indices {
                shares[label as usize] += weight(near) / total;
            }
        }
        assert_eq!(found.len(), shares.iter().filter(|&&share| share > 0.0).count());
        for scored in found {
            let share = shares[scored.id as usize];
            assert!(scored.score <= 1.0 && (f64::from(scored.score) - share).abs() < 1e-6);
        }
    }
}

#[test]
fn rows_alone_or_together_on_any_threads_and_by_votes_have_the_same_labels() {
    let (rows, asked) = many();
    let model = learned(&rows, Params::default());
    let query = Query::top(9);
    let expected = predicted(&*model, &asked, query);
    assert!(expected.iter().filter(|row| row.len() > 1).count() > 20);
    let threaded = model.predict(asked.view().into(), query, &task(3)).unwrap();
    assert!(threaded.rows().eq(expected.iter().map(|row| &row[..])));
    let votes = model.votes(asked.view().into(), query, &task(2)).unwrap();
    for (row, expected) in expected.iter().enumerate() {
        let one = asked.view().slice(row..row + 1);
        assert_eq!(predicted(&*model, &one, query)[0], *expected);
        assert_eq!(model.combine(&votes[0][row..=row], &[vec![]], query), *expected);
    }
}

#[test]
fn an_update_adds_rows_with_new_labels() {
    let rows = few();
    let params = Params { weighting: Weighting::None, ..Params::default() };
    let model = learned(&rows, params);
    let added = dataset(3, 6, &[(&[(1, 1.0)], &[0, 5])]);
    let units = UnitSink::in_memory();
    model
        .update(
            NewRows { added: added.view(), all: None, touched: &Default::default() },
            &units,
            &task(1),
        )
        .unwrap();
    let unit: Unit = units.open("index").unwrap().unwrap();
    let index = Index::read(&unit, Sizes { rows: 5, features: 3, labels: 6 }).unwrap();
    let mut searcher = Searcher::new(&index);
    let nearest = searcher.nearest(&[1], &[1.0], 1, &task(1)).unwrap();
    assert_eq!(nearest, [Neighbour { score: 32_767 * 32_767, row: 4 }]);
    let mut labels = Vec::new();
    index.each_label(4, |label| labels.push(label));
    assert_eq!(labels, [0, 5]);
}

#[test]
fn values_are_stored_to_four_digits() {
    for value in [0.0, 1.0, -1.0, 0.25, 1e-3, -0.3333] {
        let read = number(stored(value).cast_unsigned()) as f32 / ONE;
        assert!((read - value).abs() < 2e-5, "{value} {read}");
    }
}

#[test]
fn indexes_that_do_not_fit_are_refused() {
    let rows = few();
    let index = Index::new(units(&rows.features).view(), rows.labels.view());
    let (file, unit) = Unit::in_memory("index", &index.arrays()).unwrap();
    let sizes = Sizes { rows: 4, features: 3, labels: 4 };
    let read = |bytes: &[u8], sizes| {
        let unit = Unit::from_bytes(&file.file, bytes).unwrap();
        Index::read(&unit, sizes).map_err(|error| error.to_string())
    };
    assert_eq!(read(unit.bytes(), sizes).unwrap(), index);
    for wrong in
        [Sizes { rows: 5, ..sizes }, Sizes { features: 2, ..sizes }, Sizes { labels: 3, ..sizes }]
    {
        read(unit.bytes(), wrong).unwrap_err();
    }
    // Each number of 32 bits, too large; values alone may be any.
    let start = 8 + usize::from(unit.bytes()[0]) + 256 * usize::from(unit.bytes()[1]);
    let numbers = 8 * (4 + 5) + 4 * (3 + 5);
    for at in (start..start + numbers).step_by(4) {
        let mut bytes = unit.bytes().to_vec();
        bytes[at..at + 4].fill(0xff);
        let error = read(&bytes, sizes).unwrap_err();
        assert!(error.contains("index-"), "{error}");
    }
}

#[test]
fn the_settings_are_named_as_everywhere() {
    let settings = Settings::named("neighbours").unwrap();
    assert!(settings.set("neighbours", 0).is_err());
    assert_eq!(settings.set("power", 3.0).unwrap().find("power"), Some(3.0.into()));
}
