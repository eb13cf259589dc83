//! Why a label has its score: what its leaves say, as with CRAFTML, and what rare labels and means add.

use super::FastXml;
use crate::algorithms::explain::{Evidence, Fact, Reasons};
use crate::algorithms::{Algorithm, RowVotes};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{Query, RowsView};

impl FastXml {
    /// The reasons of each label for a row, the only one.
    pub(super) fn reasons(
        &self,
        row: RowsView<'_>,
        labels: &[u32],
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Reasons>, Stopped> {
        let part = self.params.name();
        let mut reasons = self.forest.reasons(part, row.features, labels, query, task)?;
        let query = Query { k: self.counts.len(), allowed: None, ..query };
        let kinds = self.all_votes(row, query, task)?;
        let votes: Vec<RowVotes> = kinds.into_iter().map(|mut kind| kind.swap_remove(0)).collect();
        let ranked = self.ranked(&votes, query);
        for (own, &label) in reasons.iter_mut().zip(labels) {
            if own.evidence == Evidence::None {
                continue;
            }
            if let Some(found) = ranked.iter().find(|found| found.id == label) {
                own.score = found.score;
            }
            if let Some(&gain) = self.gains.get(label as usize).filter(|&&gain| gain != 1.0) {
                own.how.push(Fact::new(format!("{part}: what a rare label gains, times"), gain));
            }
            let said = votes.get(1).and_then(|said| said.iter().find(|said| said.0 == label));
            if let Some(&(_, bits)) = said {
                let nearness = libm::exp(f64::from(f32::from_bits(bits as u32)));
                let share = self.params.tail_share;
                let what =
                    format!("{part}: nearness to the label's mean row, to the power {share}");
                own.how.push(Fact::new(what, nearness));
            }
        }
        Ok(reasons)
    }
}
