//! The grove: several algorithms, its parts, that answer together.
//!
//! Instance forests are better on some data and linear label trees on other; together they are
//! better than either. All parts are trained on the same rows. Before that, a tenth of the rows is held
//! out, smaller parts are trained on the rest, and what their scores are worth is learned from the
//! held-out rows: the blend, which turns a label's scores in all parts into its probability. Labels
//! that any part names are candidates, so a prediction costs little more than that of all parts.
//!
//! ```
//! use labelwood::algorithms::{craftml, grove, label_tree};
//! use labelwood::data::{Dataset, generate::{Generator, Profile}};
//! use labelwood::model::Model;
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..300, &task)?;
//! let dataset = Dataset { features, labels, label_names: None, named: None };
//! let forest = craftml::Params { trees: 4, ..Default::default() };
//! let parts = vec![forest.into(), label_tree::Params::default().into()];
//! let settings = grove::Params { parts, ..Default::default() }.into();
//! let model = Model::train(dataset.view(), Default::default(), &settings, &task)?;
//! let predictions = model.predict(dataset.features.view(), Query::top(5), &task)?;
//! assert!(predictions.row(0).iter().all(|label| (0.0..=1.0).contains(&label.score)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod blend;
mod budget;
mod params;
mod ranker;

pub use params::Params;

use crate::algorithms::{Interrupted, Predict, Settings, UnitSink, learn_in_memory};
use crate::base::array::Array;
use crate::base::run::{Stage, Task};
use crate::base::sparse::{Predictions, Query};
use crate::base::store::StoreError;
use crate::data::DatasetView;
use crate::learn::calibration::hold_out;
use ranker::Ranker;

/// Labels of each part that are candidates, at least.
const CANDIDATES: usize = 30;
/// Labels of each part whose scores are known, at least.
const KNOWN: usize = 100;
/// Rows that are predicted together.
const BLOCK: usize = 49_152;

/// Trains the parts of a grove on the same rows.
struct Trainer<'a> {
    params: Params,
    rows: DatasetView<'a>,
}

/// Trained parts with what their scores are worth.
#[derive(Debug)]
struct Grove {
    parts: Vec<Box<dyn Predict>>,
    ranker: Ranker,
    /// How many training rows have each label.
    counts: Array<u32>,
    learn_ranker: bool,
}

impl Trainer<'_> {
    /// Learns the ranker: trains smaller parts on nine tenths of the rows and lets them score the
    /// others. That takes about a third of the time that the parts take. Without rows to hold out,
    /// or if the settings say so, it is the one that is likely beforehand.
    fn ranker(&self, task: &Task) -> Result<Ranker, Interrupted> {
        let parts = &self.params.parts;
        let (held_out, rest) = hold_out(self.rows.len(), parts[0].seed());
        if held_out.is_empty() || !self.params.learn_ranker {
            return Ok(Ranker::prior(parts));
        }
        let learned_from = self.rows.select(&rest);
        let rows = self.rows.rows().select(&held_out);
        let steps = parts.len() as u64 + 1;
        task.progress(Stage::Steps("ranker"), 0, steps);
        let mut scores: Vec<Predictions> = Vec::new();
        // One part after the other, so that only one is in memory.
        for (at, part) in self.params.reduced().parts.iter().enumerate() {
            let task_of_part = &task.quiet();
            let learned = learn_in_memory(part, learned_from.view(), task_of_part)?;
            scores.push(learned.predict(rows.view(), Query::top(KNOWN), task_of_part)?);
            task.progress(Stage::Steps("ranker"), at as u64 + 1, steps);
        }
        let counts = learned_from.labels.view().column_counts();
        let of_row = |(at, &row): (usize, &usize)| {
            let lists = scores.iter().map(|part| part.row(at)).collect();
            (lists, self.rows.labels.row(row).indices)
        };
        let ranker = Ranker::learn(parts, held_out.iter().enumerate().map(of_row), &counts, task)?;
        task.progress(Stage::Steps("ranker"), steps, steps);
        Ok(ranker)
    }
}

/// What the names of a part's units start with.
fn prefix(part: &Settings) -> String {
    format!("{}-", part.name())
}

/// The unit of the ranker.
const RANKER: &str = "ranker";

fn write_ranker(ranker: &Ranker, units: &UnitSink<'_>) -> Result<(), StoreError> {
    ranker.with_arrays(|arrays| units.write(RANKER, arrays))
}

/// What the parts are asked if this is asked of the grove.
fn known(query: Query<'_>) -> Query<'_> {
    Query { k: query.k.max(KNOWN), ..query }
}

#[cfg(test)]
mod tests;
