//! Prediction by parts of a model, for models that are larger than a machine's memory.
//!
//! A [`ModelPart`] maps some of a model's trees, submodels or blocks of labels and no other; the
//! trees of a grove's parts may be with different workers. What they say about rows are [`Scores`],
//! and a [`Combiner`] makes of those of all parts what the whole model predicts, bit for bit. A
//! label tree is not divided: which of its nodes are followed depends on all of its level.

mod error;
mod scores;

pub use error::PartError;
pub use scores::{Scores, ScoresReader};

use super::members::Members;
use super::{Algorithm, Learned, Model};
use crate::algorithms::grove::Grove;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, Predictions, Query, Scored, Votes};
use crate::base::store::{Digest, Manifest, Options, StoreError, Stored};
use rayon::prelude::*;
use scores::{About, Asked, Growing};
use std::path::Path;

/// Rows that are scored together.
const BLOCK: usize = 16_384;

/// Which of how many parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of the part, counted from 0.
    pub index: usize,
    /// How many parts there are; those that are more than the model can be divided into are empty.
    pub of: usize,
}

/// A part of a model.
///
/// ```
/// use labelwood::craftml::Params;
/// use labelwood::data::{Dataset, generate::{Generator, Profile}};
/// use labelwood::model::{Algorithm, Model, train};
/// use labelwood::run::Pool;
/// use labelwood::shard::{Combiner, ModelPart, Scores, Share};
/// use labelwood::sparse::Query;
/// let run = Pool::new(2)?.task();
/// let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
/// let (features, labels) = Generator::new(profile, 1)?.rows(0..200, &run)?;
/// let dataset = Dataset { features, labels, label_names: None };
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model");
/// let algorithm = Algorithm::CraftMl(Params { trees: 3, ..Params::default() });
/// train(&dataset, &algorithm, &path, Default::default(), &run)?;
///
/// let (rows, query) = (dataset.features.view(), Query::top(5));
/// let mut scores = Vec::new();
/// for index in 0..2 {
///     let part = ModelPart::open(&path, Share { index, of: 2 }, Default::default(), &run)?;
///     let bytes = part.scores(rows, query, &run)?.to_bytes();
///     scores.push(Scores::from_bytes(&bytes)?);
/// }
/// let combined = Combiner::open(&path, Default::default(), &run)?.combine(&scores, query, &run)?;
/// let model = Model::open(&path, Default::default(), &run)?;
/// assert_eq!(combined, model.predict(rows, query, &run)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ModelPart {
    model: Model,
    id: Digest,
    share: Share,
}

/// Makes predictions of the scores of all parts of a model.
#[derive(Clone, Debug)]
pub struct Combiner {
    model: Model,
    id: Digest,
}

impl ModelPart {
    /// Opens a part of the model in a folder; the files of other parts are not touched.
    pub fn open(
        folder: &Path,
        share: Share,
        options: Options,
        run: &Task,
    ) -> Result<Self, PartError> {
        let Share { index, of } = share;
        if index >= of {
            return Err(PartError::NoSuchPart { index, of });
        }
        let choose = |all: Members, manifest: &Manifest| all.share(manifest, index, of);
        let (model, id) = open(folder, options, choose, run)?;
        Ok(ModelPart { model, id, share })
    }

    /// The model as far as it is open: for its labels, text and settings. Its own predictions are
    /// not those of the whole model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What this part has to say about rows.
    pub fn scores(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        run: &Task,
    ) -> Result<Scores, Stopped> {
        let asked = self.model.asked(query);
        let learned = &self.model.learned;
        let mut growing = vec![Growing::default()];
        if let Learned::Grove(_) = learned {
            growing.push(Growing::default());
        }
        for start in (0..features.len()).step_by(BLOCK) {
            let end = (start + BLOCK).min(features.len());
            for (growing, rows) in growing.iter_mut().zip(ballots(
                learned,
                features.slice(start..end).view(),
                asked,
                run,
            )?) {
                rows.into_iter().for_each(|row| growing.push_row(row));
            }
            run.progress("rows", end as u64, features.len() as u64);
        }
        let copies = match learned {
            Learned::LabelForest(forest) => forest.copies().to_vec(),
            _ => Vec::new(),
        };
        let about = About {
            model: self.id,
            rows: scores::digest(features),
            instances: features.len() as u64,
            index: self.share.index,
            of: self.share.of,
            asked: Asked::new(query),
        };
        let ballots = growing.into_iter().map(Growing::finish).collect();
        Ok(Scores { about, ballots, copies: copies.into() })
    }
}

/// The votes of each row.
type Rows = Vec<Vec<(u32, u64)>>;

/// What the members of an algorithm that are there say about a block of rows; a grove says it twice.
fn ballots(
    learned: &Learned,
    block: CsrView<'_>,
    query: Query<'_>,
    run: &Task,
) -> Result<Vec<Rows>, Stopped> {
    Ok(match learned {
        Learned::CraftMl(forest) => vec![forest.count(block, query, run)?],
        Learned::LabelTree(trees) => vec![trees.count(block, query, run)?],
        Learned::LabelForest(forest) => vec![forest.count(block, query, run)?],
        Learned::Grove(grove) => {
            let known = Grove::known(query);
            let forest = grove.forest().count(block, known, run)?;
            vec![forest, grove.label_tree().count(block, known, run)?]
        }
        Learned::OneVsRest(labels) => {
            let margins = labels.margins(block, query, run)?;
            let bits = |best: &Scored| (best.id, u64::from(best.score.to_bits()));
            vec![margins.rows().map(|row| row.iter().map(bits).collect()).collect()]
        }
    })
}

impl Combiner {
    /// Opens what is needed of the model in a folder: none of its trees, submodels or blocks.
    pub fn open(folder: &Path, options: Options, run: &Task) -> Result<Self, PartError> {
        let (model, id) = open(folder, options, |_, _| Members::NONE, run)?;
        Ok(Combiner { model, id })
    }

    /// The model as far as it is open: for its labels, text and settings.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What [`Model::predict`] of the whole model gives for the rows that all parts have scored.
    /// The order of the parts does not matter; each must be there once, and must have been asked
    /// the same.
    pub fn combine(
        &self,
        scores: &[Scores],
        query: Query<'_>,
        run: &Task,
    ) -> Result<Predictions, PartError> {
        self.check(scores, query)?;
        run.check()?;
        let rows = scores.first().map_or(0, Scores::len);
        let asked = self.model.asked(query);
        let labels = self.model.labels.counts().len();
        let copies = self.copies(scores, labels)?;
        let combined: Vec<Vec<Scored>> = run.install(|| {
            let begin = || Votes::new(labels);
            let row = |votes: &mut Votes, row| self.row(scores, row, asked, &copies, votes);
            (0..rows).into_par_iter().map_init(begin, row).collect()
        });
        let mut predictions = Predictions::default();
        combined.iter().for_each(|row| predictions.push_row(row));
        Ok(self.model.finished(predictions, query.k))
    }

    fn row(
        &self,
        scores: &[Scores],
        row: usize,
        asked: Query<'_>,
        copies: &[u32],
        votes: &mut Votes,
    ) -> Vec<Scored> {
        let ballots = |at: usize| scores.iter().flat_map(move |part| part.ballots[at].row(row));
        let mut best = |at: usize, k: usize, voters: &dyn Fn(u32) -> usize| {
            ballots(at).for_each(|(label, units)| votes.add(label, units));
            votes.best_by(k, voters)
        };
        match &self.model.learned {
            Learned::CraftMl(forest) => best(0, asked.k, &|_| forest.params().trees),
            Learned::LabelTree(trees) => best(0, asked.k, &|_| trees.params().trees),
            Learned::LabelForest(_) => best(0, asked.k, &|label| copies[label as usize] as usize),
            Learned::Grove(grove) => {
                let (params, known) = (grove.params(), Grove::known(asked).k);
                let forest = best(0, known, &|_| params.forest.trees);
                let label_tree = best(1, known, &|_| params.label_tree.trees);
                grove.blended(&forest, &label_tree, asked.k)
            }
            Learned::OneVsRest(labels) => {
                let margin = |(id, bits)| Scored { id, score: f32::from_bits(bits as u32) };
                labels.ranked(ballots(0).map(margin).collect(), asked.k)
            }
        }
    }

    /// How many submodels of a label forest know each label, over all parts.
    fn copies(&self, scores: &[Scores], labels: usize) -> Result<Vec<u32>, PartError> {
        let mut sums = vec![0u32; labels];
        if let Learned::LabelForest(_) = self.model.learned {
            for part in scores {
                if part.copies.len() != labels {
                    return Err(PartError::Damaged("their labels are not the model's".to_owned()));
                }
                let add = |(sum, &copies): (&mut u32, &u32)| *sum = sum.saturating_add(copies);
                sums.iter_mut().zip(part.copies.iter()).for_each(add);
            }
        }
        Ok(sums)
    }

    /// Refuses parts that do not go together.
    fn check(&self, scores: &[Scores], query: Query<'_>) -> Result<(), PartError> {
        let asked = Asked::new(query);
        let kinds = if let Learned::Grove(_) = self.model.learned { 2 } else { 1 };
        let Some(first) = scores.first().map(|part| &part.about) else {
            return Err(PartError::Missing { missing: vec![0], of: 1 });
        };
        let mut is_there = std::collections::BTreeSet::new();
        for Scores { about, ballots, .. } in scores {
            let differs = [
                (about.model != self.id, "the scores of another model"),
                (about.of != first.of, "another number of parts beside it"),
                (about.rows != first.rows, "the scores of other rows"),
                (about.asked != asked, "the answer to another question (labels, beam or top k)"),
            ];
            if let Some(&(_, what)) = differs.iter().find(|(differs, _)| *differs) {
                return Err(PartError::Different { index: about.index, what });
            }
            if ballots.len() != kinds || about.instances != first.instances {
                return Err(PartError::Damaged("they have too few or too many arrays".to_owned()));
            }
            if !is_there.insert(about.index) {
                return Err(PartError::Twice { index: about.index });
            }
        }
        let missing = (0..first.of).filter(|index| !is_there.contains(index));
        let missing: Vec<usize> = missing.take(scores.len() + 64).collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(PartError::Missing { missing, of: first.of }),
        }
    }
}

/// Opens some members of a model, and says which model it is.
fn open(
    folder: &Path,
    options: Options,
    choose: impl Fn(Members, &Manifest) -> Members,
    run: &Task,
) -> Result<(Model, Digest), StoreError> {
    let (stored, (id, members)) = Stored::open_some(
        folder,
        options,
        |manifest| {
            let training = &manifest.training;
            let parsed = Algorithm::from_settings(&training.algorithm, training.settings.clone());
            let members = match parsed {
                Ok(algorithm) => choose(Members::all(&algorithm, manifest), manifest),
                // Reading the model says what is wrong.
                Err(_) => Members::NONE,
            };
            let id = manifest.model_id();
            manifest.units.retain(|unit| members.need(unit.name()));
            (id, members)
        },
        run,
    )?;
    let model = run.install(|| Model::read_here(stored, |_, _| members))?;
    Ok((model, id))
}

#[cfg(test)]
mod tests;
