//! Counts that are stated, and those that another tool does not state.

use hoptax_result::{Book, Stated};
use serde_json::{Value, json};

#[test]
fn counts_that_another_tool_does_not_state_are_null_and_are_read_back() {
    let stated = Stated::Imported { answered: true, failed: false };
    let book = Book { answered: 7, stated, ..Book::default() };
    let value = serde_json::to_value(book).unwrap();
    assert_eq!((&value["answered"], &value["failed"]), (&json!(7), &Value::Null));
    assert_eq!((&value["planned"], &value["unfinished"]), (&Value::Null, &Value::Null));
    assert_eq!(serde_json::from_value::<Book>(value).unwrap(), book);
}

#[test]
fn counts_of_a_trial_are_numbers_even_if_they_are_0() {
    let book = Book { planned: 3, sent: 3, answered: 3, ..Book::default() };
    let value = serde_json::to_value(book).unwrap();
    assert_eq!((&value["failed"], &value["unsent"]), (&json!(0), &json!(0)));
    assert_eq!(serde_json::from_value::<Book>(value).unwrap(), book);
}
