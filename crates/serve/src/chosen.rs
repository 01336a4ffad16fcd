//! The runs that an address selects for a comparison.

use std::collections::BTreeSet;

use hoptax_report::document::Document;
use hoptax_report::documents::{self, MOST_OVERLAID, Overlaid};

use crate::address::{FromQuery, number};
use crate::history::{History, not_readable};
use crate::problem::Problem;

/// Minimum number of compared runs.
pub(crate) const FEWEST: usize = 2;
/// Maximum total size of the results of the runs, bytes. All of them are in memory at a time, in a form that is several times as large.
const MAX_BYTES: u64 = 32 << 20;

/// Runs of the store, the reference first, from the parameter `runs` of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen(Vec<i64>);

impl FromQuery for Chosen {
    /// Reads `runs`: two to [`MOST_OVERLAID`] different numbers. No other parameter is allowed.
    fn from_query(query: &str) -> Result<Self, String> {
        let asked =
            || format!("`runs`: name {FEWEST} to {MOST_OVERLAID} different runs, such as `runs=9,12`");
        let mut runs: Option<Vec<i64>> = None;
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if name != "runs" || runs.is_some() {
                return Err("the parameter of this address is `runs`, once".to_owned());
            }
            runs = Some(value.split(',').map(number).collect::<Option<_>>().ok_or_else(asked)?);
        }
        let runs = runs.ok_or_else(asked)?;
        let different: BTreeSet<i64> = runs.iter().copied().collect();
        let are_many_enough = (FEWEST..=MOST_OVERLAID).contains(&runs.len());
        if are_many_enough && different.len() == runs.len() { Ok(Self(runs)) } else { Err(asked()) }
    }
}

impl Chosen {
    /// Their numbers.
    pub(crate) fn runs(&self) -> &[i64] {
        &self.0
    }

    /// The document that compares them.
    ///
    /// # Errors
    /// When one of them does not exist, has no result or was written by a version of hoptax that cannot be read, and when the results are
    /// too large.
    pub(crate) fn document(&self, history: &History) -> Result<Document, Problem> {
        history.check_size(&self.0, MAX_BYTES)?;
        let read = |run: &i64| {
            Overlaid::read(*run, &history.measured(*run)?).map_err(|why| not_readable(*run, &why))
        };
        let runs: Vec<Overlaid> = self.0.iter().map(read).collect::<Result<_, _>>()?;
        Ok(documents::overlay(&runs))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use axum::body::Body;
    use axum::http::Request;
    use axum::http::header::HOST;
    use futures_util::FutureExt;
    use tokio::{runtime, task};
    use tower::ServiceExt;

    use super::*;
    use crate::app::blocking;
    use crate::app::tests::{LISTEN, app, no_history};
    use crate::router::router;

    #[test]
    fn one_comparison_is_made_at_a_time_until_its_end() {
        let app = app(no_history());
        let ask = |path: &str| {
            let request = Request::get(path).header(HOST, LISTEN.to_string()).body(Body::empty()).unwrap();
            Box::pin(router(&app).oneshot(request))
        };
        // On one thread, work is done in its order.
        let mut runtime = runtime::Builder::new_current_thread();
        runtime.enable_time().max_blocking_threads(1).build().unwrap().block_on(async {
            for path in ["/compare?runs=1,2", "/api/v1/compare?runs=1,2"] {
                let another = app.comparison().await;
                let mut asked = ask(path);
                assert!(asked.as_mut().now_or_never().is_none(), "{path}");
                blocking(|| Ok(())).await.unwrap();
                assert!(asked.as_mut().now_or_never().is_none(), "{path}");
                drop(another);
                assert_eq!(asked.await.unwrap().status(), 404, "{path}");

                let (end, ended) = mpsc::channel::<()>();
                let busy = task::spawn_blocking(move || ended.recv());
                let mut asked = ask(path);
                assert!(asked.as_mut().now_or_never().is_none(), "{path}");
                assert!(app.comparison().now_or_never().is_none(), "{path}: it has not been made yet");
                end.send(()).unwrap();
                busy.await.unwrap().unwrap();
                assert_eq!(asked.await.unwrap().status(), 404, "{path}");
                assert!(app.comparison().now_or_never().is_some(), "{path}");
            }
        });
    }

    #[test]
    fn runs_are_different_numbers_in_the_order_of_the_address() {
        let runs = |query: &str| Chosen::from_query(query).map(|chosen| chosen.0);
        assert_eq!(runs("runs=12,9"), Ok(vec![12, 9]));
        assert_eq!(runs("runs=1%2C2%2c3"), Ok(vec![1, 2, 3]));
        assert_eq!(runs("runs=1,2,3,4,5"), Ok(vec![1, 2, 3, 4, 5]));
        for query in [
            "",
            "runs=",
            "runs=1",
            "runs=1,1",
            "runs=1,2,1",
            "runs=1,2,3,4,5,6",
            "runs=1,",
            "runs=1,-2",
            "runs=1,nightly",
            "runs=1,..%2F2",
            "runs=1,99999999999999999999",
            "runs=1;2",
        ] {
            let refused = runs(query).unwrap_err();
            assert!(refused.starts_with("`runs`: name 2 to 5 different runs"), "{query}: {refused}");
        }
        for query in ["runs=1,2&runs=3,4", "run=1,2", "runs=1,2&page=1"] {
            assert!(runs(query).unwrap_err().contains("is `runs`, once"), "{query}");
        }
    }
}
