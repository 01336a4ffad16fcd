//! Configurations of the user on real Envoy: in several files, in JSON, with extensions that Envoy lacks, and refused ones.

use std::fs;
use std::path::Path;

use hoptax_certs::{Authority, KeyKind, Request};
use serde_json::{Value, json};

use crate::support::{Ran, root, run};

fn fixture(name: &str) -> String {
    fs::read_to_string(root().join("crates/cli/tests/fixtures").join(name)).unwrap()
}

fn edge() -> String {
    fs::read_to_string(root().join("crates/bootstrap/fixtures/edge.yaml")).unwrap()
}

/// The text with one replacement, which must change it.
fn with(text: &str, from: &str, to: &str) -> String {
    let changed = text.replacen(from, to, 1);
    assert_ne!(changed, text, "{from}");
    changed
}

/// The line of the first occurrence of a text.
fn line_of(text: &str, part: &str) -> usize {
    text.lines().position(|line| line.contains(part)).unwrap_or_else(|| panic!("no {part}")) + 1
}

/// Tries a configuration, in a file of this name in a folder.
fn tried(folder: &Path, name: &str, text: &str) -> Ran {
    fs::write(folder.join(name), text).unwrap();
    let arguments = ["price", "--try", "--without", "cors", "--out"];
    let [config, out] = [name, "out"].map(|name| folder.join(name).to_str().unwrap().to_owned());
    run(arguments.into_iter().chain([out.as_str(), config.as_str()]))
}

#[test]
fn what_envoy_refuses_is_named_with_its_line_in_the_users_file() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: &str, lines: &[usize], reason: &str| {
        let ran = tried(folder.path(), "envoy.yaml", text);
        assert_eq!(ran.code, Some(2), "{reason}: {}", ran.stderr);
        let file = folder.path().join("envoy.yaml").display().to_string();
        let places: Vec<String> = lines.iter().map(|line| format!("{file}:{line}")).collect();
        let expected = format!("{}: Envoy refuses the configuration: ", places.join(" or "));
        assert!(ran.stderr.contains(&expected), "{expected}\n{}", ran.stderr);
        assert!(ran.stderr.contains(reason), "{reason}: {}", ran.stderr);
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    };
    let edge = edge();
    let changes = [
        (
            "stat_prefix: edge",
            "stat_prefix: edge\n                no_such_field: {a: 1}",
            "no such field: 'no_such_field'",
        ),
        ("dns_lookup_family: V4_ONLY", "lb_policy: ROUND_ROBN", "unknown enum value: 'ROUND_ROBN'"),
        ("dns_lookup_family: V4_ONLY", "connect_timeout: 5 sec", "duration must end with a single 's')"),
        ("domains: [\"*.shop.example\"]", "domains: []", "VirtualHostValidationError.Domains"),
        (
            "direct_response: {status: 200}",
            "direct_response: {status: 9999}",
            "DirectResponseActionValidationError.Status",
        ),
        ("route: {cluster: pages}", "route: {cluster: nowhere}", "unknown cluster 'nowhere'"),
        ("match: {prefix: /health}", "match: {safe_regex: {regex: '/a(b'}}", "missing ): /a(b"),
    ];
    for (from, to, reason) in changes {
        let text = with(&edge, from, to);
        let line = line_of(&text, to.lines().last().unwrap().trim());
        refused(&text, &[line], reason);
    }
    let twice = format!("{edge}    - {{name: spans, type: STATIC}}\n");
    refused(
        &twice,
        &[line_of(&twice, "- name: spans"), line_of(&twice, "{name: spans,")],
        "duplicate cluster 'spans'",
    );
    let without = with(&edge, "                stat_prefix: edge\n", "");
    refused(
        &without,
        &[line_of(&without, "http_connection_manager.v3") - 1],
        "HttpConnectionManagerValidationError.StatPrefix",
    );
}

#[test]
fn a_line_of_a_dump_in_json_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let kind = "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump";
    let clusters = json!({"clusters": [{"name": "shop", "type": "STATIC", "lb_policy": "ROUND_ROBN"}]});
    let dump = json!({"configs": [{"@type": kind, "bootstrap": {"static_resources": clusters}}]});
    let text = serde_json::to_string_pretty(&dump).unwrap();
    let ran = tried(folder.path(), "dump.json", &text);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let expected = format!("dump.json:{}: Envoy refuses", line_of(&text, "ROUND_ROBN"));
    assert!(ran.stderr.contains(&expected), "{expected}: {}", ran.stderr);
}

#[test]
fn an_extension_that_envoy_lacks_is_named_with_its_line_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let private = "  - name: private\n                    typed_config: {\"@type\": type.googleapis.com/shop.v3.Private}\n";
    let text = with(&edge(), "  - name: cors\n", &format!("{private}                  - name: cors\n"));
    let ran = tried(folder.path(), "envoy.yaml", &text).succeeded();
    let is_listed = |line: &&str| line.contains("HTTP filter `private`") && line.contains("removed: ");
    let listed = ran.stdout.lines().find(is_listed).expect(&ran.stdout);
    let place = format!("envoy.yaml:{} ", line_of(&text, "- name: private"));
    for part in [&place, "leave it out of the file", "`--envoy PATH`"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    // Where it is not an entry that can be removed, the configuration is refused.
    let bare = with(&edge(), "  - name: cors\n", "  - name: private\n                  - name: cors\n");
    let ran = tried(folder.path(), "envoy.yaml", &bare);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let place = format!("envoy.yaml:{}: Envoy refuses", line_of(&bare, "- name: private"));
    for part in [&place, "remove it from the configuration", "--envoy PATH"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}

#[test]
fn a_configuration_in_several_files_is_tried_and_every_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    for name in ["lds.yaml", "cds.yaml", "rds.yaml", "eds.yaml"] {
        fs::write(file(name), fixture(&format!("discovered/{name}"))).unwrap();
    }
    // Its kind of key is known from the secret only.
    let names = vec!["shop.example".to_owned()];
    let request = Request { names, spiffe: Vec::new(), key: KeyKind::P384, seconds: 3_600 };
    let signed = Authority::new("shop", 3_600).unwrap().sign(&request).unwrap();
    let sds: Value = json!({"resources": [{
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
        "name": "shop-certificate",
        "tls_certificate": {
            "certificate_chain": {"inline_string": signed.certificate},
            "private_key": {"inline_string": "hunter2"},
        },
    }]});
    fs::write(file("sds.yaml"), sds.to_string()).unwrap();
    let bootstrap = fixture("discovered/envoy.yaml");
    let ran = tried(folder.path(), "envoy.yaml", &bootstrap).succeeded();
    assert!(ran.stdout.contains("GET https://shop.example/orders"), "{}", ran.stdout);
    for arm in ["whole", "without HTTP filter cors"] {
        let line = ran.stdout.lines().find(|line| line.trim_start().starts_with(arm));
        assert!(line.is_some_and(|line| line.ends_with("10 of status 200")), "{arm}: {}", ran.stdout);
    }
    let folder_line = format!("all places are in {}/", folder.path().display());
    assert!(ran.stdout.contains(&folder_line), "{}", ran.stdout);
    let replaced = |name: &str, part: &str, what: &str| {
        let place = format!("  {name}:{} ", line_of(&fixture(&format!("discovered/{name}")), part));
        let found = ran.stdout.lines().any(|line| line.contains(&place) && line.contains(what));
        assert!(found, "{place} {what}: {}", ran.stdout);
    };
    replaced("lds.yaml", "address: {", "listener `front` on 0.0.0.0:8443");
    replaced("lds.yaml", "shop-certificate", "the same kind of key (ECDSA P-384)");
    replaced("cds.yaml", "@type", "EDS cluster `shop` (192.0.2.17:80, 192.0.2.18:80)");
    replaced("rds.yaml", "key: authorization", "the value of a secret header");
    let whole = fs::read_to_string(folder.path().join("out/tries/whole/bootstrap.json")).unwrap();
    assert!(
        !whole.contains("hunter2") && !whole.contains("192.0.2.") && !whole.contains("/etc/envoy"),
        "{whole}"
    );

    // A fault in one of these files is named with its line there.
    let wrong = with(&fixture("discovered/rds.yaml"), "cluster: shop", "cluster: nowhere");
    fs::write(file("rds.yaml"), &wrong).unwrap();
    let ran = tried(folder.path(), "envoy.yaml", &bootstrap);
    let place = format!("{}:{}: Envoy refuses", file("rds.yaml").display(), line_of(&wrong, "nowhere"));
    ran.fails(2, &place);
    fs::remove_file(file("eds.yaml")).unwrap();
    let ran = tried(folder.path(), "envoy.yaml", &bootstrap);
    let place = format!("cds.yaml:{}: ", line_of(&fixture("discovered/cds.yaml"), "eds_config:"));
    ran.fails(2, &place);
}
