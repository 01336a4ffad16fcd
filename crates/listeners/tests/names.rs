//! Texts of a file never change the structure of the rendered configuration: they are refused, or arrive as they are.

use hoptax_listeners::{Form, Format, Rendered, Source, read, render};
use hoptax_text::yaml::envoy::first;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A file with texts of strangers, in the order of the fields below.
fn file(texts: &[String; 6]) -> String {
    let [name, cluster, log, ca, regex, domain] = texts;
    json!({
        "ca": ca,
        "access_log": {"path": log},
        "ratelimit_service": {"address": "limits.example", "port": 1},
        "listeners": [{
            "name": name, "port": 6102, "timeout": "1s", "cluster": cluster,
            "upstream": {"address": "a.example", "port": 443, "encryption": true},
            "splits": [{"name": name, "host_regex": regex, "upstream": {"address": "b.example", "port": 1}}],
            "ratelimit": {"domain": domain, "by": "user-agent"},
        }],
    })
    .to_string()
}

fn rendered(text: &str) -> Option<Rendered> {
    render(&read(Source { name: "x.json", text }, None).ok()?).ok()
}

/// A value without its texts: its structure.
fn structure(value: &Value) -> Value {
    match value {
        Value::Object(keys) => keys.iter().map(|(key, inner)| (key.clone(), structure(inner))).collect(),
        Value::Array(items) => items.iter().map(structure).collect(),
        Value::String(_) => Value::Null,
        other => other.clone(),
    }
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "\\PC{1,12}",
        any::<String>(),
        "[-a0:{}#&*!|>%@`'\"$(), \\\\\n\t]{1,8}",
        prop::sample::select(vec![
            "{{ x }}", "{% x %}", "$(x)", "%REQ(x)%", "a: b", "- a", "yes", "1", "~", "\\n"
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    // Each case is rendered in six forms.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn texts_arrive_as_they_are_in_the_same_structure(
        texts in [any_text(), any_text(), any_text(), any_text(), any_text(), any_text()]
    ) {
        let plain = ["a", "b", "/c", "/d", "e", "f"].map(str::to_owned);
        let expected = structure(&rendered(&file(&plain)).unwrap().bootstrap());
        if let Some(rendered) = rendered(&file(&texts)) {
            let bootstrap = rendered.bootstrap();
            prop_assert_eq!(&structure(&bootstrap), &expected);
            prop_assert_eq!(&bootstrap["static_resources"]["listeners"][0]["name"], &json!(texts[0]));
            for form in [Form::Bootstrap, Form::Helm, Form::ConfigMap] {
                for format in [Format::Yaml, Format::Json] {
                    let text = rendered.clone().outputs(form, format).remove(0).text;
                    let read = first(&text).unwrap().to_value();
                    let read = match form {
                        Form::Helm => read["envoy"]["bootstrap"].clone(),
                        Form::ConfigMap => first(read["data"]["envoy.yaml"].as_str().unwrap()).unwrap().to_value(),
                        _ => read,
                    };
                    prop_assert_eq!(&read, &bootstrap, "{}", text);
                    for sign in ["{{", "{%", "{#", "${", "$(", "`"] {
                        prop_assert!(!text.contains(sign), "{}", text);
                    }
                }
            }
        }
    }

    /// Most names are accepted, so the test above is about something.
    #[test]
    fn names_of_printable_signs_are_accepted(name in "[!-~]{1,20}") {
        let texts = [name.as_str(), "b", "/c", "/d", "e", "f"].map(str::to_owned);
        prop_assert!(rendered(&file(&texts)).is_some(), "{}", name);
    }
}
