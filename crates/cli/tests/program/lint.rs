//! `hoptax lint` as a user runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Ran, checked, hoptax, program, ran, root, run};

/// A configuration with an error, warnings and an info. One of the warnings can be mended, and so can the info.
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
    lb_policy: LEAST_REQUEST
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
layered_runtime:
  layers:
  - name: limits
    static_layer: {overload.global_downstream_max_connections: 50000}
";

/// Runs the program in a folder, so that no path of this machine is in its output.
fn in_folder(folder: &Path, arguments: &[&str]) -> Ran {
    ran(hoptax().current_dir(folder).args(arguments))
}

/// A result without its program, and with another name of its file.
fn without_program(mut result: Value, name: &str) -> Value {
    result.as_object_mut().unwrap().shift_remove("program");
    serde_json::from_str(&result.to_string().replace(name, NAME)).unwrap()
}

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// Name of the file in printed lines.
const NAME: &str = "envoy.yaml";

#[test]
fn the_answer_comes_first_then_findings_by_severity() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), NAME, FAULTY);
    let ran = in_folder(folder.path(), &["lint", NAME]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    insta::assert_snapshot!(ran.stdout);
    let name = path.to_str().unwrap();
    let only = run(["lint", name, "--only", "admin-exposed"]);
    assert!(only.code == Some(0) && only.stdout.starts_with("1 warning in "), "{only:?}");
    assert_eq!(run(["lint", "nowhere.yaml"]).code, Some(2));
}

#[test]
fn all_findings_are_lines_that_editors_read_and_end_with_their_count() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), NAME, FAULTY);
    let ran = in_folder(folder.path(), &["lint", NAME, "--lines"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let beginnings = [
        "envoy.yaml:23:49: error address-with-scheme: ",
        "envoy.yaml:5:7: warning admin-exposed: ",
        "envoy.yaml:2:1: warning admin-in-limit: ",
        "envoy.yaml:14:9: warning circuit-breaker-partial: ",
        "envoy.yaml:9:5: info connect-timeout-default: ",
        "1 error, 3 warnings, 1 info in envoy.yaml",
    ];
    assert_eq!(lines.len(), beginnings.len(), "{ran:?}");
    for (line, beginning) in lines.iter().zip(beginnings) {
        assert!(line.starts_with(beginning), "{line}");
    }
    let none = in_folder(folder.path(), &["lint", NAME, "--lines", "--only", "cors-after-auth"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), "no findings in envoy.yaml\n"));
}

#[test]
fn fixes_change_the_lines_that_are_wrong_and_keep_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "envoy.yaml", FAULTY);
    // The error needs a decision.
    run(["lint", path.to_str().unwrap(), "--fix"]).fails(1, "fixed 1 in ");
    let (admin, server) = ("      port_value: 9901\n", "address: 'http://shop', port_value: 80}}}\n");
    let expected = FAULTY.replace(admin, &format!("{admin}  ignore_global_conn_limit: true\n"));
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    let again = run(["lint", path.to_str().unwrap(), "--fix"]);
    assert!(again.stderr.contains("envoy.yaml: nothing to fix: "), "{again:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    // An info is mended only if it is asked for.
    let info = run(["lint", path.to_str().unwrap(), "--fix", "--only", "connect-timeout-default"]);
    let expected = expected.replace(server, &format!("{server}    connect_timeout: 0.25s\n"));
    assert_eq!((info.code, fs::read_to_string(&path).unwrap()), (Some(0), expected), "{info:?}");
}

#[test]
fn a_file_that_cannot_be_read_hides_no_finding_of_the_others_and_none_is_mended() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "envoy.yaml", FAULTY);
    let bad = file(folder.path(), "bad.yaml", "a: [\n");
    let ran = run(["lint", path.to_str().unwrap(), bad.to_str().unwrap(), "nowhere.yaml", "--fix"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stdout.starts_with("1 error, 3 warnings and 1 info in "), "{ran:?}");
    // Once the name is corrected, it mends.
    assert!(ran.stdout.contains("envoy.yaml --fix   fixes 1 of the findings"), "{ran:?}");
    assert!(ran.stderr.contains("bad.yaml") && ran.stderr.contains("nowhere.yaml"), "{ran:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), FAULTY);
}

#[test]
fn findings_have_the_prices_of_a_study() {
    let list = root().join("docs/results/price-list/result.json");
    let priced = |id: &str, list: &Path| {
        let file = root().join("crates/lint/tests/rules").join(id).join("fires.yaml");
        let prices = ["--from", list.to_str().unwrap(), "--lines"];
        run(["lint", file.to_str().unwrap(), "--only", id].into_iter().chain(prices))
    };
    for (id, what, function) in [
        ("tracing-every-request", "it costs", "tracing/opentelemetry"),
        ("path-not-normalised", "the cure costs", "path/normalize"),
        ("retry-budget", "the cure costs", "retry/budget"),
        ("client-address-trusted", "the cure costs", "edge/remote-address"),
    ] {
        let ran = priced(id, &list);
        let line = ran.stdout.lines().find(|line| line.contains(&format!("; {what} "))).unwrap_or_default();
        assert!(
            line.contains(" us of plain proxying, as measured for ")
                && line.contains("per request at ")
                && line.contains(function),
            "{ran:?}"
        );
        assert!(!ran.stderr.contains("no finding is about"), "{ran:?}");
    }
    let none = priced("unknown-cluster", &list);
    assert!(none.stderr.contains("no finding is about a function that has a price in `"), "{none:?}");
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(list).unwrap();
    let void = file(
        folder.path(),
        "void.json",
        &text.replacen("\"verdict\":\"caution\"", "\"verdict\":\"void\"", 1),
    );
    priced("retry-budget", &void).fails(2, "void: measure it again");
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
    let ran = run(["lint", name, "--lines"]);
    assert!(ran.stdout.contains("\n2 errors, 6 warnings, 2 infos in "), "{ran:?}");
    assert!(ran.stdout.contains("map.yaml:28:") && ran.stdout.contains("map.yaml:62:"), "{ran:?}");
    let one = format!("{name}#two/envoy.yaml");
    assert!(run(["lint", one.as_str()]).stdout.starts_with("1 error, 3 warnings and 1 info in "));
    let fixed = run(["lint", name, "--fix"]);
    assert!(fixed.stdout.starts_with("2 errors, 4 warnings and 2 infos in "), "{fixed:?}");
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("\n      ignore_global_conn_limit: true\n").count(), 2, "{text}");
    assert_eq!(text.matches("\n  other: x\n").count(), 2, "{text}");
}

/// Each file is refused with its line, instead of filling the memory. Most would need many times the limit.
#[test]
fn files_that_would_take_all_memory_are_refused_with_their_lines() {
    const LIMIT_KIB: &str = "4000000";
    let folder = tempfile::tempdir().unwrap();
    let aliases: String = (1..40).map(|n| format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1)).collect();
    let anchors: String = (0..400).map(|n| format!("&a{n} [")).collect();
    let cases: [(&str, Vec<u8>, &str); 9] = [
        (
            "aliases.yaml",
            format!("a0: &a0 [1]\n{aliases}").into(),
            ":19: neither YAML nor JSON: its aliases refer to",
        ),
        ("anchors.yaml", (anchors + &"1,".repeat(100_000)).into(), ":1: neither YAML nor JSON"),
        (
            "cycle.yaml",
            "a: &a\n  b: *a\n".into(),
            ":2: neither YAML nor JSON: an alias refers to a node that contains it",
        ),
        ("deep.yaml", "[".repeat(1_000_000).into(), ":1: neither YAML nor JSON"),
        ("deep.json", "{\"a\":".repeat(1_000_000).into(), ":1: neither YAML nor JSON"),
        ("tab.yaml", "admin:\n\taddress: {}\n".into(), ":2: neither YAML nor JSON: tabs"),
        ("bytes.yaml", b"admin:\n  address: \xff\n".to_vec(), "it is not UTF-8 text: line 2 has other bytes"),
        ("large.json", vec![b' '; 100 << 20], "it has more than 80 MiB"),
        ("nothing.json", vec![0; 1000], "neither YAML nor JSON"),
    ];
    for (name, bytes, expected) in cases {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let limited = format!("ulimit -v {LIMIT_KIB}; exec \"$0\" lint \"$1\"");
        ran(Command::new("sh").args(["-c", &limited]).arg(program()).arg(&path)).fails(2, expected);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn findings_are_json_sarif_and_annotations() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "envoy.yaml", FAULTY);
    let name = path.to_str().unwrap();
    let json = checked("lint", &run(["lint", name, "--json", "-"]).stdout);
    let first = &json["files"][0]["findings"][0];
    assert_eq!((&first["rule"], &first["line"]), (&"address-with-scheme".into(), &23.into()), "{json}");
    insta::assert_snapshot!(format!("{:#}", without_program(json, name)));
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
fn a_file_allows_findings_of_json_by_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint =
        json!({"endpoint": {"address": {"socket_address": {"address": "http://shop", "port_value": 80}}}});
    let cluster = json!({"name": "shop", "type": "STRICT_DNS", "load_assignment": {"endpoints": [{"lb_endpoints": [endpoint]}]}});
    let path =
        file(folder.path(), "envoy.json", &json!({"static_resources": {"clusters": [cluster]}}).to_string());
    let name = path.to_str().unwrap();
    let ran = run(["lint", name, "--json", "-"]);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    let first = &json["files"][0]["findings"][0];
    assert_eq!((ran.code, &first["rule"]), (Some(1), &"address-with-scheme".into()), "{json}");
    let at = first["path"].as_str().unwrap();
    assert!(at.starts_with("/static_resources/clusters/shop/load_assignment/"), "{at}");
    let allow = format!(
        "- {{rule: address-with-scheme, at: '{at}', reason: a name of the test}}\n- {{rule: admin-exposed, reason: x}}\n"
    );
    let allow = file(folder.path(), "allow.yaml", &allow);
    let ran = run(["lint", name, "--details", "--allow", allow.to_str().unwrap()]).succeeded();
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("1 finding allowed") && words.contains("allowed: a name of the test"), "{ran:?}");
    assert!(words.contains("allow.yaml:2:1 warning allowed-without-effect: "), "{ran:?}");
    let wrong = file(folder.path(), "wrong.yaml", "- {rule: admin-exposd, reason: x}\n");
    run(["lint", name, "--allow", wrong.to_str().unwrap()])
        .fails(2, "wrong.yaml:1: unknown rule `admin-exposd`");
}

#[test]
fn findings_are_a_result_that_the_store_keeps_and_shows_and_that_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), NAME, FAULTY);
    let in_folder = |arguments: &[&str]| in_folder(folder.path(), arguments);
    let linted = in_folder(&["lint", NAME, "--json", "lint.json"]);
    let shown = in_folder(&["runs", "show", "lint.json"]);
    assert_eq!(shown.stdout, linted.stdout);
    let page = "\npage: hoptax convert export lint.json --to html > lint.html\n";
    assert!(linted.stdout.ends_with(page), "{linted:?}");
    let details = in_folder(&["runs", "show", "lint.json", "--details"]);
    assert!(
        details.stdout.contains("`address-with-scheme`: Envoy starts, the name never resolves"),
        "{details:?}"
    );
    let store = ["--store", "store.db"];
    in_folder(&["runs", "import", "lint.json", store[0], store[1]]).succeeded();
    let listed = in_folder(&["runs", "list", store[0], store[1]]);
    assert!(listed.stdout.contains("lint") && listed.stdout.contains(NAME), "{listed:?}");
    let page = in_folder(&["convert", "export", "lint.json", "--to", "html"]);
    assert!(page.stdout.contains("envoy.yaml:23:49"), "{page:?}");
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
