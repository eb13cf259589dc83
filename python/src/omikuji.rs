//! Models that omikuji 0.5 wrote: `settings.json` and a `tree*.cbor` for each tree.
//!
//! Rows walk them as they do there, so that ranking and scores are the same: the beam keeps the
//! most probable nodes of a level, leaves that were reached earlier among them, and each of the last
//! leaves names as many labels as the beam is wide.
//!
//! They are written again from memory, in the same format: the folder that they were read from may
//! be gone or hold another model by then.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use labelwood::data::documents::read_lines;
use labelwood::data::{self, Dataset, Format, ReadError, ReadOptions};
use labelwood::run::{Stopped, Task};
use labelwood::sparse::{Predictions, Row, Scored, top_k};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::{Fault, refuse};
use crate::rows::{DataArrays, FeatureArrays, Features, data_arrays, one_row, prediction_arrays};
use crate::work;

const SETTINGS: &str = "settings.json";

/// The trees of a folder.
#[pyclass(frozen, module = "labelwood._native")]
pub struct OmikujiTrees {
    settings: Settings,
    trees: Vec<Node>,
    labels: usize,
}

#[derive(Deserialize, Serialize)]
struct Settings {
    n_features: usize,
    classifier_loss_type: Loss,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
enum Loss {
    Hinge,
    Log,
}

#[derive(Deserialize, Serialize)]
enum Node {
    Branch { weights: Weights, children: Vec<Node> },
    Leaf { weights: Weights, labels: Vec<u32> },
}

/// The weights of a node's children, by feature; the last row is that of the bias.
#[derive(Deserialize, Serialize)]
enum Weights {
    Dense {
        /// The version of this layout, without which omikuji does not read it.
        v: u8,
        dim: (usize, usize),
        data: Vec<f32>,
    },
    Sparse {
        outer_dim: usize,
        inner_dim: usize,
        indptr: Vec<usize>,
        /// The features that have weights, in order.
        outer_inds: Vec<usize>,
        inner_inds: Vec<usize>,
        data: Vec<f32>,
    },
}

#[pymethods]
impl OmikujiTrees {
    /// Reads a folder.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        work::run(py, 0, None, |task| read(&path, task))
    }

    /// Makes the trees again of the bytes of their files, for `pickle`.
    #[new]
    fn from_files(py: Python<'_>, files: Vec<Bound<'_, PyBytes>>) -> PyResult<Self> {
        let files: Vec<&[u8]> = files.iter().map(|file| file.as_bytes()).collect();
        work::run(py, 0, None, |task| {
            let mut files = files.into_iter();
            let settings = read_settings(Path::new(SETTINGS), files.next().unwrap_or_default())?;
            let named: Vec<_> = files.enumerate().map(|(at, tree)| (tree_name(at), tree)).collect();
            let read = |(name, tree): &(String, &[u8])| settings.read_tree(Path::new(name), *tree);
            let trees =
                task.install(|| named.par_iter().map(read).collect::<Result<_, Fault>>())?;
            Ok::<_, Fault>(OmikujiTrees::new(settings, trees))
        })
    }

    /// The bytes of the files, for `pickle`: the settings, then the trees.
    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<(Vec<Bound<'py, PyBytes>>,)> {
        let files = work::run(py, 0, None, |task| -> Result<Vec<Vec<u8>>, Fault> {
            let bytes = |tree: &Node| {
                let mut bytes = Vec::new();
                write_tree(tree, &mut bytes).map(|()| bytes)
            };
            let trees = || self.trees.par_iter().map(bytes).collect::<io::Result<Vec<_>>>();
            let settings = serde_json::to_vec_pretty(&self.settings)?;
            Ok([settings].into_iter().chain(task.install(trees)?).collect())
        })?;
        Ok((files.iter().map(|file| PyBytes::new(py, file)).collect(),))
    }

    /// Writes the files into a folder, which is made.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        work::run(py, 0, None, |task| -> Result<(), Fault> {
            fs::create_dir_all(&path)?;
            let write = |(at, tree): (usize, &Node)| {
                let file = File::create(path.join(tree_name(at)))?;
                let mut out = BufWriter::new(&file);
                write_tree(tree, &mut out)?;
                out.flush()?;
                file.sync_all()
            };
            task.install(|| self.trees.par_iter().enumerate().try_for_each(write))?;
            let file = File::create(path.join(SETTINGS))?;
            serde_json::to_writer_pretty(&file, &self.settings)?;
            Ok(file.sync_all()?)
        })
    }

    /// What there is, in the form of a model's manifest.
    #[getter]
    fn manifest(&self) -> String {
        let settings = serde_json::json!({"trees": self.trees.len()});
        let features = self.settings.n_features;
        serde_json::json!({"features": features, "labels": self.labels, "settings": settings})
            .to_string()
    }

    /// As that of a model.
    fn predict_row(
        &self,
        py: Python<'_>,
        mut pairs: Vec<(u32, f32)>,
        k: usize,
        beam: usize,
    ) -> PyResult<Vec<(u32, f32)>> {
        pairs.sort_by_key(|&(feature, _)| feature);
        let row = one_row(py, pairs)?;
        let best = work::here(py, |_| Ok::<_, Stopped>(self.best(row.row(0), k, beam)))?;
        Ok(best.iter().map(|best| (best.id, best.score)).collect())
    }

    /// As that of a model; which labels may be named cannot be said.
    #[expect(clippy::too_many_arguments, reason = "it is called from one place")]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        features: FeatureArrays<'_>,
        k: usize,
        beam: usize,
        _allowed: Option<Vec<u32>>,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let features = Features::new(features)?;
        let rows = features.view(py)?;
        let best = work::run(py, threads, progress, |task| {
            let best = |row: usize| {
                task.check()?;
                Ok(self.best(rows.row(row), k, beam))
            };
            task.install(|| {
                (0..rows.len()).into_par_iter().map(best).collect::<Result<Vec<_>, Stopped>>()
            })
        })?;
        let mut predictions = Predictions::default();
        best.iter().for_each(|row| predictions.push_row(row));
        prediction_arrays(py, &predictions)
    }
}

impl OmikujiTrees {
    /// Trees with one more than the largest label of each.
    fn new(settings: Settings, trees: Vec<(Node, usize)>) -> Self {
        let labels = trees.iter().map(|&(_, labels)| labels).max().unwrap_or(0);
        let trees = trees.into_iter().map(|(tree, _)| tree).collect();
        OmikujiTrees { settings, trees, labels }
    }

    /// The best labels of a row: the means of their probabilities over all trees.
    fn best(&self, row: Row<'_>, k: usize, beam: usize) -> Vec<Scored> {
        let length = row.values.iter().map(|value| value * value).sum::<f32>().sqrt();
        let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
        let bias = (self.settings.n_features, 1.0);
        let known = row.iter().map(|(feature, value)| (feature as usize, value * scale));
        let entries: Vec<(usize, f32)> =
            known.filter(|&(feature, _)| feature < bias.0).chain([bias]).collect();
        let mut sums: BTreeMap<u32, f32> = BTreeMap::new();
        for tree in &self.trees {
            for (label, log) in self.walk(tree, &entries, beam.max(1)) {
                *sums.entry(label).or_default() += log.exp();
            }
        }
        let trees = self.trees.len() as f32;
        let mut scored: Vec<Scored> =
            sums.into_iter().map(|(id, sum)| Scored { id, score: sum / trees }).collect();
        top_k(&mut scored, k);
        scored
    }

    /// The labels that a row comes to, with the logarithms of their probabilities.
    fn walk(&self, tree: &Node, entries: &[(usize, f32)], beam: usize) -> Vec<(u32, f32)> {
        let mut level = vec![(tree, 0.0f32)];
        while level.iter().any(|(node, _)| matches!(node, Node::Branch { .. })) {
            let mut next = Vec::new();
            for (node, log) in level {
                match node {
                    Node::Leaf { .. } => next.push((node, log)),
                    Node::Branch { weights, children } => {
                        let logs = self.logs(weights, children.len(), entries);
                        let onward = children.iter().zip(logs);
                        next.extend(onward.map(|(child, own)| (child, log + own)));
                    }
                }
            }
            next.sort_by(|left, right| right.1.total_cmp(&left.1));
            next.truncate(beam);
            level = next;
        }
        let mut found = Vec::new();
        for (node, log) in level {
            if let Node::Leaf { weights, labels } = node {
                let logs = self.logs(weights, labels.len(), entries);
                let own = labels.iter().zip(logs).map(|(&label, own)| (label, log + own));
                let mut own: Vec<(u32, f32)> = own.collect();
                own.sort_by(|left, right| right.1.total_cmp(&left.1));
                found.extend_from_slice(&own[..own.len().min(beam)]);
            }
        }
        found
    }

    /// The logarithms of the probabilities of a node's children.
    fn logs(&self, weights: &Weights, children: usize, entries: &[(usize, f32)]) -> Vec<f32> {
        let mut margins = vec![0.0; children];
        weights.add_to(&mut margins, entries);
        let log = |margin: f32| match self.settings.classifier_loss_type {
            Loss::Hinge => -(1.0 - margin).max(0.0).powi(2),
            Loss::Log => -(-margin).exp().ln_1p(),
        };
        margins.into_iter().map(log).collect()
    }
}

impl Weights {
    fn add_to(&self, margins: &mut [f32], entries: &[(usize, f32)]) {
        for &(feature, factor) in entries {
            match self {
                Weights::Dense { data, dim, .. } => {
                    let weights = &data[feature * dim.1..(feature + 1) * dim.1];
                    for (margin, weight) in margins.iter_mut().zip(weights) {
                        *margin += factor * weight;
                    }
                }
                Weights::Sparse { indptr, outer_inds, inner_inds, data, .. } => {
                    let Ok(at) = outer_inds.binary_search(&feature) else { continue };
                    let range = indptr[at]..indptr[at + 1];
                    for (&child, weight) in inner_inds[range.clone()].iter().zip(&data[range]) {
                        margins[child] += factor * weight;
                    }
                }
            }
        }
    }

    /// Whether they are those of so many features, the bias included, and children.
    fn fits(&self, features: usize, children: usize) -> bool {
        match self {
            Weights::Dense { v, dim, data } => {
                (*v, *dim) == (1, (features, children))
                    && features.checked_mul(children) == Some(data.len())
            }
            Weights::Sparse { outer_dim, inner_dim, indptr, outer_inds, inner_inds, data } => {
                (*outer_dim, *inner_dim) == (features, children)
                    && indptr.len() == outer_inds.len() + 1
                    && indptr.is_sorted()
                    && indptr.last() == Some(&data.len())
                    && inner_inds.len() == data.len()
                    && outer_inds.is_sorted_by(|left, right| left < right)
                    && inner_inds.iter().all(|&child| child < children)
            }
        }
    }
}

impl Node {
    /// One more than the largest label, if all weights fit; nothing if they do not.
    fn check(&self, features: usize) -> Option<usize> {
        match self {
            Node::Branch { weights, children } if weights.fits(features, children.len()) => {
                children.iter().try_fold(0, |most, child| Some(child.check(features)?.max(most)))
            }
            Node::Leaf { weights, labels } if weights.fits(features, labels.len()) => {
                // Labels are columns of SciPy's matrices, whose numbers have a sign.
                let most = labels.iter().max().map_or(0, |&label| label as usize + 1);
                (most <= i32::MAX as usize).then_some(most)
            }
            _ => None,
        }
    }
}

impl Settings {
    /// A tree, with one more than its largest label.
    fn read_tree(&self, path: &Path, file: impl Read) -> Result<(Node, usize), Fault> {
        let tree: Node = ciborium::from_reader(file).map_err(|error| refused(path, error))?;
        match tree.check(self.n_features.saturating_add(1)) {
            Some(labels) => Ok((tree, labels)),
            None => Err(refused(path, "its weights do not fit its nodes")),
        }
    }
}

fn read(folder: &Path, task: &Task) -> Result<OmikujiTrees, Fault> {
    let settings = {
        let path = folder.join(SETTINGS);
        read_settings(&path, &fs::read(&path)?)?
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        if name.is_some_and(|name| name.starts_with("tree") && name.ends_with(".cbor")) {
            paths.push(path);
        }
    }
    // By number, so that trees that are saved and loaded again are added up in the same order.
    paths.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    let tree = |path: &PathBuf| {
        task.check()?;
        settings.read_tree(path, BufReader::new(File::open(path)?))
    };
    let trees = task.install(|| paths.par_iter().map(tree).collect::<Result<Vec<_>, Fault>>())?;
    if trees.is_empty() {
        return Err(refused(folder, "there is no tree"));
    }
    Ok(OmikujiTrees::new(settings, trees))
}

fn read_settings(path: &Path, text: &[u8]) -> Result<Settings, Fault> {
    serde_json::from_slice(text).map_err(|error| refused(path, error))
}

fn write_tree(tree: &Node, out: impl Write) -> io::Result<()> {
    ciborium::into_writer(tree, out).map_err(|error| match error {
        ciborium::ser::Error::Io(error) => error,
        ciborium::ser::Error::Value(reason) => io::Error::other(reason),
    })
}

fn tree_name(at: usize) -> String {
    format!("tree{at}.cbor")
}

fn refused(path: &Path, reason: impl std::fmt::Display) -> Fault {
    Fault::Input(format!("{}: not a file of omikuji 0.5: {reason}", path.display()))
}

/// Reads a training file as omikuji does: features and labels as `(indptr, indices, data)` with
/// their widths. Whatever its name, it has the format of the XC repository.
#[pyfunction]
pub fn read_omikuji_rows<'py>(
    py: Python<'py>,
    path: PathBuf,
    threads: usize,
) -> PyResult<DataArrays<'py>> {
    let options = ReadOptions {
        format: Some(Format::Xc),
        lenient: true,
        ignore_label_names: true,
        ..ReadOptions::default()
    };
    let read = work::run(py, threads, None, |task| {
        data::read(&path, &options, task).or_else(|first| match first {
            ReadError::Content { .. } => {
                let mut text = Vec::new();
                let again = read_lines(&path, task, |line| {
                    text.extend(without_liberties(line.as_bytes()));
                    text.push(b'\n');
                    text.len()
                });
                let name = path.to_string_lossy();
                again
                    .and_then(|()| data::read_bytes(&text, &name, &options, task))
                    .map_err(|_| Fault::from(first))
            }
            other => Err(other.into()),
        })
    })?;
    read.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    crate::log::flush(py)?;
    let Dataset { features, labels, .. } = read.dataset;
    // Labels are columns of SciPy's matrices, whose numbers have a sign.
    if labels.columns() > i32::MAX as usize {
        let (largest, most) = (labels.columns() - 1, i32::MAX - 1);
        let text = format!(
            "{}: label {largest} is too large: labels are numbered from 0 to {most}",
            path.display()
        );
        return Err(refuse(py, text));
    }
    data_arrays(py, &features, &labels)
}

/// The lines without what omikuji takes but no other reader does: empty labels, as in `0,,3,`, and
/// numbers with a plus, as in `+3`.
fn without_liberties(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        for (at, field) in line.split_inclusive(|&byte| byte == b' ').enumerate() {
            if at > 0 {
                out.extend_from_slice(field.strip_prefix(b"+").unwrap_or(field));
                continue;
            }
            let end = field.trim_ascii_end().len();
            let labels = field[..end].split(|&byte| byte == b',').filter(|label| !label.is_empty());
            let labels: Vec<&[u8]> =
                labels.map(|label| label.strip_prefix(b"+").unwrap_or(label)).collect();
            out.extend(labels.join(&b','));
            out.extend_from_slice(&field[end..]);
        }
    }
    out
}
