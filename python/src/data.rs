//! Files, the embedded questions and synthetic rows.

use std::path::PathBuf;

use labelwood::app::read_vectors;
use labelwood::data::documents::{self, Documents, Labels as Demand};
use labelwood::data::generate::{Generator, Profile};
use labelwood::data::{self, Dataset, Format, ReadOptions, Vocabulary, WriteError, corpus};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::errors::{Fault, refuse};
use crate::rows::{DataArrays, FeatureArrays, LabelArrays, Rows, data_arrays};
use crate::text::options_of;
use crate::work;

/// The id, text and labels of a document.
type Text = (Option<String>, String, Vec<String>);

/// Reads a file of vectors: features and labels as [`DataArrays`], and the label names beside it.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "those of the Python function")]
pub fn read<'py>(
    py: Python<'py>,
    path: PathBuf,
    format: Option<&str>,
    lenient: bool,
    features: usize,
    labels: usize,
    vocabulary: Option<PathBuf>,
    language: Option<String>,
    threads: usize,
) -> PyResult<(DataArrays<'py>, Option<Vec<String>>)> {
    let format = vector_format(py, format)?;
    let options = ReadOptions {
        format,
        lenient,
        features,
        labels,
        vocabulary,
        language,
        ..ReadOptions::default()
    };
    let read = work::run(py, threads, None, |task| read_vectors(&path, &options, task))?;
    let Dataset { features, labels, label_names, named: _ } = read.dataset;
    let names = label_names.map(|names| names.lines().map(str::to_owned).collect());
    Ok((data_arrays(py, &features, &labels)?, names))
}

fn vector_format(py: Python<'_>, name: Option<&str>) -> PyResult<Option<Format>> {
    let known = [("xc", Format::Xc), ("libsvm", Format::Libsvm), ("lwd", Format::Binary)];
    format_named(py, name, known)
}

fn document_format(py: Python<'_>, name: Option<&str>) -> PyResult<Option<documents::Format>> {
    use documents::Format;
    let known = [("tsv", Format::Tsv), ("csv", Format::Csv), ("jsonl", Format::Jsonl)];
    format_named(py, name, known)
}

/// The format of a name, if one is given.
fn format_named<F: Copy>(
    py: Python<'_>,
    name: Option<&str>,
    known: [(&str, F); 3],
) -> PyResult<Option<F>> {
    let Some(name) = name else { return Ok(None) };
    match known.iter().find(|(known, _)| *known == name) {
        Some(&(_, format)) => Ok(Some(format)),
        None => {
            let [a, b, c] = known.map(|(name, _)| name);
            Err(refuse(py, format!("format is {name:?}, but must be {a}, {b} or {c}")))
        }
    }
}

/// Writes rows to a file of vectors; names of labels go into it, or beside it if it is of text.
#[pyfunction]
pub fn write(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    features: FeatureArrays<'_>,
    labels: LabelArrays<'_>,
    names: Option<Vec<PyBackedStr>>,
    overwrite: bool,
) -> PyResult<()> {
    let format = vector_format(py, format)?;
    let rows = Rows::new(features, labels, names)?;
    let dataset = rows.view(py)?;
    let dataset = Dataset {
        features: dataset.features.to_owned(),
        labels: dataset.labels.to_owned(),
        label_names: dataset.label_names.cloned(),
        named: None,
    };
    work::run(py, 1, None, |task| -> Result<(), Fault> {
        let exists = |error| match error {
            WriteError::Exists { path } => Fault::Input(format!(
                "{path}: the file is already there: give overwrite=True to replace it, or choose another name"
            )),
            other => other.into(),
        };
        data::check_output(&path, &[], overwrite).map_err(exists)?;
        if let Some(names) = &dataset.label_names
            && matches!(format.or(Format::of_path(&path)), Some(Format::Xc | Format::Libsvm))
        {
            names.write_beside(&path, overwrite, task).map_err(exists)?;
        }
        Ok(data::write(&path, &dataset, format)?)
    })
}

/// Reads a file of documents: the id, text and labels of each.
#[pyfunction]
pub fn read_documents(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    options: &str,
    labels_required: bool,
    threads: usize,
) -> PyResult<Vec<Text>> {
    let (format, options) = (document_format(py, format)?, options_of(py, options)?);
    let demand = if labels_required { Demand::Required } else { Demand::Optional };
    work::run(py, threads, None, |task| -> Result<Vec<Text>, Fault> {
        let mut documents = Documents::open(&path, format, &options, demand, task)?;
        let (mut all, mut bytes) = (Vec::new(), 0);
        while let Some(batch) = documents.next_batch()? {
            for (row, text) in batch.texts().enumerate() {
                let id = batch.id(row).map(str::to_owned);
                let labels: Vec<String> = batch.labels(row).map(str::to_owned).collect();
                // Strings here, and then Python's, which have some bytes before their text.
                let strings = [id.as_ref().map_or(0, String::len), text.len()];
                let strings = strings.into_iter().chain(labels.iter().map(String::len));
                bytes += strings.map(|length| 2 * length + 96).sum::<usize>();
                documents.keep(bytes)?;
                all.push((id, text.to_owned(), labels));
            }
        }
        Ok(all)
    })
}

/// Reads a vocabulary, one line for each label.
#[pyfunction]
pub fn read_vocabulary(
    py: Python<'_>,
    path: PathBuf,
    language: Option<&str>,
) -> PyResult<Vec<String>> {
    let read = work::run(py, 1, None, |task| Vocabulary::read(&path, language, task))?;
    Ok(read.labels.lines().map(str::to_owned).collect())
}

/// The embedded questions with their tags: those to learn from, and those to measure on.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "two lists of pairs")]
pub fn questions()
-> (Vec<(&'static str, Vec<&'static str>)>, Vec<(&'static str, Vec<&'static str>)>) {
    (corpus::train().collect(), corpus::test().collect())
}

/// The names of the shapes that [`generate`] knows.
#[pyfunction]
pub fn profiles() -> Vec<&'static str> {
    Profile::NAMES.to_vec()
}

/// Synthetic rows.
#[pyfunction]
pub fn generate<'py>(
    py: Python<'py>,
    profile: PyBackedStr,
    start: u64,
    rows: Option<u64>,
    test: bool,
    seed: u64,
    threads: usize,
) -> PyResult<DataArrays<'py>> {
    let Some(shape) = Profile::named(&profile) else {
        let known = Profile::NAMES.join(", ");
        return Err(refuse(py, format!("profile is {profile:?}, but must be one of {known}")));
    };
    let (x, y) = work::run(py, threads, None, |task| -> Result<_, Fault> {
        let generator = Generator::new(shape, seed)?;
        let (first, most) = if test {
            (data::generate::TEST_START, shape.test_instances)
        } else {
            (0, shape.instances)
        };
        let rows = rows.unwrap_or(most.saturating_sub(start));
        let first = first.saturating_add(start);
        Ok(generator.rows(first..first.saturating_add(rows), task)?)
    })?;
    data_arrays(py, &x, &y)
}
