//! What a part says of rows: its best labels, and the numbers that it has of them besides the scores.

use super::ranker::Said;
use crate::algorithms::{Predict, RowVotes};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{Predictions, Query, RowsView};

/// What a part says of some rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    lists: Predictions,
    /// As many of each label as the part has.
    numbers: Vec<f32>,
}

impl Answers {
    /// What a part says of these rows.
    pub(super) fn new(
        part: &dyn Predict,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Self, Stopped> {
        if part.settings().numbers().is_empty() {
            return Ok(Answers { lists: part.predict(rows, query, task)?, numbers: Vec::new() });
        }
        let (votes, voters) = (part.votes(rows, query, task)?, part.voters());
        let mut answers = Answers::default();
        for row in 0..rows.len() {
            let of_row: Vec<RowVotes> = votes.iter().map(|kind| kind[row].clone()).collect();
            answers.push(part, &of_row, &voters, query);
        }
        Ok(answers)
    }

    /// What a part says of one row, from the votes of all its members.
    pub(super) fn from_votes(
        part: &dyn Predict,
        votes: &[RowVotes],
        voters: &[Vec<u32>],
        query: Query<'_>,
    ) -> Self {
        let mut answers = Answers::default();
        answers.push(part, votes, voters, query);
        answers
    }

    fn push(
        &mut self,
        part: &dyn Predict,
        votes: &[RowVotes],
        voters: &[Vec<u32>],
        query: Query<'_>,
    ) {
        let list = part.combine(votes, voters, query);
        self.numbers.extend(part.numbers_of(votes, &list));
        self.lists.push_row(&list);
    }

    /// What it says of one of the rows.
    pub(super) fn of_row(&self, row: usize) -> Said<'_> {
        let places = self.lists.places(row);
        let each = self.numbers.len() / self.labels().max(1);
        let numbers = &self.numbers[places.start * each..places.end * each];
        Said { list: self.lists.row(row), numbers }
    }

    /// How many labels it names in all.
    fn labels(&self) -> usize {
        self.lists.len().checked_sub(1).map_or(0, |last| self.lists.places(last).end)
    }
}
