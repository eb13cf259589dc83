//! The one model: an algorithm's learned state with the labels' counts and names.
//!
//! [`train`] writes a model folder unit by unit, so that a killed training goes on where it was;
//! [`Model::open`] maps one back. [`store`] knows the files, whatever the algorithm.
//!
//! ```
//! use labelwood::craftml::Params;
//! use labelwood::data::{Dataset, generate::{Generator, Profile}};
//! use labelwood::model::{Algorithm, Model, train, store::{Options, Start}};
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let run = Pool::new(2)?.task();
//! let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..200, &run)?;
//! let dataset = Dataset { features, labels, label_names: None };
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("model");
//! train(&dataset, &Algorithm::CraftMl(Params { trees: 2, ..Params::default() }), &path, Start::default(), &run)?;
//! let model = Model::open(&path, Options::default(), &run)?;
//! let predictions = model.predict(dataset.features.view(), Query::top(5), &run)?;
//! assert_eq!(predictions.len(), 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod calibrate;
mod craftml;
mod extras;
mod grove;
mod learned;
mod linear;
mod labels;
mod members;
pub(crate) mod part;
mod rows;
mod shrink;
pub(crate) mod stems;
mod text;
pub(crate) mod units;
mod update;
mod within;

pub use crate::base::store;
pub use algorithm::Algorithm;
pub use calibrate::calibrate;
pub use extras::Extras;
pub use labels::Labels;
pub use learned::Learned;
pub use shrink::{Shrink, ShrinkError, Values, shrink};
pub use text::{open_text, save_text};
pub use units::UNIT_STAGES;
pub use update::{UpdateError, UpdateStart, Updated, update};
pub use within::{Limits, train_within, unfinished};

use crate::base::array::Array;
use crate::base::run::{Stopped, Task};
use crate::base::settings::ParamError;
use crate::base::sparse::{CsrView, Predictions, Query, Scored};
use crate::data::{Dataset, DatasetView};
use crate::learn::calibration::Calibration;
use crate::learn::favour::{RANKED, Ranking};
use crate::learn::weighting::FeatureWeights;
use crate::text::TextReader;
use extras::describe;
use learned::Trainer;
use members::Members;
use std::path::Path;
use store::{Begin, FormatError, Manifest, Options, Staging, Start, StoreError, Stored, Training};
use text::LabelTerms;
use thiserror::Error;
use units::Units;

/// A model, ready to predict.
#[derive(Clone, Debug)]
pub struct Model {
    stored: Stored,
    labels: Labels,
    text: Option<TextReader>,
    label_terms: Option<LabelTerms>,
    learned: Learned,
    calibration: Option<Calibration>,
    ranking: Option<Ranking>,
}

/// What came of a training.
#[derive(Clone, Debug, PartialEq)]
pub enum Trained {
    /// The model was written.
    Written(Manifest),
    /// The very model was there already: `resume` found nothing left to do.
    AlreadyThere(Manifest),
}

/// Why a model was not trained.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A setting is impossible.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// There is nothing to learn from.
    #[error("there are no rows to learn from: give a file with at least one row")]
    NoRows,
    /// No row says what is to be learned.
    #[error(
        "none of the {rows} rows has a label: give rows with the labels that are to be learned"
    )]
    NoLabels {
        /// How many rows there are.
        rows: usize,
    },
    /// The model's files could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The time was up before there was a model; finished units are kept.
    #[error("the time was up before there was a model; {finished} finished {units} are kept")]
    TimeUp {
        /// Units finished.
        finished: usize,
        /// What the units are called.
        units: &'static str,
    },
    /// Not even the smallest model has the size that is allowed.
    #[error("the model takes at least {least} bytes, but only {allowed} are allowed")]
    NoRoom {
        /// The bytes of the smallest model.
        least: u64,
        /// Those that are allowed.
        allowed: u64,
    },
    /// The run was cancelled; finished units are kept.
    #[error("{finished} of {total} {units} are kept; resume to go on with them")]
    Stopped {
        /// Units finished.
        finished: usize,
        /// Units in all, as far as that is known.
        total: usize,
        /// What the units are called.
        units: &'static str,
        /// The cancellation itself.
        source: Stopped,
    },
}

/// Trains a model into the folder `target`.
///
/// Finished units are kept in `target.partial` until all are there; with `start.resume` a later
/// call takes them up, provided that data and settings are the same.
pub fn train(
    dataset: &Dataset,
    algorithm: &Algorithm,
    target: &Path,
    start: Start,
    run: &Task,
) -> Result<Trained, TrainError> {
    train_with(dataset, Extras::default(), algorithm, target, start, run)
}

/// Trains a model into the folder `target` on rows that `reader` made of text; the model keeps the
/// reader.
///
/// ```
/// use labelwood::craftml::Params;
/// use labelwood::data::documents::{Documents, Format, Labels, Options};
/// use labelwood::model::{Algorithm, Model, train_text};
/// use labelwood::run::Pool;
/// use labelwood::sparse::Query;
/// use labelwood::text::{self, TextReader};
/// let (run, options) = (Pool::new(1)?.task(), Options::default());
/// let text = "owls and herons\tbirds\nowls and finches\tbirds\nan old atlas\tmaps\nthe old atlas\tmaps\n";
/// let bytes = text.as_bytes();
/// let documents = Documents::from_bytes(bytes, "f", Format::Tsv, &options, Labels::Required, &run)?;
/// let (params, names) = (text::Params::default(), Default::default());
/// let (reader, dataset) = TextReader::fit(documents, &options, params, names, &run)?;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model");
/// let algorithm = Algorithm::CraftMl(Params { trees: 3, leaf: 2, ..Params::default() });
/// train_text(&dataset, &reader, &algorithm, &path, Default::default(), &run)?;
///
/// let model = Model::open(&path, Default::default(), &run)?;
/// let reader = model.text().expect("it was trained on text");
/// let rows = reader.vectoriser().transform(&["an atlas"], &run)?;
/// let best = model.predict(rows.view(), Query::top(1), &run)?.row(0)[0].id;
/// assert_eq!(model.labels().name(best), Some("maps"));
/// assert_eq!(model.label_terms(best).expect("terms have names")[0].0, "atlas");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn train_text(
    dataset: &Dataset,
    reader: &TextReader,
    algorithm: &Algorithm,
    target: &Path,
    start: Start,
    run: &Task,
) -> Result<Trained, TrainError> {
    let extras = Extras { text: Some(reader), ..Extras::default() };
    train_with(dataset, extras, algorithm, target, start, run)
}

/// Trains a model into the folder `target` that holds some [`Extras`].
///
/// ```
/// use labelwood::craftml::Params;
/// use labelwood::data::{Dataset, generate::{Generator, Profile}};
/// use labelwood::model::{Algorithm, Extras, Model, train_with};
/// use labelwood::run::Pool;
/// let run = Pool::new(2)?.task();
/// let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").unwrap() };
/// let (features, labels) = Generator::new(profile, 1)?.rows(0..300, &run)?;
/// let dataset = Dataset { features, labels, label_names: None };
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model");
/// let algorithm = Algorithm::CraftMl(Params { trees: 2, ..Params::default() });
/// let extras = Extras { calibrate: true, ..Extras::default() };
/// train_with(&dataset, extras, &algorithm, &path, Default::default(), &run)?;
/// assert!(Model::open(&path, Default::default(), &run)?.calibration().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn train_with<'a>(
    dataset: impl Into<DatasetView<'a>>,
    extras: Extras<'a>,
    algorithm: &Algorithm,
    target: &Path,
    start: Start,
    run: &Task,
) -> Result<Trained, TrainError> {
    let work = Work::new(dataset.into(), extras, algorithm, run)?;
    let training = work.training();
    let partial = match Staging::begin(target, &training, start)? {
        Begin::Work(partial) => partial,
        Begin::Finished(manifest) => return Ok(Trained::AlreadyThere(manifest)),
    };
    let units = Units::take_up(&partial, run)?;
    work.write(&units, run)?;
    let manifest = work.manifest(training, &units);
    // Ignore the deadline here: only a cancellation keeps a finished model from its place.
    run.without_deadline().check().map_err(|source| {
        let finished = manifest.units.len();
        TrainError::Stopped { finished, total: finished, units: "units", source }
    })?;
    partial.commit(&manifest)?;
    Ok(Trained::Written(manifest))
}

/// Refuses rows that nothing can be learned from: there must be some, with a label at least.
pub fn check_rows(dataset: DatasetView<'_>) -> Result<(), TrainError> {
    match dataset.len() {
        0 => Err(TrainError::NoRows),
        rows if dataset.labels.indices().is_empty() => Err(TrainError::NoLabels { rows }),
        _ => Ok(()),
    }
}

/// A training that is to be done, wherever its units go.
pub(crate) struct Work<'a> {
    dataset: DatasetView<'a>,
    extras: Extras<'a>,
    trainer: Trainer<'a>,
}

impl<'a> Work<'a> {
    pub fn new(
        dataset: DatasetView<'a>,
        extras: Extras<'a>,
        algorithm: &Algorithm,
        run: &Task,
    ) -> Result<Self, TrainError> {
        check_rows(dataset)?;
        if extras.calibrate {
            calibrate::check(algorithm)?;
        }
        let trainer = Trainer::new(dataset, &algorithm.clone().favouring(extras.favour), run)?;
        Ok(Work { dataset, extras, trainer })
    }

    /// What determines the model.
    pub fn training(&self) -> Training {
        describe(self.dataset, self.extras, &self.trainer.resolved())
    }

    /// Writes the units that are not there yet.
    pub fn write(&self, units: &Units<'_>, run: &Task) -> Result<(), TrainError> {
        let dataset = self.dataset;
        if self.extras.calibrate {
            calibrate::write(dataset, &self.trainer.resolved(), units, run)?;
        }
        self.trainer.write(units, run)?;
        write_others(dataset, self.extras, units, run)
    }

    /// What the model is, once all units are written.
    pub fn manifest(&self, training: Training, units: &Units<'_>) -> Manifest {
        manifest(self.dataset, training, &self.trainer.resolved(), units)
    }
}

/// Writes what every model has whatever the algorithm.
fn write_others(
    dataset: DatasetView<'_>,
    extras: Extras<'_>,
    units: &Units<'_>,
    run: &Task,
) -> Result<(), TrainError> {
    labels::write(dataset, units)?;
    if let Some(reader) = extras.text {
        text::write(reader, dataset, units, run)?;
    }
    if extras.keep_rows && units.lacks(&rows::stem(0)) {
        rows::write(dataset, 0, units)?;
    }
    Ok(())
}

/// What a model is whose units are all written.
fn manifest(
    dataset: DatasetView<'_>,
    training: Training,
    resolved: &Algorithm,
    units: &Units<'_>,
) -> Manifest {
    let DatasetView { features, labels, .. } = dataset;
    let parts = |root: &str| linear::parts_below(units, root);
    let stems = stems::all(resolved, labels.columns(), parts);
    Manifest {
        training,
        instances: features.len() as u64,
        features: features.columns() as u64,
        labels: labels.columns() as u64,
        units: units.listed(stems),
    }
}

/// The unit of the feature weights.
const FEATURES: &str = "features";

fn write_weights(stem: &str, weights: Option<&[f32]>, units: &Units<'_>) -> Result<(), StoreError> {
    match weights {
        Some(weights) if units.lacks(stem) => units.write(stem, &[("weights", weights.into())]),
        _ => Ok(()),
    }
}

/// The weights of the features, if there are any, and the number of features.
fn read_weights(stored: &Stored, stem: &str) -> Result<(FeatureWeights, usize), FormatError> {
    let manifest = stored.manifest();
    // Columns are 32-bit numbers everywhere; more would ask for memory that no model needs.
    let features = u32::try_from(manifest.features)
        .map_err(|_| stored.refused(format!("{} features are too many", manifest.features)))?
        as usize;
    if !manifest.units.iter().any(|unit| unit.name() == stem) {
        return Ok((FeatureWeights(None), features));
    }
    let unit = stored.unit(stem)?;
    let weights: Array<f32> = unit.array("weights")?;
    if weights.len() != features || !weights.iter().all(|weight| weight.is_finite()) {
        return Err(unit.refused("its weights do not fit the features"));
    }
    Ok((FeatureWeights(Some(weights)), features))
}

impl Model {
    /// Opens a model folder.
    pub fn open(folder: &Path, options: Options, run: &Task) -> Result<Self, StoreError> {
        let stored = Stored::open(folder, options, run)?;
        if stored.manifest().training.algorithm == text::VECTORISER {
            return Err(StoreError::NoModel { folder: folder.to_owned() });
        }
        Self::read(stored, run)
    }

    /// Trains a model in memory; nothing is written to disk.
    ///
    /// ```
    /// use labelwood::data::{self, ReadOptions};
    /// use labelwood::model::{Algorithm, Model};
    /// use labelwood::run::Pool;
    /// let run = Pool::new(1)?.task();
    /// let read = data::read_bytes(b"2 2 2\n0 0:1\n1 1:1\n", "a.txt", &ReadOptions::default(), &run)?;
    /// let algorithm = Algorithm::preset("one-vs-rest", "default").expect("it is a preset");
    /// let model = Model::train(read.dataset.view(), Default::default(), &algorithm, &run)?;
    /// let folder = tempfile::tempdir()?;
    /// model.stored().save(&folder.path().join("model"), false)?;
    /// let again = Model::open(&folder.path().join("model"), Default::default(), &run)?;
    /// assert_eq!(again.manifest(), model.manifest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn train(
        dataset: DatasetView<'_>,
        extras: Extras<'_>,
        algorithm: &Algorithm,
        run: &Task,
    ) -> Result<Self, TrainError> {
        let work = Work::new(dataset, extras, algorithm, run)?;
        let units = Units::new(None);
        work.write(&units, run)?;
        let manifest = work.manifest(work.training(), &units);
        let units = units.into_memory(&manifest.units);
        Ok(Self::read(Stored::in_memory(manifest, units), run)?)
    }

    /// The model that some open files are.
    pub fn read(stored: Stored, run: &Task) -> Result<Self, StoreError> {
        run.install(|| Self::read_here(stored, Members::all))
    }

    /// The same with those members of the algorithm that are chosen.
    fn read_here(
        stored: Stored,
        choose: impl FnOnce(&Algorithm, &Manifest) -> Members,
    ) -> Result<Self, StoreError> {
        let labels = labels::read(&stored)?;
        let training = &stored.manifest().training;
        let algorithm = Algorithm::from_settings(&training.algorithm, training.settings.clone())
            .map_err(|reason| stored.refused(reason))?;
        let members = choose(&algorithm, stored.manifest());
        let learned = match algorithm {
            Algorithm::CraftMl(params) => {
                Learned::CraftMl(craftml::read(&stored, params, members.first)?)
            }
            Algorithm::LabelTree(params) => Learned::LabelTree(linear::read_trees(
                &stored,
                linear::TREES,
                params,
                members.first,
            )?),
            Algorithm::OneVsRest(params) => {
                Learned::OneVsRest(linear::read_blocks(&stored, params, members.first)?)
            }
            Algorithm::LabelForest(params) => {
                Learned::LabelForest(linear::read_forest(&stored, params, members.first)?)
            }
            Algorithm::Grove(params) => {
                Learned::Grove(Box::new(grove::read(&stored, params, members, &labels)?))
            }
        };
        let text = text::read(&stored)?;
        let label_terms = text::read_label_terms(&stored)?;
        let calibration = training.calibrate.then(|| calibrate::read(&stored)).transpose()?;
        let instances = stored.manifest().instances as usize;
        let scores = learned.scores(calibration.is_some());
        let ranking = training.favour.ranking(instances, labels.counts(), scores);
        Ok(Model { stored, labels, text, label_terms, learned, calibration, ranking })
    }

    /// What the model is: algorithm, settings, sizes, files.
    pub fn manifest(&self) -> &Manifest {
        self.stored.manifest()
    }

    /// The model's files, to save them elsewhere or to send them.
    pub fn stored(&self) -> &Stored {
        &self.stored
    }

    /// What is known of the labels.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// How the model reads text, if it was trained on text.
    pub fn text(&self) -> Option<&TextReader> {
        self.text.as_ref()
    }

    /// The terms that tell most about a label with their weights, best first: those whose mean
    /// value in the training documents with the label exceeds that in all documents most. Nothing
    /// if the model was trained on vectors, or on hashed terms.
    pub fn label_terms(&self, label: u32) -> Option<Vec<(&str, f32)>> {
        let (terms, reader) = (self.label_terms.as_ref()?, self.text.as_ref()?);
        let named = |(term, weight)| Some((reader.vectoriser().term(term)?, weight));
        Some(terms.of(label).filter_map(named).collect())
    }

    /// The learned state.
    pub fn learned(&self) -> &Learned {
        &self.learned
    }

    /// How scores become probabilities, if that was learned.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    /// The best labels of each row; fewer than were asked for when fewer have a score. Scores are
    /// probabilities if the model was calibrated or is a grove. If the model favours some labels,
    /// these may come before others of a better score.
    pub fn predict(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        run: &Task,
    ) -> Result<Predictions, Stopped> {
        let scored = self.learned.predict(features, self.asked(query), run)?;
        Ok(self.finished(scored, query.k))
    }

    /// What is asked of the algorithm if this is asked of the model.
    fn asked<'a>(&self, query: Query<'a>) -> Query<'a> {
        let most = if self.ranking.is_some() { query.k.max(RANKED) } else { query.k };
        Query { k: most, ..query }
    }

    /// The predictions that follow from the algorithm's.
    fn finished(&self, scored: Predictions, k: usize) -> Predictions {
        let scored = match &self.calibration {
            Some(calibration) => calibration.apply(&scored),
            None => scored,
        };
        match &self.ranking {
            Some(ranking) => ranking.apply(&scored, k),
            None => scored,
        }
    }

    /// Fills rows with fewer labels than were asked for up with the most frequent training labels
    /// that may be named, which score 0.
    pub fn fill(&self, predictions: &Predictions, query: Query<'_>) -> Predictions {
        let k = query.k;
        let frequent = self.labels.most_frequent_of(k, |label| query.allows(label));
        let mut filled = Predictions::default();
        for row in predictions.rows() {
            let mut row = row.to_vec();
            let known = row.len();
            let more = frequent.iter().filter(|&&id| row[..known].iter().all(|have| have.id != id));
            let mut more: Vec<u32> = more.copied().take(k.saturating_sub(known)).collect();
            more.sort_unstable();
            row.extend(more.into_iter().map(|id| Scored { id, score: 0.0 }));
            filled.push_ranked(&row);
        }
        filled
    }
}
