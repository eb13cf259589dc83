//! Prediction by shares of a model, for models that are larger than a machine's memory.
//!
//! A [`ModelShare`] maps some of a model's trees, submodels or blocks of labels and no other; the
//! trees of a grove's parts may be with different workers. What they say about rows are [`Scores`],
//! and a [`Combiner`] makes of those of all shares what the whole model predicts, bit for bit. A
//! label tree is not divided: which of its nodes are followed depends on all of its level.

mod error;
mod scores;

pub use error::ShareError;
pub use scores::{Scores, ScoresReader};

use super::job::{common_units, parsed};
use super::rows::is_rows;
use super::{Model, all_members};
use crate::algorithms::{RowVotes, Settings};
use crate::base::run::{Stage, Stopped, Task};
use crate::base::sparse::{Predictions, Query, RowsView, Scored};
use crate::base::store::{Digest, Manifest, Options, StoreError, Stored, UnitFile, listed};
use rayon::prelude::*;
use scores::{About, Asked, Ballots};
use std::ops::Range;
use std::path::Path;

/// Rows that are scored together.
const BLOCK: usize = 16_384;

/// Which of how many shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of the share, counted from 0.
    pub index: usize,
    /// How many shares there are; those that are more than the model can be divided into are empty.
    pub of: usize,
}

/// A share of a model.
///
/// ```
/// use labelwood::algorithms::craftml::Params;
/// use labelwood::data::{Dataset, generate::{Generator, Profile}};
/// use labelwood::model::{Model, train};
/// use labelwood::run::Pool;
/// use labelwood::shard::{Combiner, ModelShare, Scores, Share};
/// use labelwood::sparse::Query;
/// let task = Pool::new(2)?.task();
/// let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
/// let (features, labels) = Generator::new(profile, 1)?.rows(0..200, &task)?;
/// let dataset = Dataset { features, labels, label_names: None, named: None };
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model");
/// let settings = Params { trees: 3, ..Params::default() }.into();
/// train(&dataset, &settings, &path, Default::default(), &task)?;
///
/// let (rows, query) = (dataset.features.view(), Query::top(5));
/// let mut scores = Vec::new();
/// for index in 0..2 {
///     let share = ModelShare::open(&path, Share { index, of: 2 }, Default::default(), &task)?;
///     let bytes = share.scores(rows, query, &task)?.to_bytes();
///     scores.push(Scores::from_bytes(&bytes)?);
/// }
/// let combined = Combiner::open(&path, Default::default(), &task)?.combine(&scores, query, &task)?;
/// let model = Model::open(&path, Default::default(), &task)?;
/// assert_eq!(combined, model.predict(rows, query, &task)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ModelShare {
    model: Model,
    id: Digest,
    share: Share,
}

/// Makes predictions of the scores of all shares of a model.
#[derive(Clone, Debug)]
pub struct Combiner {
    model: Model,
    id: Digest,
}

impl ModelShare {
    /// Opens a share of the model in a folder; the files of other shares are not touched.
    pub fn open(
        folder: &Path,
        share: Share,
        options: Options,
        task: &Task,
    ) -> Result<Self, ShareError> {
        let Share { index, of } = share;
        if index >= of {
            let reason = format!("there is no share {index}: there are {of}, counted from 0");
            return Err(ShareError::Refused(reason));
        }
        let choose = |settings: &Settings, manifest: &Manifest| {
            members_of_share(settings, manifest, index, of)
        };
        let (model, id) = open(folder, options, choose, task)?;
        Ok(ModelShare { model, id, share })
    }

    /// The model as far as it is open: for its labels, text and settings. Its own predictions are
    /// not those of the whole model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What this share has to say about rows.
    pub fn scores<'r>(
        &self,
        rows: impl Into<RowsView<'r>>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Scores, Stopped> {
        let rows = rows.into();
        let asked = self.model.asked(query);
        let learned = self.model.learned();
        let voters = learned.voters();
        let mut ballots: Vec<Ballots> = voters.iter().map(|_| Ballots::default()).collect();
        for start in (0..rows.len()).step_by(BLOCK) {
            let end = (start + BLOCK).min(rows.len());
            let votes = learned.votes(rows.slice(start..end).view(), asked, task)?;
            for (ballots, of_rows) in ballots.iter_mut().zip(votes) {
                for (row, votes) in (start..).zip(of_rows) {
                    let is_unsaid = self.model.says_nothing_of(rows, row);
                    ballots.push_row(if is_unsaid { Vec::new() } else { votes });
                }
            }
            task.progress(Stage::Rows, end as u64, rows.len() as u64);
        }
        let about = About {
            model: self.id,
            rows: scores::digest(rows.features),
            instances: rows.len() as u64,
            index: self.share.index,
            of: self.share.of,
            asked: Asked::new(query),
        };
        Ok(Scores { about, ballots, voters: voters.into_iter().map(Into::into).collect() })
    }
}

impl Combiner {
    /// Opens what is needed of the model in a folder: none of its trees, submodels or blocks.
    pub fn open(folder: &Path, options: Options, task: &Task) -> Result<Self, ShareError> {
        let (model, id) = open(folder, options, |_, _| 0..0, task)?;
        Ok(Combiner { model, id })
    }

    /// The model as far as it is open: for its labels, text and settings.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What [`Model::predict`] of the whole model gives for the rows that all shares have scored.
    /// The order of the shares does not matter; each must be there once, and must have been asked
    /// the same.
    pub fn combine(
        &self,
        scores: &[Scores],
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, ShareError> {
        self.check(scores, query)?;
        task.check()?;
        let rows = scores.first().map_or(0, Scores::len);
        let asked = self.model.asked(query);
        let voters = self.voters(scores)?;
        let row = |row| {
            let of_kind = |kind: usize| -> RowVotes {
                scores.iter().flat_map(|share| share.ballots[kind].row(row)).collect()
            };
            let votes: Vec<RowVotes> = (0..voters.len()).map(of_kind).collect();
            self.model.learned().combine(&votes, &voters, asked)
        };
        let combined: Vec<Vec<Scored>> =
            task.install(|| (0..rows).into_par_iter().map(row).collect());
        let mut predictions = Predictions::default();
        combined.iter().for_each(|row| predictions.push_row(row));
        Ok(self.model.finished(predictions, query.k))
    }

    /// For each kind of members, how many vote for each label, over all shares.
    fn voters(&self, scores: &[Scores]) -> Result<Vec<Vec<u32>>, ShareError> {
        let mut sums = self.model.learned().voters();
        for share in scores {
            for (sums, voters) in sums.iter_mut().zip(&share.voters) {
                if voters.len() != sums.len() {
                    return Err(ShareError::damaged("their labels are not the model's"));
                }
                let add = |(sum, &more): (&mut u32, &u32)| *sum = sum.saturating_add(more);
                sums.iter_mut().zip(voters.iter()).for_each(add);
            }
        }
        Ok(sums)
    }

    /// Refuses shares that do not go together.
    fn check(&self, scores: &[Scores], query: Query<'_>) -> Result<(), ShareError> {
        let asked = Asked::new(query);
        let kinds = self.model.learned().voters().len();
        let Some(first) = scores.first().map(|share| &share.about) else {
            return Err(ShareError::Refused("there are no scores: predict a share".to_owned()));
        };
        let mut is_there = std::collections::BTreeSet::new();
        for Scores { about, ballots, voters } in scores {
            let differs = [
                (about.model != self.id, "the scores of another model"),
                (about.of != first.of, "another number of shares beside it"),
                (about.rows != first.rows, "the scores of other rows"),
                (about.asked != asked, "the answer to another question (labels, beam or top k)"),
            ];
            if let Some(&(_, what)) = differs.iter().find(|(differs, _)| *differs) {
                let reason = format!("share {} has {what}", about.index);
                let advice = "predict all shares with the same model, rows and flags";
                return Err(ShareError::Refused(format!("{reason}: {advice}")));
            }
            let counts = [ballots.len(), voters.len()];
            if counts != [kinds; 2] || about.instances != first.instances {
                return Err(ShareError::damaged("they have too few or too many arrays"));
            }
            if !is_there.insert(about.index) {
                let reason = format!("share {} is there twice", about.index);
                return Err(ShareError::Refused(format!("{reason}: give each share once")));
            }
        }
        let missing = (0..first.of).filter(|index| !is_there.contains(index));
        let missing: Vec<String> =
            missing.take(scores.len() + 64).map(|index| index.to_string()).collect();
        let (shares, them) = match missing.len() {
            0 => return Ok(()),
            1 => ("share", "it"),
            _ => ("shares", "them"),
        };
        let (missing, of) = (listed(&missing, "missing"), first.of);
        Err(ShareError::Refused(format!(
            "{shares} {missing}, of {of} shares counted from 0: predict {them} and combine again"
        )))
    }
}

/// The members of share `index` of `of`: shares follow each other and have files of about the same size.
fn members_of_share(
    settings: &Settings,
    manifest: &Manifest,
    index: usize,
    of: usize,
) -> Range<usize> {
    let mut bytes = vec![0u64; all_members(settings, manifest).len()];
    for unit in manifest.units.iter().filter(|unit| !is_common(unit.name())) {
        let member = settings.member(unit.name(), manifest.labels as usize);
        if let Some(sum) = member.and_then(|member| bytes.get_mut(member)) {
            *sum += unit.bytes;
        }
    }
    let total = bytes.iter().map(|&bytes| u128::from(bytes)).sum::<u128>().max(1);
    let mut before = 0u128;
    // The share that the middle of a member's bytes falls into.
    let shares = bytes.iter().map(|&bytes| {
        let middle = 2 * before + u128::from(bytes);
        before += u128::from(bytes);
        ((middle * of as u128 / (2 * total)) as usize).min(of - 1)
    });
    let shares: Vec<usize> = shares.collect();
    let start = shares.partition_point(|&share| share < index);
    start..shares.partition_point(|&share| share <= index)
}

/// Whether a unit is one that every model may have whatever the algorithm.
fn is_common(unit: &str) -> bool {
    common_units().any(|common| common == unit) || is_rows(unit)
}

/// Opens some members of a model, and says which model it is.
fn open(
    folder: &Path,
    options: Options,
    choose: impl Fn(&Settings, &Manifest) -> Range<usize>,
    task: &Task,
) -> Result<(Model, Digest), StoreError> {
    let (stored, (id, chosen)) = Stored::open_some(
        folder,
        options,
        |manifest| {
            let id = manifest.model_id();
            // Reading the model says what is wrong with settings.
            let Ok(settings) = parsed(&manifest.training) else { return (id, None) };
            let members = choose(&settings, manifest);
            let labels = manifest.labels as usize;
            let is_needed = |unit: &UnitFile| {
                is_common(unit.name())
                    || settings.member(unit.name(), labels).is_none_or(|own| members.contains(&own))
            };
            manifest.units.retain(is_needed);
            (id, Some((settings, members)))
        },
        task,
    )?;
    let model = task.install(|| match chosen {
        Some((settings, members)) => Model::read_members(stored, &settings, members),
        None => Model::read(stored, task),
    })?;
    Ok((model, id))
}

#[cfg(test)]
mod tests;
