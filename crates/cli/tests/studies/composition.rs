//! Arms with several functions on real Envoy.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support;

/// Compositions that differ in where their fragments meet: filters, routes, clusters, the connection manager, TLS, the
/// process, and the companion.
const COMPOSITIONS: [(&str, &str); 14] = [
    ("edge", "[jwt, 'rbac{rules=50}', access-log/json]"),
    ("as-they-are", "[lua, cors], order: as-written"),
    ("limits", "[rate-limit/local, bandwidth-limit, connection-limit, circuit-breaker]"),
    ("browser", "[cors, csrf, compress/gzip, request-id]"),
    ("companion", "[ext-authz/grpc, rate-limit/global, ext-proc, access-log/grpc]"),
    ("keys", "[api-key, basic-auth, ip-tagging, header-to-metadata]"),
    ("balanced", "[balance/least-request, outlier-detection, retry/policy]"),
    ("hashed", "[balance/maglev, hedging, adaptive-concurrency]"),
    ("routed", "['route/path{routes=50}', header-mutation, path/normalize]"),
    ("encrypted", "[tls/terminate, tls/originate, lua]"),
    ("server", "[accept-balance, overload-manager, workers/two, admission-control]"),
    ("code", "[wasm/headers, lua, control/burn]"),
    (
        "extended",
        "[add-header/module, check-token/module, add-header/lua, check-token/wasm, check-token/ext-authz]",
    ),
    ("delayed", "[fault/delay, jwt, edge/remote-address]"),
];

/// The names of the HTTP filters in the configuration of an arm.
fn filters(out: &Path, arm: &str) -> Vec<String> {
    let text = fs::read_to_string(out.join("arms").join(arm).join("bootstrap.json")).unwrap();
    let bootstrap: Value = serde_json::from_str(&text).unwrap();
    let listener = &bootstrap["static_resources"]["listeners"][0];
    let network = listener["filter_chains"][0]["filters"].as_array().unwrap();
    let manager = &network.last().unwrap()["typed_config"];
    let filters = manager["http_filters"].as_array().unwrap();
    filters.iter().map(|filter| filter["name"].as_str().unwrap().replace("envoy.filters.http.", "")).collect()
}

/// Envoy validates each configuration before the first round.
#[test]
fn envoy_accepts_compositions_and_every_function_of_them_is_at_work() {
    let folder = tempfile::tempdir().unwrap();
    let (study, out) = (folder.path().join("study.yaml"), folder.path().join("out"));
    let arms: String = COMPOSITIONS
        .iter()
        .map(|(name, functions)| format!("  - {{name: {name}, functions: {functions}}}\n"))
        .collect();
    let text = format!(
        "name: compositions\nrounds: 2\narms:\n  - baseline\n{arms}loads:\n  - {{name: saturation, loop: closed, \
         connections: 4, blocks: 1, slice: 50ms}}\n"
    );
    fs::write(&study, text).unwrap();
    let result = support::first_round(&study, &out);
    let arm = |id: &str| {
        let arms = result["arms"].as_array().unwrap();
        arms.iter().find(|arm| arm["id"] == id).unwrap_or_else(|| panic!("{id}: {result}")).clone()
    };
    for (name, _) in COMPOSITIONS {
        let arm = arm(name);
        assert_eq!((&arm["unproven"], &arm["failures"]), (&json!([]), &json!({})), "{name}");
        assert!(arm["book"]["answered"].as_u64() > Some(0), "{name}");
        assert_eq!((&arm["kind"], &arm["function"]), (&json!("function"), &json!(null)), "{name}");
        assert!(arm["subject"]["hops"][0]["functions"].as_array().unwrap().len() > 1, "{arm:#}");
    }
    assert_eq!(filters(&out, "edge"), ["jwt_authn", "rbac", "router"]);
    assert_eq!(filters(&out, "as-they-are"), ["lua", "cors", "router"]);
    assert_eq!(filters(&out, "browser"), ["cors", "csrf", "compressor", "router"]);
    assert_eq!(filters(&out, "companion"), ["ext_authz", "ext_proc", "ratelimit", "router"]);
    // A composition is compared with plain proxying under its own traffic.
    let baseline = arm("browser")["compared_with"].as_str().unwrap().to_owned();
    assert_eq!(baseline, "baseline{size=4096,body=5 B}");
    assert_eq!(arm("browser")["requests_sha256"], arm(&baseline)["requests_sha256"]);
    let functions = arm("edge")["subject"]["hops"][0]["functions"].clone();
    let ids: Vec<&str> =
        functions.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["jwt", "rbac", "access-log/json"]);
}
