//! Where the parts of a file are, for problems with them: lines of a text, or names in a file that no user wrote.

use std::collections::BTreeMap;

use hoptax_text::yaml::{self, Node, Placed};
use serde_json::Value;

use super::problem::{Problem, Problems};

/// The kind of an entry of `arms`, in words.
const ARM: &str = "arm";

/// The positions of the nodes of a file.
#[derive(Clone, Debug)]
pub struct Positions(Nodes);

#[derive(Clone, Debug)]
enum Nodes {
    /// Those of a text, with the name of its file.
    Text { file: String, root: Placed },
    /// Those of a study that a command made. Its user has seen no line of it.
    Made {
        study: Value,
        /// The arms that its user knows by other names: those names, by arm.
        known_as: BTreeMap<String, String>,
    },
}

impl Positions {
    /// The positions in the text of `file`.
    pub(super) fn of_text(file: &str, root: Placed) -> Self {
        Self(Nodes::Text { file: file.to_owned(), root })
    }

    /// The positions in a study that no user wrote, given its value, and the names by which its user knows arms.
    pub(super) fn of_made(study: Value, known_as: BTreeMap<String, String>) -> Self {
        Self(Nodes::Made { study, known_as })
    }

    /// The name of the file; none if no user wrote it.
    pub fn file(&self) -> Option<&str> {
        match &self.0 {
            Nodes::Text { file, .. } => Some(file),
            Nodes::Made { .. } => None,
        }
    }

    /// A problem with the node at `pointer`, a JSON pointer such as `/loads/0/rate`. If there is no such node, the
    /// problem is placed at the nearest enclosing one.
    pub fn problem(&self, pointer: &str, message: String) -> Problem {
        match &self.0 {
            Nodes::Text { root, .. } => {
                let place = yaml::find(root, pointer).referenced;
                Problem { line: place.line(), column: place.column(), message }
            }
            Nodes::Made { study, known_as } => {
                Problem { line: 0, column: 0, message: named(study, known_as, pointer, message) }
            }
        }
    }

    /// A problem with the key `key` of the mapping at `pointer`.
    pub(super) fn problem_with_key(&self, pointer: &str, key: &str, message: String) -> Problem {
        let Nodes::Text { root, .. } = &self.0 else { return self.problem(pointer, message) };
        let mapping = yaml::find(root, pointer);
        let place = match &mapping.value {
            Node::Mapping(entries) => {
                entries.iter().find(|(name, _)| name.value == key).map(|(name, _)| name.referenced)
            }
            _ => None,
        };
        let place = place.unwrap_or(mapping.referenced);
        Problem { line: place.line(), column: place.column(), message }
    }

    /// The line of the node at `pointer`; none in a study that no user wrote.
    pub(crate) fn line(&self, pointer: &str) -> Option<u64> {
        match &self.0 {
            Nodes::Text { root, .. } => Some(yaml::find(root, pointer).referenced.line()),
            Nodes::Made { .. } => None,
        }
    }

    /// Wraps `problems` as those of this file.
    pub fn problems(&self, problems: Vec<Problem>) -> Problems {
        match self.file() {
            Some(file) => Problems::new(file, problems),
            None => Problems::of_made(problems),
        }
    }
}

/// A message with the name of the arm or the load that it concerns, unless it has that already. Others name their keys.
fn named(study: &Value, known_as: &BTreeMap<String, String>, pointer: &str, message: String) -> String {
    let Some((kind, name)) = entry(study, pointer) else { return message };
    if let Some(known) = known_as.get(name).filter(|_| kind == ARM) {
        return format!("{known}: {message}");
    }
    let name = format!("`{name}`");
    if message.contains(&name) { message } else { format!("{kind} {name}: {message}") }
}

/// The kind and the name of the arm or the load at `pointer`.
fn entry<'a>(study: &'a Value, pointer: &str) -> Option<(&'static str, &'a str)> {
    let mut steps = pointer.split('/').skip(1);
    let list = steps.next()?;
    let kind = match list {
        "arms" => ARM,
        "loads" => "load",
        _ => return None,
    };
    let entry = study.get(list)?.get(steps.next()?.parse::<usize>().ok()?)?;
    let named = || ["name", "function", "unloaded"].iter().find_map(|key| entry.get(key)?.as_str());
    Some((kind, entry.as_str().or_else(named)?))
}
