use super::*;

const TOPOLOGY: &str = "
apiVersion: isotope.example/v1
kind: MockServiceGraph
defaults:
  type: grpc
  requestSize: 1k
  responseSize: 128
  numReplicas: 2
  errorRate: 0.1%
services:
  - name: front
    type: http
    isEntrypoint: true
    numReplicas: 4
    script:
      - call: cart
      - sleep: 2ms
      - - call: {service: stock, probability: 50}
        - call: mail
      - sleep: 500us
  - name: cart
    script: [{call: stock}]
  - {name: stock, responseSize: 16k, labels: {a: b}}
  - {name: mail}
  - {name: lonely}
";

#[test]
fn a_topology_becomes_a_graph() {
    let imported = read("topologies/shop.yaml", TOPOLOGY, None).unwrap();
    insta::assert_snapshot!(imported.to_yaml());
    let catalogue = hoptax_functions::Catalogue::load().unwrap();
    assert!(crate::graph::read("shop.yaml", &imported.to_yaml(), &catalogue).is_ok());
}

#[test]
fn everything_that_cannot_be_read_is_reported_with_its_line() {
    let found = read(
        "bad.yaml",
        "
defaults: {type: udp, requestSize: ten}
policies: {}
services:
  - name: a
    isEntrypoint: true
    numReplicas: 0
    script:
      - call: bb
      - sleep: soon
      - wait: 3s
      - - - call: b
      - call: {service: b, probability: 200, retries: 3}
      - call: {service: b, size: 10}
      - call: {service: b, size: 20}
  - {name: b, isEntrypoint: true}
  - {type: http}
",
        None,
    )
    .unwrap_err()
    .to_string();
    for expected in [
        "bad.yaml:2:18: `type` must be `http` or `grpc`",
        "a size must be a number of bytes",
        "unknown key `policies` of a topology",
        "`numReplicas` must be a whole number",
        "no service has the name `bb`",
        "`sleep` must be a duration",
        "a command is `call`, `sleep`",
        "commands at the same time are calls and sleeps",
        "`probability` must be a number from 0 to 100",
        "unknown key `retries` of a call",
        "`b` is a second entry point",
        "bad.yaml:17:5: a service has a `name`",
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

/// The example of isotope's README, with a sleep beside calls as in its tests.
#[test]
fn what_a_graph_cannot_express_is_a_note() {
    let text = "
apiVersion: v1alpha1
kind: MockServiceGraph
default: {type: http, requestSize: 1 KB, responseSize: 16 KB, memoryUsage: 80%}
services:
- {name: a, errorRate: 0.01%, script: [{sleep: 100ms}]}
- {name: b, type: grpc, computeUsage: 10%}
- name: c
  script:
  - call: {service: a, payloadSize: 10K}
  - call: b
- name: d
  script:
  - - call: a
    - call: c
    - sleep: 5ms
  - - sleep: 10ms
    - sleep: 3ms
  - call: b
";
    assert!(is_topology(text));
    let imported = read("isotope.yaml", text, None).unwrap();
    insta::assert_snapshot!(imported.to_yaml());
    let catalogue = hoptax_functions::Catalogue::load().unwrap();
    assert!(crate::graph::read("isotope.yaml", &imported.to_yaml(), &catalogue).is_ok());
    let of_c = read("isotope.yaml", text, Some("c")).unwrap();
    assert_eq!(of_c.graph.entry, "c");
    assert!(!of_c.graph.services.iter().any(|service| service.name == "d"), "{of_c:?}");
}

#[test]
fn a_topology_without_an_entry_or_services_is_refused() {
    let no_entry = read("a.yaml", "services: [{name: a}, {name: b}]", None).unwrap_err().to_string();
    assert!(no_entry.contains("name it with --entry, one of `a`, `b`"), "{no_entry}");
    assert!(
        read("a.yaml", "services: [{name: a}]", Some("b"))
            .unwrap_err()
            .to_string()
            .contains("meant as the entry")
    );
    assert!(read("a.yaml", "defaults: {}", None).unwrap_err().to_string().contains("a list `services`"));
    assert!(read("a.yaml", "services: [", None).unwrap_err().to_string().contains("not YAML"));
}
