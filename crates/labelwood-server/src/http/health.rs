//! For those who watch over the service.

use crate::app::App;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// That the process is alive.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    #[schema(example = "ok")]
    status: &'static str,
    version: &'static str,
}

/// Whether requests are welcome, and what is served.
#[derive(Serialize, ToSchema)]
pub(crate) struct Readiness {
    ready: bool,
    models: Vec<ReadyModel>,
}

/// A model that answers.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReadyModel {
    name: String,
    /// The digest that tells this model from others.
    id: String,
    /// Since when there is a newer one in its folder that cannot be opened; the log says why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    refused_since: Option<String>,
}

/// Whether the process is alive
#[utoipa::path(
    get, path = "/health", tag = "health",
    responses((status = 200, description = "It is", body = Health))
)]
pub(crate) async fn health() -> Json<Health> {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

/// Whether requests are welcome
#[utoipa::path(
    get, path = "/ready", tag = "health",
    responses(
        (status = 200, description = "They are", body = Readiness),
        (status = 503, description = "The server is stopping", body = Readiness)
    )
)]
pub(crate) async fn ready(State(app): State<Arc<App>>) -> Response {
    let ready = !app.is_stopping();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let models = app.projects.iter().map(|project| ReadyModel {
        name: project.name.clone(),
        id: project.current().id.clone(),
        refused_since: project
            .trouble()
            .map(|since| humantime::format_rfc3339_seconds(since).to_string()),
    });
    (status, Json(Readiness { ready, models: models.collect() })).into_response()
}

/// Figures, as Prometheus reads them
#[utoipa::path(
    get, path = "/metrics", tag = "health",
    responses((status = 200, description = "The figures", body = String, content_type = "application/openmetrics-text"))
)]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let text = app.figures.text(&app.projects, app.work.waiting());
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
