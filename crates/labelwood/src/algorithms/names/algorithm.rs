//! Names behind the traits of the registry: one unit, the counts.

use super::counts::Counts;
use super::{Found, Names, Params, best};
use crate::algorithms::explain::Reasons;
use crate::algorithms::{
    Algorithm, Cost, Costs, Facts, Interrupted, NewRows, OpenUnit, Predict, Role, RowVotes,
    Settings, Train, Trained, UnitSink, UnitSpec, Updates, count_units,
};
use crate::base::run::{Estimate, Stopped, Task};
use crate::base::settings::{ParamError, Setting};
use crate::base::sparse::{Csr, Predictions, Query, RowsView, Scored};
use crate::base::store::{FormatError, StoreError};
use crate::data::{DatasetView, NamedView};
use crate::learn::favour::Scores;
use serde_json::{Value, json};

/// The only unit, and the only member.
const COUNTS: &str = "counts";
/// What a ranker is told of a label besides its score.
const NUMBERS: [&str; 7] =
    ["words_of_name", "times", "in_one_piece", "position", "words_of_text", "found", "matches"];
/// Rows that are predicted together.
const BLOCK: usize = 49_152;
/// Seconds of a name that was found.
const FIND: f64 = 1e-8;

impl Algorithm for Params {
    fn name(&self) -> &'static str {
        "names"
    }

    fn about(&self) -> &'static str {
        "the labels whose names are in a text"
    }

    fn table(&self) -> Vec<Setting> {
        Params::table()
    }

    fn presets(&self) -> Vec<(&'static str, Settings)> {
        vec![("default", Params::default().into())]
    }

    fn facts(&self) -> Facts {
        Facts {
            scores: Scores::Probabilities,
            is_calibrated: false,
            grows: None,
            units: "indexes",
            updates: Updates::Always(None),
            reads_names: true,
            needs_rows: false,
            tried_up_to: 0,
            judges: false,
        }
    }

    fn check(&self) -> Result<(), ParamError> {
        self.check_values()
    }

    fn resolve(&self, _rows: DatasetView<'_>) -> Settings {
        self.clone().into()
    }

    fn numbers(&self) -> &'static [&'static str] {
        &NUMBERS
    }

    fn estimate(&self, rows: DatasetView<'_>, _threads: usize) -> Estimate {
        let model = 8 * rows.labels.columns() as u64;
        let matches = rows.named.map_or(0, |named| named.matches.entries() as u64 * 8);
        Estimate { memory: model + matches, model }
    }

    fn members(&self, _labels: usize) -> usize {
        1
    }

    fn member(&self, unit: &str, _labels: usize) -> Option<usize> {
        (unit == COUNTS).then_some(0)
    }

    fn units(&self, _labels: usize, _open: &OpenUnit<'_>) -> Result<Vec<UnitSpec>, StoreError> {
        Ok(vec![UnitSpec::new(COUNTS, Role::Learned)])
    }

    fn costs(&self, units: &[UnitSpec], rows: DatasetView<'_>, threads: usize) -> Costs {
        let found = rows.named.map_or(0, |named| named.matches.entries());
        let memory = self.estimate(rows, threads).memory;
        let cost = Cost { seconds: FIND * found as f64, memory };
        Costs { units: vec![cost; units.len()], below: Cost::default() }
    }

    fn prepare<'a>(
        &self,
        rows: DatasetView<'a>,
        _task: &Task,
    ) -> Result<Box<dyn Train + 'a>, Interrupted> {
        self.check_values()?;
        let named = rows.named.ok_or_else(|| {
            let expected = "another one: the rows are no texts, or their labels have no names";
            ParamError::new("algorithm", self.name(), expected)
        })?;
        Ok(Box::new(Trainer { params: self.clone(), rows, named }))
    }

    fn open(&self, trained: &Trained<'_>) -> Result<Box<dyn Predict>, FormatError> {
        let read = |_| Counts::read(trained.stored.unit(COUNTS)?);
        let counts = trained.members.clone().next().map(read).transpose()?;
        Ok(Box::new(Names { params: self.clone(), counts }))
    }
}

/// Rows to be counted.
struct Trainer<'a> {
    params: Params,
    rows: DatasetView<'a>,
    named: NamedView<'a>,
}

impl Train for Trainer<'_> {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    fn train(&self, units: &UnitSink<'_>, task: &Task) -> Result<(), Interrupted> {
        let count = count_units("indexes", 0, 1, task);
        if units.lacks(COUNTS) {
            task.check()?;
            let counts = Counts::new(self.named.matches, self.rows.labels);
            units.write(COUNTS, &counts.arrays())?;
        }
        count();
        Ok(())
    }
}

impl Predict for Names {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    fn predict(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        task.predict_blocks(rows, BLOCK, |rows| {
            task.check()?;
            let mut predictions = Predictions::default();
            let votes = self.votes_of(rows, query);
            votes.iter().for_each(|row| predictions.push_row(&best(row, query.k)));
            Ok(predictions)
        })
    }

    fn votes(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<RowVotes>>, Stopped> {
        task.check()?;
        Ok(vec![self.votes_of(rows, query)])
    }

    fn combine(&self, votes: &[RowVotes], _voters: &[Vec<u32>], query: Query<'_>) -> Vec<Scored> {
        best(&votes[0], query.k)
    }

    fn numbers_of(&self, votes: &[RowVotes], labels: &[Scored]) -> Vec<f32> {
        let votes = &votes[0];
        let mut numbers = Vec::with_capacity(labels.len() * NUMBERS.len());
        for label in labels {
            let at = votes.binary_search_by_key(&label.id, |&(id, _)| id);
            let Found { how, seen, .. } = Found::unpack(at.map_or(0, |at| votes[at].1));
            numbers.extend([
                how.stems as f32,
                how.times as f32,
                f32::from(u8::from(how.is_phrase)),
                how.position as f32,
                how.words as f32,
                libm::log1pf(seen.into()),
                votes.len() as f32,
            ]);
        }
        numbers
    }

    fn explain(
        &self,
        row: RowsView<'_>,
        labels: &[u32],
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<Reasons>>, Stopped> {
        task.check()?;
        Ok(self.reasons(row, labels, query).into_iter().map(|own| vec![own]).collect())
    }

    fn figures(&self) -> Vec<(String, Value)> {
        let figures = |counts: &Counts| {
            let [labels, found, right] = counts.totals();
            let figures = json!({ "labels_found": labels, "found": found, "right": right });
            (COUNTS.to_owned(), figures)
        };
        self.counts.iter().map(figures).collect()
    }

    /// The new rows are counted, too.
    fn update(
        &self,
        rows: NewRows<'_>,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        let count = count_units("indexes", 0, 1, task);
        if let Some(known) = self.counts.as_ref().filter(|_| units.lacks(COUNTS)) {
            let none = Csr::new(0);
            let matches = rows.added.named.map_or(none.view(), |named| named.matches);
            let added = Counts::new(matches, rows.added.labels);
            units.write(COUNTS, &known.joined(&added).arrays())?;
        }
        count();
        Ok(())
    }
}
