//! The files with Envoy's messages: one bootstrap, files that Envoy watches, or Kubernetes objects.

use hoptax_text::yaml::envoy::{Node, first};
use hoptax_text::yaml::write::{self, written};
use serde_json::{Map, Value, json};

use crate::render::{Rendered, Resource};
use crate::tree::is_of_listeners;

/// Set of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// One bootstrap of Envoy.
    Bootstrap,
    /// Files of listeners and of clusters, `lds` and `cds`, which a running Envoy watches.
    LdsCds,
    /// The bootstrap in a `ConfigMap` of Kubernetes.
    #[value(name = "configmap")]
    ConfigMap,
    /// The bootstrap as values for a chart of Helm, below `envoy.bootstrap`.
    Helm,
}

/// Format in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// As YAML.
    Yaml,
    /// As JSON.
    Json,
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::Json => "json",
        }
    }

    fn text(self, value: &Value) -> String {
        match self {
            Self::Yaml => written(value).text,
            Self::Json => write::json(value),
        }
    }
}

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The lines of a listeners file from which the messages of its bootstrap come.
#[derive(Clone, Debug)]
pub struct Lines {
    listeners: Vec<u64>,
    clusters: Vec<u64>,
}

impl Lines {
    /// The line for a pointer into the bootstrap; the first line for a node without its own line.
    pub fn line(&self, pointer: &str) -> u64 {
        let of_resource = || {
            let (kind, rest) = pointer.strip_prefix("/static_resources/")?.split_once('/')?;
            let lines = match kind {
                "listeners" => &self.listeners,
                "clusters" => &self.clusters,
                _ => return None,
            };
            let number: usize = rest.split('/').next()?.parse().ok()?;
            lines.get(number).copied().filter(|line| *line > 0)
        };
        of_resource().unwrap_or(1)
    }
}

impl Rendered {
    /// The bootstrap.
    pub fn bootstrap(&self) -> Value {
        self.clone().into_bootstrap()
    }

    fn into_bootstrap(self) -> Value {
        let messages = |all: Vec<Resource>| all.into_iter().map(|one| one.message).collect::<Value>();
        let mut bootstrap = Map::new();
        let mut rest = self.rest;
        if let Some(admin) = rest.shift_remove("admin") {
            bootstrap.insert("admin".to_owned(), admin);
        }
        bootstrap.insert(
            "static_resources".to_owned(),
            Value::Object(Map::from_iter([
                ("listeners".to_owned(), messages(self.listeners)),
                ("clusters".to_owned(), messages(self.clusters)),
            ])),
        );
        bootstrap.extend(rest);
        Value::Object(bootstrap)
    }

    /// The files in a form.
    pub fn outputs(self, form: Form, format: Format) -> Vec<Output> {
        let extension = format.extension();
        let one = |name: &str, text: String| vec![Output { name: format!("{name}.{extension}"), text }];
        match form {
            Form::Bootstrap => one("envoy", format.text(&self.into_bootstrap())),
            Form::Helm => one("values", format.text(&json!({"envoy": {"bootstrap": self.bootstrap()}}))),
            Form::ConfigMap => one("configmap", self.config_map(format)),
            Form::LdsCds => {
                let file = |name: &str, of: &str, all: &[Resource]| {
                    let text = format.text(&json!({"resources": typed(of, all)}));
                    Output { name: format!("{name}.{extension}"), text }
                };
                vec![
                    file("lds", "envoy.config.listener.v3.Listener", &self.listeners),
                    file("cds", "envoy.config.cluster.v3.Cluster", &self.clusters),
                ]
            }
        }
    }

    fn config_map(&self, format: Format) -> String {
        let inner = Format::Yaml.text(&self.bootstrap());
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "envoy"}});
        match format {
            Format::Json => {
                let mut object = object;
                object["data"] = json!({"envoy.yaml": inner});
                write::json(&object)
            }
            Format::Yaml => {
                let lines: String = inner.lines().map(|line| format!("    {line}\n")).collect();
                format!("{}data:\n  envoy.yaml: |\n{lines}", written(&object).text)
            }
        }
    }

    /// The bootstrap, with the lines of the listeners file from which its messages come.
    pub fn traced(self) -> (Value, Lines) {
        let of = |all: &[Resource]| all.iter().map(|one| one.line).collect();
        let lines = Lines { listeners: of(&self.listeners), clusters: of(&self.clusters) };
        (self.into_bootstrap(), lines)
    }
}

fn typed(of: &str, all: &[Resource]) -> Value {
    let message = |one: &Resource| {
        let mut typed = json!({"@type": format!("type.googleapis.com/{of}")});
        if let (Value::Object(typed), Value::Object(keys)) = (&mut typed, &one.message) {
            typed.extend(keys.clone());
        }
        typed
    };
    all.iter().map(message).collect()
}

/// Returns true if a text is a listeners file, not an Envoy configuration.
pub fn is_listeners(text: &str) -> bool {
    // Avoid parsing large configurations twice.
    if text.contains("static_resources") {
        return false;
    }
    let Ok(root) = first(text) else { return false };
    let Node::Mapping(keys) = &root.node else { return false };
    let of = |name: &str| keys.iter().find(|(key, _)| key.text == name).map(|(_, value)| &value.node);
    if keys.iter().any(|(key, _)| is_of_listeners(&key.text)) {
        return true;
    }
    let Some(Node::Sequence(items)) = of("listeners") else { return false };
    let Some(Node::Mapping(keys)) = items.first().map(|item| &item.node) else { return false };
    // An Envoy listener has none of these keys.
    keys.iter().any(|(key, _)| ["port", "timeout", "upstream", "service"].contains(&key.text.as_str()))
}
