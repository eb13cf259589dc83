use super::*;
use crate::base::sparse::{LabelRows, Scored};
use proptest::prelude::*;

fn truth(columns: usize, rows: &[&[u32]]) -> LabelRows {
    let mut truth = LabelRows::new(columns);
    for row in rows {
        truth.push_row(row, &vec![(); row.len()]).unwrap();
    }
    truth
}

/// Predictions in the given order, with falling scores.
fn ranked(rows: &[&[u32]]) -> Predictions {
    let mut predictions = Predictions::default();
    for row in rows {
        let scored: Vec<Scored> = row
            .iter()
            .enumerate()
            .map(|(rank, &id)| Scored { id, score: 1.0 / (rank + 1) as f32 })
            .collect();
        predictions.push_row(&scored);
    }
    predictions
}

fn options(at: &[usize]) -> MetricOptions {
    MetricOptions { at: at.to_vec(), ..MetricOptions::default() }
}

/// With two training rows every weight is 1 (C is 0), so that sums can be done by hand.
fn flat(labels: &[u32]) -> TrainingCounts<'_> {
    TrainingCounts { instances: 2, labels }
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

#[test]
fn the_plain_figures_match_a_calculation_by_hand() {
    // Row 0: hits at ranks 1 and 3 of three true labels; row 1: one prediction, right;
    // row 2: unlabelled; row 3: nothing predicted.
    let truth = truth(6, &[&[0, 1, 2], &[4], &[], &[5]]);
    let predictions = ranked(&[&[1, 3, 0], &[4], &[2, 3], &[]]);
    let counts = [1; 6];
    let metrics =
        Evaluation::new(truth.view(), &predictions, flat(&counts), &options(&[3, 1, 3])).unwrap();
    let metrics = metrics.metrics();
    assert_eq!((metrics.instances, metrics.labels, metrics.unlabelled), (4, 6, 1));
    let [one, three] = metrics.at[..] else { panic!("two cuts") };
    assert_eq!((one.k, three.k), (1, 3));
    close(one.precision, 2.0 / 4.0);
    close(three.precision, (2.0 / 3.0 + 1.0 / 3.0) / 4.0);
    close(one.recall, (1.0 / 3.0 + 1.0) / 4.0);
    close(three.recall, (2.0 / 3.0 + 1.0) / 4.0);
    close(one.r_precision, 2.0 / 4.0);
    close(three.r_precision, (2.0 / 3.0 + 1.0) / 4.0);
    close(one.ndcg, 2.0 / 4.0);
    let log3 = 3f64.log2();
    close(three.ndcg, ((1.0 + 0.5) / (1.0 + 1.0 / log3 + 0.5) + 1.0) / 4.0);
    // Three distinct labels are hit (0, 1, 4), at cut 1 only 1 and 4; five are true.
    close(one.coverage, 2.0 / 5.0);
    close(three.coverage, 3.0 / 5.0);
    // All weights are 1: PSP@3 is hits over reachable hits.
    close(one.psp, 2.0 / 3.0);
    close(three.psp, 3.0 / 5.0);
}

#[test]
fn inverse_propensities_match_a_calculation_by_hand() {
    // With a = 1, b = 1 and N = e^3 (rounded to 20): C = 2 (ln 20 - 1).
    let c = 2.0 * (20f64.ln() - 1.0);
    let weights: Vec<f64> = Propensity { a: 1.0, b: 1.0 }.inverse(20, [0, 1, 3]).collect();
    close(weights[0], 1.0 + c);
    close(weights[1], 1.0 + c / 2.0);
    close(weights[2], 1.0 + c / 4.0);
    assert!(Propensity::default().inverse(0, [0, 7]).all(|weight| weight == 1.0));
}

#[test]
fn propensity_scored_figures_are_ratios_of_sums() {
    let truth = truth(3, &[&[0, 1], &[2]]);
    let predictions = ranked(&[&[0, 2], &[1, 2]]);
    let training = TrainingCounts { instances: 20, labels: &[3, 1] };
    let propensity = Propensity { a: 1.0, b: 1.0 };
    let matlab = MetricOptions { at: vec![1, 2], propensity, psndcg: Psndcg::Matlab };
    let pyxclib = MetricOptions { psndcg: Psndcg::Pyxclib, ..matlab.clone() };
    let c = 2.0 * (20f64.ln() - 1.0);
    let (common, rare, unseen) = (1.0 + c / 4.0, 1.0 + c / 2.0, 1.0 + c);
    let compute =
        |options| Evaluation::new(truth.view(), &predictions, training, options).unwrap().metrics();

    let metrics = compute(&matlab);
    close(metrics.at[0].psp, common / (rare + unseen));
    close(metrics.at[1].psp, (common + unseen) / (common + rare + unseen));
    let second = 1.0 / 3f64.log2();
    close(metrics.at[0].psndcg, metrics.at[0].psp);
    close(metrics.at[1].psndcg, (common + unseen * second) / (rare + common * second + unseen));
    // Row 0 has two labels and is divided by 1 + 1/log2(3), row 1 has one and is divided by 1.
    let both = 1.0 + second;
    close(
        compute(&pyxclib).at[1].psndcg,
        (common / both + unseen * second) / ((rare + common * second) / both + unseen),
    );
}

#[test]
fn slices_count_their_own_hits_and_add_up() {
    let truth = truth(5, &[&[0, 1, 2], &[0, 4], &[3]]);
    let predictions = ranked(&[&[0, 2, 3], &[4, 0, 1], &[0, 1, 3]]);
    let training = TrainingCounts { instances: 500, labels: &[100, 99, 10, 9] };
    let metrics = Evaluation::new(truth.view(), &predictions, training, &options(&[3])).unwrap();
    let metrics = metrics.metrics();
    let [head, torso, tail] = &metrics.slices;
    assert_eq!([head.labels, torso.labels, tail.labels], [1, 2, 2]);
    assert_eq!([head.true_labels, torso.true_labels, tail.true_labels], [2, 2, 2]);
    close(head.at[0].precision, 2.0 / 9.0);
    close(torso.at[0].precision, 1.0 / 9.0);
    close(tail.at[0].precision, 2.0 / 9.0);
    close(head.at[0].recall, 1.0);
    close(torso.at[0].recall, 0.5);
    close(tail.at[0].recall, 1.0);
    close(metrics.at[0].precision, 5.0 / 9.0);
    // Label 4 lies beyond the training width, label 3 was seen.
    assert_eq!(metrics.unseen_labels, 1);
}

#[test]
fn unseen_labels_stay_in_the_denominators() {
    let truth = truth(4, &[&[0, 3]]);
    let predictions = ranked(&[&[0]]);
    let training = TrainingCounts { instances: 20, labels: &[3, 0] };
    let metrics =
        Evaluation::new(truth.view(), &predictions, training, &options(&[2])).unwrap().metrics();
    assert_eq!(metrics.unseen_labels, 1);
    close(metrics.at[0].recall, 0.5);
    close(metrics.at[0].ndcg, 1.0 / (1.0 + 1.0 / 3f64.log2()));
    let weights: Vec<f64> = Propensity::default().inverse(20, [3, 0]).collect();
    close(metrics.at[0].psp, weights[0] / (weights[0] + weights[1]));
}

#[test]
fn filtered_pairs_leave_both_sides_before_the_cut() {
    let truth = truth(4, &[&[0, 1], &[2]]);
    let predictions = ranked(&[&[0, 1], &[3, 2]]);
    let counts = [1; 4];
    let options = options(&[1]);
    let evaluation = Evaluation::new(truth.view(), &predictions, flat(&counts), &options).unwrap();
    // Row 0 loses a hit and a true label; row 1 loses the wrong prediction before its right one.
    let filter = [(0, 0), (1, 3), (9, 0)];
    let filtered = evaluation.clone().without(&filter).unwrap();
    let metrics = filtered.metrics();
    close(metrics.at[0].precision, 1.0);
    close(metrics.at[0].recall, 1.0);
    assert_eq!(filtered.instances().next().unwrap().true_labels, 1);
    assert_eq!(filtered.labels().iter().map(|label| label.label).collect::<Vec<_>>(), [1, 2]);
    let refused = evaluation.without(&[(1, 0), (0, 3)]).unwrap_err();
    assert!(refused.to_string().starts_with("filter pair 1 is out of order"));
}

#[test]
fn labels_get_support_hits_misses_and_f1() {
    let truth = truth(5, &[&[0, 1], &[0], &[2]]);
    let predictions = ranked(&[&[0, 3], &[1, 0], &[0, 2, 1]]);
    let counts = [7, 6, 5, 4, 3];
    let options = options(&[1, 2]);
    let evaluation = Evaluation::new(truth.view(), &predictions, flat(&counts), &options).unwrap();
    let mut table = Vec::new();
    evaluation.write_labels(&mut table, |label| (label == 0).then_some("a\tb")).unwrap();
    let expected = "label\tname\ttraining_rows\tsupport\tpredicted@2\thits@2\tmisses@2\tprecision@2\trecall@2\tf1@2\n\
        0\ta b\t7\t2\t3\t2\t0\t0.6666666666666666\t1\t0.8\n\
        1\t\t6\t1\t1\t0\t1\t0\t0\t0\n\
        2\t\t5\t1\t1\t1\t0\t1\t1\t1\n\
        3\t\t4\t0\t1\t0\t0\t0\t0\t0\n";
    assert_eq!(String::from_utf8(table).unwrap(), expected);
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let truth = truth(2, &[&[0]]);
    let training = flat(&[1, 1]);
    let refused = |predictions: &Predictions, options: &MetricOptions| {
        Evaluation::new(truth.view(), predictions, training, options).unwrap_err()
    };
    let good = ranked(&[&[1]]);
    let is_refused = |predictions: &Predictions, options: &MetricOptions, because: &str| {
        let reason = refused(predictions, options).to_string();
        assert!(reason.starts_with(because), "{reason}");
    };
    is_refused(&ranked(&[]), &options(&[1]), "0 rows of predictions for 1 row of data");
    is_refused(&ranked(&[&[2]]), &options(&[1]), "prediction row 1: label 2 is out of range");
    is_refused(&good, &options(&[]), "the cuts k must be");
    is_refused(&good, &options(&[1, 0]), "the cuts k must be");
    let propensity = Propensity { a: 0.5, b: 0.0 };
    let wrong = MetricOptions { propensity, ..MetricOptions::default() };
    is_refused(&good, &wrong, "propensity constants a=0.5, b=0: both must be finite");
}

#[test]
fn no_rows_no_labels_and_huge_cuts_are_legal() {
    let none = LabelRows::new(0);
    let predictions = Predictions::default();
    let training = TrainingCounts { instances: 0, labels: &[] };
    let options = options(&[usize::MAX]);
    let metrics = Evaluation::new(none.view(), &predictions, training, &options).unwrap().metrics();
    assert!(metrics.named().all(|(_, value)| value == 0.0));
}

#[test]
fn the_calibration_error_is_the_mean_gap_between_scores_and_hits() {
    // Two predictions of 0.75, of which one is right, and one of 0.25, which is wrong.
    let truth = truth(3, &[&[0], &[1]]);
    let mut predictions = Predictions::default();
    let scored = |id, score| Scored { id, score };
    predictions.push_row(&[scored(0, 0.75), scored(1, 0.25)]);
    predictions.push_row(&[scored(0, 0.75)]);
    let ece = |at: &[usize]| {
        let counts = [1; 3];
        let options = options(at);
        Evaluation::new(truth.view(), &predictions, flat(&counts), &options).unwrap().metrics().ece
    };
    close(ece(&[2]), ((1.5f64 - 1.0) + 0.25) / 3.0);
    // Predictions beyond the largest cut do not count.
    close(ece(&[1]), (1.5 - 1.0) / 2.0);
}

#[test]
fn scores_beyond_0_and_1_count_as_these() {
    let truth = truth(2, &[&[0]]);
    let mut predictions = Predictions::default();
    predictions.push_row(&[Scored { id: 0, score: 7.5 }, Scored { id: 1, score: -3.0 }]);
    let counts = [1; 2];
    let evaluation = Evaluation::new(truth.view(), &predictions, flat(&counts), &options(&[2]));
    assert_eq!(evaluation.unwrap().metrics().ece, 0.0);
}

proptest! {
    #[test]
    fn slices_add_up_and_everything_lies_between_0_and_1(
        rows in proptest::collection::vec(
            (proptest::collection::btree_set(0u32..12, 0..6), proptest::sample::subsequence((0..12u32).collect::<Vec<_>>(), 0..8).prop_shuffle()),
            0..12),
        counts in proptest::collection::vec(0u32..150, 0..12),
    ) {
        let sets: Vec<Vec<u32>> = rows.iter().map(|(set, _)| set.iter().copied().collect()).collect();
        let truth = truth(12, &sets.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let predictions = ranked(&rows.iter().map(|(_, ranking)| ranking.as_slice()).collect::<Vec<_>>());
        let training = TrainingCounts { instances: 300, labels: &counts };
        let options = options(&[1, 2, 5]);
        let evaluation = Evaluation::new(truth.view(), &predictions, training, &options).unwrap();
        let metrics = evaluation.metrics();
        for (name, value) in metrics.named() {
            prop_assert!((0.0..=1.0 + 1e-12).contains(&value), "{} is {}", name, value);
        }
        for (cut, at) in metrics.at.iter().enumerate() {
            let sum: f64 = metrics.slices.iter().map(|slice| slice.at[cut].precision).sum();
            prop_assert!((sum - at.precision).abs() < 1e-12);
            // P@k from its definition, without ranks, buffers or weights.
            let hits: usize = rows.iter().map(|(set, ranking)| ranking.iter().take(at.k).filter(|label| set.contains(label)).count()).sum();
            let expected = if rows.is_empty() { 0.0 } else { hits as f64 / at.k as f64 / rows.len() as f64 };
            prop_assert!((at.precision - expected).abs() < 1e-12);
        }
        let per_label: u64 = evaluation.labels().iter().map(|label| label.hits).sum();
        let per_row: usize = evaluation.instances().map(|row| row.at[2].hits).sum();
        prop_assert_eq!(per_label, per_row as u64);
    }
}
