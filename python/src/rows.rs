//! SciPy's CSR arrays as the library's rows, and the way back.
//!
//! Indices of type int32 and values of type float32 are borrowed where they lie; other types are
//! copied. Row offsets, of which there are few, always are.

use labelwood::data::{DatasetView, LabelIndex};
use labelwood::sparse::{Csr, CsrView, LabelRows, LabelRowsView, Predictions, Scored, top_k};
use labelwood::words::plural;
use numpy::ndarray::ArrayView1;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyTuple;
use zerocopy::{FromBytes, IntoBytes};

use crate::errors::{OrRaise, refuse};

/// `(indptr, indices, data, columns)`.
pub type FeatureArrays<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, usize);
/// `(indptr, indices, columns)`.
pub type LabelArrays<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, usize);

enum Numbers<'py, N: numpy::Element, T> {
    Borrowed(PyReadonlyArray1<'py, N>),
    Copied(Vec<T>),
}

/// Features that were handed over.
pub struct Features<'py> {
    columns: usize,
    offsets: Vec<u64>,
    indices: Numbers<'py, i32, u32>,
    values: Numbers<'py, f32, f32>,
}

/// Labels that were handed over.
pub struct Labels<'py> {
    columns: usize,
    offsets: Vec<u64>,
    indices: Numbers<'py, i32, u32>,
    values: Vec<()>,
}

impl<'py> Features<'py> {
    pub fn new((indptr, indices, data, columns): FeatureArrays<'py>) -> PyResult<Self> {
        let (offsets, indices) = (offsets(&indptr)?, ids(&indices)?);
        Ok(Features { columns, offsets, indices, values: values(&data)? })
    }

    pub fn view(&self, py: Python<'_>) -> PyResult<CsrView<'_>> {
        let values = match &self.values {
            Numbers::Borrowed(array) => array.as_slice()?,
            Numbers::Copied(values) => values,
        };
        CsrView::try_new(self.columns, &self.offsets, as_ids(&self.indices)?, values).or_raise(py)
    }
}

impl<'py> Labels<'py> {
    pub fn new((indptr, indices, columns): LabelArrays<'py>) -> PyResult<Self> {
        if columns > i32::MAX as usize {
            let text =
                format!("Y has {columns} columns, but there may be 2147483647 labels at most");
            return Err(refuse(indptr.py(), text));
        }
        let (offsets, indices) = (offsets(&indptr)?, ids(&indices)?);
        let count = as_ids(&indices)?.len();
        Ok(Labels { columns, offsets, indices, values: vec![(); count] })
    }

    pub fn view(&self, py: Python<'_>) -> PyResult<LabelRowsView<'_>> {
        LabelRowsView::try_new(self.columns, &self.offsets, as_ids(&self.indices)?, &self.values)
            .or_raise(py)
    }
}

/// Labels of these codes, each with its names after TABs.
pub fn label_index(lines: &[PyBackedStr]) -> LabelIndex {
    LabelIndex::from_lines(lines.iter().map(|line| &**line))
}

/// Rows to learn from that were handed over, with the names of their labels if these have any.
pub struct Rows<'py> {
    features: Features<'py>,
    labels: Labels<'py>,
    names: Option<LabelIndex>,
}

impl<'py> Rows<'py> {
    pub fn new(
        features: FeatureArrays<'py>,
        labels: LabelArrays<'py>,
        names: Option<Vec<PyBackedStr>>,
    ) -> PyResult<Self> {
        let names = names.as_deref().map(label_index);
        Ok(Rows { features: Features::new(features)?, labels: Labels::new(labels)?, names })
    }

    /// The rows, if there are features and labels of each.
    pub fn view(&self, py: Python<'_>) -> PyResult<DatasetView<'_>> {
        let (features, labels) = (self.features.view(py)?, self.labels.view(py)?);
        let (rows, other) = (features.len(), labels.len());
        if rows != other {
            let text = format!(
                "X has {}, but Y has {other}: give each row its labels",
                plural(rows, "row")
            );
            return Err(refuse(py, text));
        }
        Ok(DatasetView { features, labels, label_names: self.names.as_ref(), named: None })
    }
}

fn offsets(array: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    // Negative offsets become huge ones, which are refused as being beyond the entries.
    Ok(whole(array, "indptr")?.into_iter().map(|at| at as u64).collect())
}

fn whole(array: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<i64>> {
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, i32>>() {
        return Ok(array.as_array().iter().map(|&at| i64::from(at)).collect());
    }
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, i64>>() {
        return Ok(array.as_array().to_vec());
    }
    Err(wrong(array, name, "int32 or int64"))
}

/// Refuses `indptr` unless it divides so many entries among so many rows. SciPy does not ask before
/// it reads and writes where this says.
#[pyfunction]
pub fn check_offsets(
    indptr: &Bound<'_, PyAny>,
    name: &str,
    rows: usize,
    entries: usize,
) -> PyResult<()> {
    let refuse = |text: String| Err(refuse(indptr.py(), text));
    let offsets = whole(indptr, name)?;
    if offsets.len() != rows + 1 {
        return refuse(format!(
            "{name} has {} numbers, but must have {}: one more than there are rows or columns to divide",
            offsets.len(),
            rows + 1
        ));
    }
    if offsets[0] != 0 {
        return refuse(format!("{name}[0] is {}, but must be 0", offsets[0]));
    }
    for (at, pair) in (1..).zip(offsets.windows(2)) {
        let (before, found) = (pair[0], pair[1]);
        if found < before {
            return refuse(format!(
                "{name}[{at}] is {found}, but must not be below {name}[{}], which is {before}",
                at - 1
            ));
        }
        if found > entries as i64 {
            return refuse(format!("{name}[{at}] is {found}, but there are {entries} entries"));
        }
    }
    Ok(())
}

/// Refuses indices unless all are from 0 to one below a limit.
#[pyfunction]
pub fn check_indices(indices: &Bound<'_, PyAny>, name: &str, limit: usize) -> PyResult<()> {
    fn wrong_one<T: Copy + Into<i64>>(
        indices: ArrayView1<'_, T>,
        limit: usize,
    ) -> Option<(usize, i64)> {
        let mut numbered = indices.iter().map(|&index| index.into()).enumerate();
        numbered.find(|&(_, index)| index < 0 || index as u64 >= limit as u64)
    }
    let found = if let Ok(indices) = indices.extract::<PyReadonlyArray1<'_, i32>>() {
        wrong_one(indices.as_array(), limit)
    } else if let Ok(indices) = indices.extract::<PyReadonlyArray1<'_, i64>>() {
        wrong_one(indices.as_array(), limit)
    } else {
        return Err(wrong(indices, name, "int32 or int64"));
    };
    match found {
        None => Ok(()),
        Some((at, index)) => Err(refuse(
            indices.py(),
            format!("{name}[{at}] is {index}, but must be at least 0 and below {limit}"),
        )),
    }
}

fn ids<'py>(array: &Bound<'py, PyAny>) -> PyResult<Numbers<'py, i32, u32>> {
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, i32>>() {
        return Ok(match array.as_slice() {
            Ok(_) => Numbers::Borrowed(array),
            Err(_) => Numbers::Copied(array.as_array().iter().map(|&id| id as u32).collect()),
        });
    }
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, i64>>() {
        // What has no 32 bits is no column of any matrix, and refused as such.
        let id = |&id: &i64| u32::try_from(id).unwrap_or(u32::MAX);
        return Ok(Numbers::Copied(array.as_array().iter().map(id).collect()));
    }
    Err(wrong(array, "indices", "int32 or int64"))
}

/// Negative indices read as huge ones, which are beyond every matrix.
fn as_ids<'a>(ids: &'a Numbers<'_, i32, u32>) -> PyResult<&'a [u32]> {
    match ids {
        Numbers::Borrowed(array) => Ok(<[u32]>::ref_from_bytes(array.as_slice()?.as_bytes())
            .expect("both have the same size and alignment")),
        Numbers::Copied(ids) => Ok(ids),
    }
}

fn values<'py>(array: &Bound<'py, PyAny>) -> PyResult<Numbers<'py, f32, f32>> {
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, f32>>() {
        return Ok(match array.as_slice() {
            Ok(_) => Numbers::Borrowed(array),
            Err(_) => Numbers::Copied(array.as_array().to_vec()),
        });
    }
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, f64>>() {
        return Ok(Numbers::Copied(array.as_array().iter().map(|&value| value as f32).collect()));
    }
    Err(wrong(array, "data", "float32 or float64"))
}

fn wrong(array: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyErr {
    let found = match array.getattr("dtype") {
        Ok(dtype) => format!("of type {dtype}"),
        Err(_) => format!("a {}", array.get_type()),
    };
    refuse(
        array.py(),
        format!("{name} is {found}, but must be a one-dimensional array of {expected}"),
    )
}

/// Rows as `(indptr, indices, data)`.
pub fn arrays<'py>(py: Python<'py>, rows: CsrView<'_>) -> PyResult<Bound<'py, PyTuple>> {
    let values = PyArray1::from_slice(py, rows.values());
    tuple(py, rows.offsets(), rows.indices(), values.into_any())
}

/// One row of (column, value) pairs whose columns rise.
pub fn one_row(py: Python<'_>, pairs: Vec<(u32, f32)>) -> PyResult<Csr> {
    let (columns, values): (Vec<u32>, Vec<f32>) = pairs.into_iter().unzip();
    let mut row = Csr::new(columns.last().map_or(0, |&last| last as usize + 1));
    row.push_row(&columns, &values).or_raise(py)?;
    Ok(row)
}

/// Features and labels, each as `(indptr, indices, data)` with the number of columns.
pub type DataArrays<'py> = (Bound<'py, PyTuple>, usize, Bound<'py, PyTuple>, usize);

/// Features and labels; the data of labels are 1.
pub fn data_arrays<'py>(
    py: Python<'py>,
    features: &Csr,
    labels: &LabelRows,
) -> PyResult<DataArrays<'py>> {
    let ones = PyArray1::from_vec(py, vec![1i32; labels.view().entries()]).into_any();
    let y = tuple(py, labels.view().offsets(), labels.view().indices(), ones)?;
    Ok((arrays(py, features.view())?, features.columns(), y, labels.columns()))
}

fn tuple<'py>(
    py: Python<'py>,
    offsets: &[u64],
    indices: &[u32],
    values: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    let indices = PyArray1::from_iter(py, indices.iter().map(|&id| id as i32));
    (offsets_array(py, offsets), indices, values).into_pyobject(py)
}

/// As int32, which SciPy prefers, if they fit.
fn offsets_array<'py>(py: Python<'py>, offsets: &[u64]) -> Bound<'py, PyAny> {
    if offsets.last().is_none_or(|&end| end <= i32::MAX as u64) {
        PyArray1::from_iter(py, offsets.iter().map(|&at| at as i32)).into_any()
    } else {
        PyArray1::from_iter(py, offsets.iter().map(|&at| at as i64)).into_any()
    }
}

/// Predictions as `(indptr, indices, data)`, each row best first.
pub fn prediction_arrays<'py>(
    py: Python<'py>,
    predictions: &Predictions,
) -> PyResult<Bound<'py, PyTuple>> {
    let mut offsets = Vec::with_capacity(predictions.len() + 1);
    offsets.push(0);
    let mut end = 0;
    offsets.extend(predictions.rows().map(|row| {
        end += row.len() as u64;
        end
    }));
    let mut ids = Vec::with_capacity(end as usize);
    let mut scores = Vec::with_capacity(end as usize);
    for best in predictions.rows().flatten() {
        ids.push(best.id as i32);
        scores.push(best.score);
    }
    let ids = PyArray1::from_vec(py, ids);
    (offsets_array(py, &offsets), ids, PyArray1::from_vec(py, scores)).into_pyobject(py)
}

/// The best `k` entries of each row.
pub fn predictions(rows: CsrView<'_>, k: usize) -> Predictions {
    let mut predictions = Predictions::default();
    for row in rows.rows() {
        let mut scored: Vec<Scored> = row.iter().map(|(id, score)| Scored { id, score }).collect();
        top_k(&mut scored, k);
        predictions.push_row(&scored);
    }
    predictions
}
