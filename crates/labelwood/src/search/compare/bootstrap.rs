//! Paired bootstrap: how sums over rows vary from one draw of rows to another.

use crate::base::random::{Stream, derive};
use crate::base::run::{Stopped, Task};
use rayon::prelude::*;

/// Draws of the rows.
pub(super) const RESAMPLES: usize = 2000;
/// Rows, or groups of rows, that are drawn from: more tell hardly more, and take longer.
const GROUPS: usize = 10_000;
/// What the rows are drawn for.
const DRAWING: u64 = 0x626f_6f74;

/// For each of [`RESAMPLES`] draws of as many rows as there are, with replacement, the sum of the rows
/// drawn; a row has `width` values. The draws are the same for all values of a row, so that differences
/// between them are paired.
///
/// More than [`GROUPS`] rows are put into groups first, each row in turn into the next group: sums of
/// groups vary as those of rows do.
pub(super) fn resampled(
    rows: &[f64],
    width: usize,
    seed: u64,
    task: &Task,
) -> Result<Vec<Vec<f64>>, Stopped> {
    let groups = (rows.len() / width).min(GROUPS);
    let mut grouped = vec![0.0; groups * width];
    for (at, row) in rows.chunks_exact(width).enumerate() {
        let group = at % groups;
        add(&mut grouped[group * width..(group + 1) * width], row);
    }
    let seed = derive(seed, DRAWING);
    task.install(|| {
        (0..RESAMPLES)
            .into_par_iter()
            .map(|number| {
                task.check()?;
                let mut stream = Stream::new(derive(seed, number as u64));
                let mut sums = vec![0.0; width];
                for _ in 0..groups {
                    let drawn = stream.below(groups);
                    add(&mut sums, &grouped[drawn * width..(drawn + 1) * width]);
                }
                Ok(sums)
            })
            .collect()
    })
}

fn add(sums: &mut [f64], row: &[f64]) {
    sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
}

/// The values below and above which the share `tail` of some values lies.
pub(super) fn bounds(mut values: Vec<f64>, tail: f64) -> (f64, f64) {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len() - 1;
    let below = (tail * last as f64).floor() as usize;
    (values[below], values[last - below])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;

    #[test]
    fn bounds_leave_out_as_much_on_both_sides() {
        let values: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        assert_eq!(bounds(values.clone(), 0.025), (2.0, 98.0));
        assert_eq!(bounds(values, 0.0), (0.0, 100.0));
        assert_eq!(bounds(vec![4.0], 0.025), (4.0, 4.0));
    }

    #[test]
    fn draws_are_the_same_for_all_values_of_a_row_and_on_any_threads() {
        let rows: Vec<f64> =
            (0..50).flat_map(|row| [f64::from(row), 2.0 * f64::from(row), 1.0]).collect();
        let draw = |threads| resampled(&rows, 3, 7, &Pool::new(threads).unwrap().task()).unwrap();
        let sums = draw(1);
        assert_eq!(sums, draw(3));
        assert_eq!(sums.len(), RESAMPLES);
        assert!(sums.iter().all(|sum| sum[1] == 2.0 * sum[0] && sum[2] == 50.0));
        assert!(sums[0] != sums[1]);
    }

    #[test]
    fn the_spread_of_means_is_their_standard_error() {
        // Rows of 0 and 1, and so many that they are put into groups.
        for count in [400, 40_000] {
            let rows: Vec<f64> = (0..count as u64)
                .map(|row| f64::from(u8::from(derive(1, row).is_multiple_of(4))))
                .collect();
            let mean = rows.iter().sum::<f64>() / count as f64;
            let error = (mean * (1.0 - mean) / count as f64).sqrt();
            let task = Pool::new(2).unwrap().task();
            let sums = resampled(&rows, 1, 3, &task).unwrap();
            let means: Vec<f64> = sums.iter().map(|sum| sum[0] / count as f64).collect();
            let (low, high) = bounds(means, 0.025);
            assert!(
                ((high - low) / (2.0 * 1.96 * error) - 1.0).abs() < 0.1,
                "{count}: {low} {high}"
            );
            assert!(low < mean && mean < high);
        }
    }
}
