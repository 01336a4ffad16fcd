//! Joins the files of a configuration, or the sections of a `/config_dump`, into one static bootstrap.

mod dump;
mod files;
mod malformed;
mod origins;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use serde_json::Value;

pub(crate) use self::origins::Origins;
use crate::adapt::Lab;
use crate::document::Document;
use crate::place::{Place, Problem, Problems};
use crate::tree::{self, join};

/// A static bootstrap whose nodes know their places in the user's files.
#[derive(Clone, Debug)]
pub struct Configuration {
    pub(crate) tree: Value,
    /// Secrets by name. They are read for their kind and their length only.
    pub(crate) secrets: BTreeMap<String, Value>,
    pub(crate) origins: Origins,
}

/// A file that a configuration names.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its name in problems and replacements.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// Reads a configuration: a bootstrap or a `/config_dump`. `name` is its name in problems; `load` reads the files that it
/// names for listeners, clusters, routes, endpoints and secrets, and gives the reason if it cannot.
///
/// # Errors
/// All problems: a file is not YAML or JSON, is no configuration of Envoy or cannot be loaded, or resources come from a control
/// plane and are not in the file; then also those of [`Configuration::adapt`] with what could be read, unless a resource is no
/// mapping.
pub fn read(
    name: &str,
    text: &str,
    load: &dyn Fn(&str) -> Result<Loaded, String>,
) -> Result<Configuration, Problems> {
    let mut document = Document::parse(name, text).map_err(|problem| Problems::new(vec![problem]))?;
    let is_dump = document.value.get("configs").is_some_and(Value::is_array);
    let content = document.value.take();
    let has = |key: &&str| content.get(*key).is_some_and(|node| !node.is_null());
    let why = match (content.is_object(), is_dump || RESOURCES.iter().any(has)) {
        (false, _) => Some("it is not a mapping".to_owned()),
        (true, false) => Some(format!("it has none of `configs`, `{}`", RESOURCES.join("`, `"))),
        (true, true) => None,
    };
    if let Some(why) = why {
        let message = format!("neither an Envoy bootstrap nor a /config_dump: {why}");
        return Err(Problems::new(vec![Problem { place: document.place(""), message }]));
    }
    let mut configuration =
        Configuration { tree: Value::Null, secrets: BTreeMap::new(), origins: Origins::new(document) };
    let mut problems = Vec::new();
    let mut malformed = Vec::new();
    let resources = if is_dump {
        configuration.join_dump(content, &mut problems, &mut malformed)
    } else {
        configuration.tree = content;
        Resources::default()
    };
    // What is joined may take the place of a node that is malformed.
    malformed.extend(configuration.malformed());
    malformed.extend(configuration.join_files(resources, is_dump, load, &mut problems));
    malformed.extend(configuration.malformed());
    if !malformed.is_empty() {
        problems.extend(malformed);
        return Err(Problems::new(problems));
    }
    if problems.is_empty() {
        return Ok(configuration);
    }
    // What cannot be adapted is the same in every lab.
    let server = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let (origin, companion, folder) = (server, server, "/lab".into());
    let lab = Lab { admin_port: 0, listener_ports: Vec::new(), origin, companion, folder };
    let is_read = configuration.tree.is_object();
    let more = is_read.then(|| configuration.adapt(&lab, &|_| None).err()).flatten();
    Err(Problems::new(problems).joined(more))
}

/// What a bootstrap has its listeners in.
const RESOURCES: [&str; 2] = ["static_resources", "dynamic_resources"];

/// Resources by name, each with its document and its pointer there.
#[derive(Debug, Default)]
struct Resources {
    routes: BTreeMap<String, Found>,
    endpoints: BTreeMap<String, Found>,
    filters: BTreeMap<String, Found>,
}

/// A resource that is to be placed into the bootstrap.
#[derive(Clone, Debug)]
struct Found {
    document: usize,
    pointer: String,
    value: Value,
}

impl Configuration {
    /// The place of a node of the bootstrap in the user's files.
    pub fn place(&self, pointer: &str) -> Place {
        self.origins.place(pointer)
    }

    /// A copy in which nodes are replaced, by their pointers, as if the user had written them.
    ///
    /// # Errors
    /// The pointers at which there is no node.
    pub fn with(&self, nodes: &BTreeMap<String, Value>) -> Result<Self, Vec<String>> {
        let mut changed = self.clone();
        let mut missing = Vec::new();
        for (pointer, value) in nodes {
            match changed.tree.pointer_mut(pointer) {
                Some(node) => *node = value.clone(),
                None => missing.push(pointer.clone()),
            }
        }
        if missing.is_empty() { Ok(changed) } else { Err(missing) }
    }

    /// Places a resource at a pointer of the bootstrap, whose parent exists.
    fn graft(&mut self, at: &str, mut found: Found) {
        if let Some(entries) = found.value.as_object_mut() {
            // A resource states its type in a discovery response, but not in a bootstrap.
            entries.remove("@type");
        }
        let (parent, key) = at.rsplit_once('/').unwrap_or_default();
        match self.tree.pointer_mut(parent) {
            Some(Value::Object(entries)) => drop(entries.insert(key.to_owned(), found.value)),
            Some(Value::Array(items)) => items.push(found.value),
            _ => return,
        }
        self.origins.take(at.to_owned(), found.document, found.pointer);
    }

    /// Appends a resource to a list of `static_resources`.
    fn append(&mut self, list: &str, found: Found) {
        let statics = object(&mut self.tree, "static_resources");
        if !statics.get(list).is_some_and(Value::is_array) {
            tree::set(statics, list, Value::Array(Vec::new()));
        }
        let length = statics.get(list).and_then(Value::as_array).map_or(0, Vec::len);
        self.graft(&format!("/static_resources/{list}/{length}"), found);
    }

    fn problem(&self, pointer: &str, message: &str) -> Problem {
        Problem { place: self.place(pointer), message: message.to_owned() }
    }

    /// The pointers of all nodes that have a key, in the lists of listeners and clusters.
    fn nodes_with(&self, key: &str) -> Vec<String> {
        let mut found = Vec::new();
        for list in ["/static_resources/listeners", "/static_resources/clusters"] {
            let Some(node) = self.tree.pointer(list) else { continue };
            tree::walk(node, list, &mut |pointer, node| {
                if node.get(key).is_some_and(Value::is_object) {
                    found.push(pointer.to_owned());
                }
            });
        }
        found
    }

    fn remove_key(&mut self, pointer: &str, key: &str) {
        tree::remove(&mut self.tree, &join(pointer, key));
    }
}

/// The mapping at a key, which is created if it is missing.
fn object<'a>(value: &'a mut Value, key: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    let entry = &mut value[key];
    if !entry.is_object() {
        *entry = Value::Object(serde_json::Map::new());
    }
    entry
}

#[cfg(test)]
mod tests;
