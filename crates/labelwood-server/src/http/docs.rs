//! The document of the interface, and a page to read it.

use super::page;
use crate::app::App;
use axum::Router;
use axum::http::HeaderMap;
use axum::routing::get;
use std::sync::Arc;
use utoipa::openapi::OpenApi;

const PAGE: &[u8] = include_bytes!("docs/docs.html");
const SCRIPT: &[u8] = include_bytes!("docs/docs.js");
const STYLE: &[u8] = include_bytes!("docs/docs.css");

/// The routes to the document and the page.
pub(crate) fn router(mut document: OpenApi) -> Router<Arc<App>> {
    document.info.version = env!("CARGO_PKG_VERSION").to_owned();
    let json: Arc<[u8]> = document.to_json().unwrap_or_default().into_bytes().into();
    let json_tag = page::tag_of(&json);
    let file = |bytes: &'static [u8], kind: &'static str| {
        let tag = page::tag_of(bytes);
        get(async move |headers: HeaderMap| page::file(bytes.into(), kind, &tag, &headers))
    };
    Router::new()
        .route("/api/docs", file(PAGE, "text/html; charset=utf-8"))
        .route("/api/docs/docs.js", file(SCRIPT, "text/javascript; charset=utf-8"))
        .route("/api/docs/docs.css", file(STYLE, "text/css; charset=utf-8"))
        .route(
            "/api/openapi.json",
            get(async move |headers: HeaderMap| {
                page::file(json.to_vec().into(), "application/json", &json_tag, &headers)
            }),
        )
}
