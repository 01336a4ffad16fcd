//! The template engine, and the variables of templates.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use minijinja::{Environment, UndefinedBehavior};

use crate::document::json_document;
use crate::knob::{KnobValue, Knobs};

/// The values of knobs, as template variables.
pub(crate) fn variables(knobs: &Knobs) -> BTreeMap<&str, minijinja::Value> {
    let value = |value: &KnobValue| match value {
        KnobValue::Integer(integer) => (*integer).into(),
        KnobValue::Word(word) => word.as_str().into(),
    };
    knobs.iter().map(|(name, one)| (name, value(one))).collect()
}

/// The template engine for all templates of functions: an undefined name is an error. It is made once, which takes longer than most
/// templates.
pub(crate) fn environment() -> &'static Environment<'static> {
    static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_function("json_document", json_document);
        environment
    });
    &ENVIRONMENT
}
