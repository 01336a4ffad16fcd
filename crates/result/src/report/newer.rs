//! Reads what it can of a file of a newer hoptax in today's format: fields that this one does not know are left out, and a finding says so.

use std::collections::BTreeSet;

use hoptax_text::list::named;
use schemars::schema_for;
use serde_json::{Map, Value};

use super::{Body, Report};
use crate::{Finding, Measured, Program, Severity};

/// Places that a finding names.
const NAMED: usize = 5;

/// Removes the fields of a report that its schema does not know, and returns their places, such as `arms[].colour`; `*` stands for any
/// name. The fields may lack some of the envelope, which are read elsewhere.
pub(super) fn leave_out_unknown<T: Body>(fields: &mut Map<String, Value>) -> BTreeSet<String> {
    let schema = schema_for!(Report<T>).to_value();
    let mut walk = Walk { root: &schema, left_out: BTreeSet::new() };
    walk.object(fields, &schema, "");
    walk.left_out
}

/// The note on a file of hoptax `version`; none if nothing was left out.
pub(super) fn newer_file(version: &str, left_out: &BTreeSet<String>) -> Option<Finding> {
    if left_out.is_empty() {
        return None;
    }
    let names: Vec<String> = left_out.iter().map(|name| format!("`{name}`")).collect();
    let message = format!(
        "hoptax {version} wrote this result, and this hoptax {} left out what it does not know: {}",
        Program::this().version,
        named(&names, NAMED)
    );
    let measured = Measured::count(left_out.len() as f64, 0.0, "fields");
    let advice = format!("Read it with hoptax {version} or a later one to have all of it.");
    Some(Finding::new(Finding::NEWER_FILE, Severity::Info, measured, message, &advice))
}

/// A walk over a JSON value and its schema.
struct Walk<'a> {
    /// The schema that references begin at.
    root: &'a Value,
    left_out: BTreeSet<String>,
}

impl<'a> Walk<'a> {
    fn value(&mut self, value: &mut Value, schema: &'a Value, place: &str) {
        // A value that fits nowhere is refused when it is read.
        let Some(schema) = self.chosen(value, schema) else { return };
        match value {
            Value::Object(fields) => self.object(fields, schema, place),
            Value::Array(items) => {
                let Some(of_items) = schema.get("items") else { return };
                let place = format!("{place}[]");
                for item in items {
                    self.value(item, of_items, &place);
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, fields: &mut Map<String, Value>, schema: &'a Value, place: &str) {
        let member = |name: &str| schema.get(name).and_then(Value::as_object);
        let named = member("properties");
        // The first is of a map whose keys are numbers, the second of one whose keys are texts.
        let others = member("patternProperties")
            .and_then(|patterns| patterns.values().next())
            .or_else(|| schema.get("additionalProperties").filter(|others| others.is_object()));
        let of_field = |name: &str| named.and_then(|named| named.get(name));
        if others.is_none() && schema.get("additionalProperties") == Some(&Value::Bool(false)) {
            fields.retain(|name, _| {
                let is_known = of_field(name).is_some();
                if !is_known {
                    self.left_out.insert(inside(place, name));
                }
                is_known
            });
        }
        for (name, value) in fields {
            if let Some(schema) = of_field(name) {
                self.value(value, schema, &inside(place, name));
            } else if let Some(schema) = others {
                self.value(value, schema, &inside(place, "*"));
            }
        }
    }

    /// The schema of an object or an array: without references, and of several alternatives the first that fits.
    fn chosen(&self, value: &Value, schema: &'a Value) -> Option<&'a Value> {
        let reference = schema.get("$ref").and_then(Value::as_str).and_then(|place| place.strip_prefix('#'));
        if let Some(schema) = reference.and_then(|place| self.root.pointer(place)) {
            return self.chosen(value, schema);
        }
        let alternatives = ["anyOf", "oneOf"].iter().find_map(|name| schema.get(*name)?.as_array());
        match alternatives {
            Some(all) => all.iter().find_map(|one| self.chosen(value, one)),
            None => fits(value, schema).then_some(schema),
        }
    }
}

/// True for an object that has the fields that a schema requires and the values that it states, or for an array where there may be one.
fn fits(value: &Value, schema: &Value) -> bool {
    let is_type = |name: &str| match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(|one| one == name),
        Some(one) => one == name,
        None => false,
    };
    let Value::Object(fields) = value else { return value.is_array() && is_type("array") };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let stated = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    is_type("object")
        && required.filter_map(Value::as_str).all(|name| fields.contains_key(name))
        && stated
            .filter_map(|(name, schema)| Some((fields.get(name)?, schema.get("const")?)))
            .all(|(found, expected)| found == expected)
}

/// The place of a field in an object at `place`.
fn inside(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}
