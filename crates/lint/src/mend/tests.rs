use serde_json::{Value, json};

use super::*;

/// A text after one change.
fn changed(text: &str, change: &Change) -> Result<String, Refused> {
    let tree = envoy::first(text).unwrap();
    Ok(applied(text, Original::new(text, &tree).edits(change)?).unwrap())
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
            "{\n  \"listenerFilters\": {\n    \"a\": 1\n  }, \"l\": [1, \"x\"], \"e\": {}\n}\n",
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
    let text = "a: &a {x: 1}\nb: *a\nc: &c {x: 1, y: &y 2}\nd: {e: *y, f: 1}\n";
    for at in ["/b/x", "/a/x", "/a/z", "/a", "/c/y", "/c", "/d/e"] {
        assert_eq!(changed(text, &set(at, json!(2))), Err(Refused::Alias), "{at}");
    }
    for at in ["/a", "/b", "/c", "/d"] {
        assert_eq!(changed(text, &remove(at)), Err(Refused::Alias), "{at}");
    }
    let ignored = "!ignore shared: &a\n  x: 1\nb: *a\n";
    assert_eq!(changed(ignored, &set("/b/x", json!(2))), Err(Refused::Alias));
    // An anchor without an alias does not count.
    assert_eq!(changed(text, &set("/c/x", json!(2))).unwrap(), text.replace("c: &c {x: 1", "c: &c {x: 2"));
}

#[test]
fn a_message_that_is_there_keeps_its_fields() {
    let options = json!({"@type": "t", "explicit_http_config": {"http_protocol_options": {}}, "common": {"idle": "4s"}});
    for (text, expected) in [
        (
            "m: {\"@type\": t, explicit_http_config: {http2_protocol_options: {}}, common: {age: 1s}}\n",
            "m: {\"@type\": t, explicit_http_config: {http2_protocol_options: {}}, common: {idle: 4s, age: 1s}}\n",
        ),
        (
            "m:\n  \"@type\": t\n  common:\n    age: 1s # c\n",
            "m:\n  \"@type\": t\n  common:\n    age: 1s # c\n    idle: 4s\n  explicit_http_config:\n    http_protocol_options: {}\n",
        ),
        (
            "m: {}\n",
            "m: {\"@type\": t, explicit_http_config: {http_protocol_options: {}}, common: {idle: 4s}}\n",
        ),
    ] {
        let changed = changed(text, &set("/m", options.clone())).unwrap();
        assert_eq!(changed, expected);
    }
}

#[test]
fn an_item_is_behind_the_last_and_lines_end_as_they_did() {
    for (text, expected) in [
        ("a: [1, 2]\n", "a: [1, 2, 3]\n"),
        ("a: [ 1, 2, ]\n", "a: [ 1, 2, 3, ]\n"),
        ("a: []\n", "a: [3]\n"),
        ("a: [\n  1,\n  {b: 2}\n]\n", "a: [\n  1,\n  {b: 2},\n  3\n]\n"),
        ("a: [\r\n  1\r\n]\r\n", "a: [\r\n  1,\r\n  3\r\n]\r\n"),
        ("a:\r\n- 1\r\nb: 2\r\n", "a:\r\n- 1\r\n- 3\r\nb: 2\r\n"),
    ] {
        assert_eq!(changed(text, &set("/a/-", json!(3))).unwrap(), expected);
    }
    assert_eq!(changed("a:\r\n  b: 1\r\n  c: 2\r\n", &remove("/a/b")).unwrap(), "a:\r\n  c: 2\r\n");
}

#[test]
fn a_text_inside_of_an_object_is_changed_there() {
    let inner = "admin:\n  address: x\n\nb: 1\n";
    let file =
        "kind: ConfigMap\ndata:\n  envoy.yaml: |\n    admin:\n      address: x\n\n    b: 1\n  other: y\n";
    let text = Text { name: "map.yaml", text: inner, first_line: 4, tree: None };
    let expected = "kind: ConfigMap\ndata:\n  envoy.yaml: |\n    admin:\n      address: z\n      c: 1\n\n    b: 1\n  other: y\n";
    let after = "admin:\n  address: z\n  c: 1\n\nb: 1\n";
    assert_eq!(in_file(file, &text, after).as_deref(), Some(expected));
    let windows = |text: &str| text.replace('\n', "\r\n");
    assert_eq!(in_file(&windows(file), &text, after), Some(windows(expected)));
    let is_last = |text: &str| text.trim_end_matches("  other: y\n").trim_end().to_owned();
    assert_eq!(in_file(&is_last(file), &text, after), Some(is_last(expected)));
    let moved = Text { first_line: 3, ..text };
    assert_eq!(in_file(file, &moved, "b: 2\n"), None);
    let whole = Text { first_line: 1, ..text };
    assert_eq!(in_file(inner, &whole, "b: 2\n").as_deref(), Some("b: 2\n"));
    assert_eq!(in_file("another file", &whole, "b: 2\n"), None);
}

proptest::proptest! {
    /// Whatever the layout, the value changes as intended, and nothing else changes.
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
        let after = changed(&source, &set("/top/list/-", json!(text))).unwrap();
        let mut read = envoy::first(&after).unwrap().to_value();
        assert_eq!(read["top"]["list"].as_array_mut().unwrap().pop(), Some(json!(text)), "{after}");
        assert_eq!(read, value, "{after}");
    }
}
