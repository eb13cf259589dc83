//! The rows nearest to a row, exactly.
//!
//! Rows are taken block after block, in order. In each block the products of the row's features with
//! those of the training rows are added up, feature after feature, in an array that fits into the
//! processor's cache, and the best sums are kept. The products are whole numbers, so that no order of
//! features matters; ties go to the lower row, since rows come in order and must be better than those
//! that are kept.
//!
//! An entry takes 0.6 ns this way. Leaving aside the features that cannot bring a row near enough, as
//! MaxScore does (Turtle and Flood, 1995), took up to three times as long on all public sets that were
//! tried: looking a row up among those of a feature costs as much as adding up fifty entries.

use super::index::{Index, Postings, number, stored};
use crate::base::run::{Stopped, Task};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many rows make a block; a power of two.
const BLOCK: usize = 1 << 14;
/// How many sums are compared at once.
const TOGETHER: usize = 64;

/// A training row that is near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Neighbour {
    /// The cosine, in units of [`ONE`](super::index::ONE) squared; more than 0.
    pub score: i32,
    /// The row.
    pub row: u32,
}

/// Searches an index; one for each thread.
pub(super) struct Searcher<'a> {
    index: &'a Index,
    /// The sums of a block's rows, which are 0 between blocks.
    sums: Box<[i32; BLOCK]>,
}

/// A feature of the row whose neighbours are looked for.
struct Term<'a> {
    /// The row's value.
    weight: i32,
    /// The rows that have it and are not passed.
    postings: Postings<'a>,
}

/// The nearest rows so far, at most so many.
struct Nearest {
    wanted: usize,
    /// What a row must have more of to be among them.
    bar: i32,
    /// The worst on top.
    rows: BinaryHeap<(Reverse<i32>, u32)>,
}

impl<'a> Searcher<'a> {
    /// Searches this index.
    pub(super) fn new(index: &'a Index) -> Self {
        Searcher { index, sums: Box::new([0; BLOCK]) }
    }

    /// The index.
    pub(super) fn index(&self) -> &'a Index {
        self.index
    }

    /// The so many rows with the largest cosines above 0, best first and then in order. The columns
    /// are in order, the length of the row is 1.
    pub(super) fn nearest(
        &mut self,
        columns: &[u32],
        values: &[f32],
        wanted: usize,
        task: &Task,
    ) -> Result<Vec<Neighbour>, Stopped> {
        let mut terms = Vec::with_capacity(columns.len());
        self.index.each_postings(columns, |position, postings| {
            let weight = i32::from(stored(values[position]));
            if weight != 0 {
                terms.push(Term { weight, postings });
            }
        });
        let mut nearest = Nearest { wanted, bar: 0, rows: BinaryHeap::new() };
        for block in (0..self.index.rows()).step_by(BLOCK) {
            task.check()?;
            let mut any = false;
            for term in &mut terms {
                any |= self.add(term, block + BLOCK);
            }
            if any {
                self.collect(block, &mut nearest);
            }
        }
        let found = nearest.rows.into_sorted_vec().into_iter();
        Ok(found.map(|(Reverse(score), row)| Neighbour { score, row }).collect())
    }

    /// Adds the products of a feature with the rows before `end` that were not passed, and passes
    /// them; says whether there are any.
    fn add(&mut self, term: &mut Term<'_>, end: usize) -> bool {
        let Term { weight, postings } = term;
        let (rows, values) = postings.split_off(end);
        for (&row, &value) in rows.iter().zip(values) {
            // Wraps in forged models alone: the product of two rows of length 1 is at most 1.
            let sum = &mut self.sums[row as usize % BLOCK];
            *sum = sum.wrapping_add(*weight * number(value));
        }
        !rows.is_empty()
    }

    /// Takes the best rows of a block and resets the sums.
    fn collect(&mut self, block: usize, nearest: &mut Nearest) {
        for (at, sums) in self.sums.chunks_exact_mut(TOGETHER).enumerate() {
            let bar = nearest.bar;
            if sums.iter().fold(false, |any, &sum| any | (sum > bar)) {
                let rows = (block + at * TOGETHER) as u32..;
                for (row, &score) in rows.zip(sums.iter()) {
                    if score > nearest.bar {
                        nearest.push(Neighbour { score, row });
                    }
                }
            }
            sums.fill(0);
        }
    }
}

impl Nearest {
    /// Takes a row that is above the bar; rows come in order.
    fn push(&mut self, Neighbour { score, row }: Neighbour) {
        if self.rows.len() == self.wanted {
            self.rows.pop();
        }
        self.rows.push((Reverse(score), row));
        if let Some(&(Reverse(worst), _)) = self.rows.peek()
            && self.rows.len() == self.wanted
        {
            self.bar = worst;
        }
    }
}
