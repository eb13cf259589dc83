//! More rows for a trained model, and more names of labels.
//!
//! Forests count the new rows in the leaves that they fall into, which needs nothing but the model.
//! A model that holds its training rows also divides the leaves that became too large and learns
//! the linear classifiers again that the new rows and names touch. Everything else stays as it is: feature
//! weights, the terms of text, the calibration and the ranker of a grove.

use super::{Model, labels, rows, settings_of, text, unlabelled};
use crate::algorithms::{Interrupted, NewRows, UnitSink, Updates};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::Csr;
use crate::base::store::{Begin, Manifest, Staging, Start, StoreError, Training, UnitFile, Update};
use crate::data::{Dataset, DatasetView, LabelIndex, Named};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use thiserror::Error;

/// How an update starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateStart {
    /// Replace another model in the target, and drop other work that is unfinished there.
    pub overwrite: bool,
    /// Add the rows even if the last update of the model added the same.
    pub again: bool,
}

/// What came of an update.
#[derive(Clone, Debug, PartialEq)]
pub struct Updated {
    /// What the model is now.
    pub manifest: Manifest,
    /// How many rows were added.
    pub rows: u64,
    /// How many labels are new.
    pub new_labels: u64,
    /// How many of these no row has.
    pub without_rows: u64,
    /// How many labels that the model knew have other names now.
    pub renamed: u64,
    /// Whether the very model was there already, and nothing was left to do.
    pub was_there: bool,
}

/// Why a model was not updated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// There is nothing to learn from these rows, or this model cannot take them, or not here.
    #[error("{0}")]
    Refused(String),
    /// The model's files could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The task was stopped; finished units are kept, and the same update goes on with them.
    #[error("the model is as it was; the same update again goes on with what is finished")]
    Stopped {
        /// The cancellation itself.
        #[source]
        source: Stopped,
    },
}

impl From<Interrupted> for UpdateError {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::Stopped(source) | Interrupted::Store(StoreError::Stopped(source)) => {
                UpdateError::Stopped { source }
            }
            Interrupted::Store(error) => UpdateError::Store(error),
            Interrupted::Params(error) => UpdateError::Refused(error.to_string()),
        }
    }
}

/// Adds rows to a model and writes the result into the folder `target`, which may be its own: the
/// old model is there until the new one is complete.
///
/// Labels beyond those of the model are new, and so are their names; the names of other labels take the
/// place of those that the model has. Features beyond those of the model are left out. The same rows in the same order of updates give the same bytes.
///
/// A killed update goes on when it is repeated, and adds its rows once: if the model was in place
/// already, its last update was of the same rows, and there is nothing left to do unless
/// [`UpdateStart::again`] insists. A model that another process has replaced since it was opened
/// is not replaced: that would lose what the other one did.
///
/// ```
/// use labelwood::Settings;
/// use labelwood::algorithms::craftml::Params;
/// use labelwood::data::{Dataset, generate::{Generator, Profile}};
/// use labelwood::model::{Model, train, update};
/// use labelwood::run::Pool;
/// let task = Pool::new(2)?.task();
/// let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").unwrap() };
/// let generator = Generator::new(profile, 1)?;
/// let rows = |range| generator.rows(range, &task).map(|(features, labels)| Dataset { features, labels, label_names: None, named: None });
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model");
/// let algorithm = Settings::from(Params { trees: 2, ..Params::default() });
/// train(&rows(0..200)?, &algorithm, &path, Default::default(), &task)?;
///
/// let model = Model::open(&path, Default::default(), &task)?;
/// let updated = update(&model, &rows(200..300)?, &path, Default::default(), &task)?;
/// assert_eq!(updated.manifest.instances, 300);
/// assert_eq!(Model::open(&path, Default::default(), &task)?.manifest().training.updates.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn update(
    model: &Model,
    dataset: &Dataset,
    target: &Path,
    start: UpdateStart,
    task: &Task,
) -> Result<Updated, UpdateError> {
    let manifest = model.manifest();
    let added = fitted(dataset, manifest);
    let known = model.labels().names();
    let names = names(known, dataset.label_names.as_ref(), added.labels.columns())?;
    let renamed = renamed(known, names.as_ref());
    let new_labels = manifest.labels as usize..added.labels.columns();
    let has_new_names = names.as_ref().is_some_and(|names| Some(names) != known);
    check(model, dataset, has_new_names)?;
    // Names that come with rows alone are new labels, which the rows tell.
    let is_told = dataset.is_empty() || !renamed.is_empty();
    let training = describe(manifest, dataset, names.as_ref().filter(|_| is_told));
    let counts = added.labels.view().column_counts();
    let updated = |manifest: Manifest, was_there| Updated {
        rows: added.len() as u64,
        new_labels: new_labels.len() as u64,
        without_rows: counts[new_labels.clone()].iter().filter(|&&count| count == 0).count() as u64,
        renamed: renamed.len() as u64,
        manifest,
        was_there,
    };
    let partial = match begin(model, &training, target, start)? {
        Begin::Work(partial) => partial,
        Begin::Finished(manifest) => return Ok(updated(manifest, true)),
    };
    let units = UnitSink::resume(&partial, task)?;
    let holds_rows = manifest.training.keep_rows;
    let all = holds_rows.then(|| rows::read_with(model.stored(), added.view())).transpose();
    let mut all = all.map_err(StoreError::from)?;
    if let Some((all, (reader, names))) = all.as_mut().zip(model.text().zip(names.as_ref())) {
        let names = reader.rows_of_names(names, task).map_err(Interrupted::from)?;
        let matches = Csr::empty(all.len(), all.labels.columns());
        all.named = Some(Named { names, matches });
    }
    let work = Work { model, added: added.view(), all };
    let labels_of_rows = added.labels.view().indices().iter().copied();
    let new_labels = new_labels.clone().map(|label| label as u32);
    let touched = labels_of_rows.chain(renamed.iter().copied()).chain(new_labels).collect();
    let rows = NewRows { added: work.added, all: work.all.as_ref(), touched: &touched };
    model.learned().update(rows, &units, task)?;
    work.write_labels(names.as_ref(), &units, task)?;
    let manifest = Manifest {
        units: work.listed(&partial, &units)?,
        training,
        instances: manifest.instances + added.len() as u64,
        features: manifest.features,
        labels: added.labels.columns() as u64,
    };
    partial.commit(&manifest)?;
    Ok(updated(manifest, false))
}

/// Refuses what cannot be done.
fn check(model: &Model, dataset: &Dataset, has_new_names: bool) -> Result<(), UpdateError> {
    let settings = settings_of(model.stored()).map_err(StoreError::from)?;
    let (algorithm, rows) = (settings.name(), dataset.len());
    let reason = match settings.facts().updates {
        _ if rows == 0 && !has_new_names => {
            "there is nothing to add: give at least one row, or a vocabulary with names that the model \
             does not know"
                .to_owned()
        }
        _ if dataset.labels.view().indices().is_empty() && !has_new_names => format!(
            "{}: give rows with the labels that are to be learned",
            unlabelled(rows, " to add")
        ),
        Updates::Never => {
            format!("a {algorithm} model cannot be updated: train it again on all rows")
        }
        Updates::WithRows if !model.manifest().training.keep_rows => format!(
            "nothing of a {algorithm} model can be updated without its training rows: train it with \
             --keep-rows"
        ),
        Updates::WithRows | Updates::Always(_) => return Ok(()),
    };
    Err(UpdateError::Refused(reason))
}

/// What determines the updated model.
fn describe(manifest: &Manifest, dataset: &Dataset, names: Option<&LabelIndex>) -> Training {
    let mut training = manifest.training.clone();
    training.updates.push(Update {
        from: manifest.model_id().to_string(),
        data: format!("{:032x}", dataset.digest()),
        rows: dataset.len() as u64,
        names: names.map(|names| format!("{:032x}", names.digest())),
    });
    training
}

/// Starts, goes on with the same update, or finds that it is finished.
fn begin(
    model: &Model,
    training: &Training,
    target: &Path,
    start: UpdateStart,
) -> Result<Begin, UpdateError> {
    let old = model.manifest();
    let place = |path: &Path| fs::canonicalize(path).ok();
    let is_in_place =
        model.stored().place().and_then(place).is_some_and(|own| place(target) == Some(own));
    if !start.again && is_same(old.training.updates.last(), training.updates.last()) {
        if !is_in_place {
            return Err(UpdateError::Refused(
                "the last update of this model added the same rows: to add them once more, add \
                 --again; else copy the model as it is"
                    .to_owned(),
            ));
        }
        Staging::finish(target)?;
        return Ok(Begin::Finished(old.clone()));
    }
    let begin = |resume| {
        let begin = Start { resume, overwrite: start.overwrite };
        match is_in_place {
            true => Staging::begin_from(old, target, training, begin),
            false => Staging::begin(target, training, begin),
        }
    };
    match begin(true) {
        Err(StoreError::Different { .. }) if start.overwrite => Ok(begin(false)?),
        Err(StoreError::Different { .. }) => {
            let what = "another training or update is unfinished here";
            let advice = "finish it with its own command, or add --overwrite to drop it";
            Err(UpdateError::Refused(format!("{}: {what}; {advice}", target.display())))
        }
        // Another process has just finished the same update.
        Err(StoreError::Replaced { folder }) if !start.again => match Manifest::read(target)? {
            now if now.training == *training => Ok(Begin::Finished(now)),
            _ => Err(StoreError::Replaced { folder }.into()),
        },
        begun => Ok(begun?),
    }
}

/// Whether two updates added the same rows.
fn is_same(one: Option<&Update>, other: Option<&Update>) -> bool {
    one.zip(other).is_some_and(|(one, other)| {
        (&one.data, one.rows, &one.names) == (&other.data, other.rows, &other.names)
    })
}

/// The rows with the features of the model, and with all labels.
fn fitted(dataset: &Dataset, manifest: &Manifest) -> Dataset {
    let (known, rows) = (manifest.features as usize, dataset.features.view());
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in rows.rows() {
        let len = row.indices.partition_point(|&column| (column as usize) < known);
        indices.extend_from_slice(&row.indices[..len]);
        values.extend_from_slice(&row.values[..len]);
        starts.push(indices.len() as u64);
    }
    let features =
        Csr::try_new(known, starts, indices, values).expect("the first part of a row is one");
    let mut labels = dataset.labels.clone();
    labels.widen(manifest.labels as usize);
    let named = dataset.named.as_ref().map(|named| {
        let mut matches = named.matches.clone();
        matches.widen(labels.columns());
        Named { names: Csr::new(known), matches }
    });
    Dataset { features, labels, label_names: None, named }
}

/// The names of all labels, if the model has names: those that came with the rows, else those that the
/// model has. A new label without a name has its number.
fn names(
    known: Option<&LabelIndex>,
    found: Option<&LabelIndex>,
    labels: usize,
) -> Result<Option<LabelIndex>, UpdateError> {
    let Some(known) = known else { return Ok(None) };
    let none = LabelIndex::default();
    let found = found.unwrap_or(&none);
    for id in 0..known.len().min(found.len()) as u32 {
        if known.code(id) != found.code(id) {
            return Err(UpdateError::Refused(format!(
                "label {id} is called `{}` beside the new rows but `{}` in the model: give rows whose \
                 labels have the numbers that the model gives them",
                found.code(id),
                known.code(id)
            )));
        }
    }
    let lines = (0..labels as u32).map(|id| {
        let [own, newer] = [known, found].map(|index| index.get(id));
        newer
            .filter(|_| own.is_none() || found.names(id).next().is_some())
            .or(own)
            .unwrap_or_default()
    });
    let latest = if found.languages().next().is_some() { found } else { known };
    Ok(Some(latest.with_lines(lines)))
}

/// The labels of the model whose names are others than before.
fn renamed(known: Option<&LabelIndex>, names: Option<&LabelIndex>) -> Vec<u32> {
    let lines = known.into_iter().flat_map(LabelIndex::lines);
    let new = names.into_iter().flat_map(LabelIndex::lines);
    let is_other = |(_, (old, new)): &(u32, (&str, &str))| old != new;
    (0..).zip(lines.zip(new)).filter(is_other).map(|(label, _)| label).collect()
}

/// What an update works with.
struct Work<'a> {
    model: &'a Model,
    added: DatasetView<'a>,
    /// All rows, if the model holds those of its training.
    all: Option<Dataset>,
}

impl Work<'_> {
    /// Writes what is known of the labels, and the rows if they are to be held.
    fn write_labels(
        &self,
        names: Option<&LabelIndex>,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        let mut counts = self.added.labels.column_counts();
        for (count, known) in counts.iter_mut().zip(self.model.labels().counts()) {
            *count = count.saturating_add(*known);
        }
        labels::write_counted(&counts, names, units)?;
        if self.all.is_some() {
            let number = self.model.manifest().training.updates.len() + 1;
            rows::write(self.added, number, units)?;
        }
        let has_new_labels = self.added.labels.columns() as u64 > self.model.manifest().labels;
        let known = self.model.label_terms.as_ref().zip(self.model.text());
        match (known, &self.all) {
            (Some((known, reader)), Some(all)) => {
                text::update_label_terms(known, reader, (all.view(), true), units, task)?;
            }
            (Some((known, reader)), None) if has_new_labels => {
                text::update_label_terms(known, reader, (self.added, false), units, task)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// All units of the new model: those that were written, and those that stay.
    fn listed(&self, partial: &Staging, units: &UnitSink<'_>) -> Result<Vec<UnitFile>, StoreError> {
        let stored = self.model.stored();
        let known = &stored.manifest().units;
        let stems: BTreeSet<&str> = known.iter().map(UnitFile::name).collect();
        let mut listed = Vec::with_capacity(known.len() + 1);
        for file in known {
            listed.push(match units.find(file.name()) {
                Some(written) => written,
                None => partial.adopt(stored, file)?,
            });
        }
        listed.extend(units.all().into_iter().filter(|file| !stems.contains(file.name())));
        Ok(listed)
    }
}

#[cfg(test)]
mod tests;
