//! Checks that nodes are mappings or lists where the rest of the crate expects them.

use serde_json::Value;

use super::Configuration;
use crate::place::Problem;
use crate::tree::{self, join, push, push_index};

/// Pointers of such nodes, with `*` for every item of a list. Each ends at a mapping.
const EXPECTED: [&str; 5] = [
    "dynamic_resources",
    "static_resources/listeners/*/listener_filters/*",
    "static_resources/listeners/*/filter_chains/*/filters/*/typed_config/http_filters/*",
    "static_resources/clusters/*/load_assignment/endpoints/*/lb_endpoints/*/endpoint",
    "static_resources/secrets/*",
];
/// Such nodes below a table of routes.
const OF_ROUTES: &str = "virtual_hosts/*/routes/*";

const NO_MAPPING: &str = "this must be a mapping, as in `{name: ...}`";
const NO_LIST: &str = "this must be a list of mappings, as in `[{name: ...}]`";

impl Configuration {
    /// Problems with nodes of the bootstrap that should be mappings or lists and are not. Null nodes count as missing. `tables` are the
    /// pointers of the nodes with tables of routes.
    pub(super) fn malformed(&self, tables: &[String]) -> Vec<Problem> {
        let mut found = Vec::new();
        for steps in EXPECTED {
            let steps: Vec<&str> = steps.split('/').collect();
            self.add_malformed(&self.tree, &mut String::new(), &steps, &mut found);
        }
        let steps: Vec<&str> = OF_ROUTES.split('/').collect();
        for pointer in tables {
            let mut at = join(pointer, "route_config");
            if let Some(node) = tree::at(&self.tree, &at) {
                self.add_malformed(node, &mut at, &steps, &mut found);
            }
        }
        found
    }

    fn add_malformed(&self, node: &Value, pointer: &mut String, steps: &[&str], found: &mut Vec<Problem>) {
        let length = pointer.len();
        match (steps, node) {
            // Envoy accepts a single value for a list.
            (_, Value::Null) | (["*", ..] | [], Value::Object(_)) => {}
            (["*", rest @ ..], Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    push_index(pointer, index);
                    self.add_malformed(item, pointer, rest, found);
                    pointer.truncate(length);
                }
            }
            (["*", ..], _) => found.push(self.problem(pointer, NO_LIST)),
            ([name, rest @ ..], Value::Object(entries)) => {
                if let Some(node) = entries.get(*name) {
                    push(pointer, name);
                    self.add_malformed(node, pointer, rest, found);
                    pointer.truncate(length);
                }
            }
            (_, _) => found.push(self.problem(pointer, NO_MAPPING)),
        }
    }

    /// The problem with a node of a file, by the number of the file, if it is neither a mapping nor null.
    pub(super) fn no_mapping(&self, document: usize, pointer: &str, node: &Value) -> Option<Problem> {
        let is_malformed = !node.is_object() && !node.is_null();
        is_malformed.then(|| Problem {
            place: self.origins.place_in(document, pointer),
            message: NO_MAPPING.to_owned(),
        })
    }
}
