//! The Content-Security-Policy of responses: pages may send requests to this server, and all other responses to nobody.

use axum::http::HeaderValue;
use hoptax_report::render::html;

/// The policy of the pages, which start and follow jobs.
pub(crate) fn of_pages() -> HeaderValue {
    with_frame(&html::served_policy())
}

/// The policy of every other response.
pub(crate) fn of_others() -> HeaderValue {
    with_frame(html::policy())
}

fn with_frame(policy: &str) -> HeaderValue {
    let policy = format!("{policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}
