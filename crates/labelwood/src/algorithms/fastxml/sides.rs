//! Dividing rows into two sides by the labels that they share.

use super::gains::discount;
use crate::base::random::Stream;
use crate::base::sparse::Entries;

/// Rounds at most. Each makes the rankings better, so they would end by themselves, but the last ones move
/// few rows.
pub(super) const ROUNDS: usize = 10;

/// The rounds end when only one of so many rows moves, or fewer.
const SETTLED: usize = 20;

/// Memory that is reused from node to node.
#[derive(Default)]
pub(super) struct Sides {
    /// Whether each row is on the second side.
    is_second: Vec<bool>,
    /// By label, the sum of its values in the rows of either side.
    sums: [Vec<f32>; 2],
    /// The labels of a side, the best first, each below the bits of its sum.
    ranking: Vec<u64>,
    /// By label, its discount on the second side less that on the first.
    difference: Vec<f32>,
    /// The discounts of all places.
    discounts: Vec<f32>,
}

impl Sides {
    /// Divides rows so that both sides rank the labels of their rows well, and says which are on the second
    /// side.
    ///
    /// Rows start on either side at random. Each side ranks labels by their values in its rows; each
    /// row goes to the side whose ranking gives its own labels the larger discounted sum of values, and
    /// stays where it is if both are as good. That goes on until hardly any moves.
    pub(super) fn divide(
        &mut self,
        labels: Entries<'_>,
        columns: usize,
        random: &mut Stream,
    ) -> &[bool] {
        let rows = labels.offsets.len() - 1;
        self.is_second.clear();
        self.is_second.extend((0..rows).map(|_| random.below(2) == 1));
        self.discounts.extend((self.discounts.len()..columns).map(discount));
        self.difference.clear();
        self.difference.resize(columns, 0.0);
        for _ in 0..ROUNDS {
            self.rank(labels, columns);
            if !self.move_rows(labels) {
                break;
            }
        }
        &self.is_second
    }

    /// Ranks the labels of both sides.
    fn rank(&mut self, labels: Entries<'_>, columns: usize) {
        for sums in &mut self.sums {
            sums.clear();
            sums.resize(columns, 0.0);
        }
        for (row, &is_second) in (0..).zip(&self.is_second) {
            let sums = &mut self.sums[usize::from(is_second)];
            let (columns, values) = labels.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                sums[column as usize] += value;
            }
        }
        self.difference.fill(0.0);
        for (sums, sign) in self.sums.iter().zip([-1.0, 1.0]) {
            // Sums are not negative, so that their bits are in their order; of equal ones the first label
            // comes first.
            let key =
                |(label, sum): (u32, &f32)| u64::from(!sum.to_bits()) << 32 | u64::from(label);
            self.ranking.clear();
            self.ranking.extend((0..).zip(sums).map(key));
            self.ranking.sort_unstable();
            for (&key, discount) in self.ranking.iter().zip(&self.discounts) {
                self.difference[key as u32 as usize] += sign * discount;
            }
        }
    }

    /// Moves each row to the side that is better for it; whether more than a few moved.
    fn move_rows(&mut self, labels: Entries<'_>) -> bool {
        let mut moved = 0;
        for (row, is_second) in (0..).zip(&mut self.is_second) {
            let (columns, values) = labels.row(row);
            let gains = columns.iter().zip(values);
            let gain: f32 =
                gains.map(|(&column, value)| self.difference[column as usize] * value).sum();
            let better = if *is_second { gain >= 0.0 } else { gain > 0.0 };
            moved += usize::from(better != *is_second);
            *is_second = better;
        }
        moved * SETTLED > self.is_second.len()
    }
}
