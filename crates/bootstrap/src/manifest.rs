//! Finds configurations of Envoy in objects of Kubernetes: in the data of a `ConfigMap` or a Secret, in arguments of containers, or in any
//! other text of an object. A file of Docker Compose is searched like an object.

use std::collections::BTreeMap;
use std::rc::Rc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hoptax_text::yaml::envoy::{Node, Style, Tree};
use serde_json::Value;

use crate::document::Source;
use crate::place::Problem;

/// Maximum number of possible configurations in a file. The names of each are compared with those of all others.
const MOST_CONFIGURATIONS: usize = 100;
/// The flag of Envoy whose value is a configuration.
const FLAG: &str = "--config-yaml";
/// Texts without any of these words are not configurations.
const WORDS: [&str; 6] = [
    "static_resources",
    "staticResources",
    "dynamic_resources",
    "dynamicResources",
    "BootstrapConfigDump",
    "cluster_manager",
];
/// Fields whose values are in base64: of a Secret, and of a `ConfigMap`.
const BASE64: [&str; 2] = ["data", "binaryData"];

/// Kinds of objects that hold files, and their API version.
const FILES: [&str; 2] = ["ConfigMap", "Secret"];
const VERSION: &str = "v1";
/// The suffix of list kinds. The API itself returns lists of one kind, whose items state neither version nor kind.
const LIST: &str = "List";
/// Name of a file of Docker Compose in texts, and the key of a text in its `configs`.
const COMPOSE: &str = "the Compose file";
const CONTENT: &str = "content";

/// A text that an object holds.
#[derive(Clone, Debug)]
pub(crate) struct Embedded {
    /// The key of the text, or the name of the container that has it as an argument.
    pub(crate) key: String,
    /// The kind of its object.
    pub(crate) kind: String,
    /// The namespace and the name of its object; empty if it has none.
    namespace: String,
    object: String,
    /// The text, and where it is.
    pub(crate) source: Source,
    /// The texts of its collection, including itself, by their keys.
    around: Rc<[(String, Source)]>,
}

impl Embedded {
    /// Texts next to it, by their keys: a configuration names them as files.
    pub(crate) fn beside(&self) -> BTreeMap<String, Source> {
        self.around.iter().filter(|(key, _)| *key != self.key).cloned().collect()
    }

    /// Describes it, as in "`envoy.yaml` of `ConfigMap` `envoy-conf`".
    pub(crate) fn described(&self) -> String {
        let object = if self.object.is_empty() { String::new() } else { format!(" `{}`", self.object) };
        format!("`{}` of {}{object}", self.key, self.kind)
    }

    /// Its names, the shortest first: its key, and its key with the object as a prefix.
    pub(crate) fn names(&self) -> [String; 4] {
        let Self { key, kind, namespace, object, .. } = self;
        [
            key.clone(),
            format!("{object}/{key}"),
            format!("{kind}/{object}/{key}"),
            format!("{namespace}/{kind}/{object}/{key}"),
        ]
    }
}

/// All texts in the objects of a file's documents that appear to be Envoy configurations.
///
/// # Errors
/// When there are too many.
pub(crate) fn find(file: &Source, documents: &[Tree]) -> Result<Vec<Embedded>, Problem> {
    let mut found: Vec<Embedded> = Vec::new();
    let all = documents.iter().flat_map(|document| objects(document).into_iter().chain(compose(document)));
    for object in all {
        let Object { kind, namespace, name, .. } = &object;
        let mut texts = Vec::new();
        object.texts(file, object.tree, &mut Path::default(), &mut texts);
        // Each collection is copied once, for all of its texts that may be configurations.
        let mut collections: BTreeMap<u64, Rc<[(String, Source)]>> = BTreeMap::new();
        for text in &texts {
            if !WORDS.iter().any(|word| text.source.text.contains(word)) {
                continue;
            }
            if found.len() == MOST_CONFIGURATIONS {
                let message = format!(
                    "this file has more than {MOST_CONFIGURATIONS} texts that may be Envoy configurations: move those that you do not \
                     mean to other files"
                );
                return Err(Problem { place: text.source.place(1), message });
            }
            let around = collections.entry(text.parent).or_insert_with(|| {
                let of_collection = texts.iter().filter(|other| other.parent == text.parent);
                of_collection.map(|other| (other.key.clone(), other.source.clone())).collect()
            });
            found.push(Embedded {
                key: text.key.clone(),
                kind: kind.clone(),
                namespace: namespace.clone(),
                object: name.clone(),
                source: text.source.clone(),
                around: Rc::clone(around),
            });
        }
    }
    Ok(found)
}

/// The texts in the data of objects that hold files.
pub(crate) fn data(file: &Source, document: &Tree) -> Vec<Source> {
    let mut texts = Vec::new();
    for object in objects(document).iter().filter(|object| FILES.contains(&object.kind.as_str())) {
        object.texts(file, object.tree, &mut Path::default(), &mut texts);
    }
    texts.into_iter().map(|text| text.source).collect()
}

/// An object of Kubernetes.
pub(crate) struct Object<'a> {
    /// Its API version, with the group before a slash.
    pub(crate) version: String,
    pub(crate) kind: String,
    namespace: String,
    pub(crate) name: String,
    /// The whole object.
    pub(crate) tree: &'a Tree,
}

/// The objects of a document, including those in lists.
pub(crate) fn objects(document: &Tree) -> Vec<Object<'_>> {
    objects_of(document, None, None)
}

/// The objects of a node. `version` and `kind` apply if the node states none.
fn objects_of<'a>(node: &'a Tree, version: Option<&str>, kind: Option<&str>) -> Vec<Object<'a>> {
    let or = |key: &str, inherited: Option<&str>| text_at(node, &[key]).or(inherited.map(str::to_owned));
    let Some(kind) = or("kind", kind) else { return Vec::new() };
    let version = or("apiVersion", version);
    if let Some(of_items) = kind.strip_suffix(LIST)
        && let Some(Tree { node: Node::Sequence(items), .. }) = at(node, "items")
    {
        let of_items = Some(of_items).filter(|kind| !kind.is_empty());
        return items.iter().flat_map(|item| objects_of(item, version.as_deref(), of_items)).collect();
    }
    let usual = FILES.contains(&kind.as_str()).then(|| VERSION.to_owned());
    let Some(version) = version.or(usual) else { return Vec::new() };
    let text = |steps: &[&str]| text_at(node, steps).unwrap_or_default();
    let (namespace, name) = (text(&["metadata", "namespace"]), text(&["metadata", "name"]));
    vec![Object { version, kind, namespace, name, tree: node }]
}

/// A document as a file of Docker Compose; none if it is not.
pub(crate) fn compose(document: &Tree) -> Option<Object<'_>> {
    let is_mapping = |key: &str| matches!(at(document, key), Some(Tree { node: Node::Mapping(_), .. }));
    let is_compose = is_mapping("services") && at(document, "kind").is_none();
    is_compose.then(|| Object {
        version: String::new(),
        kind: COMPOSE.to_owned(),
        namespace: String::new(),
        name: text_at(document, &["name"]).unwrap_or_default(),
        tree: document,
    })
}

/// The path to a text in an object.
#[derive(Default)]
struct Path {
    /// The keys of the mappings around it.
    keys: Vec<String>,
    /// The name of the container around it.
    container: String,
    /// The number of the collection around it.
    parent: u64,
}

/// A text of an object.
struct Text {
    key: String,
    source: Source,
    /// The line of the collection around it, the same for all texts of a collection.
    parent: u64,
}

impl Object<'_> {
    fn texts(&self, file: &Source, tree: &Tree, path: &mut Path, found: &mut Vec<Text>) {
        match &tree.node {
            Node::Scalar(Value::String(text), style) => {
                let Some(key) = self.key(&path.keys) else { return };
                let source = self.source(file, tree, text, *style, &path.keys);
                found.extend(source.map(|source| Text { key, source, parent: path.parent }));
            }
            Node::Scalar(..) => {}
            Node::Sequence(items) => {
                let mut is_value = false;
                for item in items {
                    let Node::Scalar(Value::String(text), style) = &item.node else {
                        self.texts(file, item, path, found);
                        continue;
                    };
                    let value = text.strip_prefix(FLAG).and_then(|rest| rest.strip_prefix('='));
                    if is_value || value.is_some() {
                        let key =
                            if path.container.is_empty() { FLAG.to_owned() } else { path.container.clone() };
                        let text = value.unwrap_or(text);
                        let source = self.source(file, item, text, *style, &path.keys);
                        found.extend(source.map(|source| Text { key, source, parent: item.line }));
                    }
                    is_value = text == FLAG;
                }
            }
            Node::Mapping(entries) => {
                let (container, parent) = (path.container.clone(), path.parent);
                path.container = text_at(tree, &["name"]).unwrap_or_default();
                for (key, value) in entries {
                    path.parent = tree.line;
                    path.keys.push(key.text.clone());
                    self.texts(file, value, path, found);
                    path.keys.pop();
                }
                (path.container, path.parent) = (container, parent);
            }
        }
    }

    /// Returns the name of a text at these keys.
    fn key(&self, keys: &[String]) -> Option<String> {
        match keys {
            [.., name, last] if last == CONTENT && self.kind == COMPOSE => Some(name.clone()),
            keys => keys.last().cloned(),
        }
    }

    /// A text of a node with its place. None if it is not a text, or is not valid base64 where it should be.
    fn source(
        &self,
        file: &Source,
        node: &Tree,
        text: &str,
        style: Style,
        keys: &[String],
    ) -> Option<Source> {
        let key = keys.last().map(String::as_str).unwrap_or_default();
        let is_secret = self.kind == "Secret";
        let in_base64 = keys.len() == 2
            && BASE64.iter().any(|field| keys[0] == *field && (*field == "binaryData" || is_secret));
        let of_value = |how: &str, text: &str| {
            Source::file(&format!("{}:{} (`{key}`, {how})", file.name, node.line), text)
        };
        if in_base64 {
            let compact: String = text.split_ascii_whitespace().collect();
            let text = String::from_utf8(BASE64_STANDARD.decode(compact).ok()?).ok()?;
            return Some(of_value("in base64", &text));
        }
        let source = match style {
            Style::Literal => Source {
                first_line: node.line,
                indent: indent(&file.text, node.bytes.start, text),
                ..Source::file(&file.name, text)
            },
            Style::Folded => of_value("folded", text),
            Style::Flow => of_value("in quotes", text),
        };
        // Compose substitutes variables, and escapes a dollar sign by doubling it.
        if self.kind == COMPOSE && text.contains("$$") {
            return Some(Source { text: text.replace("$$", "$"), indent: None, ..source });
        }
        Some(source)
    }
}

/// The number of spaces before each line of a text block in a file that contains this byte. None if the first line has other characters
/// before it, for example a flag.
fn indent(file: &str, byte: usize, text: &str) -> Option<u64> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let before = file.get(..byte)?.rfind('\n').map_or(0, |newline| newline + 1);
    let spaces = file.get(before..)?.lines().next()?.strip_suffix(first)?;
    spaces.chars().all(|letter| letter == ' ').then_some(spaces.len() as u64)
}

fn at<'a>(tree: &'a Tree, key: &str) -> Option<&'a Tree> {
    let Node::Mapping(entries) = &tree.node else { return None };
    entries.iter().rev().find(|(known, _)| known.text == key).map(|(_, value)| value)
}

/// The text that keys lead to.
pub(crate) fn text_at(tree: &Tree, keys: &[&str]) -> Option<String> {
    let found = keys.iter().try_fold(tree, |tree, key| at(tree, key))?;
    match &found.node {
        Node::Scalar(Value::String(text), _) => Some(text.clone()),
        _ => None,
    }
}
