//! The trial of a grove: smaller parts are learned from nine tenths of the rows, and say what they think of
//! the others.

use super::answers::Answers;
use super::{KNOWN, Params};
use crate::algorithms::{Interrupted, Learned, Settings};
use crate::base::run::{Stage, Task};
use crate::base::sparse::{Query, Rows};
use crate::data::DatasetView;
use crate::learn::calibration::hold_out;

/// What smaller parts say of rows that they were not learned from.
pub(super) struct Trial {
    /// The rows that were held out.
    pub held_out: Vec<usize>,
    /// How many of the other rows have each label.
    pub counts: Vec<u32>,
    /// Each part.
    pub parts: Vec<Tried>,
    rows: Rows,
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
        let (held_out, rest) = hold_out(rows.len(), params.parts[0].seed());
        if held_out.is_empty() || !params.learn_ranker {
            return Ok(None);
        }
        let (learned_from, rows) = (rows.select(&rest), rows.rows().select(&held_out));
        let counts = learned_from.labels.view().column_counts();
        let mut trial = Trial { held_out, counts, parts: Vec::new(), rows };
        let steps = params.parts.len() as u64 + 1;
        task.progress(Stage::Steps("ranker"), 0, steps);
        for (settings, at) in params.reduced().parts.into_iter().zip(1..) {
            let learned = Learned::from_rows(&settings, learned_from.view(), &task.quiet())?;
            let answers = trial.ask(&learned, &settings, task)?;
            let bytes = learned.bytes();
            let learned = settings.facts().grows.map(|_| learned);
            trial.parts.push(Tried { settings, answers, bytes, learned });
            task.progress(Stage::Steps("ranker"), at, steps);
        }
        Ok(Some(trial))
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

    /// The labels of the rows that were held out.
    pub(super) fn truth<'r>(
        &'r self,
        rows: DatasetView<'r>,
    ) -> impl ExactSizeIterator<Item = &'r [u32]> {
        self.held_out.iter().map(move |&row| rows.labels.row(row).indices)
    }
}
