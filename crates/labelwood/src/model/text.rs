//! What a model keeps when it was trained on text: how it reads text, and the terms that tell most
//! about each label.
//!
//! The settings stand in the manifest; the terms are the unit `text`, the terms of the labels
//! the unit `label-terms`.

use super::Model;
use super::labels::{self, Labels};
use crate::algorithms::UnitSink;
use crate::base::array::Array;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, Predictions, Query, Rows, Scored, top_k};
use crate::base::store::{
    Begin, FormatError, Manifest, Options, Staging, Start, StoreError, Stored, Training,
};
use crate::data::{Dataset, DatasetView, LabelIndex};
use crate::text::{Arrays, TextError, TextReader, TextSettings, Vectoriser};
use rayon::prelude::*;
use std::path::Path;

/// The unit of the terms, and that of the labels' terms.
pub(super) const TEXT: &str = "text";
pub(super) const LABEL_TERMS: &str = "label-terms";
/// The algorithm's name in the manifest of a folder that holds a vectoriser and no model.
pub(super) const VECTORISER: &str = "vectoriser";
/// How many terms are kept for a label.
const TERMS: usize = 10;
/// How many rows of a label are looked at; frequent labels have these evenly among theirs.
const ROWS: usize = 1000;

impl Model {
    /// The best labels of each text, as [`Model::predict`] finds them for rows.
    ///
    /// ```
    /// use labelwood::Settings;
    /// use labelwood::data::documents::{Documents, Format, Labels, Options};
    /// use labelwood::model::{Model, TrainOptions};
    /// use labelwood::run::Pool;
    /// use labelwood::sparse::Query;
    /// use labelwood::text::{Params, TextReader};
    /// let (task, options) = (Pool::new(1)?.task(), Options::default());
    /// let text = b"owls and herons\tbirds\nowls and finches\tbirds\nan old atlas\tmaps\nthe old atlas\tmaps\n";
    /// let documents = Documents::from_bytes(text, "f", Format::Tsv, &options, Labels::Required, &task)?;
    /// let (reader, dataset) =
    ///     TextReader::fit(documents, &options, Params::default(), Default::default(), &task)?;
    /// let settings = Settings::named("one-vs-rest").expect("it is an algorithm");
    /// let options = TrainOptions { text: Some(&reader), ..Default::default() };
    /// let model = Model::train(dataset.view(), options, &settings, &task)?;
    /// let best = model.predict_texts(&["an atlas", "of owls"], Query::top(1), &task)?;
    /// let names: Vec<_> = best.rows().map(|row| model.labels().name(row[0].id)).collect();
    /// assert_eq!(names, [Some("maps"), Some("birds")]);
    ///
    /// let of_vectors = Model::train(dataset.view(), Default::default(), &settings, &task)?;
    /// let error = of_vectors.predict_texts(&["an atlas"], Query::top(1), &task).unwrap_err();
    /// assert_eq!(error.to_string(), "the model was trained on vectors: give it rows, not text");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn predict_texts<T: AsRef<str> + Sync>(
        &self,
        texts: &[T],
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, TextError> {
        Ok(self.predict(self.read_texts(texts, task)?.view(), query, task)?)
    }

    /// The rows of texts, as the model predicts from them.
    pub fn read_texts<T: AsRef<str> + Sync>(
        &self,
        texts: &[T],
        task: &Task,
    ) -> Result<Rows, TextError> {
        let reader = self.text().ok_or(TextError::TrainedOnVectors)?;
        Ok(reader.rows(texts, task)?)
    }
}

/// The terms that tell most about each label.
///
/// The weight of a term is by how much its mean value in the training rows with the label exceeds
/// that in all rows: what the centre of the label's documents has and the centre of all has not.
/// This is what both forests and linear models go by, and it is the same for all of them. It counts
/// as far as the term is rare, as in explanations.
#[derive(Clone, Debug)]
pub(super) struct LabelTerms {
    /// Where the terms of each label start, and last their number.
    starts: Array<u64>,
    /// Best first.
    terms: Array<u32>,
    weights: Array<f32>,
}

impl LabelTerms {
    /// Columns and weights, best first; none for a label beyond those of training.
    pub(super) fn of(&self, label: u32) -> impl Iterator<Item = (u32, f32)> {
        let place = |at: usize| self.starts.get(at).map(|&start| start as usize);
        let range = place(label as usize).zip(place(label as usize + 1));
        let range = range.map_or(0..0, |(start, end)| start..end);
        let terms = self.terms.get(range.clone()).unwrap_or_default();
        let weights = self.weights.get(range).unwrap_or_default();
        terms.iter().copied().zip(weights.iter().copied())
    }

    fn new(
        dataset: DatasetView<'_>,
        vectoriser: &Vectoriser,
        task: &Task,
    ) -> Result<Self, Stopped> {
        let (features, rarity) = (dataset.features, vectoriser.rarity());
        let rows_of_labels = dataset.labels.transpose();
        let means = means(features);
        let labels = rows_of_labels.len();
        let best = task.install(|| {
            let sums = || vec![0f64; features.columns()];
            let best = |sums: &mut Vec<f64>, label| {
                task.check()?;
                let rows = rows_of_labels.row(label).indices;
                Ok(best_terms(features, rows, &means, &rarity, sums))
            };
            // Every piece of work takes memory for the sums of all columns, so there are few.
            let pieces =
                (0..labels).into_par_iter().with_min_len(labels / (8 * task.threads()) + 1);
            pieces.map_init(sums, best).collect::<Result<Vec<_>, Stopped>>()
        })?;
        let mut starts = vec![0];
        for terms in &best {
            starts.push(starts[starts.len() - 1] + terms.len() as u64);
        }
        let terms: Vec<u32> = best.iter().flatten().map(|term| term.id).collect();
        let weights: Vec<f32> = best.iter().flatten().map(|term| term.score).collect();
        Ok(LabelTerms { starts: starts.into(), terms: terms.into(), weights: weights.into() })
    }
}

/// The mean of each column.
fn means(features: CsrView<'_>) -> Vec<f64> {
    let mut means = vec![0.0; features.columns()];
    for (&column, &value) in features.indices().iter().zip(features.values()) {
        means[column as usize] += f64::from(value);
    }
    means.iter_mut().for_each(|mean| *mean /= features.len() as f64);
    means
}

/// The columns whose mean in `rows` exceeds `means` most, as far as they are rare; `sums` holds zeros
/// before and after.
fn best_terms(
    features: CsrView<'_>,
    rows: &[u32],
    means: &[f64],
    rarity: impl Fn(u32) -> f64,
    sums: &mut [f64],
) -> Vec<Scored> {
    let looked_at = rows.len().min(ROWS);
    let mut seen = Vec::new();
    for row in (0..looked_at).map(|at| rows[at * rows.len() / looked_at]) {
        for (column, value) in features.row(row as usize).iter() {
            let sum = &mut sums[column as usize];
            if *sum == 0.0 {
                seen.push(column);
            }
            *sum += f64::from(value);
        }
    }
    let weighed = seen.iter().map(|&id| {
        let sum = std::mem::take(&mut sums[id as usize]);
        let exceeds = sum / looked_at as f64 - means[id as usize];
        Scored { id, score: (rarity(id) * exceeds) as f32 }
    });
    let mut best: Vec<Scored> = weighed.filter(|term| term.score > 0.0).collect();
    top_k(&mut best, TERMS);
    best
}

/// The settings as the manifest keeps them.
pub(super) fn settings(reader: &TextReader) -> serde_json::Value {
    serde_json::to_value(reader.settings()).expect("settings are numbers and names")
}

/// Writes what there is to keep of a training on text.
pub(super) fn write(
    reader: &TextReader,
    dataset: DatasetView<'_>,
    units: &UnitSink<'_>,
    task: &Task,
) -> Result<(), StoreError> {
    write_vectoriser(reader, units)?;
    if reader.vectoriser().params().hashing.is_none() && units.lacks(LABEL_TERMS) {
        write_label_terms(&LabelTerms::new(dataset, reader.vectoriser(), task)?, units)?;
    }
    Ok(())
}

fn write_label_terms(terms: &LabelTerms, units: &UnitSink<'_>) -> Result<(), StoreError> {
    let LabelTerms { starts, terms, weights } = terms;
    units.write(
        LABEL_TERMS,
        &[
            ("starts", starts[..].into()),
            ("terms", terms[..].into()),
            ("weights", weights[..].into()),
        ],
    )
}

/// Writes the terms of the labels again when there are more rows: of all labels if these are all
/// rows, else of the labels that are new.
pub(super) fn update_label_terms(
    known: &LabelTerms,
    reader: &TextReader,
    (dataset, are_all_rows): (DatasetView<'_>, bool),
    units: &UnitSink<'_>,
    task: &Task,
) -> Result<(), StoreError> {
    let found = LabelTerms::new(dataset, reader.vectoriser(), task)?;
    if are_all_rows {
        return write_label_terms(&found, units);
    }
    let labels = known.starts.len().saturating_sub(1);
    let mut starts = known.starts.to_vec();
    let (mut terms, mut weights) = (known.terms.to_vec(), known.weights.to_vec());
    for label in labels..dataset.labels.columns() {
        for (term, weight) in found.of(label as u32) {
            terms.push(term);
            weights.push(weight);
        }
        starts.push(terms.len() as u64);
    }
    let extended =
        LabelTerms { starts: starts.into(), terms: terms.into(), weights: weights.into() };
    write_label_terms(&extended, units)
}

fn write_vectoriser(reader: &TextReader, units: &UnitSink<'_>) -> Result<(), StoreError> {
    if !units.lacks(TEXT) {
        return Ok(());
    }
    let Arrays { text, starts, slots, idf } = reader.vectoriser().arrays();
    units.write(
        TEXT,
        &[
            ("text", text[..].into()),
            ("starts", starts[..].into()),
            ("slots", slots[..].into()),
            ("idf", idf[..].into()),
        ],
    )
}

/// Reads how text is read, if the model was trained on text.
pub(super) fn read(stored: &Stored) -> Result<Option<TextReader>, FormatError> {
    let Some(settings) = &stored.manifest().training.text else { return Ok(None) };
    let TextSettings { documents, vectoriser, language } = serde_json::from_value(settings.clone())
        .map_err(|error| stored.refused(format!("its text settings cannot be read: {error}")))?;
    let unit = stored.unit(TEXT)?;
    let arrays = Arrays {
        text: unit.array("text")?,
        starts: unit.array("starts")?,
        slots: unit.array("slots")?,
        idf: unit.array("idf")?,
    };
    let vectoriser =
        Vectoriser::from_arrays(vectoriser, arrays).map_err(|reason| unit.refused(reason))?;
    if vectoriser.columns() as u64 != stored.manifest().features {
        return Err(unit.refused(format!("it makes {} features", vectoriser.columns())));
    }
    Ok(Some(TextReader::new(documents, vectoriser, language)))
}

/// Reads the terms of the labels, if there are any.
pub(super) fn read_label_terms(stored: &Stored) -> Result<Option<LabelTerms>, FormatError> {
    if !stored.manifest().units.iter().any(|unit| unit.name() == LABEL_TERMS) {
        return Ok(None);
    }
    let unit = stored.unit(LABEL_TERMS)?;
    let terms = LabelTerms {
        starts: unit.array("starts")?,
        terms: unit.array("terms")?,
        weights: unit.array("weights")?,
    };
    if terms.starts.len() as u64 != stored.manifest().labels + 1 {
        return Err(unit.refused("its terms do not fit the labels"));
    }
    Ok(Some(terms))
}

/// Opens how a folder reads text, and its labels: that of a model that was trained on text, or one
/// that [`save_text`] wrote. Nothing if the model was trained on vectors.
pub fn open_text(
    folder: &Path,
    options: Options,
    task: &Task,
) -> Result<Option<(TextReader, Labels)>, StoreError> {
    let stored = Stored::open(folder, options, task)?;
    let labels = labels::read(&stored)?;
    let Some(reader) = read(&stored)? else { return Ok(None) };
    let reader = reader.finding_names(labels.names().unwrap_or(&LabelIndex::default()));
    Ok(Some((reader, labels)))
}

/// Writes a folder that holds how text is read and the labels, but no model: what converting text
/// to vectors leaves for the next file.
///
/// ```
/// use labelwood::data::documents::{Documents, Format, Labels, Options};
/// use labelwood::model::{open_text, save_text};
/// use labelwood::run::Pool;
/// use labelwood::text::{Params, TextReader};
/// let task = Pool::new(1)?.task();
/// let options = Options::default();
/// let text = b"old maps\tmaps\nold books\tbooks\n";
/// let documents = Documents::from_bytes(text, "f", Format::Tsv, &options, Labels::Required, &task)?;
/// let names = Default::default();
/// let (reader, dataset) = TextReader::fit(documents, &options, Params::default(), names, &task)?;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("words");
/// save_text(&reader, &dataset, &path, false)?;
/// let (again, labels) = open_text(&path, Default::default(), &task)?.expect("text was saved");
/// assert_eq!((again, labels.name(1)), (reader, Some("books")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save_text(
    reader: &TextReader,
    dataset: &Dataset,
    target: &Path,
    overwrite: bool,
) -> Result<(), StoreError> {
    let data = format!("{:032x}", dataset.digest());
    let plain = Training::of(VECTORISER, serde_json::json!({}), data);
    let training = Training { text: Some(settings(reader)), ..plain };
    let start = Start { resume: false, overwrite };
    let Begin::Work(partial) = Staging::begin(target, &training, start)? else { return Ok(()) };
    let units = UnitSink::into_folder(&partial);
    write_vectoriser(reader, &units)?;
    labels::write(dataset.view(), &units)?;
    let manifest = Manifest {
        training,
        instances: dataset.len() as u64,
        features: dataset.features.columns() as u64,
        labels: dataset.labels.columns() as u64,
        units: units.listed([TEXT, labels::UNIT]),
    };
    partial.commit(&manifest)
}
