//! Every rule has files that it finds something in, which begin with `fires`, and files that it does not, which begin with `silent`.
//!
//! In the first, a comment `# here` is on each line of a finding of the rule, or `# next` on the line above, and on no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hoptax_bootstrap::{Partly, read_partly};
use hoptax_lint::{ALL, Change, Finding, Linted, Severity, lint, mend};

/// Comment on each line of a finding.
const HERE: &str = "# here";
/// Comment above a line of a finding that is a comment itself.
const NEXT: &str = "# next";

fn folder(id: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules").join(id)
}

/// The files of a rule whose names begin so, with their texts.
fn texts(id: &str, beginning: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder(id)).unwrap_or_else(|error| panic!("rule {id} has no folder: {error}"));
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(beginning)).collect();
    names.sort_unstable();
    assert!(!names.is_empty(), "rule {id} needs {beginning}.yaml");
    let text = |name: String| (format!("{id}/{name}"), fs::read_to_string(folder(id).join(&name)).unwrap());
    names.into_iter().map(text).collect()
}

fn read(text: &str) -> Partly {
    read_partly("envoy.yaml", text, None, &|path| Err(format!("`{path}` does not exist")))
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn by_rule<'l>(linted: &'l Linted, id: &str) -> Vec<&'l Finding> {
    linted.findings.iter().filter(|finding| finding.rule.id == id).collect()
}

#[test]
fn every_rule_finds_its_fault_on_the_lines_that_are_marked() {
    let mut wrong = Vec::new();
    for rule in ALL {
        for (name, text) in texts(rule.id, "fires") {
            let mark = |(line, text): (u64, &str)| match text {
                text if text.contains(HERE) => Some(line),
                text if text.contains(NEXT) => Some(line + 1),
                _ => None,
            };
            let marked: BTreeSet<u64> = (1..).zip(text.lines()).filter_map(mark).collect();
            let linted = lint(&read(&text));
            let found: BTreeSet<u64> =
                by_rule(&linted, rule.id).iter().map(|finding| finding.place.line).collect();
            assert!(!marked.is_empty(), "{name} marks no line");
            if found != marked {
                wrong.push(format!("{name}: {found:?}, and marked are {marked:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_rule_is_silent_where_its_fault_is_not() {
    let mut wrong = Vec::new();
    for rule in ALL {
        for (name, text) in texts(rule.id, "silent") {
            let linted = lint(&read(&text));
            let found = by_rule(&linted, rule.id).into_iter().map(|finding| &finding.found.message);
            wrong.extend(found.map(|message| format!("{name}: {message}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_fix_leaves_nothing_for_its_rule_to_find_and_keeps_every_other_line() {
    for (rule, (name, text)) in
        ALL.iter().flat_map(|rule| texts(rule.id, "fires").into_iter().map(move |file| (rule, file)))
    {
        let configuration = read(&text);
        let linted = lint(&configuration);
        let findings = by_rule(&linted, rule.id);
        if findings.iter().all(|finding| finding.found.fix.is_empty()) {
            continue;
        }
        let (mended, refused) = mend(&configuration.configuration, &findings);
        assert!(refused.is_empty(), "{name}: {refused:?}");
        let [one] = mended.as_slice() else { panic!("{name}: {mended:?}") };
        let left = by_rule(&lint(&read(&one.changed)), rule.id).len();
        assert_eq!(left, 0, "{name}:\n{}", one.changed);
        let removes = |finding: &&Finding| {
            finding.found.fix.iter().any(|change| matches!(change, Change::Remove { .. }))
        };
        if findings.iter().any(removes) {
            continue;
        }
        let after: Vec<&str> = one.changed.lines().collect();
        let is_kept = |line: &&str| after.contains(line) || line.contains(HERE);
        let lost: Vec<&str> = text.lines().filter(|line| !is_kept(line)).collect();
        assert!(lost.is_empty(), "{name}: {lost:?}");
    }
}

/// A text with findings of these rules mended.
fn mended(text: &str, ids: &[&str]) -> String {
    let read = read(text);
    let linted = lint(&read);
    let findings: Vec<&Finding> =
        linted.findings.iter().filter(|finding| ids.contains(&finding.rule.id)).collect();
    let (mended, refused) = mend(&read.configuration, &findings);
    assert!(refused.is_empty(), "{refused:?}");
    mended.into_iter().next().unwrap().changed
}

/// A file with a route to a cluster, which has more fields.
fn routed(cluster: &str) -> String {
    let manager = r#"{"@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager, route_config: {virtual_hosts: [{name: all, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: shop}}]}]}}"#;
    let assignment = "{cluster_name: shop, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: shop.internal, port_value: 80}}}}]}]}";
    format!(
        "static_resources:\n  listeners:\n  - name: in\n    filter_chains: [{{filters: [{{name: h, typed_config: {manager}}}]}}]\n  \
         clusters:\n  - name: shop\n    type: STRICT_DNS\n    load_assignment: {assignment}\n{cluster}"
    )
}

#[test]
fn fixes_that_need_the_same_message_are_all_made() {
    let ids = ["keepalive-default", "requests-per-connection"];
    let options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
    let block = routed("");
    for text in [block.clone(), serde_json::to_string_pretty(read(&block).configuration.tree()).unwrap()] {
        let changed = mended(&text, &ids);
        let after = read(&changed);
        let options = &after.configuration.tree()["static_resources"]["clusters"][0]["typed_extension_protocol_options"]
            [options];
        let common = &options["common_http_protocol_options"];
        assert_eq!(common["idle_timeout"], "4.5s", "{changed}");
        assert_eq!(common["max_requests_per_connection"], 1000, "{changed}");
        assert!(options["explicit_http_config"]["http_protocol_options"].is_object(), "{changed}");
    }
}

#[test]
fn options_at_their_old_place_stay_there() {
    for old in [
        "common_http_protocol_options: {max_headers_count: 9}",
        "protocol_selection: USE_DOWNSTREAM_PROTOCOL",
    ] {
        let changed = mended(&routed(&format!("    {old}\n")), &["keepalive-default"]);
        assert!(changed.contains("idle_timeout: 4.5s"), "{changed}");
        assert!(
            !changed.contains("typed_extension_protocol_options"),
            "Envoy would ignore the others: {changed}"
        );
    }
    let old = "    common_http_protocol_options: {idle_timeout: 4s}\n    typed_extension_protocol_options:\n      \
               envoy.extensions.upstreams.http.v3.HttpProtocolOptions:\n        \"@type\": \
               type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions\n        explicit_http_config: \
               {http_protocol_options: {}}\n";
    assert_eq!(
        by_rule(&lint(&read(&routed(old))), "keepalive-default").len(),
        1,
        "the old place is ignored here"
    );
}

#[test]
fn folders_of_tests_are_those_of_rules() {
    let entries = fs::read_dir(folder("")).unwrap();
    let folders: BTreeSet<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let ids: BTreeSet<String> = ALL.iter().map(|rule| rule.id.to_owned()).collect();
    assert_eq!(ids.len(), ALL.len());
    assert_eq!(folders, ids);
}

#[test]
fn rules_say_what_happens_and_what_to_do_about_it() {
    for rule in ALL {
        let is_sentence = |text: &str| text.ends_with('.') && text.starts_with(char::is_uppercase);
        assert!(is_sentence(rule.why) && is_sentence(rule.cure), "{}", rule.id);
        assert!(!rule.source.is_empty() && !rule.title.ends_with('.'), "{}", rule.id);
        assert!(
            rule.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
            "{}",
            rule.id
        );
    }
}

#[test]
fn messages_are_one_line_each() {
    let mut all = String::new();
    for rule in ALL {
        for (name, text) in texts(rule.id, "fires") {
            for finding in by_rule(&lint(&read(&text)), rule.id) {
                assert!(!finding.found.message.contains('\n'), "{name}");
                let name = name.trim_end_matches("/fires.yaml");
                let place = &finding.place;
                all += &format!("{}:{} {name}: {}\n", place.line, place.column, finding.found.message);
            }
        }
    }
    insta::assert_snapshot!("messages", all);
}

#[test]
fn a_fault_that_opens_the_proxy_to_strangers_precedes_others_of_its_severity() {
    let [(_, retries)] = &texts("retry-without-try-timeout", "fires.yaml")[..] else { panic!("one file") };
    let exposed = format!(
        "{}\nadmin: {{address: {{socket_address: {{address: 0.0.0.0, port_value: 9901}}}}}}\n",
        retries.trim_end()
    );
    let linted = lint(&read(&exposed));
    let warnings = linted.findings.iter().filter(|finding| finding.rule.severity == Severity::Warning);
    let ids: Vec<&str> = warnings.map(|finding| finding.rule.id).collect();
    assert_eq!(ids.first(), Some(&"admin-exposed"), "{ids:?}");
    // Each name in the list is that of a rule.
    assert_eq!(ALL.iter().filter(|rule| rule.opens_to_strangers()).count(), 4);
    assert!(ids.contains(&"retry-without-try-timeout"), "{ids:?}");
}
