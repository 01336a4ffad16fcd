//! The candidate of a gate, which replaces the Envoy or the configuration of a study.

use std::str::FromStr;

/// An Envoy or a configuration that replaces that of the arms of a study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    text: String,
    /// Its Envoy: a release, a path, or a name on PATH.
    pub(super) envoy: Option<String>,
    /// The path of its configuration.
    pub(super) config: Option<String>,
}

impl Candidate {
    /// The same candidate, with the path of its configuration made absolute by `absolute`: relative paths in a study start at the folder of
    /// its file.
    #[must_use]
    pub fn with_absolute_path(self, absolute: impl Fn(&str) -> String) -> Self {
        Self { config: self.config.map(|config| absolute(&config)), ..self }
    }

    /// The candidate as the user gave it.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for Candidate {
    type Err = String;

    /// Parses `envoy=RELEASE` or `config=FILE`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let value = value.trim();
        let error =
            || format!("`{text}` is not a candidate: write it as `envoy=1.41.0` or `config=new.yaml`");
        if value.is_empty() {
            return Err(error());
        }
        let (text, value) = (text.to_owned(), Some(value.to_owned()));
        match key.trim() {
            "envoy" => Ok(Self { text, envoy: value, config: None }),
            "config" => Ok(Self { text, envoy: None, config: value }),
            _ => Err(error()),
        }
    }
}
