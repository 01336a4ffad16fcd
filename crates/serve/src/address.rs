//! Values in the address of a request. An invalid value is answered like every other error.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::history::MAX_RUNS;
use crate::problem::Problem;

/// The parameters in a path.
#[derive(Debug)]
pub(crate) struct Segments<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Segments<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(segments) = Path::<T>::from_request_parts(parts, state).await?;
        Ok(Self(segments))
    }
}

/// The number of a run or a job in an address; none for any other text, so that an address can never name a file.
pub(crate) fn number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The number of a run in a path.
///
/// # Errors
/// When the text is not a number: the same error as for a run that does not exist.
pub(crate) fn run_of(text: &str) -> Result<i64, Problem> {
    number(text).ok_or_else(|| Problem::not_found("a run is named by its number"))
}

/// A value that is read from the query of an address.
pub(crate) trait FromQuery: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// When a parameter is unknown or its value is invalid.
    fn from_query(query: &str) -> Result<Self, String>;
}

/// The query of an address.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: FromQuery + Send> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        T::from_query(parts.uri.query().unwrap_or_default()).map(Self).map_err(Problem::bad_input)
    }
}

/// A part of the list of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Maximum number of runs.
    pub(crate) limit: u32,
    /// The run that precedes the first one in the list; None for the latest runs.
    pub(crate) before: Option<i64>,
}

impl FromQuery for Page {
    fn from_query(query: &str) -> Result<Self, String> {
        let mut page = Self { limit: MAX_RUNS, before: None };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "limit" => {
                    let limit = number(&value).filter(|limit| (1..=MAX_RUNS).contains(limit));
                    page.limit = limit
                        .ok_or_else(|| format!("`limit`: it must be at least 1 and at most {MAX_RUNS}"))?;
                }
                "before" => {
                    let run = number(&value);
                    page.before = Some(run.ok_or("`before`: it must be the number of a run")?);
                }
                _ => return Err("the parameters of this address are `limit` and `before`".to_owned()),
            }
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_are_a_number() {
        assert_eq!(number::<i64>("12"), Some(12));
        for text in
            ["", "-1", "+1", " 1", "1.0", "1e3", "../1", "99999999999999999999", "nightly", "1/result"]
        {
            assert_eq!(number::<i64>(text), None, "{text}");
        }
    }

    #[test]
    fn a_page_has_a_bounded_number_of_runs_and_begins_after_any() {
        let page = |limit, before| Ok(Page { limit, before });
        assert_eq!(Page::from_query(""), page(500, None));
        assert_eq!(Page::from_query("limit=1"), page(1, None));
        assert_eq!(Page::from_query("limit=500&before=12"), page(500, Some(12)));
        assert_eq!(Page::from_query("before=1%32"), page(500, Some(12)));
        for (query, why) in [
            ("limit=0", "`limit`"),
            ("limit=501", "`limit`"),
            ("limit=", "`limit`"),
            ("limit=-1", "`limit`"),
            ("before=x", "`before`"),
            ("before=99999999999999999999", "`before`"),
            ("limt=1", "are `limit` and `before`"),
        ] {
            let refused = Page::from_query(query).unwrap_err();
            assert!(refused.contains(why), "{query}: {refused}");
        }
    }
}
