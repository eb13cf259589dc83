//! The one model: an algorithm's learned state with the labels' counts and names.
//!
//! [`train`] writes a model folder unit by unit, so that a killed training goes on where it was;
//! [`Model::open`] maps one back. [`store`] below knows the files, whatever the algorithm.
//!
//! ```
//! use labelwood::craftml::Params;
//! use labelwood::data::{Dataset, generate::{Generator, Profile}};
//! use labelwood::model::{Algorithm, Model, train, store::{Options, Start}};
//! use labelwood::run::Run;
//! let run = Run::new(2)?;
//! let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..200, &run)?;
//! let dataset = Dataset { features, labels, label_names: None };
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("model");
//! train(&dataset, &Algorithm::CraftMl(Params { trees: 2, ..Params::default() }), &path, Start::default(), &run)?;
//! let model = Model::open(&path, Options::default(), &run)?;
//! let predictions = model.predict(dataset.features.view(), 5, None, &run)?;
//! assert_eq!(predictions.len(), 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod store;

mod craftml;
mod labels;
mod text;

pub use labels::Labels;
pub use text::{open_text, save_text};

use crate::craftml::{Forest, ParamError, Params, Trainer};
use crate::data::Dataset;
use crate::run::{Cancelled, Run};
use crate::sparse::{CsrView, Predictions, Scored};
use crate::text::TextReader;
use std::path::Path;
use store::{Begin, Manifest, Options, Partial, Start, StoreError, Stored, Training};
use text::LabelTerms;
use thiserror::Error;

/// What to learn and with which settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Algorithm {
    /// A CRAFTML forest.
    CraftMl(Params),
}

/// A model, ready to predict.
#[derive(Clone, Debug)]
pub struct Model {
    manifest: Manifest,
    labels: Labels,
    text: Option<TextReader>,
    label_terms: Option<LabelTerms>,
    learned: Learned,
}

/// The learned state of each algorithm.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Learned {
    /// A CRAFTML forest.
    CraftMl(Forest),
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
    /// The model's files could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run was cancelled; finished units are kept.
    #[error("{finished} of {total} trees are kept; resume to go on with them")]
    Cancelled {
        /// Units finished.
        finished: usize,
        /// Units in all.
        total: usize,
        /// The cancellation itself.
        source: Cancelled,
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
    run: &Run,
) -> Result<Trained, TrainError> {
    train_from(dataset, None, algorithm, target, start, run)
}

/// Trains a model into the folder `target` on rows that `reader` made of text; the model keeps the
/// reader.
///
/// ```
/// use labelwood::craftml::Params;
/// use labelwood::data::documents::{Documents, Format, Labels, Options};
/// use labelwood::model::{Algorithm, Model, train_text};
/// use labelwood::run::Run;
/// use labelwood::text::{self, TextReader};
/// let (run, options) = (Run::new(1)?, Options::default());
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
/// let best = model.predict(rows.view(), 1, None, &run)?.row(0)[0].id;
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
    run: &Run,
) -> Result<Trained, TrainError> {
    train_from(dataset, Some(reader), algorithm, target, start, run)
}

fn train_from(
    dataset: &Dataset,
    reader: Option<&TextReader>,
    algorithm: &Algorithm,
    target: &Path,
    start: Start,
    run: &Run,
) -> Result<Trained, TrainError> {
    if dataset.is_empty() {
        return Err(TrainError::NoRows);
    }
    let Algorithm::CraftMl(params) = algorithm;
    let trainer = Trainer::new(dataset.features.view(), dataset.labels.view(), params.clone())?;
    let training = Training {
        algorithm: "craftml".to_owned(),
        settings: craftml::settings(trainer.params()),
        data: format!("{:032x}", dataset.digest()),
        text: reader.map(text::settings),
    };
    let partial = match Partial::begin(target, &training, start)? {
        Begin::Work(partial) => partial,
        Begin::Finished(manifest) => return Ok(Trained::AlreadyThere(manifest)),
    };
    let mut units = craftml::write(&trainer, &partial, run)?;
    units.push(labels::write(dataset, &partial)?);
    if let Some(reader) = reader {
        units.extend(text::write(reader, dataset, &partial, run)?);
    }
    let manifest = Manifest {
        training,
        instances: dataset.len() as u64,
        features: dataset.features.columns() as u64,
        labels: dataset.labels.columns() as u64,
        units,
    };
    partial.commit(&manifest)?;
    Ok(Trained::Written(manifest))
}

impl Model {
    /// Opens a model folder.
    pub fn open(folder: &Path, options: Options, run: &Run) -> Result<Self, StoreError> {
        let stored = Stored::open(folder, options, run)?;
        let labels = labels::read(&stored)?;
        let learned = match stored.manifest().training.algorithm.as_str() {
            "craftml" => Learned::CraftMl(craftml::read(&stored)?),
            text::VECTORISER => {
                return Err(StoreError::NoModel { folder: folder.to_owned() });
            }
            other => {
                let reason = format!("`{other}` is no algorithm that this version knows");
                return Err(StoreError::from(stored.refused(reason)));
            }
        };
        let text = text::read(&stored)?;
        let label_terms = text::read_label_terms(&stored)?;
        Ok(Model { manifest: stored.manifest().clone(), labels, text, label_terms, learned })
    }

    /// What the model is: algorithm, settings, sizes, files.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
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

    /// The best `k` labels of each row; fewer when fewer have a score.
    ///
    /// `beam` bounds the paths that are followed in each tree; `None` takes the model's setting.
    pub fn predict(
        &self,
        features: CsrView<'_>,
        k: usize,
        beam: Option<usize>,
        run: &Run,
    ) -> Result<Predictions, Cancelled> {
        let Learned::CraftMl(forest) = &self.learned;
        forest.predict(features, k, beam, run)
    }

    /// Fills rows with fewer than `k` labels up with the most frequent training labels, which
    /// score 0.
    pub fn fill(&self, predictions: &Predictions, k: usize) -> Predictions {
        let frequent = self.labels.most_frequent(k);
        let mut filled = Predictions::default();
        for row in predictions.rows() {
            let mut row = row.to_vec();
            let known = row.len();
            let more = frequent.iter().filter(|&&id| row[..known].iter().all(|have| have.id != id));
            let mut more: Vec<u32> = more.copied().take(k.saturating_sub(known)).collect();
            more.sort_unstable();
            row.extend(more.into_iter().map(|id| Scored { id, score: 0.0 }));
            filled.push_row(&row);
        }
        filled
    }
}
