//! From text to rows.

use std::path::PathBuf;

use labelwood::app::known_labels;
use labelwood::auto::{Limits, TextChoice, choose_text, text_sample};
use labelwood::data::documents::Options;
use labelwood::data::{Dataset, LabelIndex, LabelIndexBuilder};
use labelwood::run::Task;
use labelwood::sparse::{Csr, LabelRows};
use labelwood::text::{
    Arrays, Fitting, Params, TextError, TextReader, TextSample, Tokens, Vectoriser as Inner, learn,
    mostly_unshared,
};
use labelwood::words::plural;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyTuple};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::errors::{meaning, refuse};
use crate::rows::arrays;
use crate::work;

/// A fitted vectoriser.
#[pyclass(frozen, module = "labelwood._native")]
pub struct Vectoriser(Inner);

/// The settings of a vectoriser as JSON and the bytes of its arrays.
type Parts<'py> = (String, [Bound<'py, PyBytes>; 4]);

#[pymethods]
impl Vectoriser {
    /// Makes the vectoriser that these are the parts of.
    #[new]
    fn new(py: Python<'_>, params: &str, arrays: [Bound<'_, PyBytes>; 4]) -> PyResult<Self> {
        let [text, starts, slots, idf] = &arrays;
        let arrays = Arrays {
            text: text.as_bytes().to_vec().into(),
            starts: numbers(starts, u64::from_le_bytes).into(),
            slots: numbers(slots, u64::from_le_bytes).into(),
            idf: numbers(idf, f32::from_le_bytes).into(),
        };
        let made = Inner::from_arrays(params_of(py, params)?, arrays);
        made.map(Vectoriser).map_err(|reason| refuse(py, reason))
    }

    /// The parts of the vectoriser, for `pickle` and `copy`.
    fn __getnewargs__<'py>(&self, py: Python<'py>) -> Parts<'py> {
        let Arrays { text, starts, slots, idf } = self.0.arrays();
        let wide = |numbers: &[u64]| -> Vec<u8> {
            numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
        };
        let weights: Vec<u8> = idf.iter().flat_map(|weight| weight.to_le_bytes()).collect();
        let params = serde_json::to_string(self.0.params()).expect(PLAIN);
        let arrays = [&**text, &wide(starts), &wide(slots), &weights];
        (params, arrays.map(|bytes| PyBytes::new(py, bytes)))
    }

    /// Learns the terms of texts; gives their rows as `(indptr, indices, data)`, too.
    #[staticmethod]
    fn fit<'py>(
        py: Python<'py>,
        texts: Vec<PyBackedStr>,
        params: &str,
        threads: usize,
    ) -> PyResult<(Self, Bound<'py, PyTuple>)> {
        let params = params_of(py, params)?;
        let (vectoriser, rows) = work::run(py, threads, None, |task| fit(&texts, params, task))?;
        Ok((Vectoriser(vectoriser), arrays(py, rows.view())?))
    }

    /// The rows of new texts as `(indptr, indices, data)`.
    fn transform<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<PyBackedStr>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let rows = work::run(py, threads, None, |task| self.0.transform(&texts, task))?;
        arrays(py, rows.view())
    }

    /// How many columns the rows have.
    #[getter]
    fn columns(&self) -> usize {
        self.0.columns()
    }

    /// The terms in the order of the columns; none with hashing.
    #[getter]
    fn terms(&self) -> Vec<&str> {
        self.0.terms().collect()
    }
}

/// Why settings are always JSON.
const PLAIN: &str = "settings are numbers and names";

/// The default settings as JSON.
#[pyfunction]
pub fn vectoriser_defaults() -> String {
    serde_json::to_string(&Params::default()).expect(PLAIN)
}

/// Settings from JSON.
fn params_of(py: Python<'_>, params: &str) -> PyResult<Params> {
    let defaults = serde_json::to_value(Params::default()).expect(PLAIN);
    meaning(py, params, &defaults, parse)
}

/// How files of documents are read, from JSON.
pub fn options_of(py: Python<'_>, options: &str) -> PyResult<Options> {
    meaning(py, options, &json!({}), parse)
}

fn parse<T: DeserializeOwned>(settings: Value) -> Result<T, String> {
    serde_json::from_value(settings).map_err(|error| error.to_string())
}

/// The numbers that bytes are, from the lowest on.
fn numbers<T, const N: usize>(bytes: &Bound<'_, PyBytes>, number: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_bytes().as_chunks().0.iter().map(|&bytes| number(bytes)).collect()
}

/// The names of tags: a file or lines of codes and names, and the language of those in a file.
pub type Vocabulary = (Option<PathBuf>, Vec<PyBackedStr>, Option<String>);

/// The settings of the best of a few ways to read texts, as JSON, and why.
#[pyfunction]
#[pyo3(name = "choose_text")]
#[expect(clippy::too_many_arguments, reason = "they are the parameters of Python's")]
pub fn choose_text_of(
    py: Python<'_>,
    vectoriser: &str,
    documents: &str,
    texts: Vec<PyBackedStr>,
    tags: Vec<Vec<PyBackedStr>>,
    vocabulary: Vocabulary,
    seed: u64,
    threads: usize,
) -> PyResult<(String, String)> {
    let reading = Reading::parse(py, vectoriser, documents, vocabulary)?;
    let choice = work::run(py, threads, None, |task| reading.choose(&texts, &tags, seed, task))?;
    Ok((serde_json::to_string(&choice.params).expect(PLAIN), choice.why))
}

/// How texts are read.
pub struct Reading {
    vectoriser: Params,
    documents: Options,
    vocabulary: Vocabulary,
}

impl Reading {
    /// From settings as JSON.
    pub fn parse(
        py: Python<'_>,
        vectoriser: &str,
        documents: &str,
        vocabulary: Vocabulary,
    ) -> PyResult<Self> {
        Ok(Reading {
            vectoriser: params_of(py, vectoriser)?,
            documents: options_of(py, documents)?,
            vocabulary,
        })
    }

    /// The tags that are known beforehand.
    fn known(&self, task: &Task) -> Result<LabelIndexBuilder, TextError> {
        let (file, lines, language) = &self.vocabulary;
        Ok(match file {
            Some(file) => known_labels(file, Some(file), language.as_deref(), task)?,
            None => {
                LabelIndexBuilder::new(&LabelIndex::from_lines(lines.iter().map(|line| &**line)))
            }
        })
    }

    /// The best of a few ways to read texts like these, and why.
    fn choose(
        &self,
        texts: &[PyBackedStr],
        tags: &[Vec<PyBackedStr>],
        seed: u64,
        task: &Task,
    ) -> Result<TextChoice, TextError> {
        let limits = Limits::default();
        let documents = texts.iter().zip(tags);
        let sample = TextSample::of(documents, self.known(task)?, text_sample(limits), seed);
        choose_text(&sample, &self.vectoriser, &[], seed, limits, task)
    }

    /// The rows of texts with their tags, and what reads more of them.
    pub fn learn<T: AsRef<str> + Sync>(
        &self,
        texts: &[T],
        tags: &[Vec<T>],
        task: &Task,
    ) -> Result<(Dataset, TextReader), TextError> {
        let known = self.known(task)?;
        let (labels, names) = number(tags, known);
        let (documents, params) = (self.documents.clone(), self.vectoriser.clone());
        let (reader, dataset) = learn(texts, labels, names, documents, params, task)?;
        if let Some(unshared) = mostly_unshared(dataset.features.view()) {
            let remedy = match reader.vectoriser().params() {
                params if params.tokens != Tokens::Auto => {
                    "try tokens=\"auto\" if no spaces separate words, as in Chinese"
                }
                params if params.char_ngrams.is_none() => {
                    "try char_ngrams=(3, 5), which takes pieces of words, or give more of them"
                }
                _ => "see that they are the texts that you mean, or give more of them",
            };
            tracing::warn!(
                "{unshared} of {} have no term that another text has, so the model can learn little \
                 from them: {remedy}",
                plural(texts.len(), "text")
            );
        }
        Ok((dataset, reader))
    }
}

/// Learns the terms of texts, of which at least one must be kept.
fn fit(texts: &[PyBackedStr], params: Params, task: &Task) -> Result<(Inner, Csr), TextError> {
    let mut fitting = Fitting::new(params)?;
    fitting.add(texts, task)?;
    fitting.finish_with_terms(task)
}

/// Tags as numbers, in the order in which they are met, after those that are known.
pub fn number(
    tags: &[Vec<impl AsRef<str>>],
    mut names: LabelIndexBuilder,
) -> (LabelRows, LabelIndex) {
    let (mut offsets, mut ids) = (vec![0], Vec::new());
    for tags in tags {
        let mut row: Vec<u32> = tags.iter().map(|tag| names.id(tag.as_ref())).collect();
        row.sort_unstable();
        row.dedup();
        ids.append(&mut row);
        offsets.push(ids.len() as u64);
    }
    let values = vec![(); ids.len()];
    let labels = LabelRows::try_new(names.len(), offsets, ids, values)
        .expect("ids are sorted, single and known");
    (labels, names.finish())
}
