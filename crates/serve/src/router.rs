//! The routes of the server, behind the gate, with common headers.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::api;
use crate::app::App;
use crate::gate::Refusal;
use crate::metrics::{self, Refused};
use crate::openapi::openapi;
use crate::pages;
use crate::policy;
use crate::problem::Problem;

/// Maximum size of a request body, bytes. The settings of a load take a few hundred.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// The path of the OpenAPI document.
const OPENAPI: &str = "/api/v1/openapi.json";

/// The text of the document, generated once.
static OPENAPI_TEXT: LazyLock<String> = LazyLock::new(|| openapi().to_string());

/// All routes.
pub(crate) fn router(app: &Arc<App>) -> Router {
    Router::new()
        .route("/", get(pages::history))
        .route("/runs/{run}", get(pages::run))
        .route("/compare", get(pages::compare))
        .route("/metrics", get(metrics))
        .route(OPENAPI, get(|| async { ([(CONTENT_TYPE, "application/json")], OPENAPI_TEXT.as_str()) }))
        .merge(api::routes())
        .fallback(|| async { Problem::not_found("there is no such page") })
        .method_not_allowed_fallback(|| async { Problem::no_such_method() })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(Arc::clone(app), pages::for_people))
        .layer(middleware::from_fn_with_state(Arc::clone(app), guard))
        .with_state(Arc::clone(app))
}

async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    ([(CONTENT_TYPE, metrics::MEDIA_TYPE)], app.metrics_text())
}

/// Admits requests that pass the gate, and sets the headers of all responses.
async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    app.metrics.requested();
    let mut response = match app.gate.check(request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refused(&app, refusal),
    };
    protect(response.headers_mut());
    response
}

fn refused(app: &App, refusal: Refusal) -> Response {
    let (why, status, error) = match refusal {
        Refusal::Host => (
            Refused::Host,
            StatusCode::MISDIRECTED_REQUEST,
            "this server has another name: use the address it listens on, or start it with `--allow-host NAME`",
        ),
        Refusal::Origin => {
            (Refused::Origin, StatusCode::FORBIDDEN, "a page of another server may not request this")
        }
        Refusal::Proxy => (
            Refused::Proxy,
            StatusCode::FORBIDDEN,
            "a proxy forwards to this server, so it needs a token: start it with `--token-file FILE`",
        ),
        Refusal::Token => (
            Refused::Token,
            StatusCode::UNAUTHORIZED,
            "send the token that `hoptax serve` printed: as `Authorization: Bearer TOKEN`, or as the password in a browser",
        ),
    };
    app.metrics.refused(why);
    let mut response = Problem::new(status, error).into_response();
    // Close the connection: a refused client must not keep one open.
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    if refusal == Refusal::Token {
        let basic = HeaderValue::from_static("Basic realm=\"hoptax\", charset=\"UTF-8\"");
        response.headers_mut().insert(WWW_AUTHENTICATE, basic);
    }
    response
}

/// Sets headers that keep a browser from doing anything with a response but show it.
fn protect(headers: &mut HeaderMap) {
    let fixed = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Pages have their own policy.
    headers.entry(CONTENT_SECURITY_POLICY).or_insert_with(policy::of_others);
}
