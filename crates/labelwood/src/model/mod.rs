//! The one model: an algorithm's learned state with the labels' counts and names.
//!
//! [`train`] writes a model folder unit by unit, so that a killed training goes on where it was;
//! [`Model::open`] maps one back. [`Stored`] knows the files, whatever the algorithm.
//!
//! ```
//! use labelwood::Settings;
//! use labelwood::algorithms::craftml::Params;
//! use labelwood::data::{Dataset, generate::{Generator, Profile}};
//! use labelwood::model::{Model, train};
//! use labelwood::store::{Options, Start};
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..200, &task)?;
//! let dataset = Dataset { features, labels, label_names: None, named: None };
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("model");
//! train(&dataset, &Settings::from(Params { trees: 2, ..Params::default() }), &path, Start::default(), &task)?;
//! let model = Model::open(&path, Options::default(), &task)?;
//! let predictions = model.predict(dataset.features.view(), Query::top(5), &task)?;
//! assert_eq!(predictions.len(), 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod budget;
mod calibrate;
pub mod explain;
pub(crate) mod job;
mod labels;
mod options;
pub(crate) mod share;
mod rows;
mod shrink;
mod text;
mod update;

pub use crate::algorithms::{Limits, Shrink, StoredAs};
pub use crate::learn::calibration::Calibration;
pub use budget::{train_within, unfinished};
pub use labels::Labels;
pub use options::TrainOptions;
pub use shrink::{ShrinkError, shrink};
pub use text::{open_text, save_text};
pub use update::{UpdateError, UpdateStart, Updated, update};

use crate::algorithms::{Predict, Role, Settings, Trained as TrainedUnits, UnitSink};
use crate::base::run::{Stopped, Task};
use crate::base::settings::ParamError;
use crate::base::sparse::{Predictions, Query, RowsView, Scored};
use crate::base::store::{self, Begin, Manifest, Options, Staging, Start, StoreError, Stored};
use crate::data::{Dataset, DatasetView};
use crate::learn::favour::{RANKED, Ranking};
use crate::text::TextReader;
pub(crate) use job::TrainJob;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use text::LabelTerms;
use thiserror::Error;

/// A model, ready to predict.
#[derive(Clone, Debug)]
pub struct Model {
    stored: Stored,
    labels: Labels,
    text: Option<TextReader>,
    label_terms: Option<LabelTerms>,
    learned: Arc<dyn Predict>,
    calibration: Option<Calibration>,
    threshold: Option<f32>,
    ranking: Option<Ranking>,
}

/// What a unit of a model is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitUse {
    /// What was learned.
    Learned,
    /// The weights of features.
    FeatureWeights,
    /// The labels' counts and names.
    Labels,
    /// How text is read, and the terms of labels.
    Text,
    /// How scores become probabilities.
    Probabilities,
    /// The training rows.
    Rows,
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
        "{}: give rows with the labels that are to be learned", unlabelled(*rows, "")
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
    /// The task was stopped; finished units are kept.
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
    settings: &Settings,
    target: &Path,
    start: Start,
    task: &Task,
) -> Result<Trained, TrainError> {
    train_with(dataset, TrainOptions::default(), settings, target, start, task)
}

/// Trains a model into the folder `target` on rows that `reader` made of text; the model keeps the
/// reader.
///
/// ```
/// use labelwood::Settings;
/// use labelwood::algorithms::craftml::Params;
/// use labelwood::data::documents::{Documents, Format, Labels, Options};
/// use labelwood::model::{Model, train_text};
/// use labelwood::run::Pool;
/// use labelwood::sparse::Query;
/// use labelwood::text::{self, TextReader};
/// let (task, options) = (Pool::new(1)?.task(), Options::default());
/// let text = "owls and herons\tbirds\nowls and finches\tbirds\nan old atlas\tmaps\nthe old atlas\tmaps\n";
/// let bytes = text.as_bytes();
/// let documents = Documents::from_bytes(bytes, "f", Format::Tsv, &options, Labels::Required, &task)?;
/// let (params, names) = (text::Params::default(), Default::default());
/// let (reader, dataset) = TextReader::fit(documents, &options, params, names, &task)?;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model");
/// let algorithm = Settings::from(Params { trees: 3, leaf: 2, ..Params::default() });
/// train_text(&dataset, &reader, &algorithm, &path, Default::default(), &task)?;
///
/// let model = Model::open(&path, Default::default(), &task)?;
/// let reader = model.text().expect("it was trained on text");
/// let rows = reader.vectoriser().transform(&["an atlas"], &task)?;
/// let best = model.predict(rows.view(), Query::top(1), &task)?.row(0)[0].id;
/// assert_eq!(model.labels().name(best), Some("maps"));
/// assert_eq!(model.label_terms(best).expect("terms have names")[0].0, "atlas");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn train_text(
    dataset: &Dataset,
    reader: &TextReader,
    settings: &Settings,
    target: &Path,
    start: Start,
    task: &Task,
) -> Result<Trained, TrainError> {
    let options = TrainOptions { text: Some(reader), ..TrainOptions::default() };
    train_with(dataset, options, settings, target, start, task)
}

/// Trains a model into the folder `target` with further [`TrainOptions`].
///
/// ```
/// use labelwood::Settings;
/// use labelwood::algorithms::craftml::Params;
/// use labelwood::data::{Dataset, generate::{Generator, Profile}};
/// use labelwood::model::{Model, TrainOptions, train_with};
/// use labelwood::run::Pool;
/// let task = Pool::new(2)?.task();
/// let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").unwrap() };
/// let (features, labels) = Generator::new(profile, 1)?.rows(0..300, &task)?;
/// let dataset = Dataset { features, labels, label_names: None, named: None };
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model");
/// let algorithm = Settings::from(Params { trees: 2, ..Params::default() });
/// let extras = TrainOptions { calibrate: true, ..TrainOptions::default() };
/// train_with(&dataset, extras, &algorithm, &path, Default::default(), &task)?;
/// assert!(Model::open(&path, Default::default(), &task)?.calibration().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn train_with<'a>(
    dataset: impl Into<DatasetView<'a>>,
    options: TrainOptions<'a>,
    settings: &Settings,
    target: &Path,
    start: Start,
    task: &Task,
) -> Result<Trained, TrainError> {
    let job = TrainJob::new(dataset.into(), options, settings, task)?;
    let training = job.training();
    let partial = match Staging::begin(target, &training, start)? {
        Begin::Work(partial) => partial,
        Begin::Finished(manifest) => return Ok(Trained::AlreadyThere(manifest)),
    };
    let units = UnitSink::resume(&partial, task)?;
    job.write(&units, task)?;
    let manifest = job.manifest(training, &units)?;
    // Ignore the deadline here: only a cancellation keeps a finished model from its place.
    task.without_deadline().check().map_err(|source| {
        let finished = manifest.units.len();
        TrainError::Stopped { finished, total: finished, units: "units", source }
    })?;
    partial.commit(&manifest)?;
    Ok(Trained::Written(manifest))
}

/// That none of so many rows, which `are` something, has a label.
fn unlabelled(rows: usize, are: &str) -> String {
    match rows {
        1 => format!("the row{are} has no label"),
        _ => format!("none of the {rows} rows{are} has a label"),
    }
}

/// Refuses rows that nothing can be learned from: there must be some, with a label at least.
pub fn check_rows(dataset: DatasetView<'_>) -> Result<(), TrainError> {
    match dataset.len() {
        0 => Err(TrainError::NoRows),
        rows if dataset.labels.indices().is_empty() => Err(TrainError::NoLabels { rows }),
        _ => Ok(()),
    }
}

/// The settings that a model was trained with.
fn settings_of(stored: &Stored) -> Result<Settings, store::FormatError> {
    let training = &stored.manifest().training;
    Settings::from_values(&training.algorithm, training.settings.clone())
        .map_err(|reason| stored.refused(reason))
}

/// All members of a model. Each has a unit of its own, at least, so that a forged number in the
/// manifest takes no memory: what is missing is named when it is read.
fn all_members(settings: &Settings, manifest: &Manifest) -> Range<usize> {
    0..settings.members(manifest.labels as usize).min(manifest.units.len())
}

impl Model {
    /// Opens a model folder.
    pub fn open(folder: &Path, options: Options, task: &Task) -> Result<Self, StoreError> {
        let stored = Stored::open(folder, options, task)?;
        if stored.manifest().training.algorithm == text::VECTORISER {
            return Err(StoreError::NoModel { folder: folder.to_owned() });
        }
        Self::read(stored, task)
    }

    /// Trains a model in memory; nothing is written to disk.
    ///
    /// ```
    /// use labelwood::data::{self, ReadOptions};
    /// use labelwood::Settings;
    /// use labelwood::model::Model;
    /// use labelwood::run::Pool;
    /// let task = Pool::new(1)?.task();
    /// let read = data::read_bytes(b"2 2 2\n0 0:1\n1 1:1\n", "a.txt", &ReadOptions::default(), &task)?;
    /// let algorithm = Settings::preset("one-vs-rest", "default").expect("it is a preset");
    /// let model = Model::train(read.dataset.view(), Default::default(), &algorithm, &task)?;
    /// let folder = tempfile::tempdir()?;
    /// model.stored().save(&folder.path().join("model"), false)?;
    /// let again = Model::open(&folder.path().join("model"), Default::default(), &task)?;
    /// assert_eq!(again.manifest(), model.manifest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn train(
        dataset: DatasetView<'_>,
        options: TrainOptions<'_>,
        settings: &Settings,
        task: &Task,
    ) -> Result<Self, TrainError> {
        let job = TrainJob::new(dataset, options, settings, task)?;
        let units = UnitSink::in_memory();
        job.write(&units, task)?;
        let manifest = job.manifest(job.training(), &units)?;
        let units = units.take_memory(&manifest.units);
        Ok(Self::read(Stored::in_memory(manifest, units), task)?)
    }

    /// The model that some open files are.
    pub fn read(stored: Stored, task: &Task) -> Result<Self, StoreError> {
        task.install(|| {
            let settings = settings_of(&stored)?;
            let members = all_members(&settings, stored.manifest());
            Self::read_members(stored, &settings, members)
        })
    }

    /// Some members of the model that some open files are.
    fn read_members(
        stored: Stored,
        settings: &Settings,
        members: Range<usize>,
    ) -> Result<Self, StoreError> {
        let labels = labels::read(&stored)?;
        let training = &stored.manifest().training;
        let trained = TrainedUnits { stored: &stored, counts: &labels.counts, members };
        let learned = settings.open(&trained)?;
        let mut text = text::read(&stored)?;
        if let Some(names) = labels.names().filter(|_| settings.facts().reads_names) {
            text = text.map(|reader| reader.finding_names(names));
        }
        let label_terms = text::read_label_terms(&stored)?;
        let calibration = training.calibrate.then(|| calibrate::read(&stored)).transpose()?;
        let threshold = match training.holds_out() {
            true => calibrate::read_threshold(&stored)?,
            false => learned.threshold(),
        };
        let instances = stored.manifest().instances as usize;
        let scores = settings.scores(calibration.is_some());
        let ranking = training.favour.ranking(instances, labels.counts(), scores);
        let learned = learned.into();
        Ok(Model { stored, labels, text, label_terms, learned, calibration, threshold, ranking })
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
    /// value in the training documents with the label exceeds that in all documents most, counted as
    /// far as they are rare ([`Vectoriser::rarity`](crate::text::Vectoriser::rarity)). Nothing if the
    /// model was trained on vectors, or on hashed terms.
    pub fn label_terms(&self, label: u32) -> Option<Vec<(&str, f32)>> {
        let (terms, reader) = (self.label_terms.as_ref()?, self.text.as_ref()?);
        let named = |(term, weight)| Some((reader.vectoriser().term(term)?, weight));
        Some(terms.of(label).filter_map(named).collect())
    }

    /// The learned state.
    pub fn learned(&self) -> &dyn Predict {
        &*self.learned
    }

    /// What a unit of this name is for.
    pub fn unit_use(&self, unit: &str) -> UnitUse {
        let labels = self.manifest().labels as usize;
        let known = self.learned.settings().units(labels, &|_| Ok(None)).unwrap_or_default();
        let role = known.iter().find(|known| known.name == unit).map(|known| known.role);
        match (unit, role) {
            (_, Some(Role::Prepared)) => UnitUse::FeatureWeights,
            (_, Some(Role::Ranker)) | (calibrate::UNIT, _) => UnitUse::Probabilities,
            (labels::UNIT, _) => UnitUse::Labels,
            (text::TEXT | text::LABEL_TERMS, _) => UnitUse::Text,
            _ if rows::is_rows(unit) => UnitUse::Rows,
            _ => UnitUse::Learned,
        }
    }

    /// How scores become probabilities, if that was learned.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    /// Whether scores are probabilities.
    pub fn gives_probabilities(&self) -> bool {
        self.calibration.is_some() || self.learned.settings().facts().is_calibrated
    }

    /// The least score of a label that is worth giving: the one with the best micro-F1 by rows that were
    /// held out. Nothing unless the model was calibrated, learned a threshold or is a grove.
    pub fn threshold(&self) -> Option<f32> {
        self.threshold
    }

    /// The best labels of each row; fewer than were asked for when fewer have a score. Scores are
    /// probabilities if the model was calibrated or is a grove. If the model favours some labels,
    /// these may come before others of a better score. Of a text in which it knows no word, a model
    /// of text says nothing.
    pub fn predict<'r>(
        &self,
        rows: impl Into<RowsView<'r>>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        let rows = rows.into();
        let mut scored = self.learned.predict(rows, self.asked(query), task)?;
        if (0..rows.len()).any(|row| self.says_nothing_of(rows, row)) {
            let mut kept = Predictions::default();
            for (row, labels) in scored.rows().enumerate() {
                kept.push_row(if self.says_nothing_of(rows, row) { &[] } else { labels });
            }
            scored = kept;
        }
        Ok(self.finished(scored, query.k))
    }

    /// Whether a row is a text without a word that the model knows: labels of it would be guessed.
    fn says_nothing_of(&self, rows: RowsView<'_>, row: usize) -> bool {
        self.text.is_some() && rows.is_unknown(row)
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
