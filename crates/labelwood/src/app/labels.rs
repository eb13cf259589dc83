//! Files that name labels: those that a model may name, and those that a training knows.

use super::error::InputError;
use crate::base::run::Task;
use crate::base::sparse::LabelSet;
use crate::data::{
    LabelIndex, LabelIndexBuilder, ReadError, Vocabulary, documents, first_of, names_beside,
};
use crate::model::Model;
use std::path::Path;

/// The files that say which labels a model may name, one label a line; see
/// [`Labels::find`](crate::model::Labels::find).
#[derive(Clone, Copy, Debug, Default)]
pub struct LabelFiles<'a> {
    /// Only the labels of this file may be named; without a file, all.
    pub only: Option<&'a Path>,
    /// The labels of this file may not be named.
    pub without: Option<&'a Path>,
}

impl<'a> LabelFiles<'a> {
    /// The files.
    pub fn paths(self) -> impl Iterator<Item = &'a Path> {
        [self.only, self.without].into_iter().flatten()
    }

    /// The labels that may be named; nothing if all may.
    ///
    /// Labels that the model does not know are counted in a warning; a file of nothing else is an
    /// error.
    pub fn allowed(self, model: &Model, task: &Task) -> Result<Option<LabelSet>, InputError> {
        let read = |file: Option<&Path>| file.map(|file| labels_in(file, model, task)).transpose();
        let (only, without) = (read(self.only)?, read(self.without)?);
        if only.is_none() && without.is_none() {
            return Ok(None);
        }
        let mut allowed = only.unwrap_or_else(|| LabelSet::all(model.labels().counts().len()));
        without.iter().flat_map(LabelSet::iter).for_each(|label| allowed.remove(label));
        Ok(Some(allowed))
    }
}

/// The labels that a file names.
fn labels_in(file: &Path, model: &Model, task: &Task) -> Result<LabelSet, InputError> {
    let (mut found, mut unknown) = (LabelSet::default(), 0);
    documents::read_lines(file, task, |line| {
        match line.trim() {
            "" => {}
            label => match model.labels().find(label) {
                Some(label) => found.insert(label),
                None => unknown += 1,
            },
        }
        // The set is no larger than what the model has for its labels.
        0
    })?;
    if found.is_empty() {
        let reason = "the model knows none of its labels: there must be one a line";
        return Err(InputError::refused(file, reason));
    }
    if unknown > 0 {
        tracing::warn!("{}: the model does not know {unknown} of its labels", file.display());
    }
    Ok(found)
}

/// The labels that are known before those of `data` are read: those of the vocabulary `given`, with
/// their names in `language`, else those of a file of label names beside the data.
///
/// ```
/// use labelwood::app::known_labels;
/// let (folder, task) = (tempfile::tempdir()?, labelwood::run::Pool::new(1)?.task());
/// let data = folder.path().join("train.tsv");
/// assert!(known_labels(&data, None, None, &task)?.is_empty());
/// std::fs::write(folder.path().join("labels.txt"), "birds\nmaps\n")?;
/// assert_eq!(known_labels(&data, None, None, &task)?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn known_labels(
    data: &Path,
    given: Option<&Path>,
    language: Option<&str>,
    task: &Task,
) -> Result<LabelIndexBuilder, ReadError> {
    let Some(vocabulary) = given.map(Path::to_owned).or_else(|| names_beside(data)) else {
        return Ok(LabelIndexBuilder::default());
    };
    let (labels, warnings) = Vocabulary::read_builder(&vocabulary, language, task)?;
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    Ok(labels)
}

/// The names to show for the labels of a model: those in a language where there are some, else the
/// model's own; nothing if the model has no names.
pub fn names_in(model: &Model, language: Option<&str>) -> Result<Option<LabelIndex>, InputError> {
    let labels = model.labels();
    let Some(language) = language else { return Ok(labels.names().cloned()) };
    match labels.names_in(language) {
        Some(names) => Ok(Some(names)),
        None => {
            let known = first_of(labels.languages().collect::<Vec<_>>().into_iter());
            Err(InputError::Refused(format!(
                "there are no names in the language `{language}`: the model has {known}"
            )))
        }
    }
}
