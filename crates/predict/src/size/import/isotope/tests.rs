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
    assert!(crate::size::graph::read("shop.yaml", &imported.to_yaml(), catalogue).is_ok());
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
        "commands at the same time must be calls or sleeps",
        "`probability` must be a number from 0 to 100",
        "unknown key `retries` of a call",
        "`b` is a second entry point",
        "bad.yaml:17:5: a service needs a `name`",
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

/// The example of isotope's README, with a sleep concurrent with calls as in its tests.
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
    assert!(crate::size::graph::read("isotope.yaml", &imported.to_yaml(), catalogue).is_ok());
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

#[test]
fn numbers_out_of_range_and_cycles_have_the_lines_of_the_topology() {
    let of = |text: &str| read("a.yaml", text, None).unwrap_err().to_string();
    let many = of("
services:
- {name: a, isEntrypoint: true, errorRate: 150%, script: [{call: b}, {sleep: 9999999h}]}
- {name: b, responseSize: 99999999999999 TB, errorRate: NaN}
- {name: c, responseSize: 1e30, errorRate: 0.5}
- {name: c, errorRate: 1.5}
");
    let lines: Vec<&str> = many.lines().collect();
    let expected = [
        (3, "`errorRate` must be a share"),
        (3, "`sleep` is too long"),
        (4, "the size is too large"),
        (4, "`errorRate` must be a share"),
        (5, "the size is too large"),
        (6, "an earlier service has the name `c`"),
        (6, "`errorRate` must be a share"),
    ];
    assert_eq!(lines.len(), expected.len(), "{many}");
    for (found, (line, message)) in lines.iter().zip(expected) {
        assert!(found.starts_with(&format!("a.yaml:{line}:")) && found.contains(message), "{found}");
    }
    let cycle = of(
        "services:\n- {name: a, isEntrypoint: true, script: [{call: b}]}\n- {name: b, script: [[{call: a}]]}\n",
    );
    assert!(cycle.starts_with("a.yaml:3:30: the call closes a cycle"), "{cycle}");
    assert!(cycle.contains("(`a` calls `b`, which calls `a`)"), "{cycle}");
    let itself = of("default: {script: [{call: {service: a}}]}\nservices: [{name: a, isEntrypoint: true}]\n");
    assert!(itself.starts_with("a.yaml:1:"), "{itself}");
}

#[test]
fn the_largest_size_is_one_of_a_graph() {
    let text = "services: [{name: a, isEntrypoint: true, responseSize: 64M, script: [{sleep: 1h}]}]";
    let imported = read("a.yaml", text, None).unwrap();
    let catalogue = hoptax_functions::Catalogue::load().unwrap();
    let graph = crate::size::graph::read("a.yaml", &imported.to_yaml(), catalogue);
    assert!(graph.is_ok(), "{graph:?}");
}

#[test]
fn a_template_is_named_with_its_line() {
    let of = |text: &str| read("a.yaml", text, None).unwrap_err().to_string();
    let text = "services:\n- {name: {{ .name }}, isEntrypoint: true}\n";
    assert!(of(text).starts_with("a.yaml:2:10: looks like a template (`{{` in line 2)"), "{}", of(text));
    let text = "services:\n- {name: a, isEntrypoint: true, numReplicas: $N, responseSize: '@SIZE@'}\n";
    assert!(of(text).contains("`$N` in line 2") && of(text).contains("`@SIZE@` in line 2"), "{}", of(text));
}
