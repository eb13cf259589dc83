//! More rows for a model, from clients.

use super::annif::IndexedDocument;
use super::problem::Problem;
use super::strict::Object;
use crate::app::App;
use crate::project::Project;
use axum::http::StatusCode;
use labelwood::app::update_bytes;
use labelwood::data::{Dataset, Named};
use labelwood::model::{Model, UpdateError, UpdateStart, update};
use labelwood::run::memory_limit;
use labelwood::sparse::{Csr, LabelRows, Rows};
use std::path::Path;

/// Adds documents to the model of a project and serves the new model. Labels that the model does not know are
/// left out, and so are documents without another.
pub(crate) fn learn(
    app: &App,
    project: &Project,
    folder: &Path,
    documents: &[Object<IndexedDocument>],
) -> Result<(), Problem> {
    let _alone = project.changing();
    let name = &project.name;
    let task = app.pool.task();
    // Not the model that is served: a newer one may be in the folder already.
    let model = Model::open(folder, app.options.load, &task).map_err(|error| {
        tracing::warn!("{name}: {error}");
        Problem::busy("the model in the folder cannot be opened: the log says why")
    })?;
    let Some(rows) = rows(&model, documents, app)? else { return Ok(()) };
    let needed = update_bytes(&model, rows.view(), task.threads());
    if memory_limit().is_some_and(|limit| needed > limit) {
        return Err(refused("the machine has not the memory for that: send fewer documents"));
    }
    let start = UpdateStart { again: true, ..UpdateStart::default() };
    match update(&model, &rows, folder, start, &task) {
        Ok(updated) => tracing::info!("{name}: {} rows were added", updated.rows),
        Err(UpdateError::Refused(reason)) => return Err(refused(&reason)),
        Err(error) => {
            tracing::warn!("{name}: {error}");
            return Err(Problem::busy("the model could not be updated: the log says why"));
        }
    }
    app.look_at(project, false);
    Ok(())
}

/// This model does not learn.
pub(crate) fn refused(reason: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, reason)
}

/// The documents as rows; nothing if none is left.
fn rows(
    model: &Model,
    documents: &[Object<IndexedDocument>],
    app: &App,
) -> Result<Option<Dataset>, Problem> {
    let (mut texts, mut starts, mut ids) = (Vec::new(), vec![0], Vec::new());
    let mut unknown = 0;
    for Object(IndexedDocument { text, subjects, .. }) in documents {
        let (Some(text), Some(subjects)) = (text, subjects) else { continue };
        let found = subjects.iter().map(|Object(subject)| model.labels().find(&subject.uri));
        let mut own: Vec<u32> = found.clone().flatten().collect();
        unknown += found.filter(Option::is_none).count();
        own.sort_unstable();
        own.dedup();
        if !own.is_empty() {
            texts.push(text);
            ids.extend(own);
            starts.push(ids.len() as u64);
        }
    }
    if unknown > 0 {
        tracing::warn!("the model does not know {unknown} of the labels that it was to learn");
    }
    if texts.is_empty() {
        return Ok(None);
    }
    let rows = model.read_texts(&texts, &app.pool.task());
    let Rows { features, matches } = rows.map_err(|error| refused(&error.to_string()))?;
    let none = vec![(); ids.len()];
    let labels = LabelRows::try_new(model.labels().counts().len(), starts, ids, none);
    let labels = labels.map_err(|error| Problem::bad(error.to_string()))?;
    let names = || Csr::new(features.columns());
    let named = matches.map(|matches| Named { names: names(), matches });
    Ok(Some(Dataset { named, features, labels, label_names: None }))
}
