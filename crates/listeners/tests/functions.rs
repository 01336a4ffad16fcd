//! Functions of the catalogue bring nothing of the lab into a listener: each value is a knob of the file, or in the list below.

use std::collections::BTreeSet;

use hoptax_functions::{Catalogue, Context, Fragment, Function, InListeners, KnobRange};
use hoptax_listeners::{Source, read, render};
use serde_json::{Value, json};

/// Every value that a function adds and no knob sets, by the end of its path. Envoy's default is its behaviour without the value.
const READ: [(&str, &str, &str); 26] = [
    ("accept-balance", "/exact_balance", "{}"),
    ("balance/least-request", "/lb_policy", "LEAST_REQUEST"),
    ("balance/random", "/lb_policy", "RANDOM"),
    ("balance/round-robin", "/lb_policy", "ROUND_ROBIN"),
    ("compress/", "/name", "envoy.filters.http.compressor"),
    ("compress/brotli", "/compressor_library/name", "brotli"),
    // Envoy's default.
    ("compress/brotli", "/quality", "3"),
    ("compress/gzip", "/compressor_library/name", "gzip"),
    // The default of zlib, and so of Envoy.
    ("compress/gzip", "/compression_level", "COMPRESSION_LEVEL_6"),
    ("compress/zstd", "/compressor_library/name", "zstd"),
    // Envoy's default.
    ("compress/zstd", "/compression_level", "3"),
    ("connection-rate-limit", "/name", "envoy.filters.network.local_ratelimit"),
    ("connection-rate-limit", "/stat_prefix", "a"),
    ("connection-rate-limit", "/fill_interval", "1s"),
    ("decompress/gzip", "/name", "envoy.filters.http.decompressor"),
    ("decompress/gzip", "/decompressor_library/name", "gzip"),
    ("edge/remote-address", "/use_remote_address", "true"),
    ("one-socket", "/enable_reuse_port", "false"),
    ("path/normalize", "/normalize_path", "true"),
    ("path/normalize", "/merge_slashes", "true"),
    ("rate-limit/local", "/name", "envoy.filters.http.local_ratelimit"),
    ("rate-limit/local", "/stat_prefix", "a"),
    ("rate-limit/local", "/fill_interval", "1s"),
    ("rate-limit/local", "/default_value/numerator", "100"),
    ("rate-limit/local", "/default_value/denominator", "HUNDRED"),
    // Envoy's default: one bucket for all connections.
    ("rate-limit/local", "/local_rate_limit_per_downstream_connection", "false"),
];

/// The paths and values of a message without the numbers of lists, to which a function may add.
fn leaves(value: &Value, path: &str, found: &mut BTreeSet<(String, String)>) {
    match value {
        Value::Object(keys) if !keys.is_empty() => {
            keys.iter().for_each(|(key, inner)| leaves(inner, &format!("{path}/{key}"), found));
        }
        Value::Array(items) => items.iter().for_each(|inner| leaves(inner, path, found)),
        Value::String(text) => _ = found.insert((path.to_owned(), text.clone())),
        other => _ = found.insert((path.to_owned(), other.to_string())),
    }
}

/// Renders a listener with functions.
fn rendered(functions: &[&str]) -> Result<BTreeSet<(String, String)>, String> {
    let text = json!({"listeners": [{
        "name": "a", "port": 6102, "timeout": "1s", "functions": functions,
        "upstream": {"address": "server.internal", "port": 1},
    }]});
    let plan =
        read(Source { name: "x.json", text: &text.to_string() }, None).map_err(|error| error.to_string())?;
    let mut found = BTreeSet::new();
    leaves(&render(&plan).map_err(|error| error.to_string())?.bootstrap(), "", &mut found);
    Ok(found)
}

/// A call of a function with all of its knobs but one at an end of their ranges.
fn call(function: &Function, is_first: bool, without: &str) -> String {
    let stated = function.knobs.iter().filter(|(name, _)| *name != without);
    let knobs = stated.map(|(name, knob)| match &knob.range {
        KnobRange::Integer { min, max } => format!("{name}={}", if is_first { min } else { max }),
        KnobRange::Word(words) => {
            format!("{name}={}", words[if is_first { 0 } else { words.len() - 1 }])
        }
    });
    let knobs: Vec<String> = knobs.collect();
    if knobs.is_empty() { function.id.clone() } else { format!("{}{{{}}}", function.id, knobs.join(",")) }
}

#[test]
fn every_value_of_a_function_is_a_knob_or_in_the_list() {
    let plain = rendered(&[]).unwrap();
    let (mut fit, mut used) = (0, BTreeSet::new());
    for function in Catalogue::load().unwrap().iter() {
        let ends = |without: &str| {
            let first = rendered(&[&call(function, true, without)]).ok()?;
            Some((first, rendered(&[&call(function, false, without)]).ok()?))
        };
        let Some((first, last)) = ends("") else { continue };
        fit += 1;
        let mut fixed: BTreeSet<_> = first.intersection(&last).cloned().collect();
        // A file that does not state a knob gets its default, or is refused.
        for (first, last) in function.knobs.keys().filter_map(|name| ends(name)) {
            fixed.extend(first.intersection(&last).cloned());
        }
        for (path, value) in fixed.difference(&plain).filter(|(path, _)| !path.ends_with("/@type")) {
            let entry = READ.iter().position(|(id, end, listed)| {
                function.id.starts_with(id) && path.ends_with(end) && listed == value
            });
            assert!(entry.is_some(), "{}: {path} is {value}", function.id);
            used.extend(entry);
        }
        for (path, value) in first.union(&last) {
            let is_of_lab = |text: &str| text.contains("hoptax") || text.contains(".example");
            assert!(!is_of_lab(path) && !is_of_lab(value), "{}: {path} is {value}", function.id);
        }
    }
    assert_eq!((fit, used.len()), (14, READ.len()));
}

#[test]
fn functions_of_the_lab_and_those_that_have_keys_are_refused_with_the_reason() {
    let of_lab = "are made for the lab";
    for (function, expected) in [
        ("rbac", of_lab),
        ("buffer", of_lab),
        ("cors", of_lab),
        ("mcp", of_lab),
        ("balance/maglev", of_lab),
        ("grpc-json", of_lab),
        ("circuit-breaker{limit=7}", "use `circuit_breakers` of the listener"),
        ("retry/budget", "use `retry_budget` of the listener"),
        ("retry/policy", "use `retry` of the listener"),
        ("outlier-detection", "use `outlier_detection` of the listener"),
        ("timeout/route", "use `timeout` and `idle_timeout` of the listener"),
        ("idle-timeout", "use `keepalive` of the listener"),
        ("access-log/json", "use `access_log` at the top level of the file"),
        ("rate-limit/local", "`rate-limit/local` needs a value: write `rate-limit/local{per_second=NUMBER}`"),
        ("connection-reuse", "write `connection-reuse{requests=NUMBER}`"),
    ] {
        let error = rendered(&[function]).unwrap_err();
        assert!(error.contains(expected), "{function}: {error}");
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
    let part = |function: &Function| {
        let context = Context { directory: "/nowhere".as_ref(), companion: None };
        unplaced(&function.render(&function.default_knobs(), &context).unwrap())
    };
    for function in catalogue.iter().filter(|one| matches!(one.listeners, InListeners::Fit(_))) {
        assert_eq!(part(function), None, "{}", function.id);
    }
    let of = |id: &str| part(catalogue.iter().find(|function| function.id == id).unwrap());
    assert_eq!((of("io-uring"), of("route/path")), (Some("the process"), Some("routes")));
}
