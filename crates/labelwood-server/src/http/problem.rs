//! What is answered when something is wrong: a problem document (RFC 9457).

use crate::work::NoAnswer;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

/// Its type.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";
/// Longer explanations are cut: they may hold what was sent.
const LONGEST: usize = 300;

/// What is wrong with a request, or why it cannot be answered now.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// Always `about:blank`: the status tells the kind.
    #[serde(rename = "type")]
    #[schema(example = "about:blank")]
    kind: &'static str,
    /// The name of the status.
    #[schema(example = "Not Found")]
    title: String,
    /// The status of the answer.
    #[schema(example = 404, minimum = 100, maximum = 599)]
    status: u16,
    /// What is wrong, and what to do about it.
    detail: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        if detail.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|&at| detail.is_char_boundary(at));
            detail.truncate(end.unwrap_or_default());
            detail.push('…');
        }
        let title = status.canonical_reason().unwrap_or("Problem").to_owned();
        Problem { kind: "about:blank", title, status: status.as_u16(), detail }
    }

    /// The request is wrong.
    pub(crate) fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// There is no such thing.
    pub(crate) fn missing(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// Later it may work.
    pub(crate) fn busy(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }
}

impl From<NoAnswer> for Problem {
    fn from(reason: NoAnswer) -> Self {
        match reason {
            NoAnswer::Stopping => Problem::busy("the server is stopping: ask again"),
            NoAnswer::Failed => Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the model failed on this request, which is a mistake in the program",
            ),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        let bytes = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, Body::from(bytes)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The problems that any request may meet, for the document of the interface.
pub(crate) struct Problems;
/// Those and the ones of requests with a body.
pub(crate) struct BodyProblems;

fn responses(
    all: &[(&'static str, &'static str)],
) -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
    let response = |about: &str| {
        let schema = Ref::from_schema_name("Problem");
        let content = ContentBuilder::new().schema(Some(schema)).build();
        let response = ResponseBuilder::new().description(about);
        RefOr::T(response.content(PROBLEM_JSON, content).build())
    };
    all.iter().map(|(status, about)| ((*status).to_owned(), response(about))).collect()
}

impl IntoResponses for Problems {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        responses(&[
            ("400", "The request is wrong"),
            ("401", "A key is needed"),
            ("404", "There is no such thing"),
            ("503", "There is too much to do: try again later"),
        ])
    }
}

impl IntoResponses for BodyProblems {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        let mut all = Problems::responses();
        all.extend(responses(&[
            ("408", "The body did not come in time"),
            ("413", "The body is too large"),
            ("415", "The body has another type than is asked for"),
        ]));
        all
    }
}
