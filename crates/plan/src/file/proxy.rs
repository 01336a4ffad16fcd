//! The software of a proxy. Its words are those of [`hoptax_subject::front::ALL`], and `envoy`.

use std::borrow::Cow;

use hoptax_subject::front::{self, Front};
use hoptax_text::nearest::hint;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::word::one_of_words;

/// The word for Envoy.
const ENVOY: &str = "envoy";

/// The proxy software.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyWord {
    /// Envoy.
    #[default]
    Envoy,
    /// Another proxy.
    Front(&'static Front),
}

impl ProxyWord {
    /// Its spelling in study files.
    pub fn as_str(self) -> &'static str {
        self.front().map_or(ENVOY, |front| front.name)
    }

    /// The proxy that is not Envoy; None for Envoy.
    pub fn front(self) -> Option<&'static Front> {
        match self {
            Self::Envoy => None,
            Self::Front(front) => Some(front),
        }
    }

    fn parse(word: &str) -> Option<Self> {
        if word == ENVOY { Some(Self::Envoy) } else { Front::named(word).map(Self::Front) }
    }
}

impl Serialize for ProxyWord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ProxyWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let words = front::ALL.iter().map(|front| front.name).chain([ENVOY]);
        Self::parse(&word)
            .ok_or_else(|| de::Error::custom(format!("unknown proxy `{word}`{}", hint(&word, words))))
    }
}

impl JsonSchema for ProxyWord {
    fn schema_name() -> Cow<'static, str> {
        "ProxyWord".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let fronts = front::ALL.iter().map(|front| (front.name, front.title));
        let mut schema = one_of_words([(ENVOY, "Envoy.")].into_iter().chain(fronts));
        schema.insert("description".to_owned(), "The proxy software.".into());
        schema
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_proxy_has_its_word() {
        let all = front::ALL.map(ProxyWord::Front).into_iter().chain([ProxyWord::Envoy]);
        for word in all {
            let json = serde_json::to_value(word).unwrap();
            assert_eq!(json, word.as_str());
            assert_eq!(serde_json::from_value::<ProxyWord>(json).unwrap(), word);
        }
        let error = serde_json::from_value::<ProxyWord>(json!("ngnix")).unwrap_err().to_string();
        assert!(error.contains("`nginx`"), "{error}");
    }
}
