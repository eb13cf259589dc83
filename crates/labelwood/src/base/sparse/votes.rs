//! Sums scores in such a way that their order does not matter.

use super::top_k::{Scored, top_k};
use std::cell::Cell;

/// Votes are counted in units of 2^-40.
const VOTE: f64 = (1u64 << 40) as f64;

/// Sums the votes of several voters for one row at a time.
///
/// Sums are whole numbers, so that any order of the votes, and any split of the voters, gives the
/// same sums.
pub(crate) struct Votes {
    sums: Vec<u64>,
    voted: Vec<u32>,
}

thread_local! {
    /// The last sums of this thread, reset to zero, to be reused: allocating the sums of many labels
    /// would take longer than the prediction of a single row.
    static REUSED: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

impl Votes {
    /// For labels below `labels`.
    pub(crate) fn new(labels: usize) -> Self {
        let mut sums = REUSED.take();
        if sums.len() != labels {
            sums = vec![0; labels];
        }
        Votes { sums, voted: Vec::new() }
    }

    /// A vote, which is not negative, in units of 2^-40.
    #[inline(always)]
    pub(crate) fn units(vote: f64) -> u64 {
        (vote * VOTE) as u64
    }

    /// Adds a vote in [`Votes::units`]; one for a label that does not exist is ignored.
    #[inline(always)]
    pub(crate) fn add(&mut self, label: u32, units: u64) {
        let Some(sum) = self.sums.get_mut(label as usize) else { return };
        if *sum == 0 {
            self.voted.push(label);
        }
        *sum = sum.wrapping_add(units);
    }

    /// The labels whose sums are not zero, in order, with their sums; resets all sums.
    pub(crate) fn take(&mut self) -> Vec<(u32, u64)> {
        let mut taken: Vec<(u32, u64)> = self.drain().collect();
        taken.sort_unstable();
        taken
    }

    fn drain(&mut self) -> impl Iterator<Item = (u32, u64)> {
        let sums = &mut self.sums;
        let taken = self.voted.drain(..).map(|id| (id, std::mem::take(&mut sums[id as usize])));
        // A label whose sum came back to zero is listed twice, but taken once.
        taken.filter(|&(_, sum)| sum > 0)
    }

    /// The best `k` labels with their mean over so many voters; resets all sums.
    pub(crate) fn best(&mut self, k: usize, voters: usize) -> Vec<Scored> {
        self.best_by(k, |_| voters)
    }

    /// The best `k` labels, each with its mean over its own number of voters; resets all sums.
    pub(crate) fn best_by(&mut self, k: usize, voters: impl Fn(u32) -> usize) -> Vec<Scored> {
        let mut scored = Vec::with_capacity(self.voted.len());
        scored.extend(self.drain().map(|(id, sum)| {
            let scale = 1.0 / (VOTE * voters(id) as f64);
            Scored { id, score: (sum as f64 * scale) as f32 }
        }));
        top_k(&mut scored, k);
        scored.shrink_to_fit();
        scored
    }

    /// The best `k` of so many labels that got votes, listed as often as somebody voted for them;
    /// `voters` says how many may vote for a label.
    pub(crate) fn best_of(
        labels: usize,
        votes: &[(u32, u64)],
        k: usize,
        voters: impl Fn(u32) -> usize,
    ) -> Vec<Scored> {
        let mut sums = Votes::new(labels);
        votes.iter().for_each(|&(label, units)| sums.add(label, units));
        sums.best_by(k, voters)
    }
}

impl Drop for Votes {
    fn drop(&mut self) {
        self.voted.iter().for_each(|&id| self.sums[id as usize] = 0);
        REUSED.set(std::mem::take(&mut self.sums));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_labels_have_the_mean_of_their_votes() {
        let mut votes = Votes::new(10);
        votes.add(7, Votes::units(0.5));
        votes.add(3, Votes::units(0.25));
        votes.add(7, Votes::units(1.0));
        let best = votes.best_by(5, |_| 2);
        assert_eq!(best, [(7, 0.75), (3, 0.125)].map(|(id, score)| Scored { id, score }));
    }

    #[test]
    fn sums_are_taken_once_in_the_order_of_labels() {
        let mut votes = Votes::new(10);
        for (label, units) in [(7, 2), (3, 1), (7, 2)] {
            votes.add(label, units);
        }
        assert_eq!(votes.take(), [(3, 1), (7, 4)]);
        assert_eq!(votes.take(), []);
    }

    #[test]
    fn votes_that_were_not_taken_do_not_reach_the_next_sums() {
        for labels in [10, 10, 5, 20] {
            let mut votes = Votes::new(labels);
            assert_eq!(votes.take(), []);
            votes.add(labels as u32 - 1, 7);
            votes.add(labels as u32, 7);
            assert_eq!(votes.voted.len(), 1, "of {labels} labels");
        }
    }

    #[test]
    fn two_sums_on_one_thread_are_independent() {
        let (mut one, mut other) = (Votes::new(4), Votes::new(4));
        one.add(1, 2);
        other.add(1, 3);
        assert_eq!((one.take(), other.take()), (vec![(1, 2)], vec![(1, 3)]));
    }
}
