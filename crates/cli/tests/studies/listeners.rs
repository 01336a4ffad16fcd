//! `hoptax listeners` on real Envoy: it accepts rendered configurations, `hoptax lint` finds no fault in them, and names arrive as they
//! are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hoptax_certs::{Authority, KeyKind, Request};
use hoptax_listeners::Source;
use hoptax_subject::envoy::release::Envoy;
use serde_json::{Value, json};

use crate::listeners_run::free_port;
use crate::support::proxied::refusal;
use crate::support::{Guarded, origin, root, run, wait_until};

/// A folder with a certificate, to which files of the catalogue are copied.
struct Lab {
    folder: tempfile::TempDir,
    envoy: Envoy,
}

impl Lab {
    fn new() -> Self {
        let lab = Self { folder: tempfile::tempdir().unwrap(), envoy: Envoy::usual().unwrap() };
        let authority = Authority::new("listeners", 3600).unwrap();
        let names = vec!["localhost".to_owned()];
        let request = Request { names, spiffe: Vec::new(), key: KeyKind::P256, seconds: 3600 };
        let signed = authority.sign(&request).unwrap();
        fs::write(lab.path("authority.pem"), authority.certificate()).unwrap();
        fs::write(lab.path("certificate.pem"), signed.certificate).unwrap();
        fs::write(lab.path("key.pem"), signed.key).unwrap();
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file with the paths of the certificate and its key.
    fn file(&self, name: &str, text: &str) -> String {
        let path = |name: &str| self.path(name).display().to_string();
        let text = text.replace("CERTIFICATE", &path("certificate.pem")).replace("KEY", &path("key.pem"));
        fs::write(self.path(name), text).unwrap();
        path(name)
    }

    fn of_catalogue(&self, name: &str) -> String {
        let text = fs::read_to_string(root().join("crates/listeners/tests/catalogue").join(name)).unwrap();
        self.file(name, &text)
    }

    /// An Envoy with a file.
    fn running(&self, path: &Path) -> Guarded {
        let child = Command::new(&self.envoy.program)
            .args(["--disable-hot-restart", "--log-level", "off", "--concurrency", "1", "--config-path"])
            .arg(path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Guarded(child.unwrap())
    }

    /// Writes the output of `hoptax listeners render` to a file. Returns its path.
    fn rendered(&self, arguments: &[&str], name: &str) -> PathBuf {
        let ran = run([&["listeners", "render"], arguments].concat()).succeeded();
        let path = self.path(name);
        fs::write(&path, ran.stdout).unwrap();
        path
    }
}

#[test]
fn envoy_accepts_the_catalogue_and_lint_finds_nothing_wrong_in_it() {
    let lab = Lab::new();
    let (services, listeners) = (lab.of_catalogue("services.yaml"), lab.of_catalogue("listeners.yaml"));
    let edge = lab.of_catalogue("edge.yaml");
    let cases: [&[&str]; 4] = [
        &[&listeners, "--services", &services],
        &[&listeners, "--services", &services, "--format", "json"],
        &[&edge],
        &[&edge, "--as", "bootstrap", "--format", "yaml"],
    ];
    for arguments in cases {
        let is_json = arguments.contains(&"json");
        let path = lab.rendered(arguments, if is_json { "envoy.json" } else { "envoy.yaml" });
        assert_eq!(refusal(&path), None, "{arguments:?}");
        let ran = run(["lint", path.to_str().unwrap(), "--json", "-"]);
        let findings: Value = serde_json::from_str(&ran.stdout).unwrap();
        let findings = findings["files"][0]["findings"].as_array().unwrap();
        let faults: BTreeSet<&str> = findings
            .iter()
            .filter(|finding| finding["severity"] == "error")
            .filter_map(|finding| finding["rule"].as_str())
            .collect();
        assert!(faults.is_empty(), "{arguments:?}: {faults:?}\n{ran:?}");
    }
}

#[test]
fn envoy_runs_with_files_of_listeners_and_clusters() {
    let lab = Lab::new();
    let edge = lab.of_catalogue("edge.yaml");
    let out = lab.path("out");
    let ran = run(["listeners", "render", &edge, "--as", "lds-cds", "--out", out.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stderr.contains("`admin` and `connection_limit` are not in these files"), "{ran:?}");
    let source = |name: &str| json!({"path_config_source": {"path": out.join(name)}});
    let bootstrap = json!({
        "node": {"id": "a", "cluster": "a"},
        "dynamic_resources": {"lds_config": source("lds.yaml"), "cds_config": source("cds.yaml")},
    });
    let path = PathBuf::from(lab.file("envoy.json", &bootstrap.to_string()));
    assert_eq!(refusal(&path), None);
    let without = run(["listeners", "render", &edge, "--as", "lds-cds"]);
    assert_eq!(without.code, Some(2), "{without:?}");
}

/// The body of a response; none if there is no such response yet.
fn body(url: &str) -> Option<String> {
    ureq::get(url).call().ok()?.into_body().read_to_string().ok()
}

#[test]
fn an_upstream_is_spoken_to_in_http_2_where_the_file_says_so() {
    let lab = Lab::new();
    let path = |name: &str| lab.path(name).display().to_string();
    let (certificate, key) = (path("certificate.pem"), path("key.pem"));
    let (_origin, url) = origin(&["--cert", &certificate, "--key", &key, "--alpn", "h2"]);
    let port: u16 = url.trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
    let [admin, plain, encrypted, old] = [(); 4].map(|()| free_port());
    let listener = |name: &str, own: u16, encryption: bool, http2: bool| {
        json!({
            "name": name, "port": own, "timeout": "5s", "cluster": name, "http2": http2,
            "upstream": {"address": "localhost", "port": port, "encryption": encryption},
        })
    };
    let listeners = [
        listener("plain", plain, false, true),
        listener("encrypted", encrypted, true, true),
        listener("old", old, false, false),
    ];
    let text = json!({"admin": {"port": admin}, "ca": path("authority.pem"), "listeners": listeners});
    let rendered = lab.rendered(&[&lab.file("own.json", &text.to_string())], "envoy.yaml");
    let _envoy = lab.running(&rendered);
    for (name, own, expected) in
        [("plain", plain, [0, 1]), ("encrypted", encrypted, [0, 1]), ("old", old, [1, 0])]
    {
        wait_until("an answer", || body(&format!("http://127.0.0.1:{own}/")).is_some());
        let of = |version: &str| -> usize {
            let stats = body(&format!(
                "http://127.0.0.1:{admin}/stats?filter=cluster.{name}.upstream_cx_{version}_total"
            ));
            stats.unwrap().trim().rsplit(": ").next().unwrap().parse().unwrap()
        };
        assert_eq!([of("http1"), of("http2")], expected, "{name}");
    }
}

/// A listeners file that is imported from a bootstrap is rendered to the same bootstrap.
#[test]
fn what_is_rendered_is_imported_without_a_rest() {
    let lab = Lab::new();
    let services = lab.of_catalogue("services.yaml");
    let text = fs::read_to_string(lab.of_catalogue("listeners.yaml")).unwrap();
    let without = |line: &&str| !["tracing:", "ratelimit_service:"].iter().any(|key| line.starts_with(key));
    let text: String = text.lines().filter(without).map(|line| format!("{line}\n")).collect();
    let text = text
        .replace(", ratelimit: {domain: api, by: user-agent}", "")
        .replace(", tracing_enabled: false", "");
    let bootstrap = lab.rendered(&[&lab.file("own.yaml", &text), "--services", &services], "envoy.yaml");
    let ran = run(["listeners", "import", bootstrap.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let again = lab.rendered(&[&lab.file("imported.yaml", &ran.stdout)], "again.yaml");
    assert_eq!(fs::read_to_string(again).unwrap(), fs::read_to_string(bootstrap).unwrap());
}

#[test]
fn what_an_import_cannot_express_is_named() {
    let lab = Lab::new();
    let file = lab.file(
        "own.yaml",
        "listeners: [{name: a, port: 1234, timeout: 1s, upstream: {address: 127.0.0.1, port: 1}}]\n",
    );
    let bootstrap = lab.rendered(&[&file], "envoy.yaml");
    let text = fs::read_to_string(&bootstrap).unwrap();
    let text = text
        .replace("          stat_prefix: a_egress\n", "          stat_prefix: a_egress\n          via: x\n");
    let text = text
        .replace("  clusters:\n", "  - name: tcp\n    filter_chains: []\n  clusters:\n  - name: unused\n");
    fs::write(&bootstrap, text).unwrap();
    let ran = run(["listeners", "import", bootstrap.to_str().unwrap()]).succeeded();
    for expected in [
        "not carried over",
        "listener `a`: /via of its connection manager (line ",
        "listener `tcp`: it has 0 filter chains",
        "cluster `unused`: no listener",
    ] {
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
    }
    assert!(ran.stdout.contains("# - listener `a`: /via of its connection manager (line "), "{ran:?}");
    assert_eq!(ran.stderr.lines().filter(|line| line.contains(": ")).count(), 3, "{ran:?}");
    run(["listeners", "import", &file]).fails(2, "is already a listeners file; `hoptax listeners render ");
}

#[test]
fn lint_reads_a_listeners_file_and_names_its_lines() {
    let lab = Lab::new();
    let text = "# ours\nlisteners:\n  - {name: a, port: 1234, timeout: 1s, upstream: {address: a.example, port: 1}}\n  - name: b\n    \
                port: 1235\n    timeout: 10s\n    cluster: b\n    upstream: {address: a.example, port: 443}\n    retry: {retry_on: 5xx, num_retries: 1}\n";
    let file = lab.file("own.yaml", text);
    let ran = run(["lint", &file, "--json", "-"]);
    assert_eq!(ran.stderr, "", "{ran:?}");
    let findings: Value = serde_json::from_str(&ran.stdout).unwrap();
    let findings = findings["files"][0]["findings"].as_array().unwrap();
    let line = |rule: &str| findings.iter().find(|one| one["rule"] == rule).map(|one| one["line"].as_u64());
    assert_eq!(line("retry-writes"), Some(Some(4)), "{ran:?}");
    assert_eq!(line("listener-ipv4-only"), Some(Some(3)), "{ran:?}");
    assert_eq!(line("plain-text-to-443"), Some(Some(4)), "{ran:?}");
    run(["lint", &lab.file("wrong.yaml", &text.replace("port: 1235", "prot: 1235"))])
        .fails(2, ":5:5: unknown key `prot`; did you mean `port`?");
}

/// A function of the catalogue is refused with its reason, or Envoy accepts its configuration.
#[test]
fn every_function_is_refused_or_accepted_by_envoy() {
    let lab = Lab::new();
    let listener = |(port, function): (u16, &hoptax_functions::Function)| {
        // A file states the knobs whose defaults are those of the lab.
        let knobs: Vec<String> =
            function.knobs.iter().map(|(name, knob)| format!("{name}={}", knob.default)).collect();
        let call = if knobs.is_empty() {
            function.id.clone()
        } else {
            format!("{}{{{}}}", function.id, knobs.join(","))
        };
        json!({
            "name": function.id, "port": port, "timeout": "1s", "cluster": function.id, "functions": [call],
            "upstream": {"address": "127.0.0.1", "port": 1},
        })
    };
    let all = hoptax_functions::Catalogue::load().unwrap().iter();
    let (mut accepted, mut refused) = (Vec::new(), 0);
    for listener in (20_000..).zip(all).map(listener) {
        let text = json!({"listeners": [listener]}).to_string();
        let plan = hoptax_listeners::read(Source { name: "one.json", text: &text }, None);
        if plan.is_ok_and(|plan| hoptax_listeners::render(&plan).is_ok()) {
            accepted.push(listener);
        } else {
            refused += 1;
        }
    }
    assert!(accepted.len() == 14 && refused > 30, "{} of {refused}", accepted.len());
    let file = lab.file("all.json", &json!({"listeners": accepted}).to_string());
    assert_eq!(refusal(&lab.rendered(&[&file], "envoy.yaml")), None);
}

/// Envoy accepts every regular expression that the check of expressions accepts.
#[test]
fn envoy_accepts_the_regular_expressions_that_are_accepted() {
    let lab = Lab::new();
    let expressions = [
        "a{40}",
        "(?i)a.*",
        "(?:a|b){2,5}",
        r"[a-z\x{41}]",
        "(?P<n>a)",
        r"\bq\B",
        ".*.*.*",
        "[[:alpha:]]",
        r"\A^a$\z",
        "(?sU)a+?",
        "[^]a]",
        "(?<n>a)|",
    ];
    let upstream = json!({"address": "127.0.0.1", "port": 1});
    let split = |(number, regex): (usize, &&str)| json!({"name": number.to_string(), "host_regex": regex, "upstream": upstream});
    let splits: Vec<Value> = expressions.iter().enumerate().map(split).collect();
    let listener =
        json!({"name": "a", "port": 6102, "timeout": "1s", "upstream": upstream, "splits": splits});
    let file = lab.file("own.json", &json!({"listeners": [listener]}).to_string());
    assert_eq!(refusal(&lab.rendered(&[&file], "envoy.yaml")), None);
}

/// Names that would change a file, a template, a log format or a command if they were not escaped.
const NAMES: [&str; 12] = [
    "a\"b",
    "a: b",
    "- a",
    "#a",
    "{{ a }}",
    "{% raw %}",
    "$(touch x)",
    "`touch x`",
    "%REQ(a)%",
    "a\\nb",
    "*a",
    "é 'a'",
];

#[test]
fn names_arrive_at_envoy_as_they_are() {
    let lab = Lab::new();
    let admin = free_port();
    let listener = |name: &&str| {
        json!({
            "name": name, "port": free_port(), "timeout": "1s", "cluster": name,
            "upstream": {"address": "127.0.0.1", "port": 1},
        })
    };
    let listeners: Value = NAMES.iter().map(listener).collect();
    let text = json!({"admin": {"port": admin}, "listeners": listeners}).to_string();
    let file = lab.file("names.json", &text);
    for format in ["yaml", "json"] {
        let path = lab.rendered(&[&file, "--format", format], &format!("envoy.{format}"));
        let _envoy = lab.running(&path);
        let mut dump = None;
        wait_until("Envoy dumps its configuration", || {
            dump = body(&format!("http://127.0.0.1:{admin}/config_dump"));
            dump.as_ref().is_some_and(|text| text.contains("static_listeners"))
        });
        let dump: Value = serde_json::from_str(&dump.unwrap()).unwrap();
        let names = |kind: &str, inner: &str| -> BTreeSet<String> {
            let configs = dump["configs"].as_array().unwrap();
            let all = configs.iter().filter_map(|config| config[kind].as_array()).flatten();
            all.filter_map(|one| one[inner]["name"].as_str()).map(str::to_owned).collect()
        };
        let expected: BTreeSet<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(names("static_listeners", "listener"), expected, "{format}");
        assert_eq!(names("static_clusters", "cluster"), expected, "{format}");
    }
}
