//! Averages, determinism, and whether there is something to learn.

use super::*;
use crate::base::run::Pool;
use crate::base::sparse::Row;

fn small() -> Generator {
    let profile = Profile {
        instances: 3000,
        test_instances: 300,
        features: 2000,
        labels: 500,
        entries_per_row: 30.0,
        labels_per_row: 3.0,
        skew: 0.75,
    };
    Generator::new(profile, 5).unwrap()
}

fn run(threads: usize) -> Task {
    Pool::new(threads).unwrap().task()
}

#[test]
fn threads_do_not_reach_the_rows() {
    let generator = small();
    let mut texts = [1, 2, 3].map(|threads| {
        let mut text = Vec::new();
        generator.write_xc(0..10_000, &mut text, &run(threads)).unwrap();
        text
    });
    let rows = generator.rows(0..10_000, &run(2)).unwrap();
    assert_eq!(texts[0].iter().filter(|&&byte| byte == b'\n').count(), 10_001);
    assert_eq!(rows.0.len(), 10_000);
    assert_eq!(rows.1.row(9_999).indices, generator.row(9_999).labels);
    texts.sort();
    assert_eq!(texts[0], texts[2]);
}

#[test]
fn fewer_rows_are_the_first_of_more_and_the_seed_matters() {
    let generator = small();
    let fewer = Generator::new(Profile { instances: 10, ..*generator.profile() }, 5).unwrap();
    assert_eq!(fewer.row(9), generator.row(9));
    assert_eq!(fewer.row(TEST_START), generator.row(TEST_START));
    assert_ne!(generator.row(0), generator.row(1));
    assert_ne!(generator.row(0), Generator::new(*generator.profile(), 6).unwrap().row(0));
}

#[test]
fn a_line_reads_back_as_the_row() {
    let row = SyntheticRow {
        labels: vec![0, 4_294_967_295],
        features: vec![3, 20, 100],
        values: vec![1.0, 0.0201, 0.5],
    };
    let mut text = Vec::new();
    row.write_xc(&mut text);
    assert_eq!(text, b"0,4294967295 3:1 20:0.0201 100:0.5\n");
    let row = small().row(1);
    text.clear();
    row.write_xc(&mut text);
    let line = String::from_utf8(text).unwrap();
    let (labels, features) = line.trim_end().split_once(' ').unwrap();
    let labels: Vec<u32> = labels.split(',').map(|label| label.parse().unwrap()).collect();
    assert_eq!(labels, row.labels);
    for (at, entry) in features.split(' ').enumerate() {
        let (feature, value) = entry.split_once(':').unwrap();
        assert_eq!(feature.parse::<u32>().unwrap(), row.features[at]);
        assert_eq!(value.parse::<f32>().unwrap(), row.values[at]);
        assert_eq!(value, row.values[at].to_string());
    }
}

#[test]
fn averages_are_those_of_the_profile() {
    for (name, rows) in [("eurlex-4k", 2000), ("wiki10-31k", 1000), ("amazon-670k", 4000)] {
        let generator = Generator::new(Profile::named(name).unwrap(), 1).unwrap();
        let (features, labels) = generator.rows(0..rows, &run(2)).unwrap();
        let per_row = |entries: usize| entries as f64 / rows as f64;
        let profile = generator.profile();
        let close = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 0.06;
        let (entries, per_label) = (per_row(features.entries()), per_row(labels.entries()));
        assert!(close(entries, profile.entries_per_row), "{name}: {entries} entries");
        assert!(close(per_label, profile.labels_per_row), "{name}: {per_label} labels");
    }
}

#[test]
fn values_are_positive_and_rows_about_of_length_one() {
    let (features, _) = small().rows(0..500, &run(1)).unwrap();
    for row in features.rows() {
        assert!(row.values.iter().all(|&value| value > 0.0 && value <= 1.0));
        assert!((crate::base::sparse::l2_norm(row.values) - 1.0).abs() < 0.01);
    }
}

#[test]
fn labels_follow_a_power_law_and_come_together() {
    let (_, labels) = small().rows(0..3000, &run(2)).unwrap();
    let mut counts = labels.view().column_counts();
    counts.sort_unstable_by(|left, right| right.cmp(left));
    assert!(counts[0] > 10 * counts[250], "{counts:?}");
    // The chance that two labels of a row share a topic, which is known from their ranks.
    let generator = small();
    let (mut together, mut pairs) = (0, 0);
    let topic: Vec<u32> = {
        let mut topics = vec![0; 500];
        (0..500).for_each(|rank| {
            topics[generator.label_order.place(rank) as usize] = rank % generator.topic_count;
        });
        topics
    };
    for row in labels.rows() {
        for pair in row.indices.windows(2) {
            pairs += 1;
            together += u32::from(topic[pair[0] as usize] == topic[pair[1] as usize]);
        }
    }
    assert!(together * 2 > pairs, "{together} of {pairs}");
}

/// The dot product of two sparse rows.
fn dot(left: Row<'_>, right: Row<'_>) -> f32 {
    let of_right = |column| right.indices.binary_search(&column).map_or(0.0, |at| right.values[at]);
    left.iter().map(|(column, value)| value * of_right(column)).sum()
}

#[test]
fn the_nearest_row_predicts_better_than_the_most_frequent_label() {
    let generator = small();
    let (train, train_labels) = generator.rows(0..3000, &run(2)).unwrap();
    let (test, test_labels) = generator.rows(generator.test_rows(), &run(2)).unwrap();
    let counts = train_labels.view().column_counts();
    let frequent = (0..500u32).max_by_key(|&label| counts[label as usize]).unwrap();
    let (mut nearest_hits, mut frequent_hits) = (0.0, 0);
    for (row, truth) in test.rows().zip(test_labels.rows()) {
        let nearest = (0..train.len())
            .max_by(|&left, &right| {
                dot(train.row(left), row).total_cmp(&dot(train.row(right), row))
            })
            .unwrap();
        let guesses = train_labels.row(nearest).indices;
        let right = guesses.iter().filter(|label| truth.indices.contains(label)).count();
        nearest_hits += right as f64 / guesses.len() as f64;
        frequent_hits += u32::from(truth.indices.contains(&frequent));
    }
    assert!(nearest_hits > 3.0 * f64::from(frequent_hits), "{nearest_hits} {frequent_hits}");
}

#[test]
fn a_cancelled_run_stops() {
    let task = run(1);
    task.canceller().cancel();
    let stopped = small().write_xc(0..10, &mut Vec::new(), &task);
    assert!(stopped.unwrap_err().get_ref().is_some_and(|error| error.is::<Stopped>()));
}
