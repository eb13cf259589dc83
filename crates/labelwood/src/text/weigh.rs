//! Weights: from counts of terms to a row of length one.

use super::params::Params;

/// Counts whose logarithm is looked up.
const FEW: usize = 64;

/// The weight of each term: the fewer documents have it, the larger.
///
/// Weights are at least 1. A column that no document has can only come from hashing; it weighs as
/// if one had it.
pub(super) fn idf(params: &Params, documents: usize, counts: &[u32]) -> Vec<f32> {
    let more = f64::from(u8::from(params.smooth_idf));
    let all = documents as f64 + more;
    let weight = |&count: &u32| {
        let with_term = (f64::from(count) + more).max(1.0);
        (libm::log((all / with_term).max(1.0)) + 1.0) as f32
    };
    counts.iter().map(weight).collect()
}

/// Turns the counts of a row into weights.
pub(super) struct Weigher<'a> {
    is_sublinear: bool,
    /// The weight of each column; empty if all weigh the same.
    idf: &'a [f32],
    /// 1 + ln(count) of small counts, from 1.
    small: [f64; FEW],
    weights: Vec<f64>,
}

/// A column and its count in one number, which sorts by the column.
#[inline]
pub(super) fn entry(column: u32, count: u32) -> u64 {
    (u64::from(column) << 32) | u64::from(count)
}

impl<'a> Weigher<'a> {
    pub(super) fn new(params: &Params, idf: &'a [f32]) -> Self {
        let small = std::array::from_fn(|at| 1.0 + libm::log((at + 1) as f64));
        Weigher { is_sublinear: params.sublinear_tf, idf, small, weights: Vec::new() }
    }

    /// Calls `take` with position, column and value of each entry of a row. Entries must be sorted.
    #[inline]
    pub(super) fn weigh(&mut self, entries: &[u64], mut take: impl FnMut(usize, u32, f32)) {
        self.weights.clear();
        let mut squares = 0.0;
        for &entry in entries {
            let weight = self.weight((entry >> 32) as usize, entry as u32);
            squares += weight * weight;
            self.weights.push(weight);
        }
        let length = squares.sqrt();
        for (at, (&entry, &weight)) in entries.iter().zip(&self.weights).enumerate() {
            let value = (weight / length) as f32;
            // Weights are positive, unless their file changed after it was checked.
            take(at, (entry >> 32) as u32, if value.is_finite() { value } else { 0.0 });
        }
    }

    #[inline]
    fn weight(&self, column: usize, count: u32) -> f64 {
        let frequency = match self.is_sublinear {
            false => f64::from(count),
            true => match self.small.get((count as usize).wrapping_sub(1)) {
                Some(&known) => known,
                None => 1.0 + libm::log(f64::from(count)),
            },
        };
        if self.idf.is_empty() { frequency } else { frequency * f64::from(self.idf[column]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighed(params: &Params, idf: &[f32], entries: &[u64]) -> Vec<(u32, f32)> {
        let mut row = Vec::new();
        Weigher::new(params, idf).weigh(entries, |_, column, value| row.push((column, value)));
        row
    }

    #[test]
    fn weights_follow_the_settings() {
        let plain = Params { sublinear_tf: false, idf: false, ..Params::default() };
        assert_eq!(weighed(&plain, &[], &[entry(2, 3), entry(7, 4)]), [(2, 0.6), (7, 0.8)]);
        assert_eq!(weighed(&plain, &[4.0, 1.5], &[entry(0, 1), entry(1, 2)]), [(0, 0.8), (1, 0.6)]);
        let row = weighed(&Params::default(), &[], &[entry(0, 1), entry(1, 100)]);
        let ratio = f64::from(row[1].1 / row[0].1);
        assert!((ratio - (1.0 + 100f64.ln())).abs() < 1e-6);
        assert!(weighed(&plain, &[], &[]).is_empty());
    }

    #[test]
    fn weights_that_became_nonsense_give_numbers_all_the_same() {
        let entries = [entry(0, 1), entry(1, 2)];
        for nonsense in [0.0, f32::NAN, f32::INFINITY] {
            let row = weighed(&Params::default(), &[nonsense; 2], &entries);
            assert_eq!(row, [(0, 0.0), (1, 0.0)]);
        }
    }

    #[test]
    fn idf_is_one_and_more() {
        let params = Params::default();
        let smooth = idf(&params, 3, &[3, 1, 0]);
        assert_eq!(smooth[0], 1.0);
        assert!((smooth[1] - (1.0 + 2f32.ln())).abs() < 1e-6);
        let rough = idf(&Params { smooth_idf: false, ..params }, 3, &[3, 1, 0]);
        assert_eq!(rough[0], 1.0);
        assert_eq!(rough[1], 1.0 + 3f32.ln());
        assert_eq!(rough[2], rough[1]);
        assert_eq!(idf(&Params::default(), 0, &[0]), [1.0]);
    }
}
