//! Tests of whole forests, of the sides of a node and of the means of labels. That trees are grown, stored
//! and routed as they should be is tested with CRAFTML.

mod sides;

use super::gains::{gains, values};
use super::means::Means;
use super::{Params, craftml};
use crate::algorithms::{Algorithm, NewRows, Predict, Settings, UnitSink, learn_in_memory};
use crate::base::random::Stream;
use crate::base::run::{Pool, Task};
use crate::base::sparse::{Csr, LabelRows, LabelSet, Query, Scored};
use crate::data::Dataset;
use crate::learn::weighting::{FeatureWeights, Weighting};
use proptest::prelude::*;

fn task(threads: usize) -> Task {
    Pool::new(threads).unwrap().task()
}

/// The columns of a row, each of value 1, and its labels.
type Written<'a> = (&'a [u32], &'a [u32]);

fn dataset<'a>(
    features: usize,
    labels: usize,
    rows: impl IntoIterator<Item = Written<'a>>,
) -> Dataset {
    let (mut all, mut all_labels) = (Csr::new(features), LabelRows::new(labels));
    for (columns, labels) in rows {
        all.push_row(columns, &vec![1.0; columns.len()]).unwrap();
        all_labels.push_row(labels, &vec![(); labels.len()]).unwrap();
    }
    Dataset { features: all, labels: all_labels, label_names: None, named: None }
}

/// Random rows whose labels follow from their columns; some have none of either.
fn random(count: usize, features: usize, labels: usize, seed: u64) -> Dataset {
    let mut random = Stream::new(seed);
    let mut rows = Vec::new();
    for _ in 0..count {
        let mut columns: Vec<u32> =
            (0..random.below(6)).map(|_| random.below(features) as u32).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut own: Vec<u32> = columns.iter().map(|column| column % labels as u32).collect();
        own.truncate(random.below(4));
        own.sort_unstable();
        own.dedup();
        rows.push((columns, own));
    }
    dataset(features, labels, rows.iter().map(|(columns, own)| (&columns[..], &own[..])))
}

fn learned(rows: &Dataset, params: Params, threads: usize) -> Box<dyn Predict> {
    learn_in_memory(&params.into(), rows.view(), &task(threads)).unwrap()
}

fn predicted(model: &dyn Predict, rows: &Csr, query: Query<'_>) -> Vec<Vec<Scored>> {
    let predictions = model.predict(rows.view().into(), query, &task(1)).unwrap();
    predictions.rows().map(<[Scored]>::to_vec).collect()
}

/// Forty rows of each of four kinds, with a column and a label of their own, and ten with a rare label
/// besides.
fn kinds() -> Dataset {
    let kinds: [Written<'_>; 5] =
        [(&[0, 4], &[0]), (&[1, 4], &[1]), (&[2, 4], &[2]), (&[3, 4], &[3]), (&[3, 4, 5], &[3, 4])];
    let rows = (0..160).map(|row| kinds[row % 4]).chain((0..10).map(|_| kinds[4]));
    dataset(6, 5, rows)
}

#[test]
fn rows_of_a_kind_come_to_a_leaf_of_their_own() {
    let rows = kinds();
    let params = Params { trees: 10, weighting: Weighting::None, ..Params::default() };
    let found = predicted(&*learned(&rows, params, 2), &rows.features, Query::top(1));
    for (row, found) in found.iter().enumerate() {
        let kind = rows.labels.row(row).indices[0];
        assert_eq!(found[0].id, kind, "row {row}");
        assert!(found[0].score > 0.6, "row {row}: {found:?}");
    }
}

#[test]
fn rare_labels_come_earlier_with_pfastrexml() {
    let rows = kinds();
    let place_of_rare = |params: Params| {
        let params = Params { trees: 10, leaf: 60, ..params };
        let asked = dataset(6, 1, [(&[3, 4, 5][..], &[][..])]).features;
        let found = predicted(&*learned(&rows, params, 1), &asked, Query::top(2));
        assert_eq!(found[0].len(), 2);
        (found[0][1].score / found[0][0].score, found[0][0].id)
    };
    let (usual, first) = place_of_rare(Params::default());
    assert_eq!(first, 3);
    let (weighted, _) = place_of_rare(Params { tail_weight: 1.0, ..Params::default() });
    let (with_means, first) = place_of_rare(Params::pfastrexml());
    assert!(weighted > usual, "{weighted} and {usual}");
    // The mean of the rare label's rows is the row that is asked about.
    assert!(with_means > weighted || first == 4, "{with_means} and {weighted}");
}

#[test]
fn a_score_is_that_of_the_trees_and_the_means_by_hand() {
    // Equal features: the tree is one leaf with all labels.
    let rows = dataset(2, 3, [(&[0][..], &[0][..]), (&[0], &[0, 1]), (&[0], &[])]);
    let params = Params {
        trees: 1,
        weighting: Weighting::None,
        tail_share: 0.25,
        tail_gamma: 2.0,
        ..Params::default()
    };
    let model = learned(&rows, params, 1);
    let asked = dataset(2, 1, [(&[0][..], &[][..]), (&[1], &[]), (&[0, 1], &[])]).features;
    let found = predicted(&*model, &asked, Query::top(3));
    // Both means are (1, 0), at squared distances of 0, 2, and (1 - 0.5^0.5)^2 + 0.5.
    for (found, distance) in found.iter().zip([0.0, 2.0, 2.0 - 2f64.sqrt()]) {
        let nearness = 1.0 / (1.0 + f64::exp(distance));
        let expected = [(0, 2.0 / 3.0), (1, 1.0 / 3.0)];
        assert_eq!(found.len(), 2);
        for (found, (id, share)) in found.iter().zip(expected) {
            let expected = f64::powf(share, 0.75) * f64::powf(nearness, 0.25);
            assert_eq!(found.id, id);
            assert!((f64::from(found.score) - expected).abs() < 1e-5, "{found:?}, {expected}");
        }
    }
}

#[test]
fn reasons_have_the_score_that_is_predicted_and_say_what_gains_and_means_add() {
    let (rows, query) = (kinds(), Query::top(3));
    let model = learned(&rows, Params { trees: 4, ..Params::pfastrexml() }, 1);
    let asked = dataset(6, 1, [(&[3, 4, 5][..], &[][..])]).features;
    let found = predicted(&*model, &asked, query);
    for best in &found[0] {
        let row = asked.view().into();
        let reasons = model.explain(row, &[best.id], query, &task(1)).unwrap();
        let own = &reasons[0][0];
        assert_eq!((own.part, own.score.to_bits()), ("fastxml", best.score.to_bits()));
        let facts: Vec<f64> = own.how.iter().map(|fact| fact.value).collect();
        let [_, share, gain, nearness] = facts[..] else { panic!("{:?}", own.how) };
        let expected = f64::powf(share * gain, 0.8) * f64::powf(nearness, 0.2);
        assert!((expected - f64::from(own.score)).abs() < 1e-5, "{:?}", own.how);
    }
}

#[test]
fn label_entries_have_the_gain_of_their_label_over_that_of_the_best_ranking() {
    let rows = dataset(1, 3, [(&[0][..], &[0][..]), (&[0], &[]), (&[0], &[0, 2])]);
    let found = values(rows.labels.view(), &[1.0, 1.0, 0.5]);
    let two = 1.0 + 1.0 / 3f32.log2();
    assert_eq!(found, [1.0, 1.0 / two, 0.5 / two]);
    // Rarer labels gain more, and a label that no row has 1.
    let found = gains(1000, &[500, 20, 0], 1.0);
    assert!(found[0] < found[1] && found[1] < 1.0 && found[2] == 1.0, "{found:?}");
    assert_eq!(gains(1000, &[500, 20, 0], 0.0), [1.0; 3]);
}

/// The sum of the rows of each label, feature by feature.
fn plain_sums(rows: &Dataset) -> Vec<Vec<f64>> {
    let mut sums = vec![vec![0.0; rows.features.columns()]; rows.labels.columns()];
    for (row, labels) in rows.features.rows().zip(rows.labels.rows()) {
        for &label in labels.indices {
            row.iter().for_each(|(column, value)| {
                sums[label as usize][column as usize] += f64::from(value)
            });
        }
    }
    sums
}

fn means(rows: &Dataset) -> Means {
    let weights = FeatureWeights::learn(Weighting::None, rows.features.view());
    let prepared = weights.prepare(rows.features.view());
    Means::of_rows(prepared.view(), rows.features.columns(), rows.labels.view())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn means_are_those_of_a_plain_sum_added_at_once_or_in_turn(
        count in 1usize..30, features in 1usize..9, labels in 1usize..7, seed in any::<u64>(), at in 0usize..30,
    ) {
        let rows = random(count, features, labels, seed);
        let mut unit = rows.clone();
        let weights = FeatureWeights::learn(Weighting::None, rows.features.view());
        unit.features.values_mut().copy_from_slice(weights.prepare(rows.features.view()).view().values);
        let part = |range: std::ops::Range<usize>| rows.select(&range.collect::<Vec<_>>());
        let at = at.min(count);
        let both = means(&part(0..at)).with(&means(&part(at..count)));
        for means in [means(&rows), both] {
            for (label, sum) in plain_sums(&unit).iter().enumerate() {
                let mut products = vec![0.0; labels];
                let asked: Vec<u32> = (0..features as u32).collect();
                means.add_products((&asked, &vec![1.0; features]), &mut products);
                prop_assert!((products[label] - sum.iter().sum::<f64>()).abs() < 1e-4);
                let square: f64 = sum.iter().map(|value| value * value).sum();
                prop_assert!((means.distance(label as u32, 2, 0.0, 0.0) - square / 4.0).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_model_and_votes_combine_to_its_predictions(
        count in 1usize..200, features in 1usize..30, labels in 1usize..12, seed in any::<u64>(),
        rare in any::<bool>(), leaf in 2usize..20, cost in 1f32..20.0,
    ) {
        let rows = random(count, features, labels, seed);
        let params = if rare { Params::pfastrexml() } else { Params::default() };
        let params = Params { trees: 3, leaf, cost, seed, ..params };
        let (one, three) = (learned(&rows, params.clone(), 1), learned(&rows, params, 3));
        let allowed: LabelSet = (0..labels as u32).step_by(2).collect();
        for query in [Query::top(4), Query { allowed: Some(&allowed), ..Query::top(3) }] {
            let found = predicted(&*one, &rows.features, query);
            prop_assert_eq!(&found, &predicted(&*three, &rows.features, query));
            let votes = one.votes(rows.features.view().into(), query, &task(2)).unwrap();
            for (row, found) in found.iter().enumerate() {
                let of_row: Vec<_> = votes.iter().map(|kind| kind[row].clone()).collect();
                prop_assert_eq!(found, &one.combine(&of_row, &one.voters(), query));
                prop_assert!(found.iter().all(|label| query.allows(label.id) && label.score <= 1.0));
            }
        }
    }

    #[test]
    fn added_rows_are_counted_in_leaves_and_means(
        count in 2usize..80, features in 2usize..20, labels in 2usize..9, seed in any::<u64>(), knows in any::<bool>(),
    ) {
        let rows = random(count + 8, features, labels, seed);
        let part = |range: std::ops::Range<usize>| rows.select(&range.collect::<Vec<_>>());
        let (known, added) = (part(0..count), part(count..count + 8));
        let params = Params { trees: 2, ..Params::pfastrexml() };
        let model = learned(&known, params.clone(), 1);
        let touched = LabelSet::all(labels);
        let update = |threads| {
            let units = UnitSink::in_memory();
            let all = knows.then_some(&rows);
            let new = NewRows { added: added.view(), all, touched: &touched };
            model.update(new, &units, &task(threads)).unwrap();
            units.all().iter().map(|file| (file.file.clone(), file.xxh3)).collect::<Vec<_>>()
        };
        prop_assert_eq!(update(1), update(3));
        prop_assert_eq!(update(1).len(), 3);
    }
}

#[test]
fn it_is_a_forest_of_two_branches_that_follows_one_path() {
    let settings = Settings::from(Params::default());
    assert_eq!(settings.describe_size(), "30 trees");
    let forest = Params { trees: 7, leaf: 5, ..Params::default() }.forest();
    assert_eq!((forest.trees, forest.leaf, forest.branches, forest.beam), (7, 5, 2, 1));
    assert_eq!(forest.metric, craftml::Metric::Linear);
    assert!(Params { tail_share: 1.5, ..Params::default() }.check().is_err());
}
