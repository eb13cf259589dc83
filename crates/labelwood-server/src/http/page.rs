//! The page for people, and how files that are part of the program are sent.

use super::problem::Problem;
use crate::app::App;
use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rust_embed::{Embed, EmbeddedFile};
use std::borrow::Cow;
use std::fmt::Write;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

/// The files of the page. A debug build reads them from the folder when they are asked for.
#[derive(Embed)]
#[folder = "page/"]
struct Files;

/// What pages may load: their own files, and what they make themselves.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The routes to the page and its files.
pub(crate) fn router() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(async |headers: HeaderMap| embedded("index.html", &headers)))
        .route(
            "/assets/{*file}",
            get(async |Path(file): Path<String>, headers: HeaderMap| embedded(&file, &headers)),
        )
}

/// A file of the page.
fn embedded(name: &str, headers: &HeaderMap) -> Response {
    let Some(EmbeddedFile { data, metadata }) = Files::get(name) else {
        return Problem::missing("there is no such file").into_response();
    };
    let mut tag = String::from("\"");
    for byte in &metadata.sha256_hash()[..16] {
        // Writing to a string does not fail.
        let _ = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    file(data, kind(name), &tag, headers)
}

/// A file that is part of the program, or that the client has it already.
pub(crate) fn file(
    data: Cow<'static, [u8]>,
    kind: &'static str,
    tag: &str,
    headers: &HeaderMap,
) -> Response {
    let has_it = headers.get_all(header::IF_NONE_MATCH).iter().any(|value| {
        let tags = value.to_str().unwrap_or_default().split(',');
        tags.map(|it| it.trim().trim_start_matches("W/")).any(|it| it == tag || it == "*")
    });
    let mut response = match has_it {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(header::CONTENT_TYPE, kind)], data).into_response(),
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, tag);
    }
    // Kept, and asked for again each time: a new version of the program has new files.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// A tag that follows from the bytes.
pub(crate) fn tag_of(bytes: &[u8]) -> String {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(bytes);
    format!("\"{hash:016x}\"")
}

/// The type of a file by its ending.
fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" | "webmanifest" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
