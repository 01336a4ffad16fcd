//! Built-in studies over time, in their short form.
//!
//! `make test` guards them by other tests: failures and restarts over time (`courses.rs`), and the numbers of recorded courses
//! (`crates/judge/src/summary/timeline.rs`).

use crate::courses::courses;
use crate::smoke::outcome;

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn a_proxy_that_reuses_connections_which_origins_close_loses_requests_to_the_race_only() {
    let Ok(result) = outcome("keepalive-race") else { return };
    for course in courses(&result, "never") {
        let answered: u64 =
            course["intervals"].as_array().unwrap().iter().map(|one| one["answered"].as_u64().unwrap()).sum();
        // Forty requests per second for a second, most of them on connections that were not idle for long.
        assert!(answered > 20, "{course:#}");
    }
}

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn a_balancer_of_connections_leaves_a_restarted_proxy_without_requests() {
    // This needs haproxy.
    let Ok(result) = outcome("l4-imbalance") else { return };
    for arm in ["unlimited", "at-most-1000"] {
        for course in courses(&result, arm) {
            let restart = &course["events"][0];
            assert_eq!(restart["generations_bytes"].as_array().unwrap().len(), 1, "{course:#}");
            let restart_s = restart["planned_s"].as_f64().unwrap();
            let is_before = |sample: &&serde_json::Value| sample["at_s"].as_f64().unwrap() < restart_s + 0.01;
            let (before, after): (Vec<_>, Vec<_>) =
                course["spread"].as_array().unwrap().iter().partition(is_before);
            let received = |samples: &[&serde_json::Value]| {
                let of = |proxy| {
                    samples.iter().map(|sample| sample["values"][proxy].as_u64().unwrap()).sum::<u64>()
                };
                ["proxy", "proxy-2"].map(of)
            };
            assert!(received(&before).iter().all(|requests| *requests > 0), "{course:#}");
            let [one, restarted] = received(&after);
            assert!(one > restarted, "{course:#}");
        }
    }
    let shares = &result["timelines"][0]["points"][0]["shares"];
    assert_eq!(shares.as_object().unwrap().len(), 2, "{shares}");
}

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn every_connection_belongs_to_a_worker_as_envoy_counts_them() {
    let Ok(result) = outcome("worker-balance") else { return };
    let mut several = 0;
    for course in
        result["rounds"].as_array().unwrap().iter().flat_map(|round| round["courses"].as_array().unwrap())
    {
        let workers = course["workers"].as_array().map_or(&[][..], Vec::as_slice);
        several += usize::from(workers.len() > 1);
        // Envoy's own statistic; connections that it closes after a number of requests are in none.
        let last = course["spread"].as_array().unwrap().last().unwrap()["values"].as_object().unwrap();
        let mut counted: Vec<u64> =
            last.values().filter_map(serde_json::Value::as_u64).filter(|count| *count > 0).collect();
        let mut found: Vec<u64> =
            workers.iter().map(|worker| worker["connections"].as_u64().unwrap()).collect();
        counted.sort_unstable();
        found.sort_unstable();
        let is_kept = !course["arm"].as_str().unwrap().contains("connection-reuse");
        assert!(!is_kept || found.is_empty() || found == counted, "{course:#}");
    }
    assert!(several > 4, "{several} courses with several workers");
}
