//! Making a trained model smaller: small weights are dropped, and values stored in fewer bits.

mod kept;

use self::kept::Kept;
use super::store::{
    Begin, Manifest, Options, Staging, Start, StoreError, Stored, Training, Unit, UnitFile,
};
use super::{Algorithm, craftml, linear, text};
use crate::algorithms::craftml::{Params, Precision as CentroidPrecision};
use crate::base::run::Task;
use crate::learn::linear::{Nodes, Precision};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// How a model is made smaller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shrink {
    /// Weights of at most this are dropped; of a CRAFTML forest, entries of its centroids, which
    /// are vectors of length 1 unless the metric is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prune: Option<f32>,
    /// How the others are stored; as they are without a word about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
}

/// How the values of a model are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Values {
    /// Bytes, which CRAFTML scales to the largest value of a centroid.
    U8,
    /// Sixteen-bit floating point.
    F16,
    /// Thirty-two bits, of linear classifiers only.
    F32,
}

/// Why a model was not made smaller.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShrinkError {
    /// Neither a threshold nor a way of storing was given.
    #[error(
        "nothing would become smaller: say which weights to drop (prune) or how to store them (values)"
    )]
    Nothing,
    /// The threshold is no threshold.
    #[error("prune is {0}, but must be a number of at least 0")]
    Prune(f32),
    /// The threshold drops everything.
    #[error(
        "prune is {prune}, but the largest of all {what} is {largest}: none would be left; choose a \
         much smaller threshold"
    )]
    NothingLeft {
        /// The threshold.
        prune: f32,
        /// What would be dropped.
        what: &'static str,
        /// The largest of them.
        largest: f32,
    },
    /// The algorithm does not store such values.
    #[error("{algorithm} stores values as {known}: ask for one of these")]
    Values {
        /// The algorithm's name.
        algorithm: &'static str,
        /// What it stores.
        known: &'static str,
    },
    /// The smaller model would take the place of the one it is made from.
    #[error("{}: this is the model to make smaller; give another folder", .0.display())]
    SameFolder(PathBuf),
    /// A model's files could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes a smaller copy of the model in the folder `source` into the folder `target`, and returns
/// the manifests of both.
///
/// The copy is a model like any other. Its settings are those that it was made with, its precision
/// and threshold taken from `shrink`, and it remembers which model it comes from; labels and text
/// are the same. The files are read and written one at a time on each thread, so that memory does
/// not follow the size of the model. A threshold that would drop everything is refused, one that
/// leaves less than a hundredth is warned of.
///
/// ```
/// use labelwood::data::{Dataset, generate::{Generator, Profile}};
/// use labelwood::label_tree::Params;
/// use labelwood::model::{Algorithm, Model, Shrink, Values, shrink, train};
/// use labelwood::run::Pool;
/// let run = Pool::new(2)?.task();
/// let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
/// let (features, labels) = Generator::new(profile, 1)?.rows(0..200, &run)?;
/// let dataset = Dataset { features, labels, label_names: None };
/// let folder = tempfile::tempdir()?;
/// let (large, small) = (folder.path().join("large"), folder.path().join("small"));
/// train(&dataset, &Algorithm::LabelTree(Params::default()), &large, Default::default(), &run)?;
///
/// let how = Shrink { prune: Some(0.2), values: Some(Values::F16) };
/// let (before, after) = shrink(&large, &small, how, false, &run)?;
/// assert!(after.bytes() < before.bytes());
/// Model::open(&small, Default::default(), &run)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn shrink(
    source: &Path,
    target: &Path,
    shrink: Shrink,
    overwrite: bool,
    run: &Task,
) -> Result<(Manifest, Manifest), ShrinkError> {
    let prune = shrink.prune.unwrap_or(0.0);
    if shrink == Shrink::default() {
        return Err(ShrinkError::Nothing);
    }
    if !(prune >= 0.0 && prune.is_finite()) {
        return Err(ShrinkError::Prune(prune));
    }
    if fs::canonicalize(source).ok().is_some_and(|from| fs::canonicalize(target).ok() == Some(from))
    {
        return Err(ShrinkError::SameFolder(target.to_owned()));
    }
    let stored = Stored::open(source, Options::default(), run)?;
    let before = stored.manifest();
    if before.training.algorithm == text::VECTORISER {
        return Err(StoreError::NoModel { folder: source.to_owned() }.into());
    }
    let settings = before.training.settings.clone();
    let known = Algorithm::from_settings(&before.training.algorithm, settings)
        .map_err(|reason| StoreError::from(stored.refused(reason)))?;
    let (smaller, parts) = shrink.settings(known)?;
    let training = Training {
        settings: smaller.settings(),
        shrunk: Some(shrink.provenance(before)),
        ..before.training.clone()
    };
    let start = Start { resume: false, overwrite };
    let Begin::Work(partial) = Staging::begin(target, &training, start)? else {
        unreachable!("nothing is finished that is not resumed")
    };
    let kept = Default::default();
    let work = Work { stored: &stored, partial: &partial, prune, parts, kept };
    let written = work.units(source, run).map_err(ShrinkError::from);
    match written.and_then(|units| work.check_kept().map(|()| units)) {
        Ok(units) => {
            let after = Manifest { training, units, ..before.clone() };
            partial.commit(&after)?;
            Ok((before.clone(), after))
        }
        Err(error) => {
            // What is there of it is worth nothing; the first error is the one to report.
            let _ = partial.discard();
            Err(error)
        }
    }
}

impl Shrink {
    /// The settings of the smaller model, and what is done to its parts.
    fn settings(&self, algorithm: Algorithm) -> Result<(Algorithm, Parts), ShrinkError> {
        let mut smaller = algorithm.clone();
        let refused = |known| ShrinkError::Values { algorithm: algorithm.name(), known };
        let mut parts = Parts::default();
        match &mut smaller {
            Algorithm::CraftMl(params) => {
                parts.centroids = Some(self.centroids(params).ok_or_else(|| refused("u8 or f16"))?);
            }
            Algorithm::LabelTree(params) => {
                let settings = (&mut params.weight_threshold, &mut params.precision);
                parts.weights = Some(self.weights(settings).ok_or_else(|| refused("f16 or f32"))?);
            }
            Algorithm::OneVsRest(params) => {
                let settings = (&mut params.weight_threshold, &mut params.precision);
                parts.weights = Some(self.weights(settings).ok_or_else(|| refused("f16 or f32"))?);
            }
            Algorithm::LabelForest(params) => {
                let settings = (&mut params.tree.weight_threshold, &mut params.tree.precision);
                parts.weights = Some(self.weights(settings).ok_or_else(|| refused("f16 or f32"))?);
            }
            Algorithm::Grove(params) => {
                let linear = &mut params.label_tree;
                let settings = (&mut linear.weight_threshold, &mut linear.precision);
                parts.centroids =
                    Some(self.centroids(&mut params.forest).ok_or_else(|| refused("f16"))?);
                parts.weights = Some(self.weights(settings).ok_or_else(|| refused("f16"))?);
            }
        }
        Ok((smaller, parts))
    }

    /// Changes the settings of a forest; gives them as they were and as they are, or nothing if it
    /// does not store such values.
    fn centroids(&self, params: &mut Params) -> Option<(Params, Params)> {
        let known = params.clone();
        params.precision = match self.values {
            None => params.precision,
            Some(Values::U8) => CentroidPrecision::Byte,
            Some(Values::F16) => CentroidPrecision::Half,
            Some(Values::F32) => return None,
        };
        Some((known, params.clone()))
    }

    /// The same for the threshold and the precision of linear classifiers.
    fn weights(
        &self,
        (threshold, precision): (&mut f32, &mut Precision),
    ) -> Option<(Precision, Precision)> {
        let known = *precision;
        *precision = match self.values {
            None => known,
            Some(Values::F16) => Precision::Half,
            Some(Values::F32) => Precision::Single,
            Some(Values::U8) => return None,
        };
        *threshold = threshold.max(self.prune.unwrap_or(0.0));
        Some((known, *precision))
    }

    /// What the manifest tells of it.
    fn provenance(&self, from: &Manifest) -> serde_json::Value {
        let mut told = serde_json::to_value(self).expect("it is a number and a name");
        told["from"] = from.model_id().to_string().into();
        told
    }
}

/// What the parts of a model hold, as it is and as it will be.
#[derive(Default)]
struct Parts {
    centroids: Option<(Params, Params)>,
    weights: Option<(Precision, Precision)>,
}

/// What is needed to make the units of a model smaller.
struct Work<'a> {
    stored: &'a Stored,
    partial: &'a Staging,
    prune: f32,
    parts: Parts,
    /// What is left of the centroids, and of the weights.
    kept: [Kept; 2],
}

impl Work<'_> {
    /// Refuses a model of which a part lost everything, and warns of one that lost nearly all.
    fn check_kept(&self) -> Result<(), ShrinkError> {
        let [centroids, weights] = &self.kept;
        centroids.check("entries of centroids", self.prune)?;
        weights.check("weights", self.prune)
    }

    /// Writes all units, in the order of the manifest.
    fn units(&self, source: &Path, run: &Task) -> Result<Vec<UnitFile>, StoreError> {
        let files = &self.stored.manifest().units;
        let (done, total) = (AtomicU64::new(0), files.len() as u64);
        let write = |(unit, file): (&Unit, &UnitFile)| {
            run.check()?;
            let centroids = self.parts.centroids.as_ref().filter(|_| craftml::is_tree(file.name()));
            let weights = self.parts.weights.filter(|_| linear::holds_nodes(file.name()));
            let written = match (centroids, weights) {
                (Some((known, smaller)), _) => {
                    let features = self.stored.manifest().features as usize;
                    let tree = craftml::read_tree(unit, known)?;
                    let shrunk = tree.shrunk(self.prune, features, smaller);
                    let counts = [tree.entries(), shrunk.entries()];
                    self.kept[0].add(counts, || tree.largest_entry(features));
                    self.partial.write_unit(file.name(), &craftml::arrays(&shrunk))
                }
                (None, Some((known, smaller))) => {
                    let shrink = |nodes: Nodes| {
                        let shrunk = nodes.shrunk(self.prune, smaller);
                        let counts = [&nodes, &shrunk].map(|nodes| nodes.figures().weights);
                        self.kept[1].add(counts, || nodes.largest_weight());
                        shrunk
                    };
                    let manifest = self.stored.manifest();
                    let (labels, features) = (manifest.labels as usize, manifest.features as usize);
                    let sizes = linear::Sizes { labels, features, precision: known };
                    linear::rewrite(unit, file.name(), sizes, shrink, self.partial)
                }
                (None, None) => self.partial.adopt_unit(source, file),
            };
            run.progress("parts", done.fetch_add(1, Ordering::Relaxed) + 1, total);
            written
        };
        run.install(|| self.stored.units().par_iter().zip(files).map(write).collect())
    }
}

#[cfg(test)]
mod tests;
