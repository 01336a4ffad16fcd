//! Numbers that are not known.

use hoptax_result::LoadRate;
use serde_json::{Value, json};

#[test]
fn a_number_that_is_not_known_is_null() {
    let value = serde_json::to_value(LoadRate::default()).unwrap();
    assert_eq!(value["offered"], Value::Null);
    assert_eq!(serde_json::from_value::<LoadRate>(value).unwrap(), LoadRate::default());
    let known = LoadRate { offered: 2.5, ..LoadRate::default() };
    assert_eq!(serde_json::to_value(known).unwrap()["offered"], json!(2.5));
}
