//! `hoptax mesh`, as far as no cluster is needed. Module `mesh_cluster` has a real one.

use serde_json::Value;

use crate::support::run;

/// A measurement that needs no cluster to be refused or shown.
const ASKED: [&str; 3] = ["mesh", "--image", "a/b:1"];

#[test]
fn a_dry_run_prints_the_rights_and_the_manifests_and_needs_no_cluster() {
    let ran = run(ASKED.into_iter().chain(["--mesh", "istio,linkerd", "--dry-run"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let documents: Vec<Value> =
        ran.stdout.split("---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect();
    let of = |kind: &str| documents.iter().filter(|document| document["kind"] == kind).count();
    assert_eq!((of("Namespace"), of("Pod"), of("Job"), of("ClusterRole")), (4, 4, 4, 1), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("istio-injection: enabled") && ran.stdout.contains("linkerd.io/inject: enabled")
    );
}

#[test]
fn a_mesh_that_cannot_be_measured_is_refused_with_the_reason_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mesh.yaml");
    std::fs::write(&path, "name: pod-network\nurl: http://a/\norigin: {proxies: [envoy]}\n").unwrap();
    let twice = path.to_str().unwrap();
    let outside = folder.path().join("outside.yaml");
    std::fs::write(&outside, "name: a\nurl: http://victim.example/\norigin: {proxies: [envoy]}\n").unwrap();
    let outside = outside.to_str().unwrap();
    for (arguments, expected) in [
        (vec!["--mesh", "itsio"], "itsio"),
        (vec!["--template", "none.yaml"], "cannot read the template `none.yaml`"),
        (vec!["--template", twice], "two arms are named `pod-network`"),
        (vec!["--template", outside], "no load goes outside of the cluster"),
        (vec!["--rounds", "1"], "--rounds"),
        (vec!["--rate", "0"], "--rate"),
        (vec!["--threshold", "none=1"], "no threshold `none`"),
    ] {
        let ran = run(ASKED.into_iter().chain(arguments.iter().copied()).chain(["--dry-run"]));
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
    }
}

/// With a client of Kubernetes, `make test-cluster` tests the rest.
#[cfg(not(feature = "cluster"))]
#[test]
fn a_mesh_needs_a_program_with_a_client_of_kubernetes() {
    let ran = run(ASKED);
    assert!(ran.code == Some(3) && ran.stderr.contains("--features cluster"), "{}", ran.stderr);
}
