use super::lanes::*;
use super::*;
use proptest::prelude::*;

/// Rows as flat arrays, from lists of (column, value), each scaled to length 1.
fn flat(rows: &[Vec<(u32, f32)>]) -> (Vec<u64>, Vec<u32>, Vec<f32>) {
    let (mut offsets, mut columns, mut values) = (vec![0], vec![], vec![]);
    for row in rows {
        let norm = row.iter().map(|(_, value)| value * value).sum::<f32>().sqrt();
        for &(column, value) in row {
            columns.push(column);
            values.push(value / norm);
        }
        offsets.push(columns.len() as u64);
    }
    (offsets, columns, values)
}

fn cluster(rows: &[Vec<(u32, f32)>], params: Params, seed: u64) -> Vec<u8> {
    let (offsets, columns, values) = flat(rows);
    let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
    let all: Vec<u32> = (0..rows.len() as u32).collect();
    let mut assigned = Vec::new();
    let random = &mut Stream::new(seed);
    Workspace::default().cluster(entries, 32, &all, params, random, &mut assigned);
    assigned
}

#[test]
fn rows_of_two_directions_fall_into_two_clusters() {
    let left = vec![(0, 1.0), (1, 0.2)];
    let right = vec![(2, 1.0), (3, 0.1)];
    let rows = [left.clone(), right.clone(), left.clone(), vec![], right, left];
    for starts in [Starts::Random, Starts::PlusPlus] {
        for seed in 0..20 {
            let found =
                cluster(&rows, Params { clusters: 2, starts, passes: 2, more_passes: 0 }, seed);
            assert_eq!(found[0], found[2]);
            assert_eq!(found[0], found[5]);
            assert_eq!(found[1], found[4]);
            // Random starts may all have one direction, those of k-means++ never.
            assert!(starts == Starts::Random || found[0] != found[1]);
            assert_eq!(found[3], UNASSIGNED);
        }
    }
}

#[test]
fn equal_rows_make_one_cluster_and_empty_rows_none() {
    for starts in [Starts::Random, Starts::PlusPlus] {
        let params = Params { clusters: 4, starts, passes: 3, more_passes: 5 };
        assert_eq!(cluster(&vec![vec![(1, 2.0)]; 5], params, 3), [0; 5]);
        assert_eq!(cluster(&vec![vec![]; 3], params, 3), [UNASSIGNED; 3]);
    }
}

/// Plain Lloyd passes on dense rows from the same starts.
fn reference(rows: &[Vec<f32>], starts: &[u32], passes: usize) -> Vec<u8> {
    let dot = |left: &[f32], right: &[f32]| left.iter().zip(right).map(|(l, r)| l * r).sum::<f32>();
    let mut centres: Vec<Vec<f32>> = starts.iter().map(|&at| rows[at as usize].clone()).collect();
    let mut assigned = vec![];
    for pass in 0..passes {
        if pass > 0 {
            for (cluster, centre) in centres.iter_mut().enumerate() {
                centre.fill(0.0);
                let members = rows.iter().zip(&assigned).filter(|&(_, &to)| to == cluster as u8);
                for (row, _) in members {
                    centre.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
                }
                let norm = dot(centre, centre).sqrt();
                centre.iter_mut().for_each(|value| *value /= norm.max(1e-30));
            }
        }
        assigned = rows
            .iter()
            .map(|row| {
                let mut best = 0;
                for cluster in 1..centres.len() {
                    // Only a clear lead counts, since rounding may decide a tie either way.
                    if dot(row, &centres[cluster]) > dot(row, &centres[best]) + 1e-5 {
                        best = cluster;
                    }
                }
                let near = centres.get(best).is_some_and(|centre| dot(row, centre) > 0.0);
                if near { best as u8 } else { UNASSIGNED }
            })
            .collect();
    }
    assigned
}

proptest! {
    #[test]
    fn clusters_agree_with_a_plain_dense_implementation(
        rows in proptest::collection::vec(
            proptest::collection::btree_map(0u32..32, 0.1f32..2.0, 0..6), 2..40),
        clusters in 2usize..=16, passes in 1usize..4, seed: u64) {
        let rows: Vec<Vec<(u32, f32)>> = rows.into_iter().map(|row| row.into_iter().collect()).collect();
        let (offsets, columns, values) = flat(&rows);
        let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
        let dense: Vec<Vec<f32>> = (0..rows.len()).map(|row| {
            let mut dense = vec![0.0; 32];
            let (columns, values) = entries.row(row as u32);
            columns.iter().zip(values).for_each(|(&column, &value)| dense[column as usize] = value);
            dense
        }).collect();
        let all: Vec<u32> = (0..rows.len() as u32).collect();
        let mut found = Vec::new();
        let mut workspace = Workspace::default();
        let params = Params { clusters, starts: Starts::Random, passes, more_passes: 0 };
        workspace.lanes.resize(32, Lanes::ZERO);
        workspace.random_starts(entries, &all, clusters, &mut Stream::new(seed));
        refine(&mut workspace, entries, &all, params, &mut found);
        let expected = reference(&dense, &workspace.starts, passes);
        let differing = found.iter().zip(&expected).filter(|(left, right)| left != right).count();
        // Rounding may decide near-ties either way and move a centre a little, but not more.
        prop_assert!(differing * 10 <= rows.len(), "{found:?} {expected:?}");
    }

    #[test]
    fn similarities_equal_plain_dot_products(
        centres in proptest::collection::vec(proptest::array::uniform16(-2.0f32..2.0), 8),
        row in proptest::collection::vec((0u32..8, -2.0f32..2.0), 0..20)) {
        let lanes: Vec<Lanes> = std::iter::once(Lanes::ZERO).chain(centres.iter().copied().map(Lanes)).collect();
        let slot_of: Vec<u32> = (1..=8).collect();
        let (columns, values): (Vec<u32>, Vec<f32>) = row.iter().copied().unzip();
        let offsets = [0, columns.len() as u64];
        let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
        let mut expected = [0.0f32; LANES];
        for &(column, value) in &row {
            for lane in 0..LANES {
                expected[lane] += value * centres[column as usize][lane];
            }
        }
        let mut found = None;
        similarities(&Table { slot_of: &slot_of, lanes: &lanes }, entries, &[0], |_, sums| found = Some(sums.0));
        prop_assert_eq!(found, Some(expected));
    }
}

#[test]
fn the_best_lane_is_the_first_of_the_largest_in_use() {
    let lanes = Lanes(std::array::from_fn(|lane| [-3.0, -1.0, -2.0, -1.0, 5.0][lane % 5]));
    assert_eq!(best_lane(&lanes, 1), 0);
    assert_eq!(best_lane(&lanes, 4), 1, "ties go to the lowest");
    assert_eq!(best_lane(&lanes, 16), 4);
    assert_eq!(best_lane(&Lanes([f32::NAN; LANES]), 16), 0);
    assert_eq!(best_lane(&Lanes::ZERO, 0), 0);
}

#[test]
fn a_chain_of_common_columns_is_followed_pass_by_pass() {
    // Each row shares a column with the next only, so that centres reach one row more a pass.
    let rows: Vec<Vec<(u32, f32)>> = (0..20).map(|at| vec![(at, 1.0), (at + 1, 1.0)]).collect();
    let (offsets, columns, values) = flat(&rows);
    let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
    let all: Vec<u32> = (0..20).collect();
    let first = |more_passes| {
        let mut assigned = Vec::new();
        let params = Params { clusters: 2, starts: Starts::Random, passes: 2, more_passes };
        let random = &mut Stream::new(4);
        Workspace::default().cluster(entries, 32, &all, params, random, &mut assigned);
        assigned.iter().filter(|&&to| to == 0).count()
    };
    let (few, many) = (first(0), first(20));
    assert!(few > 14, "the rows that were not reached are in the first cluster: {few}");
    assert!(many < few, "all were reached: {many}");
}

/// How many rows each cluster has.
fn sizes(assigned: &[u8]) -> Vec<usize> {
    (0..LANES as u8).map(|cluster| assigned.iter().filter(|&&to| to == cluster).count()).collect()
}

/// Rows of two columns out of 32, the first one common to all of them.
fn alike(count: usize) -> Vec<Vec<(u32, f32)>> {
    (0..count).map(|at| vec![(0, 1.0), (1 + at as u32 % 31, 1.0)]).collect()
}

#[test]
fn rows_that_no_centre_reaches_are_divided_by_what_they_have_in_common() {
    // Each column three times: four centres reach twelve of 96 rows.
    let rows: Vec<Vec<(u32, f32)>> = (0..96).map(|at| vec![(at as u32 % 32, 1.0)]).collect();
    for (seed, starts) in
        (0..10).flat_map(|seed| [(seed, Starts::Random), (seed, Starts::PlusPlus)])
    {
        let found = cluster(&rows, Params { clusters: 4, starts, passes: 2, more_passes: 3 }, seed);
        assert!(sizes(&found).into_iter().all(|size| size < 72), "{:?}", sizes(&found));
        assert!((0..64).all(|at| found[at] == found[at + 32]), "equal rows stay together");
    }
}

#[test]
fn a_column_that_all_rows_have_does_not_keep_them_together() {
    for (seed, clusters) in (0..10).flat_map(|seed| [2, 4, 10].map(|clusters| (seed, clusters))) {
        let params = Params { clusters, starts: Starts::Random, passes: 2, more_passes: 3 };
        let found = cluster(&alike(93), params, seed);
        assert!(sizes(&found).into_iter().all(|size| size <= 75), "{:?}", sizes(&found));
        assert!((0..62).all(|at| found[at] == found[at + 31]), "equal rows stay together");
    }
}

#[test]
fn few_rows_that_no_centre_reaches_come_into_the_first_cluster() {
    let mut rows = vec![vec![(0, 1.0)]; 20];
    rows.extend(vec![vec![(1, 1.0)]; 20]);
    rows.push(vec![(2, 1.0)]);
    for seed in 0..20 {
        let params = Params { clusters: 2, starts: Starts::PlusPlus, passes: 2, more_passes: 0 };
        let found = cluster(&rows, params, seed);
        assert!(found[..40].contains(&found[40]) && found[40] < 2);
    }
}

proptest! {
    #[test]
    fn every_row_with_columns_has_a_cluster_and_equal_rows_the_same(
        rows in proptest::collection::vec(proptest::collection::btree_map(0u32..32, 0.1f32..1.0, 0..4), 1..80),
        clusters in 2usize..=LANES, passes in 1usize..4, seed in any::<u64>()) {
        let rows: Vec<Vec<(u32, f32)>> = rows.into_iter().map(Vec::from_iter).collect();
        for starts in [Starts::Random, Starts::PlusPlus] {
            let found = cluster(&rows, Params { clusters, starts, passes, more_passes: 2 }, seed);
            for (at, row) in rows.iter().enumerate() {
                prop_assert_eq!(found[at] == UNASSIGNED, row.is_empty());
                prop_assert!(found[at] == UNASSIGNED || usize::from(found[at]) < clusters);
                let equal = rows.iter().position(|other| other == row).unwrap();
                prop_assert_eq!(found[equal], found[at]);
            }
        }
    }
}
