//! Arms with several functions on real Envoy.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::proxied::deprecated;
use crate::support::study::{StudyFolder, answered, arm};

/// Compositions that differ in where their fragments meet: filters, routes, clusters, the connection manager, TLS, the
/// process, and the companion.
const COMPOSITIONS: [(&str, &str); 16] = [
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
    ("delayed", "[control/delay, jwt, edge/remote-address]"),
    // The companion is called over HTTP/1.1 and over HTTP/2, and two functions set limits of one cluster.
    ("asked", "[ext-authz/http, access-log/grpc, circuit-breaker, retry/budget]"),
    // Options of HTTP to the origin, one of which chooses its protocol.
    ("translated", "[idle-timeout, grpc-json]"),
];

/// Compositions under other protocols, and with TLS.
const PROTOCOLS: [(&str, &str, &str); 11] = [
    ("edge-h2", "[jwt, 'rbac{rules=50}', access-log/json]", "protocol: http2"),
    ("edge-mutual", "[jwt, 'rbac{rules=50}', access-log/json]", "at: {tls: mutual}"),
    ("keys-h2-mutual", "[api-key, basic-auth, header-to-metadata]", "protocol: http2, at: {tls: mutual}"),
    ("companion-h2", "[ext-authz/grpc, rate-limit/global, ext-proc, access-log/grpc]", "protocol: http2"),
    ("balanced-grpc", "[balance/least-request, outlier-detection, retry/policy]", "protocol: grpc"),
    ("idle-grpc", "[idle-timeout, retry/policy]", "protocol: grpc"),
    ("edge-grpc-mutual", "[jwt, rate-limit/local, lua]", "protocol: grpc, at: {tls: mutual}"),
    ("upgrades", "[jwt, 'rbac{rules=50}', connection-limit]", "protocol: websocket"),
    (
        "connections",
        "[connection-limit, circuit-breaker, tls/terminate, connection-rate-limit]",
        "protocol: tcp",
    ),
    // Logs of connections are written when these end.
    ("logged-upgrades", "[jwt, access-log/file]", "protocol: websocket"),
    ("logged-connections", "[connection-limit, access-log/json]", "protocol: tcp"),
];

/// The ids of the functions that some composition has as they are by default, without knobs.
pub(crate) fn composed() -> BTreeSet<String> {
    let lists = COMPOSITIONS.iter().map(|(_, list)| list.trim_start_matches('[').split(']').next().unwrap());
    let calls = lists.flat_map(|list| list.split(", "));
    calls.filter(|call| !call.contains('{')).map(str::to_owned).collect()
}

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

#[test]
fn envoy_accepts_compositions_and_every_function_of_them_is_at_work() {
    let arms: String = COMPOSITIONS
        .iter()
        .map(|(name, functions)| format!("  - {{name: {name}, functions: {functions}}}\n"))
        .collect();
    let text = format!(
        "name: compositions\nrounds: 2\narms:\n  - baseline\n{arms}loads:\n  - {{name: in-use, loop: open, rate: 500, \
         connections: 4, blocks: 1, slice: 200ms}}\n"
    );
    let study = StudyFolder::new(&text);
    let (result, out) = (study.short_form(), study.out());
    let arm = |id: &str| arm(&result, id);
    for (name, _) in COMPOSITIONS {
        let arm = arm(name);
        assert_eq!((&arm["unproven"], &arm["failures"]), (&json!([]), &json!({})), "{name}");
        assert!(answered(&result, arm) > 0, "{name}");
        assert_eq!((&arm["kind"], &arm["function"]), (&json!("function"), &json!(null)), "{name}");
        assert!(arm["subject"]["hops"][0]["functions"].as_array().unwrap().len() > 1, "{arm:#}");
    }
    assert_eq!(deprecated(&out), Vec::<String>::new());
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

#[test]
fn functions_of_a_composition_are_at_work_over_every_protocol_and_with_mutual_tls() {
    let arms: String = PROTOCOLS
        .iter()
        .map(|(name, functions, more)| format!("  - {{name: {name}, functions: {functions}, {more}}}\n"))
        .collect();
    let chain = "  - name: mesh\n    hops: [{functions: [jwt], tls: {downstream: mutual, upstream: mutual}}, {functions: [retry/policy]}]\n    \
                 protocol: http2\n";
    let text = format!(
        "name: protocols\nrounds: 2\narms:\n  - baseline\n{arms}{chain}loads:\n  - {{name: in-use, loop: open, rate: 500, \
         connections: 4, blocks: 1, slice: 50ms}}\n  - {{name: reconnecting, loop: open, rate: 1000, connections: 4, \
         requests_per_connection: 5, blocks: 1, slice: 100ms}}\n"
    );
    let result = StudyFolder::new(&text).short_form();
    let arms = result["arms"].as_array().unwrap();
    let names = PROTOCOLS.iter().map(|(name, ..)| *name).chain(["mesh"]);
    for name in names {
        let is_it = |id: &str| id == name || id.starts_with(&format!("{name} @ "));
        let arm =
            arms.iter().find(|arm| is_it(arm["id"].as_str().unwrap())).unwrap_or_else(|| panic!("{name}"));
        assert_eq!((&arm["unproven"], &arm["failures"]), (&json!([]), &json!({})), "{name}");
        assert!(answered(&result, arm) > 0, "{name}");
        // Compared with plain proxying under the same protocol.
        let other = arms.iter().find(|other| other["id"] == arm["compared_with"]).unwrap();
        assert_eq!(other["subject"]["protocol"], arm["subject"]["protocol"], "{name}");
    }
    let tls = |id: &str| arm(&result, id)["subject"]["tls"].clone();
    assert_eq!(tls("edge-grpc-mutual @ grpc, mtls"), json!(["mtls", "none"]));
    assert_eq!(tls("mesh @ http2"), json!(["mtls", "mtls", "none"]));
    assert_eq!(tls("connections @ tcp"), json!(["tls", "none"]));
}

#[test]
fn applications_stand_side_by_side_and_each_arm_reaches_its_own() {
    // It leaves a file when it is asked.
    let script = "import http.server, sys\n\
        class Handler(http.server.BaseHTTPRequestHandler):\n    \
            protocol_version = 'HTTP/1.1'\n    \
            def do_GET(self):\n        \
                open(sys.argv[2], 'w').close()\n        \
                self.send_response(200)\n        \
                self.send_header('Content-Length', '2')\n        \
                self.end_headers()\n        \
                self.wfile.write(b'ok')\n    \
            def log_message(self, *words):\n        \
                pass\n\
        http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()\n";
    let application = |name: &str| {
        format!(
            "application: {{command: [python3, '{{folder}}/server.py', '{{port}}', '{{folder}}/{name}']}}"
        )
    };
    let text = format!(
        "name: applications\nrounds: 2\narms:\n  - baseline\n  - lua\n  - {{name: one, functions: [lua], {}}}\n  \
         - {{name: two, functions: [cors], {}}}\n  - {{name: other, functions: [lua], protocol: http2, {}}}\n\
         loads:\n  - {{name: in-use, loop: open, rate: 200, connections: 2, blocks: 1, slice: 50ms}}\n",
        application("first"),
        application("first"),
        application("second")
    );
    let study = StudyFolder::new(&text);
    fs::write(study.path("server.py"), script).unwrap();
    let result = study.short_form();
    let arm = |id: &str| arm(&result, id);
    for id in [
        "lua",
        "one @ application=python3",
        "two @ application=python3",
        "other @ http2, application=python3",
    ] {
        let (arm, other) = (arm(id), arm(arm(id)["compared_with"].as_str().unwrap()));
        assert!(arm["book"]["answered"].as_u64() > Some(0) && arm["unproven"] == json!([]), "{arm}");
        assert_eq!(arm["subject"]["application"], other["subject"]["application"], "{id}");
    }
    assert_eq!(arm("lua")["subject"]["application"], "origin");
    // The origin and two applications, of which three arms share the first.
    let has_log = |number: usize| study.out().join(format!("origin-{number}.log")).exists();
    assert_eq!([1, 2, 3, 4].map(has_log), [true, true, true, false]);
    assert!(["first", "second"].iter().all(|name| study.path(name).exists()));
}
