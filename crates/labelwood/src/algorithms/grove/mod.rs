//! The grove: several algorithms, its parts, that answer together.
//!
//! Instance forests are better on some data and linear classifiers on other, and where labels have names,
//! those say much that no row does; together they are better than any. A tenth of the rows is held out
//! first, smaller parts are trained on the rest, and the held-out rows tell which parts are worth their
//! size, how many trees each needs, and what their scores are worth: a ranker is learned, which turns
//! what the parts say of a label into its probability. Labels that any part names are candidates, so a
//! prediction costs little more than that of all parts. Then the parts are trained on all rows.
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
mod answers;
mod blend;
mod budget;
mod choice;
mod explain;
mod params;
mod ranker;
mod trial;

pub use params::Params;

use crate::algorithms::{Interrupted, Predict, Settings, UnitSink};
use crate::base::array::Array;
use crate::base::run::Task;
use crate::base::sparse::Query;
use crate::base::store::StoreError;
use crate::data::DatasetView;
use ranker::Ranker;
use trial::Trial;

/// Labels of each part that are candidates, at least.
const CANDIDATES: usize = 30;
/// Labels of each part whose scores are known, at least.
const KNOWN: usize = 100;
/// The share of the work that is the trial with learning the ranker: about a third of what the parts
/// take.
const TRIAL_SHARE: f64 = RANKER_COST / (1.0 + RANKER_COST);
/// What the ranker costs, compared with the parts.
const RANKER_COST: f64 = 0.3;
/// Rows that are predicted together.
const BLOCK: usize = 49_152;

/// Trains the parts of a grove on the same rows.
struct Trainer<'a> {
    params: Params,
    rows: DatasetView<'a>,
    /// The trial of these parts, if there was one before.
    trial: Option<Trial>,
}

/// Trained parts with what their scores are worth.
#[derive(Debug)]
struct Grove {
    params: Params,
    parts: Vec<Box<dyn Predict>>,
    ranker: Ranker,
    /// How many training rows have each label.
    counts: Array<u32>,
}

impl<'a> Trainer<'a> {
    /// Makes all choices for these rows; which parts stay follows from a trial, if the settings say so.
    fn new(params: &Params, rows: DatasetView<'a>, task: &Task) -> Result<Self, Interrupted> {
        let undecided = Self::undecided(params, rows);
        if undecided.params.choose { undecided.decide(None, task) } else { Ok(undecided) }
    }

    /// Makes the choices for these rows that need no trial.
    fn undecided(params: &Params, rows: DatasetView<'a>) -> Self {
        Trainer { params: params.resolved(rows), rows, trial: None }
    }

    /// Tries the parts and, if the settings say so, keeps those that pay, of at most `room` bytes.
    fn decide(self, room: Option<u64>, task: &Task) -> Result<Self, Interrupted> {
        let Trainer { mut params, rows, .. } = self;
        let task = &task.share(0.0..TRIAL_SHARE);
        let mut trial = Trial::run(&params, rows, task)?;
        if let Some(tried) = trial.take_if(|_| params.choose) {
            params = choice::choose(&params, &tried, rows, room, task)?;
            trial = tried.narrowed(&params, task)?;
        }
        params.choose = false;
        Ok(Trainer { params, rows, trial })
    }

    /// Learns the ranker from what smaller parts say of held-out rows. Without rows to hold out, or if
    /// the settings say so, it is the one that is likely beforehand.
    fn ranker(&self, task: &Task) -> Result<Ranker, Interrupted> {
        let task = &task.share(0.0..TRIAL_SHARE);
        let run = match self.trial {
            None => Trial::run(&self.params, self.rows, task)?,
            Some(_) => None,
        };
        match self.trial.as_ref().or(run.as_ref()) {
            Some(trial) => trial.ranker(&self.params.parts, self.rows, task),
            None => Ok(Ranker::prior(&self.params.parts)),
        }
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
