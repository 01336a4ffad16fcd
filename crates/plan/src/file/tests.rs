//! A study as a value: its defaults, its text, and problems with it.

use std::fs;
use std::path::Path;

use hoptax_functions::Catalogue;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::plan::Plan;

/// A study with every kind of entry.
const FORMS: &str = r#"
name: forms
summary: "a: {{ b }} # c"
rounds: 4
profile: true
application: {command: [./server, --port, "{port}"], ready: /health}
conditions: {response_bytes: [64, 1024]}
link: {delay: 17.5ms, loss: 0.001}
arms:
  - baseline
  - subject: {position: gateway+both, mtls: true, protocol: grpc}
  - unloaded: lua
  - {function: compress/gzip, protocol: http2, at: {tls: mutual, workers: 2}, points: false}
  - name: chain
    hops:
      - client
      - {name: server, functions: [jwt], order: as-written, tls: {downstream: mtls}, env: {A: "b: c"}}
      - {config: envoy.yaml, processors: all, clones: 2, replace: {/a/b: [1, -2.5, null, {c: "yes"}]}}
    network: {servers: container, nat: nftables, firewall: ipset, rules: [1, 10], match: last}
  - {name: ours, url: "http://127.0.0.1:1/", account: {pid: 7}, request: {headers: {cookie: "`a`"}}}
loads:
  - {name: open, loop: open, rate: 0.5e3, arrivals: jitter=10%, only: [chain], expect: [200, 429]}
  - {name: closed, loop: closed, except: open, caller: {command: [./call, "{url}", "{seconds}"]}, slice: 200ms}
published: [{arm: chain, load: open, measure: rate, value: 1.5, source: A}]
"#;

fn named(names: &[&str]) -> Vec<ArmEntry> {
    names.iter().map(|name| ArmEntry::Name((*name).to_owned())).collect()
}

fn closed(name: &str) -> LoadSection {
    LoadSection::new(name, LoopWord::Closed)
}

/// An arm of one proxy.
fn chain(hop: HopSection) -> ChainEntry {
    let hops = Some(vec![HopEntry::Hop(Box::new(hop))]);
    ChainEntry { name: "ours".to_owned(), hops, ..ChainEntry::default() }
}

fn written_and_read(study: &StudyFile) -> StudyFile {
    let (text, _) = write(study).unwrap();
    read("again.yaml", &text).unwrap_or_else(|error| panic!("{error}\n{text}")).0
}

#[test]
fn a_made_study_has_the_defaults_of_a_written_one() {
    let text = "name: x\narms: [baseline, lua]\nloads: [{name: all, loop: closed}]\n";
    let made = StudyFile::new("x", named(&["baseline", "lua"]), vec![closed("all")]);
    assert_eq!(read("x.yaml", text).unwrap().0, made);
}

#[test]
fn every_built_in_study_is_the_same_after_it_is_written_and_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    // The folder within it holds graphs.
    let studies: Vec<_> = paths.filter(|path| path.is_file()).collect();
    assert!(studies.len() > 30, "{studies:?}");
    for path in studies {
        let name = path.display().to_string();
        let (study, _) = read(&name, &fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(written_and_read(&study), study, "{name}");
    }
}

#[test]
fn every_form_of_entry_is_the_same_after_it_is_written_and_read() {
    let (study, _) = read("forms.yaml", FORMS).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(written_and_read(&study), study);
}

#[test]
fn problems_of_a_study_that_no_user_wrote_name_its_arms_and_loads_and_no_lines() {
    let mut arms = named(&["baseline"]);
    arms.push(ArmEntry::Chain(chain(HopSection { workers: Some(200), ..HopSection::default() })));
    // In a text, it would be taken for a template.
    let load =
        LoadSection { arrivals: Some("{{ x }}".to_owned()), ..LoadSection::new("busy", LoopWord::Open) };
    let error = write(&StudyFile::new("x", arms, vec![load])).unwrap_err().to_string();
    let expected = "arm `ours`: `workers` must be at most 64, not 200\n\
                    load `busy`: `arrivals` must be `uniform`, `poisson`, `jitter=10%` or `burst=8`, not `{{ x }}`";
    assert_eq!(error, expected);
}

#[test]
fn a_duplicate_in_a_study_that_no_user_wrote_is_no_line_of_it() {
    let study = StudyFile::new("x", named(&["baseline", "lua", "lua"]), vec![closed("all")]);
    let (_, positions) = write(&study).unwrap();
    let error = Plan::new(&study, &positions, Catalogue::load().unwrap()).unwrap_err().to_string();
    assert_eq!(error, "duplicate arm `lua`: an earlier entry already names it; remove one of them");
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no others", |number| number.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[-:{}#&*!|>%@`'\" \n\ta0.e]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z@ :{]{1,4}", inner, 0..4)
                .prop_map(|keys| Value::Object(keys.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Texts and values come from the command line, and from configurations of the user.
    #[test]
    fn any_text_and_any_value_in_a_study_is_the_same_after_it_is_written_and_read(
        text in any::<String>(),
        value in any_value(),
        rate in 1.0..1e6_f64,
    ) {
        let replace = [("/a".to_owned(), value)].into();
        let hop = HopSection { config: Some("envoy.yaml".to_owned()), replace, ..HopSection::default() };
        let headers = [("cookie".to_owned(), text.clone())].into();
        let request = Some(RequestSection { headers, ..RequestSection::default() });
        let arms = vec![ArmEntry::Chain(ChainEntry { request, ..chain(hop) })];
        let load = LoadSection { rate: Some(rate), ..LoadSection::new("open", LoopWord::Open) };
        let study = StudyFile { summary: text, ..StudyFile::new("x", arms, vec![load]) };
        prop_assert_eq!(written_and_read(&study), study);
    }
}
