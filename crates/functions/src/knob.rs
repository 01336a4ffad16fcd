//! Knobs: the parameters that change the cost of a function, and their values.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// A parameter that changes the cost of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knob {
    /// Its default value.
    pub default: KnobValue,
    /// The values that it accepts.
    pub range: KnobRange,
    /// A one-line description.
    pub summary: String,
}

/// The values that a knob accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobRange {
    /// An integer in a range, both ends included.
    Integer {
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
    /// One of these words.
    Word(Vec<String>),
}

/// A value of a knob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobValue {
    /// A whole number.
    Integer(u64),
    /// A word of letters, digits, `-`, `_` and `.`.
    Word(String),
}

/// The values of all knobs of a function, those not set at their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knobs(pub(crate) BTreeMap<String, KnobValue>);

impl KnobRange {
    /// Returns true if `value` is in this range.
    pub fn contains(&self, value: &KnobValue) -> bool {
        match (self, value) {
            (Self::Integer { min, max }, KnobValue::Integer(value)) => (min..=max).contains(&value),
            (Self::Word(choices), KnobValue::Word(word)) => choices.contains(word),
            _ => false,
        }
    }
}

impl fmt::Display for KnobRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer { min, max } => write!(f, "an integer from {min} to {max}"),
            Self::Word(choices) => write!(f, "one of `{}`", choices.join("`, `")),
        }
    }
}

impl KnobValue {
    /// Parses a value: digits are an integer, anything else of the permitted characters a
    /// word.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Ok(integer) = text.parse() {
            return Some(Self::Integer(integer));
        }
        let permitted = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        (!text.is_empty() && text.chars().all(permitted)).then(|| Self::Word(text.to_owned()))
    }
}

impl fmt::Display for KnobValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => integer.fmt(f),
            Self::Word(word) => word.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for KnobValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KnobValueVisitor)
    }
}

struct KnobValueVisitor;

impl Visitor<'_> for KnobValueVisitor {
    type Value = KnobValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number or a word of letters, digits, `-`, `_` and `.`")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<KnobValue, E> {
        Ok(KnobValue::Integer(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<KnobValue, E> {
        let integer = u64::try_from(value).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))?;
        Ok(KnobValue::Integer(integer))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<KnobValue, E> {
        KnobValue::parse(value).ok_or_else(|| E::invalid_value(Unexpected::Str(value), &self))
    }
}

impl Knobs {
    /// The value of a knob.
    pub fn get(&self, name: &str) -> Option<&KnobValue> {
        self.0.get(name)
    }

    /// All knobs with their values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &KnobValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}
