//! How sums over rows vary from one draw of rows to another, as many as there are, with replacement.
//!
//! Draws are the same for all values of a row, so that differences between them are paired. Many rows are
//! put into groups first, each row in turn into the next group, and groups are drawn: their sums vary as
//! those of rows do, and the work is bounded.

use crate::base::random::{Stream, derive};

/// The most groups that rows are put into: more tell hardly more, and take longer.
const GROUPS: usize = 4096;
/// What the rows are drawn for.
const DRAWING: u64 = 0x626f_6f74;

/// Rows to draw from.
pub(crate) struct Bootstrap {
    /// The sums of each group, `width` of them.
    groups: Vec<f64>,
    width: usize,
    seed: u64,
}

impl Bootstrap {
    /// For so many rows, each with `width` values.
    pub(crate) fn new(rows: usize, width: usize, seed: u64) -> Self {
        let groups = vec![0.0; rows.min(GROUPS) * width];
        Bootstrap { groups, width, seed: derive(seed, DRAWING) }
    }

    /// Adds the values of a row.
    pub(crate) fn add(&mut self, row: usize, values: &[f64]) {
        let start = row * self.width % self.groups.len();
        add(&mut self.groups[start..start + self.width], values);
    }

    /// The sums of the draw of this number.
    pub(crate) fn draw(&self, number: usize) -> Vec<f64> {
        let mut stream = Stream::new(derive(self.seed, number as u64));
        let mut sums = vec![0.0; self.width];
        let groups = self.groups.len() / self.width;
        for _ in 0..groups {
            let start = stream.below(groups) * self.width;
            add(&mut sums, &self.groups[start..start + self.width]);
        }
        sums
    }
}

fn add(sums: &mut [f64], values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

/// The values below and above which the share `tail` of some values lies.
pub(crate) fn bounds(mut values: Vec<f64>, tail: f64) -> (f64, f64) {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len() - 1;
    let below = (tail * last as f64).floor() as usize;
    (values[below], values[last - below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_leave_out_as_much_on_both_sides() {
        let values: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        assert_eq!(bounds(values.clone(), 0.025), (2.0, 98.0));
        assert_eq!(bounds(values, 0.0), (0.0, 100.0));
        assert_eq!(bounds(vec![4.0], 0.025), (4.0, 4.0));
    }

    #[test]
    fn draws_are_the_same_for_all_values_of_a_row() {
        let mut rows = Bootstrap::new(50, 3, 7);
        (0..50).for_each(|row| rows.add(row, &[row as f64, 2.0 * row as f64, 1.0]));
        let sums: Vec<Vec<f64>> = (0..100).map(|number| rows.draw(number)).collect();
        assert!(sums.iter().all(|sum| sum[1] == 2.0 * sum[0] && sum[2] == 50.0));
        assert!(sums[0] != sums[1] && sums[0] == rows.draw(0));
    }

    #[test]
    fn the_spread_of_means_is_their_standard_error() {
        // Rows of 0 and 1, and so many that they are put into groups.
        for count in [400, 4 * GROUPS] {
            let mut rows = Bootstrap::new(count, 1, 3);
            let value = |row: usize| f64::from(u8::from(derive(1, row as u64).is_multiple_of(4)));
            (0..count).for_each(|row| rows.add(row, &[value(row)]));
            let mean = (0..count).map(value).sum::<f64>() / count as f64;
            let error = (mean * (1.0 - mean) / count as f64).sqrt();
            let (low, high) = bounds(
                (0..2000).map(|number| rows.draw(number)[0] / count as f64).collect(),
                0.025,
            );
            assert!(
                ((high - low) / (2.0 * 1.96 * error) - 1.0).abs() < 0.1,
                "{count}: {low} {high}"
            );
            assert!(low < mean && mean < high);
        }
    }
}
