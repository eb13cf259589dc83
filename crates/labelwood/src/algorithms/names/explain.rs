//! What a name in the text says for a label.

use super::{Found, Names};
use crate::algorithms::Algorithm;
use crate::algorithms::explain::{Evidence, Fact, Reasons};
use crate::base::sparse::{Query, RowsView};

impl Names {
    /// The reasons of each label for a row, the only one. Where the name stands in the text is known to who
    /// has the text.
    pub(super) fn reasons(
        &self,
        row: RowsView<'_>,
        labels: &[u32],
        query: Query<'_>,
    ) -> Vec<Reasons> {
        let votes = self.votes_of(row, query);
        let votes = votes.first().map_or(&[][..], Vec::as_slice);
        let part = self.params.name();
        let reasons = |label: &u32| {
            let Ok(at) = votes.binary_search_by_key(label, |vote| vote.0) else {
                return Reasons::none(part);
            };
            let Found { how, share, seen } = Found::unpack(votes[at].1);
            let (found, in_one_piece) = (u32::from(seen), how.is_phrase);
            let names = Evidence::Names { names: Vec::new(), found, in_one_piece };
            let mut own = Reasons::new(part, share.to_f32(), names);
            own.how = vec![
                Fact::new(format!("{part}: training rows with the name"), found),
                Fact::new(
                    format!(
                        "{part}: about as many of the rows where it was found so have the label"
                    ),
                    share.to_f32(),
                ),
            ];
            own
        };
        labels.iter().map(reasons).collect()
    }
}
