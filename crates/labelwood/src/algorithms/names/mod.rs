//! Names: the labels whose names are in a text, ranked by how often that was right before.
//!
//! Where a text has the name of a label (see [`text::Matcher`](crate::text::Matcher)), the label may
//! fit. How likely it does is counted in the training rows: `art` is in many titles that are about
//! something else, `art history` in few. Before any row has been seen, a name of several words in one
//! piece is trusted most. So labels without a single row can be found, and a model without training
//! rows works.
//!
//! How a name was found says more than a share can: where it stands, how long the text is. A
//! grove's ranker is told these numbers (`Algorithm::numbers`).

mod algorithm;
mod counts;
mod params;

pub use params::Params;

use crate::algorithms::RowVotes;
use crate::base::sparse::{Query, RowsView, Scored, top_k};
use crate::text::Match;
use counts::Counts;

/// What was counted in the training rows.
#[derive(Clone, Debug, PartialEq)]
struct Names {
    params: Params,
    /// Nothing where another worker has it.
    counts: Option<Counts>,
}

impl Names {
    /// The labels whose names are in each row, with how they were found.
    fn votes_of(&self, rows: RowsView<'_>, query: Query<'_>) -> Vec<RowVotes> {
        let Some((matches, _)) = rows.matches.zip(self.counts.as_ref()) else {
            return vec![RowVotes::new(); rows.len()];
        };
        let allowed = |(label, _): &(u32, u32)| query.allows(*label);
        let of_row = |row: usize| matches.row(row).iter().filter(allowed);
        let votes = |row| of_row(row).map(|(label, found)| (label, found.into())).collect();
        (0..rows.len()).map(votes).collect()
    }

    /// The best labels of a row.
    fn best(&self, votes: &RowVotes, k: usize) -> Vec<Scored> {
        let Some(counts) = &self.counts else { return Vec::new() };
        let scored = |&(id, found): &(u32, u64)| Scored {
            id,
            score: counts.share(id, Match::unpack(found as u32), self.params.smoothing),
        };
        let mut best: Vec<Scored> = votes.iter().map(scored).collect();
        top_k(&mut best, k);
        best
    }
}

#[cfg(test)]
mod tests;
