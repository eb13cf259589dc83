//! Selects the best of many scores, always in the same order.

use std::cmp::Ordering;
use std::ops::Range;

/// A label (or any id) with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// The label.
    pub id: u32,
    /// Its score; higher is better.
    pub score: f32,
}

/// The order of every ranking: higher score first, then lower id.
pub(crate) fn best_first(left: &Scored, right: &Scored) -> Ordering {
    right.score.total_cmp(&left.score).then(left.id.cmp(&right.id))
}

/// Cuts `scored` down to its best `k`, best first.
///
/// ```
/// use labelwood::sparse::{Scored, top_k};
/// let mut scored = vec![(3, 0.5), (1, 0.9), (2, 0.5)].into_iter().map(|(id, score)| Scored { id, score }).collect();
/// top_k(&mut scored, 2);
/// assert_eq!(scored.iter().map(|best| best.id).collect::<Vec<_>>(), [1, 2]);
/// ```
pub fn top_k(scored: &mut Vec<Scored>, k: usize) {
    if k == 0 {
        return scored.clear();
    }
    if scored.len() > k {
        scored.select_nth_unstable_by(k - 1, best_first);
        scored.truncate(k);
    }
    scored.sort_unstable_by(best_first);
}

/// The labels predicted for each row, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    offsets: Vec<u64>,
    scored: Vec<Scored>,
}

impl Default for Predictions {
    fn default() -> Self {
        Predictions { offsets: vec![0], scored: Vec::new() }
    }
}

impl Predictions {
    /// Appends the predictions of one row, which must be in best first order.
    pub fn push_row(&mut self, scored: &[Scored]) {
        debug_assert!(scored.is_sorted_by(|left, right| best_first(left, right).is_lt()));
        self.push_ranked(scored);
    }

    /// Appends the predictions of one row in an order of their own, not in best first order.
    pub fn push_ranked(&mut self, scored: &[Scored]) {
        self.scored.extend_from_slice(scored);
        self.offsets.push(self.scored.len() as u64);
    }

    /// Appends all rows of `other`.
    pub fn append(&mut self, other: &Predictions) {
        let start = self.scored.len() as u64;
        self.scored.extend_from_slice(&other.scored);
        self.offsets.extend(other.offsets[1..].iter().map(|at| start + at));
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of the arrays.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.scored[..]) + size_of_val(&self.offsets[..])
    }

    /// The predictions of one row, best first.
    pub fn row(&self, row: usize) -> &[Scored] {
        &self.scored[self.places(row)]
    }

    /// The places of a row's labels among those of all rows.
    pub(crate) fn places(&self, row: usize) -> Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    /// All rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[Scored]> + Clone {
        (0..self.len()).map(|row| self.row(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_to_the_lower_id() {
        let mut scored: Vec<Scored> = [5, 2, 9].map(|id| Scored { id, score: 1.0 }).into();
        top_k(&mut scored, 2);
        assert_eq!(scored.iter().map(|best| best.id).collect::<Vec<_>>(), [2, 5]);
    }

    proptest! {
        #[test]
        fn selection_equals_a_full_sort(scores in proptest::collection::vec(0u8..6, 0..40), k in 0usize..12) {
            let mut scored: Vec<Scored> =
                scores.iter().enumerate().map(|(id, &score)| Scored { id: id as u32, score: f32::from(score) }).collect();
            let mut expected = scored.clone();
            expected.sort_by(best_first);
            expected.truncate(k);
            top_k(&mut scored, k);
            prop_assert_eq!(scored, expected);
        }
    }
}
