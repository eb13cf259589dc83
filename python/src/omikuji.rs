//! Models that omikuji 0.5 wrote: `settings.json` and a `tree*.cbor` for each tree.
//!
//! Rows walk them as they do there, so that ranking and scores are the same: the beam keeps the
//! most probable nodes of a level, leaves that were reached earlier among them, and each of the last
//! leaves names as many labels as the beam is wide.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use labelwood::run::{Cancelled, Run};
use labelwood::sparse::{CsrView, Predictions, Row, Scored, top_k};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rayon::prelude::*;
use serde::Deserialize;

use crate::errors::Fault;
use crate::rows::{FeatureArrays, Features, prediction_arrays};
use crate::work;

/// The trees of a folder.
#[pyclass(frozen, module = "labelwood._native")]
pub struct OmikujiTrees {
    settings: Settings,
    trees: Vec<Node>,
    labels: usize,
}

#[derive(Deserialize)]
struct Settings {
    n_features: usize,
    classifier_loss_type: Loss,
}

#[derive(Clone, Copy, Deserialize)]
enum Loss {
    Hinge,
    Log,
}

#[derive(Deserialize)]
enum Node {
    Branch { weights: Weights, children: Vec<Node> },
    Leaf { weights: Weights, labels: Vec<u32> },
}

/// The weights of a node's children, by feature; the last row is that of the bias.
#[derive(Deserialize)]
enum Weights {
    Dense {
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
        work::run(py, 0, None, |run| read(&path, run))
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
        let (indices, values): (Vec<u32>, Vec<f32>) = pairs.into_iter().unzip();
        let row = Row { indices: &indices, values: &values };
        let best = work::here(py, |_| Ok::<_, Cancelled>(self.best(row, k, beam)))?;
        Ok(best.iter().map(|best| (best.id, best.score)).collect())
    }

    /// As that of a model; which labels may be named cannot be said.
    #[pyo3(signature = (features, k, beam, _allowed, threads, progress))]
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
        let rows: CsrView<'_> = features.view(py)?;
        let best = work::run(py, threads, progress, |run| {
            let best = |row: usize| {
                run.check()?;
                Ok(self.best(rows.row(row), k, beam))
            };
            run.install(|| {
                (0..rows.len()).into_par_iter().map(best).collect::<Result<Vec<_>, Cancelled>>()
            })
        })?;
        let mut predictions = Predictions::default();
        best.iter().for_each(|row| predictions.push_row(row));
        prediction_arrays(py, &predictions)
    }
}

impl OmikujiTrees {
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
                Weights::Dense { data, dim } => {
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
            Weights::Dense { dim, data } => {
                *dim == (features, children) && features.checked_mul(children) == Some(data.len())
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

fn read(folder: &Path, run: &Run) -> Result<OmikujiTrees, Fault> {
    let settings: Settings = {
        let path = folder.join("settings.json");
        let text = fs::read_to_string(&path)?;
        serde_json::from_str(&text).map_err(|error| refused(&path, error))?
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        if name.is_some_and(|name| name.starts_with("tree") && name.ends_with(".cbor")) {
            paths.push(path);
        }
    }
    paths.sort();
    let features = settings.n_features.saturating_add(1);
    let tree = |path: &PathBuf| -> Result<(Node, usize), Fault> {
        run.check()?;
        let tree: Node = ciborium::from_reader(BufReader::new(File::open(path)?))
            .map_err(|error| refused(path, error))?;
        match tree.check(features) {
            Some(labels) => Ok((tree, labels)),
            None => Err(refused(path, "its weights do not fit its nodes")),
        }
    };
    let trees = run.install(|| paths.par_iter().map(tree).collect::<Result<Vec<_>, Fault>>())?;
    if trees.is_empty() {
        return Err(refused(folder, "there is no tree"));
    }
    let labels = trees.iter().map(|&(_, labels)| labels).max().unwrap_or(0);
    let trees = trees.into_iter().map(|(tree, _)| tree).collect();
    Ok(OmikujiTrees { settings, trees, labels })
}

fn refused(path: &Path, reason: impl std::fmt::Display) -> Fault {
    Fault::Input(format!("{}: not a file of omikuji 0.5: {reason}", path.display()))
}
