//! Arms with several proxies and several Envoys on real Envoy.

use std::fs;
use std::path::Path;

use hoptax_subject::envoy::release::Envoy;
use serde_json::{Value, json};

use crate::support::install;
use crate::support::study::{StudyFolder, arm};

/// Another program that behaves as Envoy does, and says that its sources were modified.
fn install_envoy(path: &Path, comment: &str) {
    let envoy = Envoy::usual().unwrap();
    let envoy = envoy.program.display();
    let version = format!("[ \"$1\" = --version ] && '{envoy}' --version | sed s/Clean/Modified/ && exit 0");
    install(path, &format!("# {comment}\n{version}\nexec '{envoy}' \"$@\""));
}

fn study_of(arms: &str) -> StudyFolder {
    StudyFolder::new(&format!(
        "name: chains\nrounds: 2\narms:\n{arms}loads:\n  - {{name: in-use, loop: open, rate: 1000, connections: 4, blocks: 1, \
         slice: 50ms}}\n  - {{name: lower-rate, loop: open, rate: 200, connections: 4, blocks: 1, slice: 50ms}}\n"
    ))
}

/// `lua` has no statistics at a proxy without it, so its proof holds only where it is read at its own proxy.
#[test]
fn every_proxy_of_a_chain_does_its_own_work() {
    let study = study_of(
        "  - baseline
  - name: mesh
    hops:
      - {name: edge, functions: [jwt]}
      - {name: client, functions: [lua, header-mutation], tls: {upstream: mtls}, flags: [--drain-time-s, '7']}
      - {name: server, functions: ['rbac{rules=5}', access-log/file], workers: 2, env: {HOPTAX_TEST: here}}
  - {name: off-mesh, hops: []}
",
    );
    let (result, out) = (study.short_form(), study.out());
    let mesh = arm(&result, "mesh");
    assert_eq!((&mesh["unproven"], &mesh["failures"]), (&json!([]), &json!({})), "{mesh:#}");
    assert!(mesh["book"]["answered"].as_u64() > Some(0));
    assert_eq!(mesh["subject"]["tls"], json!(["none", "none", "mtls", "none"]));
    let names = |key: &str| -> Vec<String> {
        let hops = mesh[key].as_array().unwrap();
        hops.iter().map(|hop| hop["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("hops"), ["edge", "client", "server"]);
    let configuration =
        |hop: &str| fs::read_to_string(out.join("arms/mesh").join(hop).join("bootstrap.json")).unwrap();
    assert!(configuration("client").contains("envoy.filters.http.lua"));
    assert!(!configuration("edge").contains("envoy.filters.http.lua"));
    assert!(!configuration("server").contains("jwt_authn") && configuration("server").contains("rbac"));
    let log = fs::metadata(out.join("arms/mesh/server/envoy.log"));
    assert!(log.is_ok());
    let subject = &mesh["subject"]["hops"];
    assert_eq!((&subject[1]["flags"], &subject[2]["workers"]), (&json!(["--drain-time-s", "7"]), &json!(2)));
    assert_eq!(subject[2]["environment"], json!({"HOPTAX_TEST": "here"}));
    let direct = arm(&result, "off-mesh");
    assert_eq!((&direct["kind"], &direct["subject"]["hops"]), (&json!("direct"), &json!([])));
}

#[test]
fn a_proxy_that_needs_more_processors_than_there_are_is_refused() {
    let ran = study_of("  - baseline\n  - {name: on-999, hops: [{processors: 999}]}\n").run();
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("arm `on-999`") && ran.stderr.contains("needs 999 processors"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_front_proxy_distributes_requests_over_clones_with_an_origin_each() {
    let arms = "  - baseline\n  - {name: mesh, hops: [front, {name: service, clones: 3, processors: all}]}\n";
    let study = study_of(arms);
    // A slow machine answers too few requests in one slice.
    let file = study.path("study.yaml");
    let text = fs::read_to_string(&file).unwrap().replace("blocks: 1,", "blocks: 4,");
    fs::write(&file, text).unwrap();
    let (ran, out) = (study.run(), study.out());
    let result = study.result_of(&ran);
    let mesh = arm(&result, "mesh");
    assert!(mesh["book"]["answered"].as_u64() > Some(0) && mesh["failures"] == json!({}), "{}", ran.stderr);
    assert_eq!(mesh["subject"]["upstreams"], 3);
    for round in 0..2 {
        let text = fs::read_to_string(out.join(format!("rounds/{round}.json"))).unwrap();
        let record: Value = serde_json::from_str(&text).unwrap();
        let requests: Vec<u64> =
            (0..4).map(|hop| record["record"]["traffic"]["1"][hop]["requests"].as_u64().unwrap()).collect();
        // The front proxy has all requests and each clone a third, counted by Envoy: CPU time would depend on the machine. Of 51
        // requests, round robin gives each within one of 17.
        let is_a_third = |clone: &u64| (0.3..0.37).contains(&(*clone as f64 / requests[0] as f64));
        assert!(requests[0] > 50 && requests[1..].iter().all(is_a_third), "{requests:?}");
    }
    let configuration =
        |hop: &str| fs::read_to_string(out.join("arms/mesh").join(hop).join("bootstrap.json")).unwrap();
    let origins = |hop: &str| configuration(hop).matches("\"port_value\"").count();
    assert_eq!(origins("front") - origins("service"), 2);
    let port = |hop: &str| configuration(hop).rsplit("\"port_value\"").next().unwrap()[..12].to_owned();
    assert!(port("service") != port("service-2") && port("service-2") != port("service-3"));
}

#[test]
fn envoys_stand_side_by_side_and_a_study_resumes_with_the_same_ones_only() {
    let folder = tempfile::tempdir().unwrap();
    let another = folder.path().join("another-envoy");
    install_envoy(&another, "first");
    let path = another.display();
    let arms = format!(
        "  - baseline\n  - {{name: another, envoy: {path}}}\n  - {{function: lua, at: {{envoy: {path}}}}}\n  \
         - {{name: mixed, hops: [client, {{name: server, envoy: {path}}}]}}\n"
    );
    let study = study_of(&arms);
    let result = study.result_of(&study.run());
    let usual = result["environment"]["proxy_sha256"].clone();
    let programs = |id: &str| -> Vec<(Value, Value, bool)> {
        let arm = arm(&result, id);
        let hops = arm["subject"]["hops"].as_array().unwrap().clone();
        let stated = |hop: &Value| (hop["version"].clone(), hop["build"].clone(), hop["sha256"] == usual);
        hops.iter().map(stated).collect()
    };
    let version = result["environment"]["proxy_version"].clone();
    assert_eq!(result["environment"]["proxy_build"], "Clean/RELEASE");
    let of = |build: &str, is_usual: bool| (version.clone(), json!(build), is_usual);
    let (same, other) = (of("Clean/RELEASE", true), of("Modified/RELEASE", false));
    assert_eq!(programs("baseline"), std::slice::from_ref(&same));
    assert_eq!(programs("another"), std::slice::from_ref(&other));
    assert_eq!(programs(&format!("lua @ envoy={path}")), std::slice::from_ref(&other));
    assert_eq!(programs(&format!("baseline @ envoy={path}")), std::slice::from_ref(&other));
    assert_eq!(programs("mixed"), [same, other]);
    let findings = result["findings"].as_array().unwrap().iter();
    let warned: Vec<&Value> = findings.filter(|finding| finding["id"] == "proxy-build").collect();
    for (id, is_named) in [("baseline", false), ("another", true), ("mixed", true)] {
        assert_eq!(warned.iter().any(|finding| finding["arm"] == id), is_named, "{warned:#?}");
    }
    for finding in warned {
        assert!(
            finding["message"].as_str().unwrap().ends_with(" says `Modified/RELEASE`, not `Clean/RELEASE`"),
            "{finding:#}"
        );
    }

    install_envoy(&another, "second");
    study.resume(&["--rounds", "3"]).fails(2, &format!("a different build of Envoy {path}"));
}

#[test]
fn a_release_that_does_not_exist_ends_the_study_before_it_starts_anything() {
    let study = study_of("  - baseline\n  - {name: other, envoy: /nonexistent/envoy}\n");
    study.run().fails(3, "/nonexistent/envoy");
    assert!(!study.out().exists());
}
