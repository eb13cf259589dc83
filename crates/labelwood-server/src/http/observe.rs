//! What happens around every request: its id, its key, the access log and the figures.

use super::REQUEST_ID;
use super::problem::Problem;
use crate::access_log::Line;
use crate::app::App;
use axum::body::HttpBody;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Instant, SystemTime};

/// Where a request came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client(pub(crate) SocketAddr);

/// Ids that clients give are no longer than this.
const LONGEST_ID: usize = 64;

/// Lets a request through if it has a key, and notes what becomes of it.
pub(crate) async fn observe(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (began, time) = (Instant::now(), SystemTime::now());
    let _counted = InFlight::start(&app);
    let id = given_id(request.headers()).unwrap_or_else(new_id);
    let client = request.extensions().get::<Client>().copied();
    let method = name_of(request.method());
    let path = request.uri().path().to_owned();
    let matched = request.extensions().get::<MatchedPath>().map(|matched| matched.as_str());
    let route: Arc<str> = matched.unwrap_or("other").into();
    let keys = app.keys();
    let key = keys.as_ref().and_then(|keys| keys.find(request.headers()));
    let is_open = keys.is_none() || key.is_some() || !needs_key(&path);
    let mut response = if is_open {
        as_problem(next.run(request).await)
    } else {
        let detail = "a key is needed: send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`";
        Problem::new(StatusCode::UNAUTHORIZED, detail).into_response()
    };
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    let (status, spent) = (response.status().as_u16(), began.elapsed());
    app.figures.answered(method, &route, status, spent);
    if let Some(log) = &app.log {
        log.push(Line {
            time: humantime::format_rfc3339_millis(time).to_string(),
            id: &id,
            client: client.map(|Client(address)| address.ip().to_string()),
            key: key.filter(|name| !name.is_empty()),
            method,
            path: &path,
            status,
            ms: (spent.as_secs_f64() * 1e6).round() / 1e3,
            bytes: response.body().size_hint().exact(),
            lost: 0,
        });
    }
    response
}

/// A request that is being answered, until this is dropped.
struct InFlight<'a>(&'a App);

impl<'a> InFlight<'a> {
    fn start(app: &'a App) -> Self {
        app.figures.in_flight.inc();
        InFlight(app)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.figures.in_flight.dec();
    }
}

/// What only clients with a key may see: answers of models and figures, not the page nor its files.
fn needs_key(path: &str) -> bool {
    let is_below = |folder: &str| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_public = matches!(path, "/api/openapi.json") || is_below("/api/docs");
    !is_public && ["/api", "/v1", "/metrics"].into_iter().any(is_below)
}

/// The id that a client or a proxy gave the request, if it may stand in a log.
fn given_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_short = (1..=LONGEST_ID).contains(&id.len());
    (is_short && id.bytes().all(is_plain)).then(|| id.to_owned())
}

/// An id that no other request of this process has, and hardly one of another.
fn new_id() -> String {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
    static REQUESTS: AtomicU64 = AtomicU64::new(0);
    format!("{:016x}-{:x}", *PROCESS, REQUESTS.fetch_add(1, Ordering::Relaxed))
}

/// Methods under which requests are counted; clients may make up others.
fn name_of(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "HEAD" => "HEAD",
        "OPTIONS" => "OPTIONS",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "PATCH" => "PATCH",
        _ => "other",
    }
}

/// An answer that says something is wrong without a problem document gets one.
fn as_problem(response: Response) -> Response {
    let status = response.status();
    let is_text = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_none_or(|value| value.as_bytes().starts_with(b"text/plain"));
    if !(status.is_client_error() || status.is_server_error()) || !is_text {
        return response;
    }
    let problem = Problem::new(status, status.canonical_reason().unwrap_or_default());
    let mut answer = problem.into_response();
    for (name, value) in response.headers() {
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_new_unless_a_plain_one_is_given() {
        assert_ne!(new_id(), new_id());
        let given = |id: &str| {
            given_id(&HeaderMap::from_iter([(REQUEST_ID, HeaderValue::from_str(id).unwrap())]))
        };
        assert_eq!(given("Ab-1_2.c"), Some("Ab-1_2.c".into()));
        let long = "a".repeat(LONGEST_ID + 1);
        for odd in ["", "a b", "a\"", &long] {
            assert_eq!(given(odd), None, "{odd}");
        }
    }

    #[test]
    fn models_and_figures_need_a_key_and_the_page_does_not() {
        for path in ["/api", "/api/models", "/api/docsx", "/v1/projects", "/v1", "/metrics"] {
            assert!(needs_key(path), "{path}");
        }
        for path in [
            "/",
            "/assets/page.js",
            "/api/docs",
            "/api/docs/docs.js",
            "/api/openapi.json",
            "/health",
            "/ready",
        ] {
            assert!(!needs_key(path), "{path}");
        }
    }
}
