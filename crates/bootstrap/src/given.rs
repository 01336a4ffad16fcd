//! Finds the configuration in a user's text: the text itself, or a text in an object of Kubernetes. For all other texts, it states their
//! kind, and how to get a configuration.

use std::collections::BTreeMap;

use hoptax_text::command_line::path_word;
use hoptax_text::yaml::envoy::{self, Tree};
use serde_json::Value;

use crate::document::{Document, Source};
use crate::foreign;
use crate::manifest::{self, Embedded};
use crate::names::is_field;
use crate::place::{Problem, Problems};
use crate::resource::{is_list, is_one};
use crate::template;

/// Fields of a bootstrap that hold its listeners.
const RESOURCES: [&str; 2] = ["static_resources", "dynamic_resources"];
/// Field of a dump that holds its sections.
const SECTIONS: &str = "configs";

/// A configuration that was found.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) document: Document,
    /// Its place in the text; None if it is the whole text.
    pub(crate) described: Option<String>,
    /// Texts next to it by their names.
    pub(crate) beside: BTreeMap<String, Source>,
}

/// Kinds of texts that are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepted {
    /// A bootstrap or a dump.
    Whole,
    /// Also a list of resources, or a single listener or cluster.
    Resources,
}

impl Accepted {
    fn is(self, value: &Value) -> bool {
        is_configuration(value) || self == Self::Resources && (is_list(value) || is_one(value))
    }
}

/// Finds the configuration in a text. `choice` is its name, which is needed if there are several.
///
/// # Errors
/// The kind of the text if it is not a configuration, or the names of the configurations in it if there are several.
pub(crate) fn given(
    name: &str,
    text: &str,
    choice: Option<&str>,
    accepted: Accepted,
) -> Result<Given, Problems> {
    let source = Source::file(name, text);
    if let Some(value) = envoy::json(text)
        && accepted.is(&value)
    {
        return whole(&source, Document::from_json(&source, value), choice);
    }
    // Envoy reads only the first of several documents.
    let first = envoy::first(text).map_err(|error| one(unreadable(&source, &error)))?;
    let value = first.to_value();
    if accepted.is(&value) {
        return whole(&source, Document::from_yaml(&source, first, value), choice);
    }
    if let Some(problem) = template::parsed(&source, &value) {
        return Err(one(problem));
    }
    let documents = envoy::documents(text).collect::<Result<Vec<Tree>, _>>();
    let documents = documents.map_err(|error| one(unreadable(&source, &error)))?;
    let embedded = manifest::find(&source, &documents).map_err(one)?;
    if !embedded.is_empty() {
        return chosen(&source, &embedded, choice);
    }
    Err(no_configuration(&source, &first, &documents))
}

/// A text that is a configuration.
fn whole(source: &Source, document: Document, choice: Option<&str>) -> Result<Given, Problems> {
    if let Some(problem) = template::parsed(source, &document.value) {
        return Err(one(problem));
    }
    if let Some(choice) = choice {
        let message = format!(
            "the file is one configuration, without a part that is called `{choice}`; leave out `#{choice}`"
        );
        return Err(one(Problem { place: source.place(0), message }));
    }
    Ok(Given { document, described: None, beside: BTreeMap::new() })
}

/// Selects one of the configurations in objects.
fn chosen(source: &Source, embedded: &[Embedded], choice: Option<&str>) -> Result<Given, Problems> {
    let is_meant =
        |one: &&Embedded| choice.is_none_or(|choice| one.names().iter().any(|name| name == choice));
    let meant: Vec<&Embedded> = embedded.iter().filter(is_meant).collect();
    let chosen = match meant.as_slice() {
        [only] => only,
        several => {
            // Two configurations may have the same names.
            let by_number =
                choice.and_then(|choice| embedded.get(choice.parse::<usize>().ok()?.checked_sub(1)?));
            match by_number {
                Some(meant) => meant,
                None => return Err(listed(source, embedded, choice.filter(|_| several.is_empty()))),
            }
        }
    };
    let inner = &chosen.source;
    let document = match Document::parse(inner) {
        Ok(document) => document,
        Err(problem) => {
            let line = problem.place.line.saturating_sub(inner.first_line - 1);
            return Err(one(template::unparsed(inner, line).unwrap_or(problem)));
        }
    };
    if let Some(problem) = template::parsed(inner, &document.value) {
        return Err(one(problem));
    }
    if !is_configuration(&document.value) {
        let first = envoy::first(&inner.text).map_err(|error| one(unreadable(inner, &error)))?;
        return Err(no_configuration(inner, &first, &[]));
    }
    let place = if inner.name == source.name {
        format!("{}:{}", source.name, document.place("").line.max(inner.first_line))
    } else {
        inner.name.clone()
    };
    let described = format!("{}, {place}", chosen.described());
    Ok(Given { document, described: Some(described), beside: chosen.beside() })
}

/// The names by which the configurations in the objects of a text are chosen; none if the text is a single configuration, or contains none.
pub fn choices(name: &str, text: &str) -> Vec<String> {
    let is_whole = |value: &Value| Accepted::Resources.is(value);
    if envoy::json(text).is_some_and(|value| is_whole(&value)) {
        return Vec::new();
    }
    let documents: Vec<Tree> = envoy::documents(text).map_while(Result::ok).collect();
    if documents.first().is_some_and(|first| is_whole(&first.to_value())) {
        return Vec::new();
    }
    let source = Source::file(name, text);
    manifest::find(&source, &documents).map(|embedded| names_of(&embedded)).unwrap_or_default()
}

/// The shortest unique name of each configuration, or its number if it has none.
fn names_of(embedded: &[Embedded]) -> Vec<String> {
    let all: Vec<[String; 4]> = embedded.iter().map(Embedded::names).collect();
    let name = |(index, names): (usize, &[String; 4])| {
        let is_unique =
            |level: &usize| all.iter().filter(|others| others[*level] == names[*level]).count() == 1;
        (0..4).find(is_unique).map_or_else(|| (index + 1).to_string(), |level| names[level].clone())
    };
    all.iter().enumerate().map(name).collect()
}

/// A problem that lists all configurations of a file, each with its name.
fn listed(source: &Source, embedded: &[Embedded], unknown: Option<&str>) -> Problems {
    let why = match unknown {
        Some(unknown) => format!("and none is called `{unknown}`"),
        None => "and you must choose one".to_owned(),
    };
    let problem = |(one, name): (&Embedded, String)| {
        let message = format!(
            "{} is one of {} configurations in this file, {why}: `{}#{name}` is this one",
            one.described(),
            embedded.len(),
            source.name
        );
        Problem { place: one.source.place(1), message }
    };
    Problems::new(embedded.iter().zip(names_of(embedded)).map(problem).collect())
}

/// Returns the problems of a file without a configuration: its kind, and how to get one.
fn no_configuration(source: &Source, first: &Tree, documents: &[Tree]) -> Problems {
    let value = first.to_value();
    if let Some(problem) = foreign::of_api_v1(source, &value, &|pointer| line_of(first, pointer)) {
        return one(problem);
    }
    // An object may contain a chart template, which is not a configuration yet.
    let mut texts = documents.iter().flat_map(|tree| manifest::data(source, tree));
    if let Some(problem) = texts.find_map(|text| template::other(&text)) {
        return one(problem);
    }
    let foreign = foreign::problems(source, documents);
    if !foreign.is_empty() {
        return Problems::new(foreign);
    }
    if let Some(problem) = foreign::of_text(source).or_else(|| template::other(source)) {
        return one(problem);
    }
    let of_listeners = |listener: &Value| listener.get("port").is_some() && listener.get("address").is_none();
    let listeners = value.get("listeners").and_then(Value::as_array);
    let why = if listeners.is_some_and(|all| all.iter().any(of_listeners)) {
        let name = path_word(source.name.as_ref());
        format!(
            "it is a listeners file; `hoptax listeners render {name} > envoy.yaml` makes a configuration from it"
        )
    } else if value.is_object() {
        format!("it has none of `{SECTIONS}`, `{}`", RESOURCES.join("`, `"))
    } else if value.is_null() && documents.len() > 1 {
        "its first document is empty, and Envoy reads only the first".to_owned()
    } else {
        "it is not a mapping".to_owned()
    };
    let message = format!("neither an Envoy bootstrap nor a /config_dump: {why}");
    one(Problem { place: source.place(first.line), message })
}

/// The line of a key of the outermost mapping.
fn line_of(tree: &Tree, pointer: &str) -> u64 {
    let envoy::Node::Mapping(entries) = &tree.node else { return tree.line };
    let found = entries.iter().find(|(key, _)| pointer.trim_start_matches('/') == key.text);
    found.map_or(tree.line, |(key, _)| key.line)
}

fn unreadable(source: &Source, error: &envoy::Error) -> Problem {
    let template = template::unparsed(source, error.line);
    template.or_else(|| foreign::of_text(source)).unwrap_or_else(|| source.unreadable(error))
}

/// True if a value is a bootstrap or a dump.
fn is_configuration(value: &Value) -> bool {
    let Some(entries) = value.as_object() else { return false };
    let has = |field: &str| entries.iter().any(|(key, value)| is_field(key, field) && !value.is_null());
    entries.get(SECTIONS).is_some_and(Value::is_array) || RESOURCES.iter().any(|field| has(field))
}

fn one(problem: Problem) -> Problems {
    Problems::new(vec![problem])
}

#[cfg(test)]
mod tests;
