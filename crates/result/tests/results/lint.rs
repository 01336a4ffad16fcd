//! Changes and places of the linter.

use hoptax_result::{LintChange, LintUnread};
use serde_json::json;

#[test]
fn a_change_names_what_it_sets_or_removes_and_nothing_else() {
    let set = LintChange::Set { at: "/a/-".to_owned(), value: json!({"b": [1]}) };
    let remove = LintChange::Remove { at: "/a".to_owned() };
    for (change, value) in
        [(set, json!({"set": "/a/-", "value": {"b": [1]}})), (remove, json!({"remove": "/a"}))]
    {
        assert_eq!(serde_json::to_value(&change).unwrap(), value);
        assert_eq!(serde_json::from_value::<LintChange>(value.clone()).unwrap(), change);
        let mut more = value;
        more["colour"] = "red".into();
        assert!(serde_json::from_value::<LintChange>(more).is_err());
    }
}

#[test]
fn a_place_is_as_exact_as_it_is_known() {
    let unread = |line, pointer: &str| {
        let (file, pointer) = ("a.json".to_owned(), pointer.to_owned());
        LintUnread { file, line, pointer, message: String::new() }.place()
    };
    assert_eq!([unread(0, ""), unread(0, "/b"), unread(7, "/b")], ["a.json", "a.json /b", "a.json:7"]);
}
