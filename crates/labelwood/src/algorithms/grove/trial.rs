//! The trial of a grove: smaller parts are learned from nine tenths of the rows, and say what they think of
//! the others.

use super::answers::Answers;
use super::params::seconds;
use super::ranker::Ranker;
use super::{KNOWN, Params};
use crate::algorithms::{Interrupted, Learned, Settings, shares};
use crate::base::run::{Stage, Task};
use crate::base::sparse::{Query, Rows};
use crate::data::DatasetView;
use crate::learn::calibration::hold_out;

/// A tenth of the rows is held out, at most so many,
const MOST_HELD_OUT: usize = 10_000;
/// but of few rows up to a quarter, until there are so many: on fewer, much of what is learned is chance.
const ENOUGH: usize = 2500;

/// How the trial is told of; its last step learns the ranker.
const RANKING: Stage = Stage::Steps("ranker");
/// The share of the trial that is training and asking the parts.
const TRYING: f64 = 0.8;

/// How many of the rows are held out.
pub(super) fn held_out(rows: usize) -> usize {
    match rows {
        ..10 => 0,
        _ => (rows / 10).clamp((rows / 4).min(ENOUGH), MOST_HELD_OUT),
    }
}

/// What smaller parts say of rows that they were not learned from.
pub(super) struct Trial {
    /// The rows that were held out.
    pub held_out: Vec<usize>,
    /// How many of the other rows have each label.
    pub counts: Vec<u32>,
    /// Each part.
    pub parts: Vec<Tried>,
    rows: Rows,
    /// Which rows are held out follows from it.
    seed: u64,
}

/// A part that was tried.
pub(super) struct Tried {
    /// Its settings, with fewer trees.
    pub settings: Settings,
    /// What it says.
    pub answers: Answers,
    /// Its bytes.
    pub bytes: u64,
    /// What was learned, if fewer trees of it can say something, too.
    pub learned: Option<Learned>,
}

impl Trial {
    /// Tries smaller parts, unless there are too few rows to hold some out.
    pub(super) fn run(
        params: &Params,
        rows: DatasetView<'_>,
        task: &Task,
    ) -> Result<Option<Trial>, Interrupted> {
        let seed = params.parts[0].seed();
        let (held_out, rest) = hold_out(rows.len(), held_out(rows.len()), seed);
        if held_out.is_empty() || !params.learn_ranker {
            return Ok(None);
        }
        let (learned_from, rows) = (rows.select(&rest), rows.rows().select(&held_out));
        let counts = learned_from.labels.view().column_counts();
        let mut trial = Trial { held_out, counts, parts: Vec::new(), rows, seed };
        let steps = params.parts.len() as u64 + 1;
        let parts = params.reduced().parts;
        let costs = parts.iter().map(|part| seconds(part, learned_from.view())).collect();
        let shares = shares(costs, 0.0..TRYING);
        for ((settings, share), at) in parts.into_iter().zip(shares).zip(0..) {
            let task = &task.share(share).piece_of(RANKING, at, steps);
            task.progress(RANKING, 0, 1);
            let learned = Learned::from_rows(&settings, learned_from.view(), task)?;
            let answers = trial.ask(&learned, &settings, task)?;
            let bytes = learned.bytes();
            let learned = settings.facts().grows.map(|_| learned);
            trial.parts.push(Tried { settings, answers, bytes, learned });
        }
        task.share(0.0..TRYING).piece_of(RANKING, steps - 1, steps).progress(RANKING, 1, 1);
        Ok(Some(trial))
    }

    /// The trial of some of its parts, with no more trees; nothing if other rows would be held out for
    /// them.
    pub(super) fn narrowed(
        mut self,
        params: &Params,
        task: &Task,
    ) -> Result<Option<Trial>, Interrupted> {
        let mut parts = Vec::new();
        for settings in params.reduced().parts {
            let is_same = |part: &Tried| part.settings.name() == settings.name();
            let Some(at) = self.parts.iter().position(is_same) else { return Ok(None) };
            let trees = settings.size().first().map_or(1, |size| size.count);
            let fewer = self.ask_fewer(&self.parts[at], trees, task)?;
            let part = self.parts.remove(at);
            let answers = fewer.unwrap_or(part.answers);
            parts.push(Tried { settings, answers, ..part });
        }
        let is_same = params.parts[0].seed() == self.seed;
        Ok(is_same.then_some(Trial { parts, ..self }))
    }

    /// What fewer trees of a part say; nothing if it does not have more.
    pub(super) fn ask_fewer(
        &self,
        part: &Tried,
        trees: usize,
        task: &Task,
    ) -> Result<Option<Answers>, Interrupted> {
        let is_fewer = part.settings.size().first().is_some_and(|size| trees < size.count);
        let learned = part.learned.as_ref().filter(|_| is_fewer);
        learned.map(|learned| self.ask(learned, &part.settings.resized(&[trees]), task)).transpose()
    }

    fn ask(
        &self,
        learned: &Learned,
        settings: &Settings,
        task: &Task,
    ) -> Result<Answers, Interrupted> {
        let task = &task.quiet();
        let part = learned.open(settings, task)?;
        Ok(Answers::new(&*part, self.rows.view(), Query::top(KNOWN), task)?)
    }

    /// Learns the ranker of these parts, which are those of the trial with all their trees.
    pub(super) fn ranker(
        &self,
        parts: &[Settings],
        rows: DatasetView<'_>,
        task: &Task,
    ) -> Result<Ranker, Interrupted> {
        let said = |row| self.parts.iter().map(|part| part.answers.of_row(row)).collect();
        let rows = || self.truth(rows).enumerate().map(|(row, truth)| (said(row), truth));
        let steps = parts.len() as u64 + 1;
        let ranker = Ranker::learn(parts, rows(), &self.counts, task)?;
        let ranker = ranker.with_threshold(rows(), &self.counts);
        task.progress(RANKING, steps, steps);
        Ok(ranker)
    }

    /// The labels of the rows that were held out.
    pub(super) fn truth<'r>(
        &'r self,
        rows: DatasetView<'r>,
    ) -> impl ExactSizeIterator<Item = &'r [u32]> {
        self.held_out.iter().map(move |&row| rows.labels.row(row).indices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_of_few_rows_are_held_out() {
        let rows = [0, 9, 10, 1000, 9999, 10_000, 25_000, 40_000, 1_000_000];
        assert_eq!(rows.map(held_out), [0, 0, 2, 250, 2499, 2500, 2500, 4000, 10_000]);
    }
}
