//! Labels for any number of documents: lines of JSON in, lines of JSON out, in the same order.
//!
//! Answers start while the documents are still coming. Only some of them are held at a time, so there is no
//! limit on the whole, but one on each line; a client that does not take its answers in is sent no more.

use super::body::{Params, Place, check_type, from_json};
use super::predict::{ScoredLabel, Threshold, ask, names_in, prediction};
use super::problem::{BodyProblems, Problem};
use super::strict::Object;
use crate::app::App;
use crate::project::{Opened, Project};
use crate::work::{Ask, Input};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::channel::{Channel, Sender};
use labelwood::data::LabelIndex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::time::timeout;
use utoipa::{IntoParams, ToSchema};

/// How many documents are predicted together, at most.
const BLOCK: usize = 128;
/// About how many bytes of them.
const BLOCK_BYTES: usize = 256 << 10;
/// How many blocks of answers wait for a client that sends all before it reads anything.
const WAITING: usize = 64;
/// The type of the lines.
const NDJSON: &str = "application/x-ndjson";

/// How labels are chosen.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Choice {
    /// The most labels of each; by default 5, or with a threshold all that reach it.
    #[param(nullable = false, minimum = 1, maximum = 1000)]
    k: Option<usize>,
    /// The least score, or `auto` for the one that the model learned.
    #[param(nullable = false, value_type = Option<Threshold>)]
    threshold: Option<String>,
    /// The language of the names in the answer.
    #[param(nullable = false)]
    language: Option<String>,
}

/// A line that comes.
#[derive(Deserialize, ToSchema)]
pub(crate) struct StreamLine {
    /// Anything; it comes back with the answer.
    #[schema(value_type = Option<serde_json::Value>)]
    id: Option<Box<RawValue>>,
    #[schema(example = "Who lived in our house before the war?")]
    text: String,
}

/// A line that goes: labels, or what is wrong with the document.
#[derive(Serialize, ToSchema)]
pub(crate) struct Answered<'a> {
    #[schema(value_type = Option<serde_json::Value>)]
    id: Option<&'a RawValue>,
    /// The best labels, best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    labels: Option<Vec<ScoredLabel<'a>>>,
    /// Whether the model knows nothing of what is in the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    is_unknown: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<&'a Problem>,
}

/// Labels for a stream of documents
///
/// A line is `{"id": ..., "text": "..."}`, and so is each answer: `{"id": ..., "labels": [...]}`, or
/// `{"id": ..., "error": {...}}` for a line that is not understood. Read while you send.
#[utoipa::path(
    post, path = "/api/models/{model}/predict-stream", tag = "predict",
    params(("model" = String, Path, description = "The name of a model"), Choice),
    request_body(content = StreamLine, content_type = "application/x-ndjson"),
    responses(
        (status = 200, description = "A line for each", body = Answered, content_type = "application/x-ndjson"),
        BodyProblems
    )
)]
pub(crate) async fn predict_stream(
    State(app): State<Arc<App>>,
    Place(model): Place<String>,
    Params(choice): Params<Choice>,
    request: Request,
) -> Result<Response, Problem> {
    check_type(request.headers(), NDJSON)?;
    let project = app.project(&model)?.clone();
    let opened = project.current();
    if opened.model().text().is_none() {
        return Err(Problem::bad("the model was trained on vectors: it cannot read texts"));
    }
    let threshold = choice.threshold.as_deref().map(str::parse::<Threshold>).transpose();
    let threshold = threshold.map_err(|()| Problem::bad("threshold: give a number, or auto"))?;
    let ask = ask(choice.k, threshold, &opened)?;
    let names = names_in(&opened, choice.language.as_deref())?;
    let place = app.streams.clone().try_acquire_owned();
    let place = place.map_err(|_| Problem::busy("too many streams are open: ask again"))?;
    let (sender, body) = Channel::new(WAITING);
    let stream = Stream { app, project, opened, names, ask, sender, block: Block::default() };
    tokio::spawn(async move {
        stream.run(request.into_body()).await;
        drop(place);
    });
    Ok(([(header::CONTENT_TYPE, NDJSON)], Body::new(body)).into_response())
}

/// What a client calls a document.
type Id = Option<Box<RawValue>>;

/// A stream that is being answered.
struct Stream {
    app: Arc<App>,
    project: Arc<Project>,
    opened: Arc<Opened>,
    names: Option<Arc<LabelIndex>>,
    ask: Ask,
    sender: Sender<Bytes, Infallible>,
    block: Block,
}

/// Documents that are predicted together.
#[derive(Default)]
struct Block {
    /// For each line its id, and its text or what is wrong with it.
    lines: Vec<(Id, Result<String, Problem>)>,
    bytes: usize,
}

/// The client has gone, or nothing can be done for it.
struct Ended;

impl Stream {
    /// Answers lines until there are no more.
    async fn run(mut self, mut body: Body) {
        let most = self.app.options.max_body;
        let mut rest: Vec<u8> = Vec::new();
        let mut is_too_long = false;
        loop {
            let problem = match timeout(self.app.options.timeout, body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    match self.take(&data, &mut rest, &mut is_too_long, most).await {
                        Ok(()) => continue,
                        Err(Ended) => return,
                    }
                }
                Ok(None) => None,
                Ok(Some(Err(_))) => {
                    Some(Problem::bad("the body breaks off, or is not encoded as it says"))
                }
                Err(_) => {
                    let detail = "nothing came for too long";
                    Some(Problem::new(StatusCode::REQUEST_TIMEOUT, detail))
                }
            };
            match problem {
                Some(problem) => self.block.lines.push((None, Err(problem))),
                None if is_too_long => self.block.push_too_long(most),
                None => self.block.push(&rest),
            }
            // The stream ends here, whether the client is still there or not.
            let _ = self.flush().await;
            return;
        }
    }

    /// Takes what came, and answers the lines that it ends.
    async fn take(
        &mut self,
        data: &[u8],
        rest: &mut Vec<u8>,
        is_too_long: &mut bool,
        most: usize,
    ) -> Result<(), Ended> {
        let mut pieces = data.split(|&byte| byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            *is_too_long |= rest.len() + piece.len() > most;
            if *is_too_long {
                rest.clear();
            } else {
                rest.extend_from_slice(piece);
            }
            if pieces.peek().is_none() {
                break;
            }
            if std::mem::take(is_too_long) {
                self.block.push_too_long(most);
            } else {
                self.block.push(rest);
            }
            rest.clear();
            if self.block.lines.len() >= BLOCK || self.block.bytes >= BLOCK_BYTES {
                self.flush().await?;
            }
        }
        self.flush().await
    }

    /// Answers the documents that are there.
    async fn flush(&mut self) -> Result<(), Ended> {
        let Block { lines, .. } = std::mem::take(&mut self.block);
        if lines.is_empty() {
            return Ok(());
        }
        let (mut ids, mut texts) = (Vec::with_capacity(lines.len()), Vec::new());
        for (id, text) in lines {
            ids.push((id, text.map(|text| texts.push(text))));
        }
        let rows = texts.len();
        let answers = match rows {
            0 => Ok(Vec::new()),
            _ => {
                self.app
                    .predict_patiently(&self.project, &self.opened, Input::Texts(texts), self.ask)
                    .await
            }
        };
        let mut written = Vec::new();
        let mut answers = answers.map(Vec::into_iter);
        for (id, line) in &ids {
            let answer = match (&mut answers, line) {
                (Ok(answers), Ok(())) => Ok(answers.next()),
                (_, Err(problem)) => Err(problem),
                (Err(problem), Ok(())) => Err(&*problem),
            };
            let said = answer.as_ref().ok().and_then(Option::as_ref);
            let said = said.map(|answer| prediction(answer, self.names.as_deref()));
            let (labels, is_unknown) = said.map(|it| (it.labels, it.is_unknown)).unzip();
            let shown = Answered { id: id.as_deref(), labels, is_unknown, error: answer.err() };
            serde_json::to_writer(&mut written, &shown).map_err(|_| Ended)?;
            written.push(b'\n');
        }
        // A client that takes in nothing for long is gone; its place is for others.
        let sent = self.sender.send_data(written.into());
        timeout(self.app.options.timeout, sent).await.map_err(|_| Ended)?.map_err(|_| Ended)
    }
}

impl Block {
    /// Adds a line, unless it is blank.
    fn push(&mut self, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        self.bytes += line.len();
        self.lines.push(match from_json::<Object<StreamLine>>(line) {
            Ok(Object(StreamLine { id, text })) => (id, Ok(text)),
            Err(problem) => (None, Err(problem)),
        });
    }

    fn push_too_long(&mut self, most: usize) {
        let problem = Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("a line may have {most} bytes: send less in one"),
        );
        self.lines.push((None, Err(problem)));
    }
}
