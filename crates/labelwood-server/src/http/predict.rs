//! Labels for texts and vectors.

use super::body::{Json, Place};
use super::problem::{BodyProblems, Problem};
use super::strict::{self, Object};
use crate::app::App;
use crate::project::Opened;
use crate::work::{Answer, Ask, Input, MOST_LABELS};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use labelwood::data::LabelIndex;
use labelwood::sparse::{Csr, Scored};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;
use utoipa::{PartialSchema, ToSchema};

/// Rows to predict: texts or vectors, not both.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PredictRequest {
    /// The texts, for a model that reads texts.
    #[schema(example = json!(["Who lived in our house before the war?"]))]
    texts: Option<Vec<String>>,
    /// The vectors, for a model of vectors.
    #[schema(value_type = Option<Vec<Vector>>)]
    vectors: Option<Vec<Object<Vector>>>,
    /// The most labels of each; by default 5, or with a threshold all that reach it.
    #[schema(minimum = 1, maximum = 1000)]
    #[serde(default, deserialize_with = "strict::optional")]
    k: Option<usize>,
    /// The least score, or `auto` for the one that the model learned.
    threshold: Option<Threshold>,
    /// The language of the names in the answer.
    #[schema(example = "en")]
    language: Option<String>,
}

/// A row of numbers.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vector {
    /// The columns that are not 0, in increasing order, from 0.
    #[schema(example = json!([3, 17]))]
    #[serde(deserialize_with = "strict::list")]
    columns: Vec<u32>,
    /// The value of each of them.
    #[schema(example = json!([1.0, 0.5]))]
    values: Vec<f32>,
}

/// The least score of labels that are given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Threshold {
    Auto,
    Of(f64),
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written<'a> {
            Number(f64),
            #[serde(borrow)]
            Text(Cow<'a, str>),
        }
        let refused =
            || serde::de::Error::custom("a threshold is a number such as 0.25, or \"auto\"");
        match Written::deserialize(deserializer).map_err(|_| refused())? {
            Written::Number(least) => Ok(Threshold::Of(least)),
            Written::Text(text) => text.parse().map_err(|_| refused()),
        }
    }
}

impl std::str::FromStr for Threshold {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Threshold::Auto),
            (_, Ok(least)) => Ok(Threshold::Of(least)),
            _ => Err(()),
        }
    }
}

impl PartialSchema for Threshold {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
        let number = ObjectBuilder::new().schema_type(Type::Number);
        let auto = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["auto"]));
        Schema::from(OneOfBuilder::new().item(number).item(auto).build()).into()
    }
}

impl ToSchema for Threshold {}

impl Threshold {
    /// The number that it is for a model.
    pub(crate) fn of(self, opened: &Opened) -> Result<f32, Problem> {
        match self {
            // Beyond what a score can be, all numbers are the same.
            Threshold::Of(least) if least.is_finite() => {
                Ok(least.clamp(f32::MIN.into(), f32::MAX.into()) as f32)
            }
            Threshold::Of(_) => Err(Problem::bad("threshold: give a finite number")),
            Threshold::Auto => opened.model().threshold().ok_or_else(|| {
                Problem::bad("threshold: the model has learned none, so that `auto` means nothing")
            }),
        }
    }
}

/// What the model says, row by row.
#[derive(Serialize, ToSchema)]
pub(crate) struct PredictAnswer<'a> {
    predictions: Vec<Prediction<'a>>,
}

/// What the model says of a row.
#[derive(Serialize, ToSchema)]
pub(crate) struct Prediction<'a> {
    /// The best labels, best first.
    pub(crate) labels: Vec<ScoredLabel<'a>>,
    /// Whether the model knows nothing of what is in the row.
    pub(crate) is_unknown: bool,
}

/// A label with a score.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScoredLabel<'a> {
    #[serde(flatten)]
    pub(crate) label: Label<'a>,
    /// A probability, if the model gives these.
    #[schema(example = 0.883)]
    pub(crate) score: f32,
}

/// A label.
#[derive(Serialize, ToSchema)]
pub(crate) struct Label<'a> {
    /// Its number in the model.
    #[schema(example = 17)]
    pub(crate) id: u32,
    /// What the training data call it, such as a URI.
    pub(crate) code: Cow<'a, str>,
    /// What people call it.
    #[schema(example = "local history")]
    pub(crate) name: Cow<'a, str>,
}

/// A label as it is shown.
pub(crate) fn label(id: u32, names: Option<&LabelIndex>) -> Label<'_> {
    match names {
        Some(names) => Label { id, code: names.code(id).into(), name: names.display(id).into() },
        None => Label { id, code: id.to_string().into(), name: id.to_string().into() },
    }
}

/// What is shown of a model's answer.
pub(crate) fn prediction<'a>(answer: &Answer, names: Option<&'a LabelIndex>) -> Prediction<'a> {
    let shown =
        |scored: &Scored| ScoredLabel { label: label(scored.id, names), score: scored.score };
    Prediction { labels: answer.labels.iter().map(shown).collect(), is_unknown: answer.is_unknown }
}

/// The names of a model's labels in a language.
pub(crate) fn names_in(
    opened: &Opened,
    language: Option<&str>,
) -> Result<Option<Arc<LabelIndex>>, Problem> {
    opened.names(language).ok_or_else(|| {
        let known = opened.languages().join(", ");
        let known = if known.is_empty() { "none that is known".to_owned() } else { known };
        let asked = language.unwrap_or_default();
        Problem::bad(format!(
            "language: there are no names in `{asked}`; those of this model: {known}"
        ))
    })
}

/// The labels of texts or vectors
#[utoipa::path(
    post, path = "/api/models/{model}/predict", tag = "predict",
    params(("model" = String, Path, description = "The name of a model")),
    request_body = PredictRequest,
    responses((status = 200, description = "The best labels of each", body = PredictAnswer), BodyProblems)
)]
pub(crate) async fn predict(
    State(app): State<Arc<App>>,
    Place(model): Place<String>,
    Json(Object(request)): Json<Object<PredictRequest>>,
) -> Result<Response, Problem> {
    let project = app.project(&model)?;
    let opened = project.current();
    let names = names_in(&opened, request.language.as_deref())?;
    let ask = ask(request.k, request.threshold, &opened)?;
    let input = input(request.texts, request.vectors, &opened, app.options.max_documents)?;
    let answers = app.predict(project, &opened, input, ask).await?;
    let shown = answers.iter().map(|answer| prediction(answer, names.as_deref())).collect();
    json(&PredictAnswer { predictions: shown })
}

/// What is asked of the model.
pub(crate) fn ask(
    k: Option<usize>,
    threshold: Option<Threshold>,
    opened: &Opened,
) -> Result<Ask, Problem> {
    if k.is_some_and(|k| !(1..=MOST_LABELS).contains(&k)) {
        return Err(Problem::bad(format!("k: give a number from 1 to {MOST_LABELS}")));
    }
    let least = threshold.map(|threshold| threshold.of(opened)).transpose()?;
    Ok(Ask { k, least })
}

/// The rows, if the model can read them.
fn input(
    texts: Option<Vec<String>>,
    vectors: Option<Vec<Object<Vector>>>,
    opened: &Opened,
    most: usize,
) -> Result<Input, Problem> {
    let model = opened.model();
    let rows = texts.as_ref().map_or(0, Vec::len) + vectors.as_ref().map_or(0, Vec::len);
    if rows > most {
        return Err(Problem::bad(format!("{rows} rows are too many at once: send {most} at most")));
    }
    match (texts, vectors) {
        (Some(_), None) if model.text().is_none() => {
            Err(Problem::bad("texts: the model was trained on vectors: send these"))
        }
        (Some(texts), None) => Ok(Input::Texts(texts)),
        (None, Some(vectors)) => {
            let rows = checked_rows(&vectors, opened)?;
            Ok(Input::Vectors(rows))
        }
        _ => Err(Problem::bad("send either `texts` or `vectors`")),
    }
}

/// Vectors as rows, if the model can read them.
pub(crate) fn checked_rows(vectors: &[Object<Vector>], opened: &Opened) -> Result<Csr, Problem> {
    let mut rows = Csr::new(opened.model().manifest().features as usize);
    for (at, Object(Vector { columns, values })) in vectors.iter().enumerate() {
        let pushed = rows.push_row(columns, values);
        pushed.map_err(|error| Problem::bad(format!("vectors[{at}]: {error}")))?;
    }
    Ok(rows)
}

/// An answer as JSON.
pub(crate) fn json<T: Serialize>(answer: &T) -> Result<Response, Problem> {
    let bytes = serde_json::to_vec(answer);
    let bytes = bytes.map_err(|_| Problem::busy("the answer could not be written"))?;
    let kind = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, kind)], bytes).into_response())
}
