//! Facts about the models.

use super::body::Place;
use super::problem::{Problem, Problems};
use crate::app::App;
use crate::project::Project;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// All models.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelList {
    models: Vec<ModelFacts>,
}

/// What is known of a model.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelFacts {
    /// The name under which it is served.
    #[schema(example = "books")]
    name: String,
    /// The algorithm that learned it.
    #[schema(example = "grove")]
    algorithm: String,
    /// How many labels there are.
    labels: u64,
    /// How many rows it was trained on.
    rows: u64,
    /// How many columns its rows have.
    features: u64,
    /// Whether it reads texts; other models take vectors.
    reads_text: bool,
    /// The languages of the labels' names, else that of the texts.
    languages: Vec<String>,
    /// The language of the texts, if it is known.
    #[schema(example = "en")]
    language: Option<String>,
    /// The least score with which a label is worth giving, if the model has learned one.
    threshold: Option<f32>,
    /// Whether scores are probabilities.
    is_probability: bool,
    /// The digest that tells this model from others.
    id: String,
}

/// A model, and more about it.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelCard {
    #[serde(flatten)]
    facts: ModelFacts,
    /// The bytes of its files.
    bytes: u64,
    /// When it was written.
    #[schema(example = "2026-05-19T16:42:42Z")]
    modified: String,
    /// How often rows were added to it.
    updates: usize,
    /// Whether it holds its training rows, so that it can learn from all of them again.
    keeps_rows: bool,
    /// Whether clients may add rows (`--allow-learn`).
    learns: bool,
    /// How many of its labels have a broader one.
    has_hierarchy: bool,
    /// The most labels that one row gets.
    most_labels: usize,
    /// The most texts or vectors of one request.
    most_documents: usize,
    /// The most bytes of one request.
    most_bytes: usize,
}

fn facts(project: &Project) -> ModelFacts {
    let opened = project.current();
    let (model, manifest) = (opened.model(), opened.model().manifest());
    ModelFacts {
        name: project.name.clone(),
        algorithm: manifest.training.algorithm.clone(),
        labels: manifest.labels,
        rows: manifest.instances,
        features: manifest.features,
        reads_text: model.text().is_some(),
        languages: opened.languages(),
        language: opened.language(),
        threshold: model.threshold(),
        is_probability: model.gives_probabilities(),
        id: opened.id.clone(),
    }
}

/// The models that are served
#[utoipa::path(
    get, path = "/api/models", tag = "models",
    responses((status = 200, description = "All models", body = ModelList), Problems)
)]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Json<ModelList> {
    Json(ModelList { models: app.projects.iter().map(|project| facts(project)).collect() })
}

/// What is known of a model
#[utoipa::path(
    get, path = "/api/models/{model}", tag = "models",
    params(("model" = String, Path, description = "The name of a model")),
    responses((status = 200, description = "The model", body = ModelCard), Problems)
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Place(model): Place<String>,
) -> Result<Json<ModelCard>, Problem> {
    let project = app.project(&model)?;
    let opened = project.current();
    let manifest = opened.model().manifest();
    let labels = opened.model().labels();
    Ok(Json(ModelCard {
        facts: facts(project),
        bytes: manifest.bytes(),
        modified: humantime::format_rfc3339_seconds(opened.modified).to_string(),
        updates: manifest.training.updates.len(),
        keeps_rows: manifest.training.keep_rows,
        learns: app.options.allow_learn && project.folder().is_some(),
        has_hierarchy: labels.names().is_some_and(|names| names.broader_pairs() > 0),
        most_labels: crate::work::MOST_LABELS,
        most_documents: app.options.max_documents,
        most_bytes: app.options.max_body,
    }))
}
