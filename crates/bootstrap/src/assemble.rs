//! Joins the files of a configuration, or the sections of a `/config_dump`, into one static bootstrap.

mod dump;
mod files;
mod malformed;
mod old_api;
mod origins;
mod resources;

use std::collections::{BTreeMap, BTreeSet};

use hoptax_text::yaml::envoy::Tree;
use serde_json::{Value, json};

pub(crate) use self::origins::Origins;
use crate::document::{Document, Source};
use crate::given::Given;
use crate::names;
use crate::place::{Place, Problem, Problems};
use crate::resource::{is_list, is_one};
use crate::tree::{self, join};

/// A static bootstrap whose nodes know their places in the user's files.
#[derive(Clone, Debug)]
pub struct Configuration {
    pub(crate) tree: Value,
    /// Secrets by name. They are read only for their kind and length.
    pub(crate) secrets: BTreeMap<String, Value>,
    pub(crate) origins: Origins,
    /// Its place in another file, in words; None if it is the whole file.
    described: Option<String>,
    /// Texts next to it by their names, if it is in another file.
    beside: BTreeMap<String, Source>,
    /// True if clusters are known to be missing.
    lacks_clusters: bool,
}

/// A file that a configuration names.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its name in problems and replacements.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// A repeated key in a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The index of its text.
    pub text: usize,
    /// Place of its repetition.
    pub place: Place,
    /// The key.
    pub key: String,
}

/// A text from which a configuration was read.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// The name of the text in places.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
    /// The line of the file at which the text begins, from 1.
    pub first_line: u64,
    /// Its content as YAML, with the bytes of its nodes; none for JSON.
    pub tree: Option<&'a Tree>,
}

/// A configuration joined with the files and resources that it names, and problems with those that could not be joined.
pub(crate) struct Joined {
    pub(crate) configuration: Configuration,
    pub(crate) unread: Vec<Problem>,
}

/// Joins the files and resources that a configuration names into it. `load` reads a file, or returns the reason why it cannot.
///
/// # Errors
/// When part of it is malformed or of API v2.
pub(crate) fn join_all(
    given: Given,
    load: &dyn Fn(&str) -> Result<Loaded, String>,
) -> Result<Joined, Problems> {
    let Given { mut document, described, beside } = given;
    let is_dump = document.value.get("configs").is_some_and(Value::is_array);
    let content = document.value.take();
    let origins = Origins::new(document);
    let mut configuration = Configuration {
        tree: Value::Null,
        secrets: BTreeMap::new(),
        origins,
        described,
        beside,
        lacks_clusters: false,
    };
    let of_api_v2 = configuration.dump_of_api_v2(&content);
    if !of_api_v2.is_empty() {
        return Err(Problems::new(of_api_v2));
    }
    let mut unread = Vec::new();
    let mut malformed = Vec::new();
    let resources = if is_dump {
        configuration.join_dump(content, &mut unread, &mut malformed)
    } else if is_one(&content) || is_list(&content) {
        configuration.join_resources(content, &mut malformed)
    } else {
        configuration.tree = content;
        Resources::default()
    };
    let references = configuration.references();
    // A joined resource may replace a malformed node, so the check runs before and after.
    malformed.extend(configuration.malformed(&references.tables));
    let joined = configuration.join_files(resources, references, is_dump, load, &mut unread);
    malformed.extend(joined.malformed);
    if joined.is_changed {
        malformed.extend(configuration.malformed(&configuration.references().tables));
    }
    let of_api_v2 = configuration.of_api_v2();
    if !of_api_v2.is_empty() {
        // The old fields may be the cause of all other problems, so these are left out.
        return Err(Problems::new(of_api_v2));
    }
    if malformed.is_empty() {
        return Ok(Joined { configuration, unread });
    }
    unread.extend(configuration.merge_keys());
    unread.extend(malformed);
    Err(Problems::new(unread))
}

/// Resources by name, each with its document and its pointer there.
#[derive(Debug, Default)]
struct Resources {
    /// Names of clusters that are already placed.
    clusters: BTreeSet<String>,
    routes: BTreeMap<String, Found>,
    endpoints: BTreeMap<String, Found>,
    filters: BTreeMap<String, Found>,
}

/// Pointers of nodes in listeners and clusters that name resources elsewhere, and of nodes with a table of routes.
#[derive(Debug, Default)]
struct References {
    /// Filters that are discovered separately.
    filters: Vec<String>,
    /// Connection managers whose tables depend on the request.
    scopes: Vec<String>,
    /// Connection managers whose table is elsewhere.
    routes: Vec<String>,
    /// Clusters whose endpoints are elsewhere.
    endpoints: Vec<String>,
    /// Nodes that name a secret and its source.
    secrets: Vec<String>,
    /// Nodes with a table of routes. Proxies for other protocols than HTTP have them too.
    tables: Vec<String>,
}

impl References {
    /// The list for nodes that have this field; none for other fields.
    fn by_field(&mut self, field: &str) -> Option<&mut Vec<String>> {
        match field {
            "config_discovery" => Some(&mut self.filters),
            "scoped_routes" => Some(&mut self.scopes),
            "rds" => Some(&mut self.routes),
            "eds_cluster_config" => Some(&mut self.endpoints),
            "sds_config" => Some(&mut self.secrets),
            "route_config" => Some(&mut self.tables),
            _ => None,
        }
    }
}

/// A resource to place into the bootstrap.
#[derive(Clone, Debug)]
struct Found {
    document: usize,
    pointer: String,
    value: Value,
}

impl Configuration {
    /// Returns its place in another file, as in "`envoy.yaml` of `ConfigMap` `shop`, map.yaml:6"; None if it is the whole file.
    pub fn described(&self) -> Option<&str> {
        self.described.as_deref()
    }

    /// The text for a file that it names, if the configuration is in another file with texts next to it.
    pub fn beside(&self, path: &str) -> Option<&str> {
        self.source_beside(path).map(|source| source.text.as_str())
    }

    fn source_beside(&self, path: &str) -> Option<&Source> {
        self.beside.get(path.rsplit('/').next().unwrap_or_default())
    }

    /// The place of a node of the bootstrap in the user's files.
    pub fn place(&self, pointer: &str) -> Place {
        self.origins.place(pointer)
    }

    /// The index of the text that contains a node of the bootstrap, and its place in the user's files.
    pub fn placed(&self, pointer: &str) -> (usize, Place) {
        self.origins.placed(pointer)
    }

    /// Its content as one bootstrap, with field names in the spelling of protocol buffers, and single values wrapped in lists where Envoy
    /// expects lists.
    pub fn tree(&self) -> &Value {
        &self.tree
    }

    /// True if all of its clusters were read: none comes from a control plane, and no file with clusters is missing.
    pub fn has_all_clusters(&self) -> bool {
        !self.lacks_clusters
    }

    /// The texts from which it was read. The first is that of the bootstrap.
    pub fn texts(&self) -> impl Iterator<Item = Text<'_>> {
        self.origins.documents().map(|document| Text {
            name: &document.source.name,
            text: &document.source.text,
            first_line: document.source.first_line,
            tree: document.tree(),
        })
    }

    /// The index of the text that contains a node of the bootstrap, and its pointer there.
    pub fn origin(&self, pointer: &str) -> (usize, String) {
        self.origins.origin(pointer)
    }

    /// Keys that occur more than once in a mapping of its YAML texts. Envoy uses the last one.
    pub fn duplicates(&self) -> Vec<Duplicate> {
        let of_text = |(text, document): (usize, &Document)| {
            let found = document.duplicates();
            found.into_iter().map(move |(place, key)| Duplicate { text, place, key })
        };
        self.origins.documents().enumerate().flat_map(of_text).collect()
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
        if !self.tree.is_object() {
            self.tree = json!({});
        }
        let statics = &mut self.tree["static_resources"];
        if !statics.is_object() {
            *statics = json!({});
        }
        let items = &mut statics[list];
        if !items.is_array() {
            *items = json!([]);
        }
        let length = items.as_array().map_or(0, Vec::len);
        self.graft(&format!("/static_resources/{list}/{length}"), found);
    }

    /// Returns problems with merge keys, which are unknown fields to Envoy. They are allowed in nodes with the user's own keys.
    pub(crate) fn merge_keys(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        names::walk_fields(&self.tree, &mut |pointer, key| {
            if key == "<<" {
                let message = "Envoy has no merge keys, and refuses the field `<<`; write out the fields, or replace the whole mapping by \
                               an alias";
                found.push(self.problem(pointer, message));
            }
        });
        found
    }

    fn problem(&self, pointer: &str, message: &str) -> Problem {
        Problem { place: self.place(pointer), message: message.to_owned() }
    }

    /// The nodes of listeners and clusters that name resources, found in one walk: a file may have thousands of listeners.
    fn references(&self) -> References {
        let mut found = References::default();
        for list in ["/static_resources/listeners", "/static_resources/clusters"] {
            let Some(node) = self.tree.pointer(list) else { continue };
            tree::walk(node, list, &mut |pointer, node| {
                for (field, value) in node.as_object().into_iter().flatten() {
                    if let Some(nodes) = found.by_field(field).filter(|_| value.is_object()) {
                        nodes.push(pointer.to_owned());
                    }
                }
            });
        }
        found
    }

    fn remove_key(&mut self, pointer: &str, key: &str) {
        tree::remove(&mut self.tree, &join(pointer, key));
    }
}
