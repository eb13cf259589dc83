//! The paths of the service, and what happens on the way to each.
//!
//! - `annif.rs`, `learn.rs` and `language.rs` answer as Annif does, under `/v1`.
//! - `models.rs`, `predict.rs`, `stream.rs`, `explain.rs` and `labels.rs` are the interface of our own, under
//!   `/api`.
//! - `health.rs` is for those who watch over the service.
//! - `page.rs` and `docs.rs` are for people.
//! - `observe.rs` is around all of them: keys, ids, the access log, figures. `body.rs` reads what comes,
//!   `problem.rs` says what is wrong with it.

mod annif;
pub(crate) mod body;
mod docs;
mod explain;
mod health;
mod labels;
mod language;
mod learn;
mod models;
pub(crate) mod observe;
mod page;
mod predict;
pub(crate) mod problem;
mod stream;
mod strict;

use crate::app::App;
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware;
use axum::routing::get;
use problem::Problem;
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{Any, CorsLayer};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The name of the header with the id of a request.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The head of the document of the interface.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "labelwood",
        description = "Which few of very many labels fit a text. `/api` is the interface of labelwood, `/v1` \
                       is that of Annif, so that its clients work here."
    ),
    components(schemas(Problem)),
    tags(
        (name = "models", description = "The models that are served"),
        (name = "predict", description = "Labels for texts and vectors"),
        (name = "labels", description = "What the models know of their labels"),
        (name = "annif", description = "What Annif's clients ask for"),
        (name = "health", description = "For those who watch over the service")
    )
)]
struct Document;

/// Everything that is answered.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let (routes, document) = OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(models::list))
        .routes(routes!(models::show))
        .routes(routes!(predict::predict))
        .routes(routes!(stream::predict_stream))
        .routes(routes!(explain::explain))
        .routes(routes!(labels::search))
        .routes(routes!(labels::show))
        .routes(routes!(annif::info))
        .routes(routes!(annif::list_vocabularies))
        .routes(routes!(annif::list_projects))
        .routes(routes!(annif::show_project))
        .routes(routes!(annif::suggest))
        .routes(routes!(annif::suggest_batch))
        .routes(routes!(annif::learn))
        .routes(routes!(language::detect_language))
        .routes(routes!(health::health))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics))
        .split_for_parts();
    let routes = routes
        .route("/v1", get(annif::info))
        .merge(docs::router(document))
        .merge(page::router())
        .fallback(async |request: Request| {
            Problem::missing(format!(
                "there is nothing at {}: /api/docs lists what there is",
                request.uri().path()
            ))
        })
        .method_not_allowed_fallback(async |method: Method| {
            let detail = format!("{method} does nothing here: the header Allow says what does");
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail)
        })
        .layer(CatchPanicLayer::custom(|_| {
            let detail = "the request failed, which is a mistake in the program";
            let problem = Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail);
            axum::response::IntoResponse::into_response(problem)
        }))
        .layer(middleware::from_fn_with_state(app.clone(), observe::observe));
    let routes = match cors(&app.options.cors) {
        Some(cors) => routes.layer(cors),
        None => routes,
    };
    routes.with_state(app.clone())
}

/// What browsers are told about other sites, if anything.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    let known: Vec<HeaderValue> = origins.iter().filter_map(|it| it.parse().ok()).collect();
    let layer = CorsLayer::new()
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(Any)
        .expose_headers([REQUEST_ID]);
    match origins {
        [] => None,
        all if all.iter().any(|origin| origin == "*") => Some(layer.allow_origin(Any)),
        _ => Some(layer.allow_origin(known)),
    }
}
