//! The linter and the mending of its findings end for every file.

use hoptax_bootstrap::read_partly;
use hoptax_lint::{Finding, lint, mend};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Names of fields that rules look at, so that arbitrary trees reach them.
const FIELDS: [&str; 24] = [
    "static_resources",
    "listeners",
    "clusters",
    "admin",
    "address",
    "socket_address",
    "port_value",
    "filter_chains",
    "filters",
    "typed_config",
    "http_filters",
    "route_config",
    "virtual_hosts",
    "routes",
    "match",
    "route",
    "cluster",
    "retry_policy",
    "retry_on",
    "timeout",
    "name",
    "load_assignment",
    "circuit_breakers",
    "token_bucket",
];

fn tree() -> impl Strategy<Value = Value> {
    let texts = ["0s", "15s", "-1s", "1e400s", "5xx", "/", "*", "é", "", "1e999", "STATIC", "STRICT_DNS"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(texts.to_vec()).prop_map(Value::from),
        "[a-z:/#\"' {}-]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 96, 6, |inner| {
        let key = prop::sample::select(FIELDS.to_vec()).prop_map(str::to_owned);
        let entries = prop::collection::vec((key, inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            entries.prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Lints and mends a text, if it is a configuration.
fn check(text: &str) {
    let load = |_: &str| Err("it does not exist".to_owned());
    let Ok(read) = read_partly("envoy.yaml", text, None, &load) else { return };
    let linted = lint(&read);
    let findings: Vec<&Finding> = linted.findings.iter().collect();
    for one in mend(&read.configuration, &findings).0 {
        if let Ok(read) = read_partly("envoy.yaml", &one.changed, None, &load) {
            let _ = lint(&read);
        }
    }
}

proptest! {
    #[test]
    fn any_tree_is_linted(listener in tree(), cluster in tree(), more in tree(), is_pretty in any::<bool>()) {
        let value = json!({
            "static_resources": {
                "listeners": [listener, {"filter_chains": [{"filters": [{"typed_config": {
                    "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                    "route_config": {"virtual_hosts": [{"domains": ["*"], "routes": [more]}]},
                }}]}]}],
                "clusters": [cluster],
            },
        });
        let text = if is_pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        check(&text.unwrap_or_default());
    }

    #[test]
    fn any_text_is_linted(text in "(static_resources:|listeners:|name: a|- |[ \n:{}\\[\\]&*#a-z]){0,60}") {
        check(&text);
        check(&format!("static_resources:\n  {text}"));
    }
}
