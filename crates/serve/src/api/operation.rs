//! The description of an operation of the API.

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
    /// Its path, relative to that of the API. Parameters are in braces, which is the syntax of both axum and OpenAPI.
    pub(crate) path: &'static str,
    /// A name for programs.
    pub(crate) id: &'static str,
    /// Its effect, in one sentence.
    pub(crate) summary: &'static str,
    /// The parameters of its path, in their order, followed by those of its query.
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
    /// `PATCH`.
    Patch,
}

/// A place of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The path, where a parameter is always required.
    Path,
    /// The query, where a parameter may be optional.
    Query,
}

/// A parameter.
#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    /// Its place.
    pub(crate) place: Place,
    /// Its name.
    pub(crate) name: &'static str,
    /// Its meaning.
    pub(crate) description: &'static str,
    /// Its schema.
    pub(crate) schema: Schematic,
    /// True if requests without it are refused.
    pub(crate) is_required: bool,
}

/// An answer.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    /// Its status.
    pub(crate) status: u16,
    /// When it is given.
    pub(crate) description: &'static str,
    /// Its body.
    pub(crate) content: Content,
}

/// The body of an answer.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    /// JSON with this schema.
    Json(Schematic),
    /// One of these media types, each with its schema.
    Types(fn(&mut SchemaGenerator) -> Vec<(&'static str, Schema)>),
}

impl Content {
    /// Its media types with their schemas.
    pub(crate) fn types(self, generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
        match self {
            Self::Json(schema) => vec![("application/json", schema(generator))],
            Self::Types(types) => types(generator),
        }
    }
}

impl Verb {
    /// Its name in OpenAPI.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Patch => "patch",
        }
    }
}

impl Parameter {
    /// A parameter in a path.
    pub(crate) const fn in_path(name: &'static str, description: &'static str, schema: Schematic) -> Self {
        Self { place: Place::Path, name, description, schema, is_required: true }
    }

    /// An optional parameter in a query.
    pub(crate) const fn in_query(name: &'static str, description: &'static str, schema: Schematic) -> Self {
        Self { place: Place::Query, name, description, schema, is_required: false }
    }

    /// A required parameter in a query.
    pub(crate) const fn in_required_query(
        name: &'static str,
        description: &'static str,
        schema: Schematic,
    ) -> Self {
        Self { is_required: true, ..Self::in_query(name, description, schema) }
    }
}

impl Answer {
    /// An answer in JSON.
    pub(crate) const fn json(status: u16, description: &'static str, schema: Schematic) -> Self {
        Self { status, description, content: Content::Json(schema) }
    }

    /// An error.
    pub(crate) const fn error(status: u16, description: &'static str) -> Self {
        Self::json(status, description, schema_of::<crate::problem::ErrorBody>)
    }
}

/// The schema of a type.
pub(crate) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}
