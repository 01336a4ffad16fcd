//! Rewrites a JSON document.

use serde_json::{Map, Value};

use crate::ADDED_VALUE;

/// The name of the member that is added.
const ADDED_MEMBER: &str = "via";

/// The document, with the member `via` added to its outermost object or replaced there; None if it is not a JSON object.
///
/// The whole document is parsed and written again, without white space. Members keep their order.
pub fn rewrite_json(body: &[u8]) -> Option<Vec<u8>> {
    let mut document: Map<String, Value> = serde_json::from_slice(body).ok()?;
    document.insert(ADDED_MEMBER.to_owned(), ADDED_VALUE.into());
    serde_json::to_vec(&document).ok()
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    use super::*;

    fn rewritten(text: &str) -> Option<String> {
        rewrite_json(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_member_is_added_or_replaced() {
        assert_eq!(rewritten("{}").unwrap(), r#"{"via":"hoptax"}"#);
        assert_eq!(
            rewritten(r#" {"b": [1, {}], "a": null} "#).unwrap(),
            r#"{"b":[1,{}],"a":null,"via":"hoptax"}"#
        );
        assert_eq!(rewritten(r#"{"via": 1, "a": "\u00e9"}"#).unwrap(), r#"{"via":"hoptax","a":"é"}"#);
    }

    #[test]
    fn only_objects_are_rewritten() {
        for text in ["", "[]", "1", "{", "{} {}", r#"{"a":}"#, "\u{feff}{}"] {
            assert_eq!(rewritten(text), None, "{text}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..5).prop_map(Value::from),
                btree_map(any::<String>(), inner, 0..5).prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn everything_else_is_kept(members in btree_map(any::<String>(), value(), 0..5)) {
            let mut document: Map<String, Value> = members.into_iter().collect();
            let after: Map<String, Value> =
                serde_json::from_slice(&rewrite_json(&serde_json::to_vec(&document).unwrap()).unwrap()).unwrap();
            document.insert("via".to_owned(), "hoptax".into());
            prop_assert_eq!(after, document);
        }

        #[test]
        fn no_bytes_panic(bytes in vec(any::<u8>(), 0..100)) {
            let _ = rewrite_json(&bytes);
        }
    }
}
