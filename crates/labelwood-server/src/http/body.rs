//! Reading what comes with a request, within limits of size and time.

use super::problem::Problem;
use crate::app::App;
use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use percent_encoding::percent_decode;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

/// The room for bodies is counted in pieces of so many bytes.
pub(crate) const PIECE: usize = 4096;
/// How long, and how many bodies' worth, a client is listened to whose body is too large: it may not read
/// the answer before it has sent all.
const PATIENCE: (Duration, usize) = (Duration::from_secs(2), 4);

/// A body that was read, with the room that it takes.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

/// A body of JSON.
pub(crate) struct Json<T>(pub(crate) T);

/// A body of a form: names and values, in order.
pub(crate) struct Form(pub(crate) Vec<(String, String)>);

/// The query of a URL.
pub(crate) struct Params<T>(pub(crate) T);

/// The parts of a path.
pub(crate) struct Place<T>(pub(crate) T);

/// Reads a whole body.
pub(crate) async fn receive(
    app: &App,
    headers: &HeaderMap,
    body: Body,
) -> Result<Received, Problem> {
    let most = app.options.max_body;
    let declared =
        headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    let mut body = body;
    if declared.is_some_and(|declared: usize| declared > most) {
        hear_out(&mut body, most).await;
        return Err(too_large(most));
    }
    let deadline = Instant::now() + app.options.timeout;
    let mut first = Bytes::new();
    let mut all: Vec<u8> = Vec::new();
    let mut room: Option<OwnedSemaphorePermit> = None;
    let mut bytes = 0;
    loop {
        let frame = timeout_at(deadline, body.frame()).await.map_err(|_| {
            let detail =
                format!("the body did not come within {} s", app.options.timeout.as_secs());
            Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
        })?;
        let Some(frame) = frame else { break };
        let frame =
            frame.map_err(|_| Problem::bad("the body breaks off, or is not encoded as it says"))?;
        let Ok(data) = frame.into_data() else { continue };
        let had = bytes;
        bytes += data.len();
        if bytes > most {
            hear_out(&mut body, most).await;
            return Err(too_large(most));
        }
        let more = bytes.div_ceil(PIECE) - had.div_ceil(PIECE);
        let taken = app.bodies.clone().try_acquire_many_owned(more as u32);
        let taken = taken.map_err(|_| Problem::busy("too many requests are coming in at once"))?;
        match &mut room {
            Some(room) => room.merge(taken),
            None => room = Some(taken),
        }
        match had {
            0 => first = data,
            _ => {
                if all.is_empty() {
                    all.extend_from_slice(&first);
                }
                all.extend_from_slice(&data);
            }
        }
    }
    let bytes = if all.is_empty() { first } else { all.into() };
    Ok(Received { bytes, _room: room })
}

fn too_large(most: usize) -> Problem {
    let detail = format!("a body may have {most} bytes: send less at once");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}

/// Reads on for a while without keeping anything.
async fn hear_out(body: &mut Body, most: usize) {
    let deadline = Instant::now() + PATIENCE.0;
    let mut left = PATIENCE.1.saturating_mul(most);
    while let Ok(Some(Ok(frame))) = timeout_at(deadline, body.frame()).await {
        let more = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(more) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// Whether a body is of a type, whatever the parameters behind it.
fn is_of_type(headers: &HeaderMap, wanted: &str) -> bool {
    let found = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let main = found.and_then(|value| value.split(';').next()).unwrap_or_default();
    main.trim().eq_ignore_ascii_case(wanted)
}

/// Refuses a body of another type.
pub(crate) fn check_type(headers: &HeaderMap, wanted: &str) -> Result<(), Problem> {
    if !is_of_type(headers, wanted) {
        let detail = format!("send the body as {wanted}, and say so in Content-Type");
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    let encoding = headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes());
    if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case(b"identity")) {
        let detail = "send the body as it is, without a Content-Encoding";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    Ok(())
}

/// Reads JSON, whatever the type says.
pub(crate) fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| Problem::bad(format!("the body: {error}")))
}

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        check_type(request.headers(), "application/json")?;
        let (parts, body) = request.into_parts();
        let received = receive(app, &parts.headers, body).await?;
        Ok(Json(from_json(&received.bytes)?))
    }
}

impl FromRequest<Arc<App>> for Form {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        check_type(request.headers(), "application/x-www-form-urlencoded")?;
        let (parts, body) = request.into_parts();
        let received = receive(app, &parts.headers, body).await?;
        let pairs = received.bytes.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let at = pair.iter().position(|&byte| byte == b'=').unwrap_or(pair.len());
            Ok((decoded(&pair[..at])?, decoded(pair.get(at + 1..).unwrap_or_default())?))
        });
        Ok(Form(pairs.collect::<Result<_, Problem>>()?))
    }
}

/// What stands in a form as UTF-8 with `%` and `+`.
fn decoded(bytes: &[u8]) -> Result<String, Problem> {
    let spaced: Cow<'_, [u8]> = match bytes.contains(&b'+') {
        true => bytes.iter().map(|&byte| if byte == b'+' { b' ' } else { byte }).collect(),
        false => bytes.into(),
    };
    let text = percent_decode(&spaced).decode_utf8();
    Ok(text.map_err(|_| Problem::bad("the form is not UTF-8 text"))?.into_owned())
}

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<App>> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let query = Query::<T>::from_request_parts(parts, app).await;
        Ok(Params(query.map_err(|error| Problem::bad(error.body_text()))?.0))
    }
}

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<App>> for Place<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let place = Path::<T>::from_request_parts(parts, app).await;
        Ok(Place(place.map_err(|error| Problem::bad(error.body_text()))?.0))
    }
}
