use serde_json::{Value, json};

use super::edit::edit;
use super::*;

/// A text after one change.
fn changed(text: &str, change: &Change) -> Result<String, Refused> {
    let tree = envoy::first(text).unwrap();
    let is_json = serde_json::from_str::<Value>(text).is_ok();
    let Edit { bytes, by, .. } = edit(text, &tree, change, is_json)?;
    Ok(format!("{}{by}{}", &text[..bytes.start], &text[bytes.end..]))
}

fn set(at: &str, value: Value) -> Change {
    Change::Set { at: at.to_owned(), value }
}

fn remove(at: &str) -> Change {
    Change::Remove { at: at.to_owned() }
}

#[test]
fn a_change_keeps_the_lines_around_it_and_their_comments() {
    let text = "# top\na:\n- b: 1 # one\n  c: {d: 2}\n\n# about e\ne: x # end\n";
    for (change, expected) in [
        (set("/a/0/b", json!("9s")), "# top\na:\n- b: 9s # one\n  c: {d: 2}\n\n# about e\ne: x # end\n"),
        (
            set("/a/0/f/g", json!(3)),
            "# top\na:\n- b: 1 # one\n  c: {d: 2}\n  f:\n    g: 3\n\n# about e\ne: x # end\n",
        ),
        (
            set("/a/0/c/f", json!("no")),
            "# top\na:\n- b: 1 # one\n  c: {f: \"no\", d: 2}\n\n# about e\ne: x # end\n",
        ),
        (
            set("/a/-", json!({"b": 2, "c": [1]})),
            "# top\na:\n- b: 1 # one\n  c: {d: 2}\n- b: 2\n  c:\n  - 1\n\n# about e\ne: x # end\n",
        ),
        (set("/z", json!([])), "# top\na:\n- b: 1 # one\n  c: {d: 2}\n\n# about e\ne: x # end\nz: []\n"),
        (remove("/a/0/c"), "# top\na:\n- b: 1 # one\n\n# about e\ne: x # end\n"),
        (remove("/a/0/b"), "# top\na:\n- c: {d: 2}\n\n# about e\ne: x # end\n"),
        (remove("/a/0/c/d"), "# top\na:\n- b: 1 # one\n  c: {}\n\n# about e\ne: x # end\n"),
        (remove("/e"), "# top\na:\n- b: 1 # one\n  c: {d: 2}\n\n# about e\n"),
    ] {
        assert_eq!(changed(text, &change).as_deref(), Ok(expected), "{change:?}");
    }
}

#[test]
fn a_text_in_lines_ends_before_what_is_added() {
    let text = "a:\n  b: |\n    x\n\nc: 1\n";
    assert_eq!(changed(text, &set("/a/d", json!(true))).unwrap(), "a:\n  b: |\n    x\n  d: true\n\nc: 1\n");
}

#[test]
fn json_stays_json_and_names_may_be_in_camel_case() {
    let text = "{\n  \"listenerFilters\": {\n    \"a\": 1\n  }, \"l\": [1], \"e\": {}\n}\n";
    for (change, expected) in [
        (
            set("/listener_filters/b", json!("x")),
            "{\n  \"listenerFilters\": {\n    \"b\": \"x\",\n    \"a\": 1\n  }, \"l\": [1], \"e\": {}\n}\n",
        ),
        (
            set("/l/-", json!("x")),
            "{\n  \"listenerFilters\": {\n    \"a\": 1\n  }, \"l\": [\"x\", 1], \"e\": {}\n}\n",
        ),
        (
            set("/e/f/g", json!(1)),
            "{\n  \"listenerFilters\": {\n    \"a\": 1\n  }, \"l\": [1], \"e\": {\"f\": {\"g\":1}}\n}\n",
        ),
    ] {
        assert_eq!(changed(text, &change).as_deref(), Ok(expected), "{change:?}");
    }
}

#[test]
fn what_an_alias_stands_for_is_not_changed() {
    let text = "a: &a {x: 1}\nb: *a\n";
    assert_eq!(changed(text, &set("/b/x", json!(2))), Err(Refused::Alias));
    assert_eq!(changed(text, &set("/a/x", json!(2))).unwrap(), "a: &a {x: 2}\nb: *a\n");
}

#[test]
fn a_text_inside_of_an_object_is_changed_there() {
    let inner = "admin:\n  address: x\n\nb: 1\n";
    let file =
        "kind: ConfigMap\ndata:\n  envoy.yaml: |\n    admin:\n      address: x\n\n    b: 1\n  other: y\n";
    let text = Text { name: "map.yaml", text: inner, first_line: 4, tree: None };
    let expected = "kind: ConfigMap\ndata:\n  envoy.yaml: |\n    admin:\n      address: z\n      c: 1\n\n    b: 1\n  other: y\n";
    assert_eq!(in_file(file, &text, "admin:\n  address: z\n  c: 1\n\nb: 1\n").as_deref(), Some(expected));
    let moved = Text { first_line: 3, ..text };
    assert_eq!(in_file(file, &moved, "b: 2\n"), None);
    let whole = Text { first_line: 1, ..text };
    assert_eq!(in_file(inner, &whole, "b: 2\n").as_deref(), Some("b: 2\n"));
    assert_eq!(in_file("another file", &whole, "b: 2\n"), None);
}

proptest::proptest! {
    /// Whatever the layout is, the value changes as it should, and nothing else does.
    #[test]
    fn a_field_that_is_set_is_the_only_difference(
        names in proptest::collection::vec("[a-d]{1,2}", 1..5),
        is_flow in proptest::bool::ANY,
        text in "[a-z:#{}\\[\\]\"' -]{0,8}",
    ) {
        let inner: serde_json::Map<String, Value> = names.iter().map(|name| (name.clone(), json!([1, {"k": "v"}]))).collect();
        let value = json!({"top": {"list": [inner.clone(), {"x": 1}], "last": inner}});
        let source = if is_flow { render::flow(&value, false) } else { render::block(&value, 0) } + "\n# end\n";
        for at in ["/top/list/0/new", "/top/new/deep", "/top/list/1/x", "/new"] {
            let after = changed(&source, &set(at, json!(text))).unwrap();
            let mut read = envoy::first(&after).unwrap().to_value();
            assert_eq!(read.pointer(at), Some(&json!(text)), "{after}");
            let (parent, key) = at.rsplit_once('/').unwrap();
            let (parent, key) = if at == "/top/new/deep" { ("/top", "new") } else { (parent, key) };
            if at == "/top/list/1/x" {
                *read.pointer_mut(at).unwrap() = json!(1);
            } else {
                read.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key);
            }
            assert_eq!(read, value, "{after}");
        }
    }
}
