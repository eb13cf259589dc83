//! The two sides of a node, by hand and against the plainest way to find them.

use super::super::gains::discount;
use super::super::sides::{ROUNDS, Sides};
use super::*;
use crate::base::sparse::{Entries, OwnedEntries};

/// Rows of labels with their values.
fn labels(rows: &[Vec<(u32, f32)>]) -> OwnedEntries {
    let mut entries = OwnedEntries::with_capacity(0, 0);
    for row in rows {
        entries.columns.extend(row.iter().map(|entry| entry.0));
        entries.values.extend(row.iter().map(|entry| entry.1));
        entries.end_row();
    }
    entries
}

/// The places of all labels in the ranking of a side.
fn places(rows: Entries<'_>, is_second: &[bool], side: bool, columns: usize) -> Vec<usize> {
    let mut sums = vec![0.0f32; columns];
    for row in (0..is_second.len()).filter(|&row| is_second[row] == side) {
        let (labels, values) = rows.row(row as u32);
        labels.iter().zip(values).for_each(|(&label, value)| sums[label as usize] += value);
    }
    let mut ranking: Vec<usize> = (0..columns).collect();
    ranking.sort_by(|&one, &other| sums[other].total_cmp(&sums[one]));
    let mut places = vec![0; columns];
    ranking.iter().enumerate().for_each(|(place, &label)| places[label] = place);
    places
}

/// The discounted sum of a row's values in a ranking.
fn gain((labels, values): (&[u32], &[f32]), places: &[usize]) -> f32 {
    labels.iter().zip(values).map(|(&label, value)| value * discount(places[label as usize])).sum()
}

#[test]
fn rows_with_nothing_in_common_part() {
    let mut sides = Sides::default();
    let rows: Vec<Vec<(u32, f32)>> = (0..40).map(|row| vec![(row % 2, 1.0)]).collect();
    let rows = labels(&rows);
    let parted = (0..20).filter(|&seed| {
        let is_second = sides.divide(rows.view(), 2, &mut Stream::new(seed));
        (0..40).all(|row| is_second[row] == is_second[row % 2]) && is_second[0] != is_second[1]
    });
    // If one label is ahead on both sides at the start, the sides are equally good for all.
    assert!(parted.count() >= 5);
}

proptest! {
    #[test]
    fn the_sides_are_those_of_the_plainest_way(
        rows in prop::collection::vec(prop::collection::btree_map(0u32..12, 1u8..9, 0..5), 1..60), seed in any::<u64>(),
    ) {
        let rows: Vec<Vec<(u32, f32)>> = rows.into_iter()
            .map(|row| row.into_iter().map(|(label, value)| (label, f32::from(value) / 8.0)).collect()).collect();
        let entries = labels(&rows);
        let mut random = Stream::new(seed);
        let mut expected: Vec<bool> = rows.iter().map(|_| random.below(2) == 1).collect();
        for _ in 0..ROUNDS {
            let [first, second] = [false, true].map(|side| places(entries.view(), &expected, side, 12));
            let mut moved = 0;
            for (row, side) in (0..).zip(&mut expected) {
                let row = entries.view().row(row);
                let (first, second) = (gain(row, &first), gain(row, &second));
                // Sums in another order may differ in their last digits.
                prop_assume!(first == second || (first - second).abs() > 1e-4);
                let better = if first == second { *side } else { second > first };
                moved += usize::from(std::mem::replace(side, better) != better);
            }
            if moved * 20 <= rows.len() {
                break;
            }
        }
        let mut sides = Sides::default();
        sides.divide(entries.view(), 12, &mut Stream::new(seed ^ 1));
        prop_assert_eq!(sides.divide(entries.view(), 12, &mut Stream::new(seed)), &expected[..]);
    }
}
