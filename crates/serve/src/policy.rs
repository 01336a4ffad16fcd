//! The Content-Security-Policy of responses: the pages may ask this server, and nothing else may ask anybody.

use axum::http::HeaderValue;
use hoptax_report::render::html;

/// The policy of the pages, which start loads and follow jobs.
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
