//! The reference output of the program: schemas, completions, man pages, help, lists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::support::{assert_narrow, checked, misfits, report_schema, root, run};

/// Examples are unit tests: rustdoc would compile each crate once more to run those of its documentation.
#[test]
fn no_documentation_has_an_example_that_no_test_runs() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let sources = entry.unwrap().path().join("src");
        assert!(!walk(&sources).iter().any(|text| has_example(text)), "{}", sources.display());
    }
}

/// The texts of all files below a folder.
fn walk(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = entries.map(|path| {
        if path.is_dir() {
            walk(&path)
        } else {
            vec![String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()]
        }
    });
    texts.flatten().collect()
}

/// A test that nobody runs guards nothing: the table says when each passed last.
#[test]
fn the_tests_that_take_minutes_are_listed_with_their_last_result() {
    let contributing = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let mut names = 0;
    for text in walk(&root().join("crates/cli/tests")) {
        for behind in text.split("#[ignore = \"takes minutes").skip(1) {
            // This file has the words too, without a test behind them.
            let Some((_, name)) = behind.split_once("]\nfn ").or(behind.split_once("]\n    fn ")) else {
                continue;
            };
            let name = name.split('(').next().unwrap();
            let is_listed = contributing.contains(&format!("::{name}`"));
            assert!(is_listed, "{name} is in no row of CONTRIBUTING.md");
            names += 1;
        }
    }
    assert!(names > 8, "{names}");
}

/// Returns true if documentation has a block of Rust, which states no language.
fn has_example(text: &str) -> bool {
    let documented =
        text.lines().map(str::trim).filter_map(|line| line.strip_prefix("//!").or(line.strip_prefix("///")));
    let fences = documented.map(str::trim).filter_map(|line| line.strip_prefix("```"));
    // Every second one ends a block.
    fences.step_by(2).any(|language| ["", "rust", "no_run", "should_panic"].contains(&language))
}

/// A unit test asserts that each command is in them: it knows the commands from their arguments.
#[test]
fn schemas_completions_and_man_pages_are_printed_or_written() {
    let schema: serde_json::Value =
        serde_json::from_str(&run(["generate", "schema", "report"]).stdout).unwrap();
    assert!(schema["$defs"]["bill"]["properties"]["parts"].is_object(), "{schema}");
    let of_kind = run(["generate", "schema", "bill"]);
    assert_eq!(of_kind.code, Some(2));
    assert!(
        of_kind.stderr.contains("study-file, listeners, size-graph, report, openapi"),
        "{}",
        of_kind.stderr
    );
    assert!(run(["generate", "completions", "bash"]).stdout.contains("hoptax"));
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(["generate", "man", folder.path().to_str().unwrap()]).code, Some(0));
    let page = fs::read_to_string(folder.path().join("hoptax-study.1"));
    assert!(page.is_ok_and(|page| page.contains(".TH")));
}

/// The volumes of journals in a text, each with its year: `34(2), 1963` is the volume 34 of 1963.
fn cited(text: &str) -> BTreeSet<(&str, &str)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut found = BTreeSet::new();
    for pair in words.windows(2) {
        let volume = pair[0].strip_suffix(',').and_then(|word| word.split('(').next());
        let (Some(volume), Some(year)) = (volume, pair[1].get(..4)) else { continue };
        let is_year = year.parse().is_ok_and(|year: u32| (1_800..2_100).contains(&year));
        if is_year && volume.parse::<u32>().is_ok() {
            found.insert((volume, year));
        }
    }
    found
}

/// The comments of a source file without their marks.
fn comments(source: &str) -> String {
    let lines = source.lines().filter_map(|line| line.trim().strip_prefix("//"));
    lines.map(|line| line.trim_start_matches(['/', '!'])).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_page_of_the_method_has_the_source_of_every_statistic() {
    let page = fs::read_to_string(root().join("docs/reference/method.md")).unwrap();
    let sources: Vec<String> =
        walk(&root().join("crates/stats/src")).iter().map(|source| comments(source)).collect();
    let of_code: BTreeSet<(&str, &str)> = sources.iter().flat_map(|source| cited(source)).collect();
    let of_page = cited(&page);
    let absent: Vec<_> = of_code.difference(&of_page).collect();
    assert!(absent.is_empty(), "docs/reference/method.md has no {absent:?}");
    assert!(of_code.len() > 30, "{of_code:?}");
    assert_eq!(
        cited("*Annals* 34(2), 1963; *B* 40,\n1978. In 12, 300"),
        BTreeSet::from([("34", "1963"), ("40", "1978")])
    );
}

/// Asserts that a result fits the schema of its kind and the one of all, and is refused by both as one of another format or with a field
/// that it does not know.
fn assert_fits_as_itself(result: &Value, of_all: &Validator) {
    let format = result["format"].as_str().unwrap();
    let (name, _) = format.strip_prefix("hoptax.").unwrap().split_once('/').unwrap();
    assert!(
        misfits(name, result).is_empty() && of_all.is_valid(result),
        "{format}: {:?}",
        misfits(name, result)
    );
    let other = if name == "load" { "hoptax.study/4" } else { "hoptax.load/2" };
    let changes =
        [("format", json!(other)), ("format", json!(format!("{format}0"))), ("colour", json!("red"))];
    for (field, value) in changes {
        let mut changed = result.clone();
        changed[field] = value;
        assert!(!misfits(name, &changed).is_empty(), "{format} as {name}: {field}");
        assert!(!of_all.is_valid(&changed), "{format}: {field}");
    }
}

#[test]
fn a_result_is_valid_as_one_of_its_own_format_alone() {
    let of_all = jsonschema::validator_for(&report_schema()).unwrap();
    for kind in ["load", "study", "find", "lint", "prices"] {
        let file = root().join(format!("crates/report/recorded/{kind}.json"));
        assert_fits_as_itself(&serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap(), &of_all);
    }
}

/// A help line that begins a list entry; deeper indentation continues the entry above.
fn entry(line: &str) -> Option<&str> {
    line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))
}

/// Unit tests read the help of each command, and its examples.
#[test]
fn help_shows_examples_and_exit_codes() {
    let page = run(["--help"]).stdout;
    assert!(page.contains("\nExamples:\n") && page.contains("130  interrupted"));
    let (_, groups) = page.split_once("\n\nMeasure:\n").unwrap();
    let (groups, _) = groups.split_once("\n\nOptions:\n").unwrap();
    let commands: Vec<&str> =
        groups.lines().filter_map(entry).filter_map(|rest| rest.split(' ').next()).collect();
    assert!(commands.len() <= 13 && commands.contains(&"study"), "{commands:?}");
}

#[test]
fn the_help_of_the_origin_names_every_parameter() {
    let help = run(["lab", "origin", "--help"]).stdout;
    for name in hoptax_origin::Behaviour::parameters() {
        assert!(help.contains(&format!("\n  {name}=")), "{name}");
    }
}

#[test]
fn the_help_of_gate_has_one_word_for_what_limits_are_changes_from() {
    let help = run(["gate", "--help"]).stdout;
    let names = ["as it is (the reference) and with the candidate", "the largest change from the reference"];
    assert!(names.iter().all(|name| help.contains(name)) && !help.contains("baseline"), "{help}");
}

#[test]
fn checks_are_listed_and_explained() {
    let list = run(["trust", "checks"]).stdout;
    assert!(list.contains("\nload, study and timeline ") && list.contains(" send-lag"), "{list}");
    let explained = run(["trust", "checks", "explain", "send-lag"]).stdout;
    assert!(
        explained.contains("every load, every study and every timeline") && explained.contains("Treadmill"),
        "{explained}"
    );
    run(["trust", "checks", "explain", "send-lagg"]).fails(2, "did you mean `send-lag`?");
    let json = checked("checks", &run(["trust", "checks", "--json"]).stdout);
    assert!(json["checks"].as_array().unwrap().len() > 15 && json["thresholds"].is_array(), "{json}");
}

#[test]
fn misspelt_names_get_a_suggestion() {
    for (arguments, expected) in [
        (vec!["functions", "show", "jtw"], "did you mean `jwt`?"),
        (vec!["price", "http://127.0.0.1:9901/"], "/config_dump > config.json"),
        (vec!["study", "quikc"], "did you mean `quick`?"),
        (vec!["trust", "checks", "explain", "setal"], "did you mean `steal`?"),
        (vec!["lint", "explain", "rate-limit-of"], "did you mean `rate-limit-off`?"),
        (vec!["lint", "--only", "admin-expose", "envoy.yaml"], "did you mean `admin-exposed`?"),
        (vec!["load", "--threshold", "steel=1", "http://127.0.0.1:1/"], "did you mean `steal`?"),
        (vec!["study", "--threshold", "steel=1"], "did you mean `steal`?"),
        (vec!["lab", "origin", "--default", "delya=5ms"], "did you mean `delay`?"),
        (vec!["lab", "origin", "--default", "polll=5ms"], "did you mean `poll`?"),
    ] {
        run(arguments.iter().copied()).fails(2, expected);
    }
}

/// With a client of Kubernetes, `make test-cluster` tests the rest.
#[cfg(not(feature = "cluster"))]
#[test]
fn a_pod_needs_a_program_with_a_client_of_kubernetes() {
    let ran = run(["price", "--pod", "shop/cart-1", "--dry-run"]);
    ran.fails(3, "--features cluster");
    assert!(ran.stderr.contains("`kubectl -n shop port-forward cart-1 "), "{}", ran.stderr);
    let ran = run(["price", "--pod", "shop/cart-1", "--kube-context", "prod", "--dry-run"]);
    let expected = "`kubectl --context prod -n shop port-forward cart-1 ";
    ran.fails(3, expected);
}

#[test]
fn options_of_a_pod_have_a_heading_of_their_own() {
    let help = run(["price", "--help"]).stdout;
    let (before, of_pod) = help.split_once("\nPod:\n").unwrap();
    assert!(before.contains("; or use --pod\n"), "{before}");
    let options = ["--pod", "--kube-context", "--container", "--admin-port"];
    assert!(options.iter().all(|option| of_pod.contains(&format!("      {option} <"))), "{of_pod}");
    assert!(options.iter().all(|option| !before.contains(&format!("      {option} <"))), "{before}");
}

#[test]
fn options_of_a_pod_need_one_and_its_bill_continues_where_its_dump_is() {
    let folder = tempfile::tempdir().unwrap();
    let of = folder.path().to_str().unwrap();
    for (arguments, expected) in [
        (vec!["--pod", "shop/cart-1", "--resume", of], "no bill of pod `shop/cart-1`"),
        (vec!["--pod", "cart-1"], "a pod is named `NAMESPACE/NAME`"),
        (vec!["--pod", "/cart-1"], "the namespace is missing"),
        (vec!["--pod", "shop/cart-1", "envoy.yaml"], "cannot be used with"),
        (vec!["--kube-context", "prod", "envoy.yaml"], "cannot be used with"),
        (vec!["--kube-context", "prod"], "--pod"),
        (vec!["--pod", "shop/cart-1", "--admin-port", "0"], "--admin-port"),
        (vec![], "or a pod: `hoptax price --pod NAMESPACE/NAME`"),
        (vec!["--dry-run"], "name a configuration, such as `hoptax price envoy.yaml`"),
    ] {
        run([&["price"][..], arguments.as_slice()].concat()).fails(2, expected);
    }
}

#[test]
fn functions_are_listed_on_one_screen_and_in_the_details_with_their_knobs() {
    let screen = run(["functions"]).stdout;
    assert!(screen.lines().count() <= 40 && !screen.contains(" more: "), "all families: {screen}");
    let text = run(["functions", "--details"]).stdout;
    assert!(text.contains("route/path{routes=1}") && text.contains("Routes in the table"), "{text}");
    let json = checked("functions", &run(["functions", "--json"]).stdout);
    for function in json["functions"].as_array().unwrap() {
        let id = function["id"].as_str().unwrap();
        assert!(text.lines().any(|line| line.split(' ').next() == Some(id)), "{id}: {text}");
    }
}

#[test]
fn a_function_lists_its_changes_by_envoy_release() {
    let text = run(["functions", "show", "tls/terminate"]).stdout;
    let of_token = run(["functions", "show", "jwt"]).stdout;
    assert!(of_token.contains("jwt_authn.v3.JwtAuthentication"), "types have their whole name: {of_token}");
    assert!(text.contains("\nchanged 1.40: X25519MLKEM768"), "{text}");
    let json = checked("functions", &run(["functions", "--json", "show", "tls/terminate"]).stdout);
    assert_eq!(json["functions"].as_array().unwrap().len(), 1, "{json}");
    let change = &json["functions"][0]["changes"][0];
    assert_eq!(change["release"], "1.40", "{json}");
    assert!(change["summary"].as_str().unwrap().starts_with("X25519MLKEM768"), "{json}");
}

/// The list of studies is that of their tests (`studies/smoke.rs`), since it takes seconds to plan all of them.
#[test]
fn lists_fit_into_a_hundred_columns() {
    let lists: [&[&str]; 8] = [
        &["lint", "rules"],
        &["lint", "explain", "rate-limit-off"],
        &["functions"],
        &["functions", "--details"],
        &["functions", "show", "jwt"],
        &["trust", "checks"],
        &["trust", "checks", "--details"],
        &["trust", "checks", "explain", "send-lag"],
    ];
    for words in lists {
        assert_narrow(&run(words.iter().copied()).stdout);
    }
}
