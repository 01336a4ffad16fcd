//! The JSON document that requests of functions for JSON bodies carry.

use std::fmt::Write;

/// A JSON object of `kib` KiB, at least one, with an array of objects of 64 bytes each.
pub(crate) fn json_document(kib: u64) -> String {
    const FIRST_ID: u64 = 100_001;
    let mut document = r#"{"order":"hoptax-001","note":null,"customer":{"id":7},"items":["#.to_owned();
    for id in FIRST_ID..FIRST_ID + (16 * kib).saturating_sub(1) {
        let comma = if id == FIRST_ID { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(document, r#"{comma}{{"id":{id},"name":"item {id}","new":true,"stock":100{id}}}"#);
    }
    document + "]}"
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_document_has_the_stated_size() {
        for kib in [1, 10, 100] {
            let document = json_document(kib);
            assert_eq!(document.len() as u64, kib * 1024);
            let value: Value = serde_json::from_str(&document).unwrap();
            assert_eq!(value["items"].as_array().unwrap().len() as u64, kib * 16 - 1);
        }
    }
}
