//! The form of an operation of the API.

use std::sync::Arc;

use axum::routing::MethodRouter;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::app::App;

/// Makes a schema.
pub(crate) type Schematic = fn(&mut SchemaGenerator) -> Schema;

/// An operation.
#[derive(Clone, Copy)]
pub(crate) struct Operation {
    /// Its method.
    pub(crate) verb: Verb,
    /// Its path, below that of the API. Parameters are in braces, which axum and OpenAPI write alike.
    pub(crate) path: &'static str,
    /// A name for programs.
    pub(crate) id: &'static str,
    /// Its effect, in one sentence.
    pub(crate) summary: &'static str,
    /// The parameters in its path, in their order.
    pub(crate) parameters: &'static [Parameter],
    /// The body of a request; None if it has none.
    pub(crate) body: Option<Schematic>,
    /// Its answers, without errors that every operation may have.
    pub(crate) answers: &'static [Answer],
    /// Its route.
    pub(crate) route: fn() -> MethodRouter<Arc<App>>,
}

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// `GET`.
    Get,
    /// `POST`.
    Post,
    /// `DELETE`.
    Delete,
}

/// A parameter in a path.
#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its meaning.
    pub(crate) description: &'static str,
    /// Its schema.
    pub(crate) schema: Schematic,
}

/// An answer.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    /// Its status.
    pub(crate) status: u16,
    /// When it is given.
    pub(crate) description: &'static str,
    /// The media type of its body.
    pub(crate) content: &'static str,
    /// The schema of its body.
    pub(crate) schema: Schematic,
}

impl Verb {
    /// Its name in OpenAPI.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }
}

impl Parameter {
    /// The number of a run or a job.
    pub(crate) const fn number(name: &'static str, description: &'static str) -> Self {
        Self { name, description, schema: of::<u64> }
    }
}

impl Answer {
    /// An answer in JSON.
    pub(crate) const fn json(status: u16, description: &'static str, schema: Schematic) -> Self {
        Self { status, description, content: "application/json", schema }
    }

    /// An error.
    pub(crate) const fn error(status: u16, description: &'static str) -> Self {
        Self::json(status, description, of::<crate::problem::ErrorBody>)
    }
}

/// The schema of a type.
pub(crate) fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}
