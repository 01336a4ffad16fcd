//! A document as JSON, for pages and programs that show reports.

use crate::document::Document;

/// The document as JSON.
///
/// # Errors
/// When a number of the document is not finite.
pub fn text(document: &Document) -> serde_json::Result<String> {
    serde_json::to_string_pretty(document)
}

#[cfg(test)]
mod tests {
    use crate::{documents, fixture};

    #[test]
    fn a_quantity_keeps_its_interval_its_unit_and_its_basis() {
        let text = super::text(&documents::study_of(&fixture::study(), "quick", "runs/quick")).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rows = value["table"]["rows"].as_array().unwrap();
        let lua = rows.iter().find(|row| row["name"] == "lua").unwrap();
        assert_eq!(lua["cells"][1]["quantity"]["unit"], "us");
        assert_eq!(lua["cells"][1]["quantity"]["basis"], "measured");
        assert!(lua["cells"][1]["quantity"]["low"].is_number());
    }
}
