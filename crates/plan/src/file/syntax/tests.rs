use super::{is_study, limit, read};

#[test]
fn a_text_of_another_form_is_answered_in_words_of_its_key() {
    let of = |keys: &str, arm: &str| {
        let arms = format!("arms: [baseline, {{name: a, {arm}}}]");
        let text = format!("name: x\n{keys}\n{arms}\nloads: [{{name: all, loop: closed}}]\n");
        read("x.yaml", &text).expect_err(arm).to_string()
    };
    let server = |keys: &str| of("summary: x", &format!("url: 'http://h/', {keys}"));
    let application = "application: {command: [./server, '{port}'], ready: health}";
    for (found, expected) in [
        (of(application, "functions: [lua]"), "`ready` must begin with `/`, not `health`"),
        (of("spread: a b", "functions: [lua]"), "`spread` must consist of letters"),
        (server("request: {path: abc}"), "`path` must begin with `/`, not `abc`"),
        (server("request: {method: get}"), "`method` must be a method in capitals, such as `POST`, not"),
        (server("account: {pid: 1, unit: a}"), "`account` must have exactly one key, which is one of"),
        (server("account: {pid: abc}"), "and `pid` is `abc`"),
    ] {
        assert!(found.contains(expected) && found.lines().count() == 1, "{expected}: {found}");
    }
}

#[test]
fn a_template_is_named_with_its_line_and_the_command_that_renders_it() {
    let of = |loads: &str| {
        let text = format!("name: x\narms: [baseline]\nloads: [{{name: all, loop: open, {loads}}}]\n");
        read("x.yaml", &text).unwrap_err().to_string()
    };
    for (loads, expected) in [
        ("rate: {{ .rate }}", "looks like a template (`{{` in line 3)"),
        ("rate: @RATE@", "looks like a template (`@RATE@` in line 3)"),
        ("connections: $CONNECTIONS", "looks like a template (`$CONNECTIONS` in line 3)"),
        ("connections: '${N}'", "`envsubst < FILE > rendered.yaml`"),
    ] {
        assert!(of(loads).contains(expected), "{expected}: {}", of(loads));
    }
    assert!(of("connections: many").contains("`connections` must be a whole number, not `many`"));
    assert!(of("rate: [").contains("not YAML"), "{}", of("rate: ["));
}

#[test]
fn a_whole_number_has_the_limits_of_its_type_and_may_have_decimals() {
    let of = |connections: &str| {
        let load = format!("{{name: all, loop: closed, connections: {connections}}}");
        read("x.yaml", &format!("name: x\narms: [baseline]\nloads: [{load}]\n"))
            .map_err(|error| error.to_string())
    };
    assert!(of("2.0").is_ok(), "{:?}", of("2.0"));
    for large in ["1e30", "18446744073709551616", "5000000000"] {
        let error = of(large).unwrap_err();
        assert!(error.contains("`connections` must be at most"), "{error}");
    }
    let mut schema = serde_json::json!({"anyOf": [{"format": "uint64"}, {"format": "uint8", "maximum": 5}]});
    limit(&mut schema);
    let expected = serde_json::json!({"anyOf": [
        {"format": "uint64", "minimum": 0, "maximum": u64::MAX}, {"format": "uint8", "minimum": 0, "maximum": 5},
    ]});
    assert_eq!(schema, expected);
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(!validator.is_valid(&serde_json::json!(1e30)));
}

#[test]
fn a_configuration_that_is_taken_for_a_study_is_recognised() {
    let error = read("edge.yaml", "admin: {}\nstatic_resources: {}\n").unwrap_err().to_string();
    assert!(error.starts_with("edge.yaml:2:") && error.contains("`hoptax price edge.yaml`"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    // A name of several words, or with signs of YAML, is one word of a command line and one text of a study file.
    let error = read("my: edge.yaml", "static_resources: {}\n").unwrap_err().to_string();
    for expected in ["`hoptax price 'my: edge.yaml'`", "`hops: [{config: \"my: edge.yaml\"}]`"] {
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_study_has_arms_and_a_configuration_of_envoy_does_not() {
    assert!(is_study("name: x\narms: [baseline]\n"));
    // Invalid, but meant as a study.
    assert!(is_study("arms: lua\nstatic_resources: {}\n"));
    for other in
        ["static_resources: {arms: []}\n", "{\"configs\": []}", "- arms\n", "arms", "", "a: [\n", "arms: [\n"]
    {
        assert!(!is_study(other), "{other}");
    }
}
