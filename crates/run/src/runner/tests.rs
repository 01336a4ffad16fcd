//! Tests of the specifications of processes, mostly without starting them: hashes of a plan in two runs, and addresses.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use hoptax_functions::{Catalogue, Context, FunctionCall};
use hoptax_host::link::NEAR;
use hoptax_host::processors::Placement;
use hoptax_plan::request::requests_sha256;

use super::fixture;
use super::running::Running;
use super::specification::{Surroundings, folder, spec};
use super::subject::Subject;
use super::subjects::Subjects;
use crate::provenance::{Names, envoy_hash};

/// The configuration hash of each arm and the hashes of its requests, in the given folder and with ports from
/// `first_port`.
fn hashes(arms: &str, directory: &Path, first_port: u16) -> BTreeMap<String, (String, Vec<String>)> {
    let text = format!(
        "name: test\narms: [{arms}]\nloads:\n  - {{name: full, loop: closed}}\n  - {{name: open, loop: open, rate: 1000}}\n"
    );
    let plan = fixture::plan_of(&text);
    let placement = Placement { proxy: vec![0], generator: vec![0] };
    let mut found = BTreeMap::new();
    for (number, arm) in (0..).zip(&plan.arms) {
        let port = |more: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, first_port + 10 * number + more));
        let next: Vec<SocketAddr> = (0..arm.upstreams as u16).map(port).collect();
        let companion = Some(port(9));
        let names = Names::new(directory, &next, companion);
        let spec = fixture::with_setting_in(directory, &placement, |setting| {
            let around = Surroundings {
                setting,
                directory: folder(setting, arm, 0),
                listen: Ipv4Addr::LOCALHOST.into(),
                processors: &[0],
                next,
                companion,
                lab: None,
            };
            spec(&plan, arm, arm.chain.place_of(None).unwrap(), around).unwrap()
        });
        spec.configure().unwrap();
        let requests = plan.loads.iter().map(|load| requests_sha256(&plan, arm, load)).collect();
        found.insert(arm.id.clone(), (envoy_hash(&spec, &names).unwrap(), requests));
    }
    found
}

const ARMS: &str = "baseline, same, lua, access-log/file, ext-authz/http, rate-limit/global, balance/round-robin, wasm/empty, \
                    tracing/opentelemetry, control/burn, compress/gzip";

#[test]
fn two_runs_of_a_plan_have_the_same_hashes_with_other_ports_and_folders() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let one = hashes(ARMS, folders[0].path(), 4_000);
    assert_eq!(one, hashes(ARMS, folders[1].path(), 40_000));
    assert_eq!(one["baseline"], one["same"]);
    let different: std::collections::BTreeSet<&String> = one.values().map(|(hash, _)| hash).collect();
    // Two are equal to others: the copy of the baseline, and the baseline whose response suits compression.
    assert!(different.len() + 2 >= one.len() && different.len() < one.len(), "{one:#?}");
}

#[test]
fn a_subject_that_does_not_run_ends_the_study_with_its_arm_and_copy() {
    let plan = fixture::plan("baseline, lua");
    let [first, second] = [0, 1].map(|number| plan.subjects().nth(number).unwrap());
    let mut subjects = Subjects::default();
    let words = "arm `lua`: there is no running copy 1; this is a bug in hoptax";
    assert_eq!(subjects.check(&[second]).unwrap_err().to_string(), words);
    assert!(subjects.only(first.arm).is_err());
    subjects.all = vec![Running::new(first, Subject::default()), Running::new(first, Subject::default())];
    assert!(subjects.check(&[first]).is_ok());
    assert_eq!(subjects.check(&[second]).unwrap_err().to_string(), words, "another arm has its place");
}

#[test]
fn a_changed_knob_changes_only_the_hash_of_its_arm() {
    let folder = tempfile::tempdir().unwrap();
    let of = |arms: &str| hashes(arms, folder.path(), 4_000);
    let one = of("baseline, lua, 'route/path{routes=200}'");
    let other = of("baseline, lua, 'route/path{routes=100}'");
    assert_eq!((&one["baseline"], &one["lua"]), (&other["baseline"], &other["lua"]));
    let (one, other) = (&one["route/path{routes=200}"], &other["route/path{routes=100}"]);
    assert_ne!(one.0, other.0);
    assert_eq!(one.1, other.1);
}

#[test]
fn requests_that_carry_more_have_another_hash() {
    let folder = tempfile::tempdir().unwrap();
    let one = hashes("baseline, lua", folder.path(), 4_000);
    let other = hashes("baseline, lua, jwt", folder.path(), 4_000);
    // Every request of a study carries the parts that any of its functions needs.
    assert_ne!(one["baseline"].1, other["baseline"].1);
    assert_eq!(one["baseline"].0, other["baseline"].0);
}

#[test]
fn the_tagged_range_of_clients_holds_both_ends_that_a_client_can_be_at() {
    let (catalogue, context) =
        (Catalogue::load().unwrap(), Context { directory: Path::new("/"), companion: None });
    let (function, knobs) = catalogue.resolve(&FunctionCall::parse("ip-tagging").unwrap()).unwrap();
    let fragment = function.render(&knobs, &context).unwrap();
    let tags = fragment.http_filters[0]["typed_config"]["ip_tags"].as_array().unwrap().clone();
    let tag_of = |address: Ipv4Addr| {
        let contains = |range: &serde_json::Value| {
            let first: Ipv4Addr = range["address_prefix"].as_str().unwrap().parse().unwrap();
            let shift = 32 - range["prefix_len"].as_u64().unwrap();
            address.to_bits() >> shift == first.to_bits() >> shift
        };
        let has = |tag: &&serde_json::Value| tag["ip_list"].as_array().unwrap().iter().any(contains);
        let found: Vec<&str> =
            tags.iter().filter(has).map(|tag| tag["ip_tag_name"].as_str().unwrap()).collect();
        found.join(" ")
    };
    assert_eq!([Ipv4Addr::LOCALHOST, NEAR].map(tag_of), ["client", "client"]);
}
