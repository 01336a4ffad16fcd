//! A catalogue of listeners written like those of a large site, checked on real Envoy.
//!
//! `make test` guards it by other tests: a file with a listener for each promise, with changes that break each (`listeners_check.rs`), and
//! the catalogue as it is rendered (`crates/listeners/tests/catalogue.rs`).

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::run;

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn a_catalogue_of_more_than_forty_listeners_keeps_every_promise_that_can_be_tried() {
    let folder = tempfile::tempdir().unwrap();
    let catalogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("../listeners/tests/catalogue");
    let [listeners, services] = ["listeners.yaml", "services.yaml"].map(|name| {
        let path = folder.path().join(name);
        fs::write(&path, fs::read_to_string(catalogue.join(name)).unwrap()).unwrap();
        path.display().to_string()
    });
    let ran = run(["listeners", "check", &listeners, "--services", &services, "--json", "-"]);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let listeners = result["listeners"].as_array().unwrap();
    let promises: Vec<&Value> =
        listeners.iter().flat_map(|one| one["promises"].as_array().unwrap()).collect();
    let of = |outcome: &str| promises.iter().filter(|one| one["outcome"] == outcome).collect::<Vec<_>>();
    let repeated = promises.iter().filter(|one| one.get("earlier").is_some());
    for promise in of("untried").into_iter().chain(repeated) {
        eprintln!("{promise}");
    }
    eprintln!("{} kept, {} untried, {} broken", of("kept").len(), of("untried").len(), of("broken").len());
    assert_eq!((ran.code, of("broken")), (Some(0), Vec::new()), "{}", ran.stderr);
    assert!(listeners.len() > 40 && of("kept").len() > 5 * listeners.len(), "{}", of("kept").len());
}
