//! Errors of the API: a status, and a sentence in JSON for human readers.

use std::fmt;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

/// `Retry-After` for requests that were refused because there are too many, seconds.
const RETRY_AFTER_S: &str = "5";

/// An error.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) error: String,
}

/// The body of a response that is no success.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorBody {
    /// The failure, its cause, and what to do.
    pub(crate) error: String,
}

/// The sentence of an error, in addition to the body of its response, for pages that show it.
#[derive(Clone, Debug)]
pub(crate) struct ErrorText(pub(crate) String);

impl Problem {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into() }
    }

    pub(crate) fn not_found(error: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, error)
    }

    pub(crate) fn bad_input(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    pub(crate) fn no_such_method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this address has no such method: `Allow` lists its methods",
        )
    }

    /// A result that this hoptax cannot read.
    pub(crate) fn not_readable(error: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, error)
    }

    /// A fault of this machine or of hoptax. Clients read it, so it contains nothing about this machine, such as a path.
    pub(crate) fn internal(error: impl fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let text = ErrorText(self.error.clone());
        let mut response = (self.status, Json(ErrorBody { error: self.error })).into_response();
        response.extensions_mut().insert(text);
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
        }
        response
    }
}
