use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::*;

const ENVOY: &str = "static_resources:\n  clusters:\n  - name: a\n";

fn indented(text: &str, by: usize) -> String {
    text.lines().map(|line| format!("{:by$}{line}\n", "")).collect()
}

fn config_map(name: &str, key: &str, text: &str) -> String {
    let text = indented(text, 4);
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n  {key}: |\n{text}")
}

fn found(text: &str, choice: Option<&str>) -> Given {
    given("map.yaml", text, choice, Accepted::Whole).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn error(text: &str, choice: Option<&str>) -> String {
    given("map.yaml", text, choice, Accepted::Whole).unwrap_err().to_string()
}

/// Asserts that no configuration is found, and the beginning of the reason.
#[track_caller]
fn assert_refused(text: &str, begins: &str) {
    let error = error(text, None);
    assert!(error.starts_with(begins), "{error}\n{text}");
}

/// Returns the place of the name of the cluster.
fn place(given: &Given) -> String {
    given.document.place("/static_resources/clusters/0/name").to_string()
}

#[test]
fn a_configuration_in_a_config_map_is_found_with_the_lines_of_the_file() {
    for key in ["envoy.yaml", "config.yaml", "anything"] {
        let given = found(&config_map("shop", key, ENVOY), None);
        assert_eq!(place(&given), "map.yaml:8");
        assert_eq!(given.described, Some(format!("`{key}` of ConfigMap `shop`, map.yaml:6")));
    }
    let json =
        config_map("shop", "envoy.json", "{\"static_resources\": {\n\"clusters\": [{\"name\": \"a\"}]}}");
    assert_eq!(place(&found(&json, None)), "map.yaml:7");
    // Empty lines and comments before it count.
    let later = config_map("shop", "envoy.yaml", &format!("\n# c\n{ENVOY}"));
    assert_eq!(place(&found(&later, None)), "map.yaml:10");
    assert_refused(
        &config_map("shop", "envoy.yaml", "static_resources:\n  listeners: [\n"),
        "map.yaml:7: neither YAML nor JSON",
    );
}

#[test]
fn a_configuration_whose_lines_are_not_those_of_the_file_says_so() {
    let encoded = BASE64_STANDARD.encode(ENVOY);
    let secret = |field: &str, value: &str| {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: shop}}\n{field}:\n  envoy.yaml: {value}\n")
    };
    for (text, how) in [
        (secret("data", &encoded), "in base64"),
        (secret("binaryData", &encoded).replace("Secret", "ConfigMap"), "in base64"),
        (secret("stringData", &serde_json::to_string(ENVOY).unwrap()), "in quotes"),
    ] {
        assert_eq!(place(&found(&text, None)), format!("map.yaml:5 (`envoy.yaml`, {how}):3"));
    }
    let folded = config_map("shop", "envoy.yaml", "static_resources: {\nclusters: []}").replace(": |", ": >");
    assert_eq!(found(&folded, None).document.place("").file, "map.yaml:6 (`envoy.yaml`, folded)");
    // As `kubectl get configmap -o json` prints it.
    let json = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"envoy.yaml": ENVOY}},
    ]});
    let text = serde_json::to_string_pretty(&json).unwrap();
    assert_eq!(place(&found(&text, None)), "map.yaml:9 (`envoy.yaml`, in quotes):3");
}

#[test]
fn a_file_with_more_texts_than_are_compared_is_refused_with_the_line_of_the_first_of_them() {
    let map = |count: usize| {
        let texts: String =
            (0..count).map(|number| format!("  a{number}: 'static_resources: {{}}'\n")).collect();
        format!("apiVersion: v1\nkind: ConfigMap\ndata:\n{texts}")
    };
    assert!(error(&map(100), None).contains("one of 100 configurations"));
    assert_eq!(found(&map(100), Some("a99")).beside.len(), 99);
    let refused = error(&map(101), Some("a1"));
    assert!(refused.starts_with("map.yaml:104") && refused.contains("more than 100 texts"), "{refused}");
    assert_eq!(choices("map.yaml", &map(100)).len(), 100);
    assert_eq!(choices("map.yaml", &map(101)), [""; 0]);
}

#[test]
fn a_configuration_among_the_documents_of_a_chart_is_found() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: shop}\n";
    let map = config_map("shop", "envoy.yaml", ENVOY);
    let text = format!(
        "---\n# Source: shop/templates/service.yaml\n{service}---\n# Source: shop/templates/map.yaml\n{map}---\n\n---\n# Source: x\n"
    );
    assert_eq!(place(&found(&text, None)), "map.yaml:15");
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {}", indented(&map, 2).trim_start());
    assert_eq!(place(&found(&list, None)), "map.yaml:11");
}

#[test]
fn items_of_a_list_have_its_version_and_its_kind_if_they_state_none() {
    let map = |name: &str, more: &str| format!("- {more}metadata: {{name: {name}}}\n  data:\n    ");
    let texts = |more: &str| {
        format!(
            "{}x.properties: a=b\n{}envoy.yaml: |\n{}",
            map("a", "apiVersion: v1\n  kind: ConfigMap\n  "),
            map("b", more),
            indented(ENVOY, 6)
        )
    };
    for (head, item) in [
        // As `kubectl get --raw` prints it.
        ("apiVersion: v1\nkind: ConfigMapList", ""),
        ("apiVersion: v1\nkind: List", "kind: ConfigMap\n  "),
        ("kind: List", "kind: ConfigMap\n  "),
    ] {
        let text = format!("{head}\nitems:\n{}", texts(item));
        let described = found(&text, None).described.unwrap();
        assert!(described.starts_with("`envoy.yaml` of ConfigMap `b`"), "{described}\n{text}");
    }
    let secrets = format!(
        "apiVersion: v1\nkind: SecretList\nitems:\n- data: {{envoy.yaml: {}}}\n",
        BASE64_STANDARD.encode(ENVOY)
    );
    assert_eq!(
        found(&secrets, None).described.unwrap(),
        "`envoy.yaml` of Secret, map.yaml:4 (`envoy.yaml`, in base64)"
    );
}

#[test]
fn a_configuration_in_a_compose_file_is_found_or_it_is_named_for_what_it_is() {
    let services = "services: {envoy: {image: envoyproxy/envoy}}\n";
    let envoy = format!("{ENVOY}    alt_stat_name: a$$b\n");
    let text = format!("{services}configs:\n  edge:\n    content: |\n{}", indented(&envoy, 6));
    let given = found(&text, None);
    assert_eq!(given.described.as_deref(), Some("`edge` of the Compose file, map.yaml:5"));
    assert_eq!(place(&given), "map.yaml:7");
    let name = given.document.value.pointer("/static_resources/clusters/0/alt_stat_name");
    assert_eq!(name, Some(&serde_json::json!("a$b")));
    let unset = text.replace("a$$b", "b\n          connect_timeout: ${TIMEOUT}");
    assert_refused(&unset, "map.yaml:9: looks like a template");
    let flag = "services:\n  envoy:\n    command: [--config-yaml, '{static_resources: {clusters: []}}']\n";
    assert!(found(flag, None).described.is_some());
    let mounted = format!("{services}configs: {{edge: {{file: ./envoy.yaml}}}}\n");
    assert_refused(&mounted, "map.yaml:1: it is a file of Docker Compose");
}

#[test]
fn a_configuration_in_the_arguments_of_a_container_is_found() {
    let deployment = |args: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: edge}}\nspec:\n  template:\n    spec:\n      containers:\n      - name: envoy\n        args:\n{args}"
        )
    };
    let text = deployment(&format!("        - --config-yaml\n        - |\n{}", indented(ENVOY, 10)));
    let given = found(&text, None);
    assert_eq!(place(&given), "map.yaml:14");
    assert_eq!(given.described, Some("`envoy` of Deployment `edge`, map.yaml:12".to_owned()));
    let inline = deployment("        - '--config-yaml={static_resources: {clusters: []}}'\n");
    assert_eq!(found(&inline, None).document.place("").file, "map.yaml:10 (`args`, in quotes)");
}

#[test]
fn several_configurations_are_listed_with_how_to_name_each() {
    let text = format!(
        "{}---\n{}  envoy.json: |\n{}",
        config_map("one", "envoy.yaml", ENVOY),
        config_map("two", "envoy.yaml", ENVOY),
        indented("{\"static_resources\": {\"clusters\": [{\"name\": \"a\"}]}}", 4)
    );
    let listed = error(&text, None);
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 3, "{listed}");
    for (line, number, name) in
        [(lines[0], 6, "one/envoy.yaml"), (lines[1], 15, "two/envoy.yaml"), (lines[2], 19, "envoy.json")]
    {
        assert!(line.starts_with(&format!("map.yaml:{number}: ")), "{line}");
        assert!(line.contains(&format!("`map.yaml#{name}` is this one")), "{line}");
        let given = found(&text, Some(name));
        assert!(given.described.unwrap().ends_with(&format!("map.yaml:{number}")), "{name}");
    }
    assert!(error(&text, Some("three")).contains("none is called `three`"));
    assert!(error(ENVOY, Some("three")).contains("leave out `#three`"));
    // The number chooses between two with the same name.
    let same = format!("{0}---\n{0}", config_map("one", "envoy.yaml", ENVOY));
    assert!(error(&same, None).contains("`map.yaml#2`"), "{}", error(&same, None));
    assert_eq!(place(&found(&same, Some("2"))), "map.yaml:17");
}

#[test]
fn what_is_beside_a_configuration_is_read_as_the_files_that_it_names() {
    let map =
        config_map("shop", "envoy.yaml", "dynamic_resources:\n  cds_config: {path: /etc/envoy/cds.yaml}\n");
    let text = format!("{map}  cds.yaml: |\n    resources:\n    - name: a\n");
    let load = |path: &str| Err(format!("`{path}` does not exist"));
    let configuration = crate::read("map.yaml", &text, None, &load).unwrap();
    assert_eq!(configuration.place("/static_resources/clusters/0/name").to_string(), "map.yaml:10");
    assert_eq!(configuration.beside("/etc/envoy/cds.yaml"), Some("resources:\n- name: a\n"));
}

#[test]
fn what_is_none_is_named_for_what_it_is() {
    let v1 = "{\n\"listeners\": [{\"address\": \"tcp://0.0.0.0:80\", \"filters\": []}],\n\"cluster_manager\": {\"clusters\": []}}";
    assert_refused(v1, "map.yaml:3: this is a configuration of API v1");
    let inside = config_map("shop", "envoy.json", v1);
    assert_refused(&inside, "map.yaml:8: this is a configuration of API v1");
    let chart = "apiVersion: v1\nkind: ConfigMap\ndata:\n  envoy.yaml: |\n    {{- toYaml .Values.envoy | nindent 4 }}\n";
    assert_refused(chart, "map.yaml:5: looks like a template (`{{` in line 5)");
    let rendered =
        config_map("shop", "envoy.yaml", "static_resources:\n  listeners:\n  - name: {{ .Values.name }}\n");
    assert_refused(&rendered, "map.yaml:8: looks like a template");
    assert!(error("---\n---\nstatic_resources: {}\n", None).contains("its first document is empty"));
    let ruby = "<% if x %>\nstatic_resources: {}\n<% end %>\n";
    assert_refused(ruby, "map.yaml:1: looks like a template");
    assert!(error("resources: []\n", None).contains("give the bootstrap"));
    assert!(error("a: 1\n", None).contains("it has none of `configs`, `static_resources`"));
    assert!(error("- a\n", None).contains("it is not a mapping"));
}

#[test]
fn the_command_that_renders_a_listeners_file_can_be_pasted() {
    let text = "listeners:\n- port: 8080\n";
    let refused = given("l $(reboot).yaml", text, None, Accepted::Whole).unwrap_err().to_string();
    assert!(refused.contains("`hoptax listeners render 'l $(reboot).yaml' > envoy.yaml`"), "{refused}");
}

#[test]
fn scripts_in_objects_and_files_of_other_programs_are_no_templates() {
    let script = config_map("shop", "run.sh", "echo ${HOME} $(date) \"{{ x }}\"\n");
    assert!(!error(&script, None).contains("template"), "{}", error(&script, None));
    assert!(!error("services: {a: {image: '${IMAGE}'}}\n", None).contains("template"));
    let later = format!("{ENVOY}  - name: b\n    hint: '{{{{ x }}}}'\n    connect_timeout: ${{TIMEOUT}}\n");
    assert_refused(&later, "map.yaml:6: looks like a template (`${` in line 6)");
}

proptest::proptest! {
    /// Any text either is a configuration or has problems, and nothing panics.
    #[test]
    fn any_text_is_read_or_refused(
        pieces in proptest::collection::vec(proptest::sample::select(vec![
            "static_resources:", "apiVersion: v1\n", "kind: ConfigMap\n", "kind: List\n", "data:\n", "items:\n", "  a.yaml: |\n", "    ",
            "- ", "{", "}", "[", "]", ": ", "\n", "---\n", "{{ .x }}", "${X}", "<% x %>", "&a ", "*a", "!ignore ", "<<: ", "'", "\"", "# ",
            "|", ">-\n", "clusters", "name", "configs", "Kind = \"mesh\"\n", "resources: []\n", "\u{feff}", "\t", "é",
        ]), 0..24),
        choice in proptest::option::of("[a1/]{1,3}"),
    ) {
        let text: String = pieces.concat();
        let load = |path: &str| Err(path.to_owned());
        drop(crate::read("map.yaml", &text, choice.as_deref(), &load).map(|configuration| configuration.place("/a/0")));
    }
}

#[test]
fn the_first_document_is_taken_as_envoy_takes_it() {
    assert_eq!(place(&found(&format!("{ENVOY}---\n{{{{ x\n"), None)), "map.yaml:3");
}

#[test]
fn all_configurations_of_a_file_have_names() {
    let several = format!(
        "{}---\n{}",
        config_map("shop", "envoy.yaml", ENVOY),
        config_map("cart", "envoy.yaml", ENVOY)
    );
    assert_eq!(choices("map.yaml", &several), ["shop/envoy.yaml", "cart/envoy.yaml"]);
    assert_eq!(choices("map.yaml", &config_map("shop", "envoy.yaml", ENVOY)), ["envoy.yaml"]);
    assert!(choices("envoy.yaml", ENVOY).is_empty());
    assert!(choices("envoy.yaml", "a: 1\n").is_empty());
}

#[test]
fn columns_of_a_text_in_lines_of_its_own_are_those_of_the_file() {
    let column = |text: &str| found(text, None).document.place("/static_resources/clusters/0/name").column;
    let map = config_map("shop", "envoy.yaml", ENVOY);
    let deeper = config_map("shop", "envoy.yaml", &indented(ENVOY, 2)).replace(": |", ": |2");
    let later = config_map("shop", "envoy.yaml", &format!("\n\n# é\n{ENVOY}"));
    let compose = |more: &str| {
        let text = indented(&format!("{ENVOY}{more}"), 6);
        format!("services: {{}}\nconfigs:\n  edge:\n    content: |\n{text}")
    };
    let flag = format!(
        "apiVersion: v1\nkind: Pod\nspec:\n  args:\n  - |\n    --config-yaml={}",
        indented(ENVOY, 4).trim_start()
    );
    for (text, expected) in [
        (ENVOY.to_owned(), 5),
        (map.clone(), 9),
        (map.replace('\n', "\r\n"), 9),
        (deeper, 11),
        (later, 9),
        (compose(""), 11),
        // In the first case, two dollar signs in the file are one in the text. In the second, the first line of the text follows a flag.
        (compose("    alt_stat_name: a$$b\n"), 0),
        (flag, 0),
        // For a text in quotes, columns refer to the text, as its name says.
        (map.replace(&format!("|\n{}", indented(ENVOY, 4)), &serde_json::to_string(ENVOY).unwrap()), 5),
    ] {
        assert_eq!(column(&text), expected, "{text}");
    }
    let twice = config_map("shop", "envoy.yaml", &format!("{ENVOY}    name: b\n"));
    let (place, key) = found(&twice, None).document.duplicates().remove(0);
    assert_eq!((place.line, place.column, key.as_str()), (9, 9, "name"));
}
