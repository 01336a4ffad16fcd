//! Which functions of the catalogue are fit for a listener in use, and why the others are not.
//!
//! The catalogue is made for measurements: most of its functions hold a path, a header, a limit or a service of the lab, which nobody who
//! names the function would know of. One is fit if all that it sets is a knob that the file states, Envoy's own default, or what its name
//! says. A test lists every value of them that is no knob.

/// A function that is fit, with the knobs that a file must state because their defaults are those of the lab.
type Fit = (&'static str, &'static [&'static str]);

const FIT: [Fit; 14] = [
    ("accept-balance", &[]),
    ("balance/least-request", &[]),
    ("balance/random", &[]),
    ("balance/round-robin", &[]),
    ("compress/brotli", &[]),
    ("compress/gzip", &[]),
    ("compress/zstd", &[]),
    ("connection-rate-limit", &["per_second"]),
    ("connection-reuse", &["requests"]),
    ("decompress/gzip", &[]),
    ("edge/remote-address", &[]),
    ("one-socket", &[]),
    ("path/normalize", &[]),
    ("rate-limit/local", &["per_second"]),
];

const KEYS: &str = "its keys are those of the lab, which everybody knows";
const HEADER: &str = "its settings are those of the lab: it adds a header that nobody else reads";
const HASH: &str =
    "its settings are those of the lab: it chooses a server by a header that only the lab sends";
const SERVERS: &str = "its settings are those of the lab: it needs the servers there";
const SERVICE: &str = "it calls a service of the lab";
const PROCESS: &str = "it is set at the start of the process";
const NAMES: &str =
    "its settings are those of the lab: it copies a value under a name that nothing else reads";
const SITE: &str = "its settings are those of the lab: it allows the site there";

/// Why functions are not fit, by the beginning of their ids.
const REASONS: [(&str, &str); 55] = [
    ("access-log/", "`access_log` of the file sets it"),
    (
        "adaptive-concurrency",
        "its settings are those of the lab: it admits 1,000 requests at a time in any case",
    ),
    ("add-header/", HEADER),
    (
        "admission-control",
        "its settings are those of the lab: a response with any status counts as a success",
    ),
    ("api-key", KEYS),
    ("balance/load-aware-locality", SERVERS),
    ("balance/maglev", HASH),
    ("balance/ring-hash", HASH),
    ("balance/subset", SERVERS),
    ("balance/zone", SERVERS),
    ("bandwidth-limit", "its settings are those of the lab: its limit is never reached"),
    ("basic-auth", KEYS),
    ("buffer", "its settings are those of the lab: it refuses requests of more than 64 KiB"),
    ("check-token/", KEYS),
    ("circuit-breaker", "`circuit_breakers` of the listener sets it"),
    ("configuration/", "it adds parts that no request uses"),
    (
        "connection-limit",
        "its settings are those of the lab: its limit is 100,000 connections; `connection_limit` of the file sets one",
    ),
    ("control/", "it is a control of measurements, without another use"),
    ("cors", SITE),
    ("csrf", SITE),
    ("ext-authz/", SERVICE),
    ("ext-proc", SERVICE),
    ("grpc-json", "its settings are those of the lab: it translates for the service there"),
    ("header-mutation", HEADER),
    ("header-to-metadata", NAMES),
    (
        "hedging",
        "its settings are those of the lab: each try has 1 s; `retry` of the listener says when a request is tried again",
    ),
    ("http3/", "it is about QUIC, for which this file has no keys"),
    ("idle-timeout", "`keepalive` of the listener sets it"),
    ("io-uring", PROCESS),
    ("ip-tagging", "its settings are those of the lab: the addresses are those there"),
    ("json-to-metadata", NAMES),
    ("jwt", KEYS),
    ("lua", HEADER),
    ("mcp", "its settings are those of the lab: it refuses requests that are not those of the lab"),
    ("oauth2/", KEYS),
    ("outlier-detection", "`outlier_detection` of the listener sets it"),
    ("overload-manager", PROCESS),
    ("plan-limit/", KEYS),
    ("rate-limit/global", "it calls a service of the lab; `ratelimit` of the listener asks yours"),
    ("rate-limit/library", "the application performs it"),
    (
        "rate-limit/lua",
        "each worker has a bucket of its own, so the limit is a multiple; `rate-limit/local` has one for all",
    ),
    ("rate-limit/wasm", "it needs files of the lab; `rate-limit/local` needs none"),
    ("rbac", "its settings are those of the lab: it admits a path and a header that only the lab sends"),
    ("request-id", "it has no effect: Envoy adds request ids by default"),
    ("retry/budget", "`retry_budget` of the listener sets it"),
    ("retry/policy", "`retry` of the listener sets it"),
    ("rewrite-json/", "its settings are those of the lab: it changes bodies of the form there"),
    (
        "route/",
        "its settings are those of the lab: `routes` and `split` of the listener say where requests go",
    ),
    ("stats/per-route", "its settings are those of the lab: its statistics have a name of the lab"),
    ("tap", "it needs files of the lab"),
    ("timeout/route", "`timeout` and `idle_timeout` of the listener set it"),
    ("tls/", "it is about TLS, which `tls` and `encryption` state"),
    ("tracing/", "it calls a service of the lab; `tracing` of the file names yours"),
    ("wasm/", HEADER),
    ("workers/", PROCESS),
];

/// The knobs of a function that a file must state.
///
/// # Errors
/// Why the function is not fit.
pub(super) fn stated_knobs(id: &str) -> Result<&'static [&'static str], &'static str> {
    if let Some((_, knobs)) = FIT.iter().find(|(fit, _)| *fit == id) {
        return Ok(knobs);
    }
    Err(reason(id).unwrap_or("its settings are those of the lab: nobody has checked them for another use"))
}

fn reason(id: &str) -> Option<&'static str> {
    REASONS.iter().find(|(beginning, _)| id.starts_with(beginning)).map(|(_, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use hoptax_functions::{Catalogue, Context, Fragment, FunctionCall};

    use super::*;

    #[test]
    fn every_function_is_fit_or_has_a_reason() {
        let ids: Vec<String> =
            Catalogue::load().unwrap().iter().map(|function| function.id.clone()).collect();
        for id in &ids {
            assert!(stated_knobs(id).is_ok() != reason(id).is_some(), "{id}");
        }
        for beginning in FIT.iter().map(|(id, _)| id).chain(REASONS.iter().map(|(beginning, _)| beginning)) {
            assert!(ids.iter().any(|id| id.starts_with(beginning)), "{beginning}");
        }
    }

    /// A part of a fragment that belongs to other listeners, to other clusters or to the process, which a listener has no place for.
    fn unplaced(fragment: &Fragment) -> Option<&'static str> {
        let parts = [
            ("routes", !fragment.routes.is_empty()),
            ("zones of servers", !fragment.origin_zones.is_empty()),
            ("clusters", !fragment.clusters.is_empty()),
            ("listeners", !fragment.listeners.is_empty()),
            ("the source of certificates", !fragment.certificate_source.is_empty()),
            ("QUIC", fragment.quic_downstream || fragment.quic_upstream),
            ("the process", !fragment.bootstrap.is_empty()),
            ("files", !fragment.files.is_empty()),
        ];
        parts.into_iter().find(|(_, is_there)| *is_there).map(|(part, _)| part)
    }

    #[test]
    fn all_that_a_fit_function_sets_has_a_place_in_a_listener() {
        let catalogue = Catalogue::load().unwrap();
        let part = |text: &str| {
            let call = FunctionCall::parse(text).unwrap();
            let (function, knobs) = catalogue.resolve(&call).unwrap();
            let context = Context { directory: "/nowhere".as_ref(), companion: None };
            unplaced(&function.render(&knobs, &context).unwrap())
        };
        for (id, _) in FIT {
            assert_eq!(part(id), None, "{id}");
        }
        assert_eq!((part("io-uring"), part("route/path")), (Some("the process"), Some("routes")));
    }
}
