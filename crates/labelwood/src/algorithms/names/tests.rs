//! By hand first, then against counting in the plainest way.

use super::*;
use crate::algorithms::{NewRows, Predict, Settings, UnitSink, learn_in_memory};
use crate::base::run::{Pool, Task};
use crate::base::sparse::{Csr, LabelRows, LabelSet, Predictions, Scored};
use crate::base::store::Unit;
use crate::data::{Dataset, Named};
use proptest::prelude::*;

const LABELS: usize = 4;

fn task() -> Task {
    Pool::new(1).unwrap().task()
}

/// A name of so many words, found in one piece or not.
fn found(stems: u32, is_phrase: bool) -> Match {
    Match { stems, times: 1, is_phrase, position: 3, words: 9 }
}

/// The labels whose names are in a text, and the labels of that text.
type Written = (Vec<(u32, Match)>, Vec<u32>);

fn dataset(rows: &[Written]) -> Dataset {
    let (mut matches, mut labels) = (Csr::new(LABELS), LabelRows::new(LABELS));
    for (found, own) in rows {
        let (ids, packed): (Vec<u32>, Vec<u32>) =
            found.iter().map(|&(id, found)| (id, found.pack())).unzip();
        matches.push_row(&ids, &packed).unwrap();
        labels.push_row(own, &vec![(); own.len()]).unwrap();
    }
    let mut features = Csr::new(1);
    rows.iter().for_each(|_| features.push_row(&[], &[]).unwrap());
    let named = Some(Named { names: Csr::new(1), matches });
    Dataset { features, labels, label_names: None, named }
}

fn learned(rows: &[Written]) -> Box<dyn Predict> {
    learn_in_memory(&Params::default().into(), dataset(rows).view(), &task()).unwrap()
}

fn ask(model: &dyn Predict, row: &[(u32, Match)], query: Query<'_>) -> Predictions {
    model.predict(dataset(&[(row.to_vec(), vec![])]).rows(), query, &task()).unwrap()
}

/// Scores have half precision, so that they go into votes.
fn close(score: f32, expected: f64) -> bool {
    (f64::from(score) - expected).abs() < 1e-3 * expected
}

#[test]
fn without_rows_a_name_of_several_words_in_one_piece_is_trusted_most() {
    let model = learned(&[]);
    let row = [(0, found(1, false)), (1, found(2, true)), (2, found(2, false))];
    let best = ask(&*model, &row, Query::top(3));
    let expected = [(1, 0.3), (0, 0.05), (2, 0.05)];
    let is_same =
        |(found, (id, score)): (&Scored, (u32, f64))| found.id == id && close(found.score, score);
    assert!(best.row(0).iter().zip(expected).all(is_same), "{best:?}");
    assert_eq!(best.row(0).len(), 3);
}

#[test]
fn a_label_that_was_right_where_its_name_was_found_comes_before_one_that_was_not() {
    let one = found(1, false);
    let rows: Vec<Written> = (0..10).map(|_| (vec![(0, one), (3, one)], vec![3])).collect();
    let model = learned(&rows);
    let best = ask(&*model, &[(0, one), (3, one)], Query::top(2));
    // Of 20 single words 10 were right; that and the prior make what is usual.
    let usual = (10.0 + 10.0 * 0.05) / 30.0;
    let [right, wrong] = [best.row(0)[0], best.row(0)[1]];
    assert_eq!((right.id, wrong.id), (3, 0));
    assert!(close(right.score, (10.0 + 2.0 * usual) / 12.0), "{right:?}");
    assert!(close(wrong.score, 2.0 * usual / 12.0), "{wrong:?}");
}

#[test]
fn labels_that_are_not_allowed_and_rows_without_matches_get_no_answer() {
    let one = found(1, true);
    let model = learned(&[]);
    let allowed: LabelSet = [2].into_iter().collect();
    let query = Query { allowed: Some(&allowed), ..Query::top(5) };
    let best = ask(&*model, &[(0, one), (2, one)], query);
    assert_eq!(best.row(0).iter().map(|label| label.id).collect::<Vec<_>>(), [2]);
    let empty = Csr::new(1);
    assert!(model.predict(empty.view().into(), Query::top(5), &task()).unwrap().is_empty());
    let mut vectors = Csr::new(1);
    vectors.push_row(&[0], &[1.0]).unwrap();
    let none = model.predict(vectors.view().into(), Query::top(5), &task()).unwrap();
    assert!(none.row(0).is_empty());
}

#[test]
fn a_ranker_is_told_how_the_name_was_found() {
    let one = found(2, true);
    let rows: Vec<Written> = (0..7).map(|_| (vec![(1, one)], vec![1])).collect();
    let (model, asked) =
        (learned(&rows), dataset(&[(vec![(1, one), (2, found(1, false))], vec![])]));
    let votes: Vec<RowVotes> =
        model.votes(asked.rows(), Query::top(5), &task()).unwrap().swap_remove(0);
    let best = model.combine(&votes, &model.voters(), Query::top(1));
    let numbers = model.numbers_of(&votes, &best);
    assert_eq!(numbers, [2.0, 1.0, 1.0, 3.0, 9.0, libm::log1pf(7.0), 2.0]);
    assert_eq!(numbers.len(), model.settings().numbers().len());
}

#[test]
fn rows_without_names_are_refused() {
    let mut vectors = dataset(&[(vec![], vec![0])]);
    vectors.named = None;
    let refused = learn_in_memory(&Params::default().into(), vectors.view(), &task()).unwrap_err();
    let expected = "algorithm is names, but must be another one: the rows are no texts, or their \
        labels have no names";
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn counts_that_do_not_fit_together_are_refused() {
    let read = |found: &[u32], right: &[u32], kinds: &[u64]| {
        let arrays = [("found", found.into()), ("right", right.into()), ("kinds", kinds.into())];
        Counts::read(&Unit::in_memory("counts", &arrays).unwrap().1)
    };
    assert!(read(&[2, 1], &[2, 0], &[3, 0, 0, 2, 0, 0]).is_ok());
    for (found, right, kinds) in [
        (&[2u32, 1][..], &[2u32][..], &[0u64; 6][..]),
        (&[1, 1], &[2, 0], &[0; 6]),
        (&[2, 1], &[2, 0], &[0; 5]),
    ] {
        let error = read(found, right, kinds).unwrap_err().to_string();
        assert!(error.contains("its counts do not fit together"), "{error}");
    }
}

/// The score of a label whose name was found in this way, counted row by row.
fn plain(rows: &[Written], label: u32, how: Match) -> f64 {
    let kind = |found: Match| match (found.stems > 1, found.is_phrase) {
        (false, _) => 0,
        (true, false) => 1,
        (true, true) => 2,
    };
    let share = |seen: &dyn Fn(u32, Match) -> bool, worth: f64, usual: f64| {
        let (mut all, mut right) = (worth, worth * usual);
        for (matches, labels) in rows {
            for &(id, found) in matches {
                if seen(id, found) {
                    all += 1.0;
                    right += f64::from(u8::from(labels.contains(&id)));
                }
            }
        }
        right / all
    };
    let prior = [0.05, 0.05, 0.3][kind(how)];
    let usual = share(&|_, found| kind(found) == kind(how), 10.0, prior);
    share(&|id, _| id == label, 2.0, usual)
}

fn rows() -> impl Strategy<Value = Vec<Written>> {
    let how = (0..4u32, any::<bool>()).prop_map(|(stems, is_phrase)| found(stems, is_phrase));
    let matches = proptest::collection::btree_map(0..LABELS as u32, how, 0..LABELS);
    let labels = proptest::collection::btree_set(0..LABELS as u32, 0..3);
    let row = (matches, labels).prop_map(|(matches, labels)| {
        (matches.into_iter().collect(), labels.into_iter().collect())
    });
    proptest::collection::vec(row, 0..12)
}

proptest! {
    #[test]
    fn scores_are_those_of_plain_counting(rows in rows(), asked in rows()) {
        let model = learned(&rows);
        for (matches, _) in asked {
            let best = ask(&*model, &matches, Query::top(LABELS));
            prop_assert_eq!(best.row(0).len(), matches.len());
            for label in best.row(0) {
                let (_, how) = matches.iter().find(|(id, _)| *id == label.id).unwrap();
                prop_assert!(close(label.score, plain(&rows, label.id, *how)));
            }
        }
    }

    #[test]
    fn rows_that_are_added_later_count_as_if_they_had_been_there(rows in rows(), more in rows()) {
        let model = learned(&rows);
        let (units, added) = (UnitSink::in_memory(), dataset(&more));
        let new = NewRows { added: added.view(), all: None, touched: &Default::default() };
        model.update(new, &units, &task()).unwrap();
        let all: Vec<Written> = rows.into_iter().chain(more).collect();
        let whole = UnitSink::in_memory();
        let settings = Settings::from(Params::default());
        settings.prepare(dataset(&all).view(), &task()).unwrap().train(&whole, &task()).unwrap();
        prop_assert_eq!(units.all(), whole.all());
    }
}
