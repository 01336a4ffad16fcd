//! The application behind the proxies: a word, or a command of the user.

use hoptax_subject::application::{ALL, Application};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::word::one_of_words;

/// The word for hoptax's test server.
pub const ORIGIN: &str = "origin";

/// The application behind the proxies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ApplicationEntry {
    /// A known application, by its name.
    Word(#[schemars(schema_with = "words")] String),
    /// A command of the user.
    Command(ApplicationSection),
}

/// A command that serves plain HTTP/1.1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct ApplicationSection {
    /// The program and its arguments. A program with a `/` starts at the folder of the study file, others are looked up on
    /// PATH. `{port}` stands for the port to listen on, which an argument must have, `{host}` for the address, and `{folder}`
    /// for the folder of the study file.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// The path that answers with a status of 200 to 299 once the application is ready. Default: it is ready when it
    /// accepts connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^/"))]
    pub ready: Option<String>,
}

impl Default for ApplicationEntry {
    fn default() -> Self {
        Self::Word(ORIGIN.to_owned())
    }
}

impl ApplicationEntry {
    /// The application; none for the origin.
    ///
    /// # Errors
    /// When a command cannot be used.
    pub fn plan(&self) -> Result<Option<Application>, String> {
        match self {
            // The schema knows the words.
            Self::Word(word) => Ok(Application::named(word)),
            Self::Command(ApplicationSection { command, ready }) => {
                Application::from_command(command, ready.as_deref()).map(Some)
            }
        }
    }
}

/// `origin`, or the name of an application of `apps/`.
fn words(_: &mut SchemaGenerator) -> Schema {
    let known = ALL.iter().map(|known| (known.name, known.title));
    one_of_words([(ORIGIN, "hoptax's test server.")].into_iter().chain(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_is_a_word_or_a_command() {
        let of = |yaml: &str| serde_saphyr::from_str::<ApplicationEntry>(yaml).unwrap().plan();
        assert!(of("origin").unwrap().is_none());
        assert_eq!(of("go").unwrap().unwrap().name(), "go");
        let server = of("{command: [./server, --port, '{port}'], ready: /health}").unwrap().unwrap();
        assert_eq!(server.name(), "./server --port {port}");
        assert!(of("{command: [./server]}").unwrap_err().contains("`--port={port}`"));
        assert_eq!(ApplicationEntry::default().plan().unwrap().map(|application| application.name()), None);
    }
}
