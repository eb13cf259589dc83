//! Why a model gives labels to a text.

use super::body::{Json, Place};
use super::predict::{Vector, checked_rows, json, names_in};
use super::problem::{BodyProblems, Problem};
use super::strict::{self, Object, Whole};
use crate::app::App;
use crate::project::Opened;
use axum::extract::State;
use axum::response::Response;
use labelwood::data::LabelIndex;
use labelwood::model::explain::{ExplainOptions, Explanation};
use labelwood::run::Task;
use labelwood::sparse::Rows;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The most labels that are explained at once.
const MOST_LABELS: usize = 20;
/// The longest text: it is read again for each of its words that matter.
const LONGEST: usize = 100_000;

/// What is to be explained: a text or a vector, not both.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainRequest {
    /// The text, for a model that reads texts.
    #[schema(
        nullable = false,
        max_length = 100000,
        example = "Who lived in our house before the war?"
    )]
    text: Option<String>,
    /// The vector, for a model of vectors.
    #[schema(value_type = Option<Vector>)]
    vector: Option<Object<Vector>>,
    /// The label, by its number, its code or a name; by default the best ones.
    label: Option<LabelWanted>,
    /// How many of the best.
    #[schema(default = 5, minimum = 1, maximum = 20)]
    #[serde(default, deserialize_with = "strict::optional")]
    k: Option<usize>,
    /// The language of the names in the answer.
    #[schema(example = "en")]
    language: Option<String>,
}

/// A label, as a client names it.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "label: a label is its number, or its code or a name in quotes")]
enum LabelWanted {
    Id(Whole<u32>),
    Called(String),
}

impl PartialSchema for LabelWanted {
    fn schema() -> utoipa::openapi::RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
        let called = ObjectBuilder::new().schema_type(Type::String);
        Schema::from(OneOfBuilder::new().item(number).item(called).build()).into()
    }
}

impl ToSchema for LabelWanted {}

/// Why a text has its labels
///
/// Marks are places in the text, counted in characters (code points).
#[utoipa::path(
    post, path = "/api/models/{model}/explain", tag = "predict",
    params(("model" = String, Path, description = "The name of a model")),
    request_body = ExplainRequest,
    responses((status = 200, description = "What speaks for and against the labels", body = Object), BodyProblems)
)]
pub(crate) async fn explain(
    State(app): State<Arc<App>>,
    Place(model): Place<String>,
    Json(Object(request)): Json<Object<ExplainRequest>>,
) -> Result<Response, Problem> {
    let opened = app.project(&model)?.current();
    let names = names_in(&opened, request.language.as_deref())?;
    if request.k.is_some_and(|k| !(1..=MOST_LABELS).contains(&k)) {
        return Err(Problem::bad(format!("k: give a number from 1 to {MOST_LABELS}")));
    }
    let labels = match &request.label {
        Some(wanted) => vec![wanted.id(&opened)?],
        None => Vec::new(),
    };
    let input = match (request.text, request.vector) {
        (Some(text), None) if opened.model().text().is_some() => match text.chars().count() {
            0..=LONGEST => Input::Text(text),
            _ => return Err(Problem::bad(format!("text: give {LONGEST} characters at most"))),
        },
        (Some(_), None) => {
            return Err(Problem::bad("text: the model was trained on vectors: send one of these"));
        }
        (None, Some(vector)) => Input::Vector(checked_rows(&[vector], &opened)?.into()),
        _ => return Err(Problem::bad("send either `text` or `vector`")),
    };
    let k = request.k.unwrap_or(crate::work::DEFAULT_K);
    let explain = move |task: &Task| input.explained(&opened, &labels, k, names.as_deref(), task);
    json(&app.call(explain).await??)
}

enum Input {
    Text(String),
    Vector(Rows),
}

impl Input {
    fn explained(
        &self,
        opened: &Opened,
        labels: &[u32],
        k: usize,
        names: Option<&LabelIndex>,
        task: &Task,
    ) -> Result<Explanation, Problem> {
        let (model, options) =
            (opened.model(), ExplainOptions { labels, k, names, ..ExplainOptions::default() });
        match self {
            Input::Text(text) => {
                let why = model.explain(text, &options, task);
                why.map_err(|error| Problem::bad(error.to_string()))
            }
            Input::Vector(row) => {
                let why = model.explain_row(row.view(), &options, task);
                why.map_err(|error| Problem::busy(error.to_string()))
            }
        }
    }
}

impl LabelWanted {
    /// The number of the label in a model.
    fn id(&self, opened: &Opened) -> Result<u32, Problem> {
        let found = match self {
            LabelWanted::Id(Whole(id)) => Some(*id).filter(|&id| (id as usize) < opened.labels()),
            LabelWanted::Called(name) => opened.model().labels().find(name),
        };
        found.ok_or_else(|| Problem::bad("label: the model has no such label"))
    }
}
