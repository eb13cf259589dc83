//! What is odd about data, dividing them, and models made smaller.

use std::path::PathBuf;

use labelwood::app::{Alike, Checked, row_key, text_key, value_key};
use labelwood::data::Dataset;
use labelwood::data::documents::{Documents, Format, Labels, Options};
use labelwood::model::{Shrink, StoredAs, shrink};
use labelwood::run::Task;
use labelwood::text::Params;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use serde_json::{Value, json};

use crate::errors::{Fault, refuse, with_parameters};
use crate::rows::{FeatureArrays, Features, LabelArrays, Rows};
use crate::work;

/// Rows with the names of their labels.
pub type Handed<'py> = (FeatureArrays<'py>, LabelArrays<'py>, Option<Vec<PyBackedStr>>);

/// What is odd about rows, and those to test with, as JSON.
#[pyfunction]
pub fn check_rows(py: Python<'_>, rows: Handed<'_>, test: Option<Handed<'_>>) -> PyResult<String> {
    let (rows, test) = (owned(py, rows)?, test.map(|test| owned(py, test)).transpose()?);
    work::run(py, 1, None, |_| -> Result<String, Fault> {
        Ok(shown(&Checked::rows(&rows), test.as_ref().map(Checked::rows).as_ref())?)
    })
}

/// Rows that were handed over, copied.
pub fn owned(py: Python<'_>, (features, labels, names): Handed<'_>) -> PyResult<Dataset> {
    let rows = Rows::new(features, labels, names)?;
    let view = rows.view(py)?;
    Ok(Dataset {
        features: view.features.to_owned(),
        labels: view.labels.to_owned(),
        label_names: view.label_names.cloned(),
        named: None,
    })
}

/// What is odd about documents, as lines of JSON with `text` and `labels`, and about those to test with.
#[pyfunction]
pub fn check_texts(
    py: Python<'_>,
    documents: &str,
    test: Option<&str>,
    threads: usize,
) -> PyResult<String> {
    work::run(py, threads, None, |task| -> Result<String, Fault> {
        let look = |lines: &str| -> Result<Checked, Fault> {
            let options = Options::default();
            let bytes = lines.as_bytes();
            let documents = Documents::from_bytes(
                bytes,
                "texts",
                Format::Jsonl,
                &options,
                Labels::Required,
                task,
            )?;
            Ok(Checked::documents(documents, Params::default(), task)?)
        };
        let test = test.map(look).transpose()?;
        Ok(shown(&look(documents)?, test.as_ref())?)
    })
}

/// The findings as JSON, each with its text for people.
fn shown(checked: &Checked, test: Option<&Checked>) -> serde_json::Result<String> {
    let check = checked.check(test);
    let mut found = serde_json::to_value(&check)?;
    let texts = check.findings.iter().map(|finding| &finding.text);
    let findings = found["findings"].as_array_mut().into_iter().flatten();
    findings.zip(texts).for_each(|(finding, text): (&mut Value, _)| {
        finding["text"] = json!(text);
        let fix = finding["fix"].as_str().map(with_parameters);
        finding["fix"] = json!(fix);
    });
    Ok(found.to_string())
}

/// What rows are divided by.
#[derive(FromPyObject)]
pub enum Divided<'py> {
    Rows(FeatureArrays<'py>),
    Texts(Vec<PyBackedStr>),
}

/// Says for each row whether it is to test with: a share of them, about, with those that are alike or
/// have the same value on one side.
#[pyfunction]
pub fn divide(
    py: Python<'_>,
    rows: Divided<'_>,
    values: Option<Vec<PyBackedStr>>,
    share: f64,
    seed: u64,
) -> PyResult<Vec<bool>> {
    let keys: Vec<u64> = match rows {
        Divided::Rows(arrays) => {
            let features = Features::new(arrays)?;
            features.view(py)?.rows().map(row_key).collect()
        }
        Divided::Texts(texts) => texts.iter().map(|text| text_key(text)).collect(),
    };
    let mut alike = Alike::default();
    for (row, key) in keys.into_iter().enumerate() {
        let value = values.as_ref().map(|values| value_key(&values[row]));
        alike.push([key].into_iter().chain(value));
    }
    alike.divide(share, seed).ok_or_else(|| {
        refuse(py, "all rows are alike, or have the same value of `by`: there is nothing to divide")
    })
}

/// Writes a smaller model, and gives the bytes of both.
#[pyfunction]
#[pyo3(name = "shrink")]
pub fn shrink_model(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    prune: Option<f32>,
    values: Option<&str>,
    overwrite: bool,
) -> PyResult<(u64, u64)> {
    let stored_as = |name: &str| {
        let known = StoredAs::NAMES.join(", ");
        let wrong = |_| refuse(py, format!("values is {name:?}, but must be one of {known}"));
        serde_json::from_value::<StoredAs>(json!(name)).map_err(wrong)
    };
    let how = Shrink { prune, values: values.map(stored_as).transpose()? };
    let made = |task: &Task| shrink(&source, &target, how, overwrite, task);
    let (before, after) = work::run(py, 0, None, made)?;
    Ok((before.bytes(), after.bytes()))
}
