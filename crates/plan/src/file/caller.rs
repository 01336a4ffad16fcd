//! The caller of a load: a word, or a command of the user.

use hoptax_result::LoadSpec;
use hoptax_subject::caller::{ALL, Caller};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::word::one_of_words;

/// The caller of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum CallerEntry {
    /// A known caller, by its name.
    Word(#[schemars(schema_with = "words")] String),
    /// A command of the user.
    Command(CallerSection),
}

/// A command that calls a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct CallerSection {
    /// The program and its arguments. A program with a `/` starts at the folder of the study file, others are looked up on
    /// PATH. `{url}` stands for the URL, `{host}` and `{port}` for its parts, of which an argument must have the URL or the port,
    /// `{seconds}` for the duration, which an argument must have, `{processes}` for the `connections` of the load,
    /// `{authority}` for the file of the authority that signed the server's certificate (empty for plaintext), and `{folder}`
    /// for the folder of the study file. The command prints a line for each call, with its time in microseconds or `failed`,
    /// and finally `end` with the time from the start of the first call to the end of the last, in microseconds.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
}

impl Default for CallerEntry {
    fn default() -> Self {
        Self::Word(LoadSpec::OWN_CALLER.to_owned())
    }
}

impl CallerEntry {
    /// The caller; none for hoptax.
    ///
    /// # Errors
    /// When a command cannot be used.
    pub fn plan(&self) -> Result<Option<Caller>, String> {
        match self {
            // The schema knows the words.
            Self::Word(word) => Ok(Caller::named(word)),
            Self::Command(CallerSection { command }) => Caller::from_command(command).map(Some),
        }
    }
}

/// `hoptax`, or the name of a caller of `apps/`.
fn words(_: &mut SchemaGenerator) -> Schema {
    let known = ALL.iter().map(|known| (known.name, known.title));
    one_of_words([(LoadSpec::OWN_CALLER, "hoptax's load generator.")].into_iter().chain(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_a_word_or_a_command() {
        let of = |yaml: &str| serde_saphyr::from_str::<CallerEntry>(yaml).unwrap().plan();
        assert!(of("hoptax").unwrap().is_none());
        assert_eq!(of("php").unwrap().unwrap().name(), "php");
        let caller = of("{command: [./call, '{url}', '{seconds}']}").unwrap().unwrap();
        assert_eq!(caller.name(), "./call {url} {seconds}");
        assert!(of("{command: [./call, '{url}']}").unwrap_err().contains("`{seconds}`"));
        of("{command: [./call, --port, '{port}', '{seconds}']}").unwrap();
        assert!(CallerEntry::default().plan().unwrap().is_none());
    }
}
