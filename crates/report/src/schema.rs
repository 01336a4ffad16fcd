//! The JSON Schema of all results, and of other outputs that state their format.

use std::collections::BTreeMap;

use hoptax_result::LoadInterval;
use schemars::consts::meta_schemas::DRAFT2020_12;
use schemars::{Schema, schema_for};
use serde_json::{Map, Value, json};

use crate::documents::KINDS;

/// The schema of all results, of the lines of a load, and of `others`.
///
/// # Errors
/// When an output does not state its format, or two have different definitions of one name.
pub fn outputs(others: impl IntoIterator<Item = Schema>) -> Result<Value, String> {
    let results = KINDS.iter().map(|kind| (kind.schema)());
    joined(results.chain([schema_for!(LoadInterval)]).chain(others))
}

/// Combines the schemas of several outputs, which differ in their `format`. Each becomes a definition named after its format. Definitions
/// that several of them share appear once.
///
/// # Errors
/// When an output does not state its format, or two have different definitions of one name.
fn joined(outputs: impl IntoIterator<Item = Schema>) -> Result<Value, String> {
    let mut alternatives = Vec::new();
    let mut definitions: BTreeMap<String, Value> = BTreeMap::new();
    for mut output in outputs {
        let shared =
            if let Some(Value::Object(shared)) = output.remove("$defs") { shared } else { Map::new() };
        // The root of the combined schema states it.
        output.remove("$schema");
        let format = output.pointer("/properties/format/const").and_then(Value::as_str);
        let name = format.and_then(|format| format.strip_prefix("hoptax.")?.split('/').next());
        let name = name.ok_or("an output has no constant as its `format`")?.to_owned();
        alternatives.push(json!({"$ref": format!("#/$defs/{name}")}));
        for (name, definition) in shared.into_iter().chain([(name, output.to_value())]) {
            if definitions.get(&name).is_some_and(|known| *known != definition) {
                return Err(format!("two outputs have different definitions of `{name}`"));
            }
            definitions.insert(name, definition);
        }
    }
    Ok(json!({
        "$schema": DRAFT2020_12,
        "title": "hoptax report",
        "description": "A result of hoptax, a line of `hoptax load --every`, or the status of `hoptax listeners run`. The name in its `format` is that of its definition.",
        "oneOf": alternatives,
        "$defs": definitions,
    }))
}

#[cfg(test)]
mod tests {
    use schemars::json_schema;

    use super::*;

    /// An output of this format with one definition.
    fn output(format: &str, part: &Value) -> Schema {
        json_schema!({"properties": {"format": {"const": format}}, "$defs": {"Part": part}})
    }

    #[test]
    fn outputs_share_what_is_equal_and_different_definitions_of_one_name_are_refused() {
        let (text, number) = (json!({"type": "string"}), json!({"type": "number"}));
        let schema = joined([output("hoptax.one/1", &text), output("hoptax.two/3", &text)]).unwrap();
        assert_eq!(schema["oneOf"], json!([{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}]));
        let names: Vec<&String> = schema["$defs"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["Part", "one", "two"]);
        assert_eq!(schema["$defs"]["two"], json!({"properties": {"format": {"const": "hoptax.two/3"}}}));

        let refused = |other: Schema| joined([output("hoptax.one/1", &text), other]).unwrap_err();
        assert!(refused(output("hoptax.two/3", &number)).contains("different definitions of `Part`"));
        // A version of a format beside another, and an output with the name of a definition.
        assert!(refused(output("hoptax.one/2", &text)).contains("different definitions of `one`"));
        assert!(refused(output("hoptax.Part/1", &text)).contains("different definitions of `Part`"));
        assert!(refused(json_schema!({"type": "object"})).contains("`format`"));
    }

    /// Asserts that every reference in a value leads to a definition.
    fn assert_led(value: &Value, definitions: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                    let name = reference.strip_prefix("#/$defs/").unwrap_or_else(|| panic!("{reference}"));
                    assert!(definitions.get(name).is_some(), "{reference}");
                }
                fields.values().for_each(|field| assert_led(field, definitions));
            }
            Value::Array(values) => values.iter().for_each(|value| assert_led(value, definitions)),
            _ => {}
        }
    }

    #[test]
    fn every_kind_of_result_is_an_alternative_by_its_format_and_every_reference_leads_somewhere() {
        let other = json_schema!({"properties": {"format": {"const": "hoptax.other/1"}}});
        let schema = outputs([other]).unwrap();
        let alternatives = schema["oneOf"].as_array().unwrap();
        let others = ["load-interval", "other"];
        assert_eq!(alternatives.len(), KINDS.len() + others.len());
        for name in KINDS.iter().map(|kind| kind.name).chain(others) {
            assert!(alternatives.contains(&json!({"$ref": format!("#/$defs/{name}")})), "{name}");
        }
        for kind in KINDS {
            let definition = &schema["$defs"][kind.name];
            assert_eq!(definition["properties"]["format"]["const"], kind.format);
            assert_eq!(definition["additionalProperties"], false, "{}", kind.format);
        }
        assert_led(&schema, &schema["$defs"]);
    }
}
