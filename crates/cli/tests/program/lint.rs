//! `hoptax lint` as a user runs it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{root, run};

/// A configuration with an error, a warning and infos.
const FAULTY: &str = "\
# the proxy of the shop
admin:
  address:
    socket_address:
      address: 0.0.0.0 # for the scraper
      port_value: 9901
static_resources:
  clusters:
  - name: shop
    connect_timeout: 0.25s
    type: STRICT_DNS
    circuit_breakers:
      thresholds:
      - max_connections: 5000 # measured
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        \"@type\": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http_protocol_options: {}}
    load_assignment:
      cluster_name: shop
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: 'http://shop', port_value: 80}}}
";

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_answer_comes_first_then_findings_by_severity() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "envoy.yaml", FAULTY);
    let name = path.to_str().unwrap();
    let ran = run(["lint", name]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let text = ran.stdout.replace(name, "envoy.yaml");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "1 error, 2 warnings in envoy.yaml");
    assert!(lines[1].starts_with("envoy.yaml:23: error address-with-scheme: "), "{text}");
    assert!(lines[2].starts_with("envoy.yaml:5: warning admin-exposed: "), "{text}");
    assert!(lines[3].starts_with("envoy.yaml:14: warning circuit-breaker-partial: "), "{text}");
    assert!(text.contains("`hoptax lint explain address-with-scheme` says why"), "{text}");
    let only = run(["lint", name, "--only", "admin-exposed"]);
    assert_eq!(
        (only.code, only.stdout.lines().next().map(|line| line.starts_with("1 warning in "))),
        (Some(0), Some(true))
    );
    assert_eq!(run(["lint", "nowhere.yaml"]).code, Some(2));
}

#[test]
fn fixes_change_the_lines_that_are_wrong_and_keep_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "envoy.yaml", FAULTY);
    let ran = run(["lint", path.to_str().unwrap(), "--fix"]);
    assert_eq!(ran.code, Some(1), "the error needs a decision: {ran:?}");
    assert!(ran.stderr.contains("mended 2 in "), "{ran:?}");
    let expected = FAULTY.replace("0.0.0.0 #", "127.0.0.1 #").replace(
        "      - max_connections: 5000 # measured\n",
        "      - max_connections: 5000 # measured\n        max_pending_requests: 5000\n        max_requests: 5000\n",
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    let again = run(["lint", path.to_str().unwrap(), "--fix"]);
    assert!(again.stderr.is_empty() && fs::read_to_string(&path).unwrap() == expected, "{again:?}");
}

#[test]
fn all_configurations_in_a_config_map_are_linted_and_mended_there() {
    let folder = tempfile::tempdir().unwrap();
    let indented: String = FAULTY.lines().map(|line| format!("    {line}\n")).collect();
    let map = |name: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n  envoy.yaml: |\n{indented}  other: x\n"
        )
    };
    let path = file(folder.path(), "map.yaml", &format!("{}---\n{}", map("one"), map("two")));
    let name = path.to_str().unwrap();
    let ran = run(["lint", name]);
    assert!(ran.stdout.starts_with("2 errors, 4 warnings in "), "{ran:?}");
    assert!(
        ran.stdout.contains("map.yaml:28: error") && ran.stdout.contains("map.yaml:58: error"),
        "{ran:?}"
    );
    let one = format!("{name}#two/envoy.yaml");
    assert!(run(["lint", one.as_str()]).stdout.starts_with("1 error, 2 warnings in "));
    let fixed = run(["lint", name, "--fix"]);
    assert!(fixed.stdout.starts_with("2 errors in "), "{fixed:?}");
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("          address: 127.0.0.1 # for the scraper\n").count(), 2, "{text}");
    assert_eq!(text.matches("\n  other: x\n").count(), 2, "{text}");
}

#[test]
fn findings_are_json_sarif_and_annotations() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "envoy.yaml", FAULTY);
    let name = path.to_str().unwrap();
    let json: Value = serde_json::from_str(&run(["lint", name, "--json", "-"]).stdout).unwrap();
    let first = &json["files"][0]["findings"][0];
    assert_eq!((&first["rule"], &first["line"]), (&"address-with-scheme".into(), &23.into()), "{json}");
    let sarif: Value = serde_json::from_str(&run(["lint", name, "--sarif", "-"]).stdout).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["level"], "error", "{sarif}");
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 23, "{sarif}");
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert!(rules.len() >= 48 && rules.iter().any(|rule| rule["id"] == result["ruleId"]));
    let annotations = run(["lint", name, "--github"]).stdout;
    assert!(annotations.starts_with("::error file="), "{annotations}");
    assert!(annotations.contains(",line=5,col=7,title=admin-exposed::"), "{annotations}");
}

#[test]
fn rules_are_listed_explained_and_documented() {
    let list = run(["lint", "rules"]).stdout;
    assert!(list.contains("  rate-limit-off "), "{list}");
    let explained = run(["lint", "explain", "rate-limit-off"]).stdout;
    assert!(explained.contains("issues/14992") && explained.contains("# hoptax-lint: allow"), "{explained}");
    let page = run(["lint", "rules", "--markdown"]).stdout;
    let kept = fs::read_to_string(root().join("docs/reference/lint-rules.md")).unwrap_or_default();
    assert!(
        page == kept,
        "docs/reference/lint-rules.md is outdated: `hoptax lint rules --markdown` prints it"
    );
}
