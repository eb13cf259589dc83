//! What Annif's clients ask for, under `/v1`.
//!
//! Shapes and statuses are those of Annif's interface: a client cannot tell the difference. A label's code
//! is its `uri`; notations are not known here.

use super::body::{Form, Json, Params, Place};
use super::learn::{self, refused};
use super::predict::{Threshold, json, label, names_in};
use super::problem::{BodyProblems, Problem, Problems};
use super::strict::Object;
use crate::app::App;
use crate::project::{Opened, Project};
use crate::work::{Answer, Ask, Input, MOST_LABELS};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use labelwood::data::LabelIndex;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// How many documents one request may have.
const MOST_DOCUMENTS: usize = 32;
/// How many results a document gets, unless that is stated.
const LIMIT: usize = 10;

/// What answers here.
#[derive(Serialize, ToSchema)]
pub(crate) struct ApiInfo {
    title: &'static str,
    version: &'static str,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct VocabularyList {
    vocabs: Vec<Vocabulary>,
}

/// The labels of a model.
#[derive(Serialize, ToSchema)]
pub(crate) struct Vocabulary {
    vocab_id: String,
    languages: Vec<String>,
    size: u64,
    loaded: bool,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct ProjectList {
    projects: Vec<ProjectFacts>,
}

/// A model, as Annif tells of a project.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProjectFacts {
    project_id: String,
    name: String,
    language: String,
    backend: Backend,
    vocab: Vocabulary,
    vocab_language: String,
    is_trained: bool,
    modification_time: String,
}

/// The algorithm of a model.
#[derive(Serialize, ToSchema)]
pub(crate) struct Backend {
    #[schema(example = "grove")]
    backend_id: String,
}

/// A text, as Annif's form has it.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it stands for the form in the document of the interface")]
pub(crate) struct SuggestForm {
    /// The text.
    text: String,
    /// The most results.
    #[schema(default = 10, minimum = 0, nullable = false)]
    limit: Option<i32>,
    /// The least score.
    #[schema(default = 0.0, minimum = 0.0, maximum = 1.0, nullable = false)]
    threshold: Option<f32>,
    /// The language of the labels' names.
    #[schema(nullable = false)]
    language: Option<String>,
}

/// How results are chosen.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Choice {
    /// The most results.
    #[param(default = 10, minimum = 0, nullable = false)]
    limit: Option<i32>,
    /// The least score.
    #[param(default = 0.0, minimum = 0.0, maximum = 1.0, nullable = false)]
    threshold: Option<f32>,
    /// The language of the labels' names.
    #[param(nullable = false)]
    language: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Batch {
    #[schema(max_items = 32, value_type = Vec<Document>)]
    documents: Vec<Object<Document>>,
}

/// A text with an id of the client's.
#[derive(Debug, Deserialize, ToSchema)]
struct Document {
    text: String,
    #[serde(default)]
    document_id: Option<String>,
    /// Fields besides the text, which are not read here.
    #[serde(default, rename = "metadata")]
    _metadata: BTreeMap<String, String>,
}

/// A text with the labels that people gave it.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct IndexedDocument {
    pub(crate) text: Option<String>,
    #[schema(value_type = Option<Vec<Subject>>)]
    pub(crate) subjects: Option<Vec<Object<Subject>>>,
    /// Fields besides the text, which are not read here.
    #[serde(default, rename = "metadata")]
    _metadata: BTreeMap<String, String>,
}

/// A label, by its code.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Subject {
    pub(crate) uri: String,
    #[serde(default, rename = "label")]
    _label: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct Results<'a> {
    results: Vec<Suggestion<'a>>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct DocumentResults<'a> {
    #[serde(flatten)]
    results: Results<'a>,
    document_id: Option<String>,
}

/// A label for a text.
#[derive(Serialize, ToSchema)]
pub(crate) struct Suggestion<'a> {
    uri: Cow<'a, str>,
    label: Cow<'a, str>,
    #[schema(value_type = Option<String>)]
    notation: Option<()>,
    score: f32,
}

/// The name and version of the interface
#[utoipa::path(
    get, path = "/v1/", tag = "annif",
    responses((status = 200, description = "What answers here", body = ApiInfo), Problems)
)]
pub(crate) async fn info() -> axum::Json<ApiInfo> {
    axum::Json(ApiInfo { title: "Annif REST API", version: env!("CARGO_PKG_VERSION") })
}

/// The vocabularies, one for each model
#[utoipa::path(
    get, path = "/v1/vocabs", tag = "annif",
    responses((status = 200, description = "All vocabularies", body = VocabularyList), Problems)
)]
pub(crate) async fn list_vocabularies(State(app): State<Arc<App>>) -> axum::Json<VocabularyList> {
    let vocabs = app.projects.iter().map(|project| vocabulary(project, &project.current()));
    axum::Json(VocabularyList { vocabs: vocabs.collect() })
}

/// The projects, one for each model
#[utoipa::path(
    get, path = "/v1/projects", tag = "annif",
    responses((status = 200, description = "All projects", body = ProjectList), Problems)
)]
pub(crate) async fn list_projects(State(app): State<Arc<App>>) -> axum::Json<ProjectList> {
    axum::Json(ProjectList {
        projects: app.projects.iter().map(|project| facts(project)).collect(),
    })
}

/// What is known of a project
#[utoipa::path(
    get, path = "/v1/projects/{project_id}", tag = "annif",
    params(("project_id" = String, Path, description = "The name of a model")),
    responses((status = 200, description = "The project", body = ProjectFacts), Problems)
)]
pub(crate) async fn show_project(
    State(app): State<Arc<App>>,
    Place(project): Place<String>,
) -> Result<axum::Json<ProjectFacts>, Problem> {
    Ok(axum::Json(facts(app.project(&project)?)))
}

/// Subjects for a text
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/suggest", tag = "annif",
    params(("project_id" = String, Path, description = "The name of a model")),
    request_body(content = SuggestForm, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "The best subjects", body = Results), BodyProblems)
)]
pub(crate) async fn suggest(
    State(app): State<Arc<App>>,
    Place(project): Place<String>,
    Form(fields): Form,
) -> Result<Response, Problem> {
    let project = app.project(&project)?;
    let opened = project.current();
    let (mut text, mut choice) = (None, Choice::default());
    for (name, value) in fields {
        match &*name {
            "text" => text = Some(value),
            "limit" => choice.limit = Some(number("limit", &value)?),
            "threshold" => choice.threshold = Some(number("threshold", &value)?),
            "language" => choice.language = Some(value),
            // Fields such as `metadata_title`, which are not read here.
            _ => {}
        }
    }
    let text = text.ok_or_else(|| Problem::bad("the form has no field `text`"))?;
    let (ask, names) = choice.of(&opened)?;
    let answers = predict(&app, project, &opened, vec![text], ask).await?;
    let empty = Answer { labels: Vec::new(), is_unknown: true };
    json(&results(answers.first().unwrap_or(&empty), choice.limit(), names.as_deref()))
}

/// Subjects for up to 32 texts
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/suggest-batch", tag = "annif",
    params(("project_id" = String, Path, description = "The name of a model"), Choice),
    request_body = Batch,
    responses((status = 200, description = "The best subjects of each", body = [DocumentResults]), BodyProblems)
)]
pub(crate) async fn suggest_batch(
    State(app): State<Arc<App>>,
    Place(project): Place<String>,
    Params(choice): Params<Choice>,
    Json(Object(batch)): Json<Object<Batch>>,
) -> Result<Response, Problem> {
    let project = app.project(&project)?;
    let opened = project.current();
    if batch.documents.len() > MOST_DOCUMENTS {
        let detail = format!("documents: send {MOST_DOCUMENTS} at most");
        return Err(Problem::bad(detail));
    }
    let (ask, names) = choice.of(&opened)?;
    let (ids, texts) = batch
        .documents
        .into_iter()
        .map(|Object(it)| (it.document_id, it.text))
        .unzip::<_, _, Vec<_>, _>();
    let answers = predict(&app, project, &opened, texts, ask).await?;
    let answers = answers.iter().zip(ids).map(|(answer, document_id)| DocumentResults {
        results: results(answer, choice.limit(), names.as_deref()),
        document_id,
    });
    json(&answers.collect::<Vec<_>>())
}

/// More rows for a model
///
/// The model is updated in its folder, and exchanged before the answer comes. Labels that it does not know
/// are left out.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/learn", tag = "annif",
    params(("project_id" = String, Path, description = "The name of a model")),
    request_body = [IndexedDocument],
    responses(
        (status = 204, description = "The model has learned"),
        (status = 403, description = "It may not, or cannot", body = Problem, content_type = "application/problem+json"),
        BodyProblems
    )
)]
pub(crate) async fn learn(
    State(app): State<Arc<App>>,
    Place(project): Place<String>,
    Json(documents): Json<Vec<Object<IndexedDocument>>>,
) -> Result<StatusCode, Problem> {
    let project = app.project(&project)?.clone();
    let folder = project.folder().filter(|_| app.options.allow_learn).map(ToOwned::to_owned);
    let Some(folder) = folder else {
        return Err(refused(
            "clients may not add to this model: it is not served with --allow-learn",
        ));
    };
    if documents.len() > app.options.max_documents {
        let most = app.options.max_documents;
        return Err(Problem::bad(format!("send {most} documents at most")));
    }
    let place = app.learners.clone().try_acquire_owned();
    let place =
        place.map_err(|_| Problem::busy("others are waiting for that already: ask again"))?;
    // It goes on if the client does not wait for it.
    let learned = tokio::task::spawn_blocking(move || {
        let _place = place;
        learn::learn(&app, &project, &folder, &documents)
    });
    learned.await.map_err(|_| Problem::from(crate::work::NoAnswer::Failed))??;
    Ok(StatusCode::NO_CONTENT)
}

/// The answers to texts; none to none.
async fn predict(
    app: &App,
    project: &Project,
    opened: &Arc<Opened>,
    texts: Vec<String>,
    ask: Ask,
) -> Result<Vec<Answer>, Problem> {
    if opened.model().text().is_none() {
        return Err(Problem::busy("the model was trained on vectors: it cannot read texts"));
    }
    app.predict(project, opened, Input::Texts(texts), ask).await
}

impl Choice {
    /// What is asked of the model, and the names that are shown.
    fn of(&self, opened: &Opened) -> Result<(Ask, Option<Arc<LabelIndex>>), Problem> {
        if self.limit.is_some_and(|limit| limit < 0) {
            return Err(Problem::bad("limit: give a number from 0"));
        }
        let is_share = |least: f32| (0.0..=1.0).contains(&least);
        if self.threshold.is_some_and(|least| !is_share(least)) {
            return Err(Problem::bad("threshold: give a number from 0 to 1"));
        }
        // No score of ours is negative where scores are probabilities; others may be, and 0 is no bound.
        let least = self.threshold.filter(|least| *least > 0.0);
        let least = least.map(|least| Threshold::Of(least.into()).of(opened)).transpose()?;
        let language = self.language.as_deref().filter(|language| !language.is_empty());
        let names = names_in(opened, language)?;
        Ok((Ask { k: Some(self.limit().max(1)), least }, names))
    }

    fn limit(&self) -> usize {
        self.limit.map_or(LIMIT, |limit| usize::try_from(limit).unwrap_or(0).min(MOST_LABELS))
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, Problem> {
    value.trim().parse().map_err(|_| Problem::bad(format!("{name}: give a number")))
}

fn results<'a>(answer: &Answer, limit: usize, names: Option<&'a LabelIndex>) -> Results<'a> {
    let suggestion = |scored: &labelwood::sparse::Scored| {
        let label = label(scored.id, names);
        Suggestion { uri: label.code, label: label.name, notation: None, score: scored.score }
    };
    Results { results: answer.labels.iter().take(limit).map(suggestion).collect() }
}

fn vocabulary(project: &Project, opened: &Opened) -> Vocabulary {
    Vocabulary {
        vocab_id: project.name.clone(),
        languages: opened.languages(),
        size: opened.labels() as u64,
        loaded: true,
    }
}

fn facts(project: &Project) -> ProjectFacts {
    let opened = project.current();
    // What stands for a language that is not known.
    let unknown = || "und".to_owned();
    ProjectFacts {
        project_id: project.name.clone(),
        name: project.name.clone(),
        language: opened.language().unwrap_or_else(unknown),
        backend: Backend { backend_id: opened.model().manifest().training.algorithm.clone() },
        vocab_language: opened.languages().into_iter().next().unwrap_or_else(unknown),
        vocab: vocabulary(project, &opened),
        is_trained: true,
        modification_time: humantime::format_rfc3339_seconds(opened.modified).to_string(),
    }
}
