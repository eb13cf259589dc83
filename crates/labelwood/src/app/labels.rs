//! Files that name labels: those that a model may name, and those that a training knows.

use super::error::InputError;
use crate::base::run::Task;
use crate::base::sparse::LabelSet;
use crate::data::{
    LabelIndex, LabelIndexBuilder, ReadError, Vocabulary, documents, first_of, names_beside,
};
use crate::model::Model;
use std::path::Path;
use strsim::normalized_damerau_levenshtein;

/// Longer texts are compared with no name.
const LONGEST_WANTED: usize = 100;
/// Names are alike of which so much is the same.
const ALIKE: f64 = 0.7;

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

/// The label that people mean by a text: as training had it, by any of its names, or by its number if the
/// model has no names. What is unknown is answered with the label that is written most like it.
///
/// ```
/// use labelwood::app::find_label;
/// use labelwood::data::LabelIndex;
/// use labelwood::model::{Model, TrainOptions};
/// use labelwood::sparse::LabelRows;
/// use labelwood::text::{Params, learn};
/// let task = labelwood::run::Pool::new(1)?.task();
/// let rows = LabelRows::try_new(2, vec![0, 1, 2], vec![0, 1], vec![(), ()])?;
/// let names = LabelIndex::from_lines(["p1\told maps", "p2\tbirds"]);
/// let (reader, rows) = learn(&["a map", "a bird a map"], rows, names, Default::default(), Params::default(), &task)?;
/// let settings = labelwood::Settings::named("one-vs-rest").expect("it is an algorithm");
/// let options = TrainOptions { text: Some(&reader), ..Default::default() };
/// let model = Model::train(rows.view(), options, &settings, &task)?;
/// assert_eq!(find_label(&model, None, "p2")?, 1);
/// let error = find_label(&model, None, "Old-Map").unwrap_err().to_string();
/// assert_eq!(error, "there is no label `Old-Map`: did you mean `old maps`?");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn find_label(
    model: &Model,
    names: Option<&LabelIndex>,
    wanted: &str,
) -> Result<u32, InputError> {
    let labels = model.labels();
    let known = names.and_then(|names| names.find(wanted)).or_else(|| labels.find(wanted));
    if let Some(label) = known.filter(|&label| (label as usize) < labels.counts().len()) {
        return Ok(label);
    }
    let remedy = match (names.or(labels.names()), labels.counts().len()) {
        (None, 0) => "the model has none".to_owned(),
        (None, count) => format!("the model's labels are the numbers from 0 to {}", count - 1),
        (Some(names), _) => match names.find_like(wanted).or_else(|| nearest(names, wanted)) {
            Some(like) => format!("did you mean `{}`?", names.display(like)),
            None => "predictions show how labels are called".to_owned(),
        },
    };
    Err(InputError::Refused(format!("there is no label `{wanted}`: {remedy}")))
}

/// The label with a name that differs from a text by few letters, if there is one.
fn nearest(names: &LabelIndex, wanted: &str) -> Option<u32> {
    if wanted.len() > LONGEST_WANTED {
        return None;
    }
    let wanted = wanted.to_lowercase();
    let likeness = |label: u32| {
        let all = names.names(label).chain([names.code(label)]);
        let all = all.filter(|name| name.len().abs_diff(wanted.len()) <= wanted.len() / 3);
        let likeness = all.map(|it| normalized_damerau_levenshtein(&it.to_lowercase(), &wanted));
        likeness.fold(0.0, f64::max)
    };
    let all = (0..names.len() as u32).map(|label| (likeness(label), label));
    let best = all.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)))?;
    (best.0 >= ALIKE).then_some(best.1)
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
