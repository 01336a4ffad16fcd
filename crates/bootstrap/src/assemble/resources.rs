//! Makes a bootstrap from texts that contain only resources.

use serde_json::Value;

use super::{Configuration, Found, Resources};
use crate::place::Problem;
use crate::resource::{CLUSTER, ENDPOINTS, LISTENER, RESOURCES, ROUTES, SECRET, list_of};
use crate::tree::{message_type, text};

impl Configuration {
    /// Makes a bootstrap from resources. Routes and endpoints are placed later.
    pub(super) fn join_resources(&mut self, mut content: Value, malformed: &mut Vec<Problem>) -> Resources {
        self.tree = serde_json::json!({"static_resources": {}});
        let mut resources = Resources::default();
        if let Some(list) = list_of(&content) {
            self.append(list, Found { document: 0, pointer: String::new(), value: content });
            return resources;
        }
        let items = content.get_mut(RESOURCES).and_then(Value::as_array_mut).map(std::mem::take);
        for (index, value) in items.into_iter().flatten().enumerate() {
            let pointer = format!("/{RESOURCES}/{index}");
            if let Some(problem) = self.no_mapping(0, &pointer, &value) {
                malformed.push(problem);
                continue;
            }
            let name = text(&value, "/name").to_owned();
            let of = message_type(&value).to_owned();
            let found = Found { document: 0, pointer, value };
            match of.as_str() {
                LISTENER => self.append("listeners", found),
                CLUSTER => self.append("clusters", found),
                ROUTES => drop(resources.routes.insert(name, found)),
                ENDPOINTS => {
                    let name = text(&found.value, "/cluster_name").to_owned();
                    resources.endpoints.insert(name, found);
                }
                SECRET => drop(self.secrets.insert(name, found.value)),
                _ => {}
            }
        }
        resources
    }
}
