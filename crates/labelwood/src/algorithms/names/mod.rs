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
mod explain;
mod counts;
mod params;

pub use params::Params;

use crate::algorithms::RowVotes;
use crate::base::sparse::{Query, RowsView, Scored, top_k};
use crate::text::Match;
use counts::Counts;
use half::f16;

/// What was counted in the training rows.
#[derive(Clone, Debug, PartialEq)]
struct Names {
    params: Params,
    /// Nothing where another worker has it.
    counts: Option<Counts>,
}

/// What is known of a label whose name is in a text. It is all that who combines votes needs: the counts
/// may be elsewhere.
struct Found {
    /// How the name was found.
    how: Match,
    /// The share of texts in which it was found so that have the label.
    share: f16,
    /// In how many training rows it was found, at most 65,535.
    seen: u16,
}

impl Found {
    /// As a vote.
    fn pack(&self) -> u64 {
        u64::from(self.how.pack())
            | u64::from(self.share.to_bits()) << 32
            | u64::from(self.seen) << 48
    }

    /// Of a vote; any number is one.
    fn unpack(vote: u64) -> Self {
        let share = f16::from_bits((vote >> 32) as u16);
        Found {
            how: Match::unpack(vote as u32),
            share: if share.is_nan() { f16::ZERO } else { share },
            seen: (vote >> 48) as u16,
        }
    }
}

impl Names {
    /// The labels whose names are in each row, with what is known of them.
    fn votes_of(&self, rows: RowsView<'_>, query: Query<'_>) -> Vec<RowVotes> {
        let Some((matches, counts)) = rows.matches.zip(self.counts.as_ref()) else {
            return vec![RowVotes::new(); rows.len()];
        };
        let vote = |(label, packed): (u32, u32)| {
            let how = Match::unpack(packed);
            let share = f16::from_f32(counts.share(label, how, self.params.smoothing));
            let seen = counts.found(label).min(u16::MAX.into()) as u16;
            (label, Found { how, share, seen }.pack())
        };
        let allowed = |(label, _): &(u32, u32)| query.allows(*label);
        let of_row = |row: usize| matches.row(row).iter().filter(allowed).map(vote);
        (0..rows.len()).map(|row| of_row(row).collect()).collect()
    }
}

/// The best labels of a row.
fn best(votes: &RowVotes, k: usize) -> Vec<Scored> {
    let scored =
        |&(id, vote): &(u32, u64)| Scored { id, score: Found::unpack(vote).share.to_f32() };
    let mut best: Vec<Scored> = votes.iter().map(scored).collect();
    top_k(&mut best, k);
    best
}

#[cfg(test)]
mod tests;
