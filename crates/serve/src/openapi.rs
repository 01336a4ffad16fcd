//! The OpenAPI document of the API, generated from its operations and the types that they read and write.
//!
//! `schemars` generates the schemas, as for all results: OpenAPI 3.1 uses JSON Schema 2020-12.

use hoptax_result::Program;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::api::{Answer, BASE, Operation, Place, operations};

/// The path of schemas in the document.
const SCHEMAS: &str = "/components/schemas";

/// The OpenAPI document.
pub fn openapi() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = SCHEMAS.into();
        settings.meta_schema = None;
    });
    // In a request, an absent field has its default; a response has all fields.
    let mut read = settings.clone().for_deserialize().into_generator();
    let mut written = settings.for_serialize().into_generator();
    let mut paths = Map::new();
    for operation in operations() {
        let path = paths.entry(format!("{BASE}{}", operation.path)).or_insert_with(|| json!({}));
        path[operation.verb.as_str()] = described(operation, &mut read, &mut written);
    }
    let mut schemas = read.take_definitions(true);
    schemas.append(&mut written.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "hoptax serve",
            "description": "The runs of the store; and loads, searches, studies and bills as jobs. docs/guide/serve.md describes who may ask, and where loads may go.",
            "version": Program::this().version,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        // The token is optional: a server that only this machine can reach may have none.
        "security": [{}, {"token": []}],
    })
}

fn described(operation: &Operation, read: &mut SchemaGenerator, written: &mut SchemaGenerator) -> Value {
    let parameters = operation.parameters.iter().map(|parameter| {
        let mut described = json!({
            "name": parameter.name,
            "in": if parameter.place == Place::Path { "path" } else { "query" },
            "required": parameter.is_required,
            "description": parameter.description,
            "schema": (parameter.schema)(read),
        });
        // A list is a single comma-separated value, not one parameter per item.
        if described["schema"]["type"] == "array" {
            described["explode"] = json!(false);
        }
        described
    });
    let common = [
        Answer::error(400, "A part of the address cannot be read."),
        Answer::error(401, "The token is missing or wrong."),
        Answer::error(403, "A page of another server or a proxy sent the request."),
        Answer::error(405, "The address has no such method."),
        Answer::error(421, "The request names another host."),
        Answer::error(500, "The store cannot be read, or hoptax has a bug."),
    ];
    let mut answers = Map::new();
    for answer in operation.answers.iter().chain(&common) {
        let types = answer.content.types(written).into_iter();
        let content: Map<String, Value> =
            types.map(|(media_type, schema)| (media_type.to_owned(), json!({"schema": schema}))).collect();
        // The description of an operation overrides the common description of a status.
        answers
            .entry(answer.status.to_string())
            .or_insert_with(|| json!({"description": answer.description, "content": content}));
    }
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters.collect::<Vec<Value>>(),
        "responses": answers,
    });
    if let Some(body) = operation.body {
        described["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": body(read)}}});
    }
    described
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// All values of `$ref` in a document.
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|field| references(field, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_to_a_schema_whose_name_openapi_allows() {
        let document = openapi();
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(found.contains("#/components/schemas/Job"), "{found:?}");
        for reference in &found {
            let name =
                reference.strip_prefix("#/components/schemas/").unwrap_or_else(|| panic!("{reference}"));
            assert!(
                name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)),
                "{name}"
            );
            assert!(document["components"]["schemas"].get(name).is_some(), "{reference}");
        }
    }

    #[test]
    fn every_operation_has_the_errors_that_all_have_and_its_own_words_for_them() {
        let document = openapi();
        let operations: Vec<&Value> = document["paths"]
            .as_object()
            .unwrap()
            .values()
            .flat_map(|path| path.as_object().unwrap().values())
            .collect();
        assert!(operations.len() > 5);
        for operation in operations {
            for status in ["400", "401", "403", "405", "421", "500"] {
                let body = &operation["responses"][status]["content"]["application/json"]["schema"];
                assert_eq!(body["$ref"], "#/components/schemas/ErrorBody", "{status}: {operation}");
            }
        }
        let refused = &document["paths"]["/api/v1/loads"]["post"]["responses"]["403"]["description"];
        assert!(refused.as_str().unwrap().contains("target"), "{refused}");
    }

    #[test]
    fn a_download_has_the_media_type_and_the_schema_of_each_format() {
        let document = openapi();
        let download =
            &document["paths"]["/api/v1/runs/{run}/{output}"]["get"]["responses"]["200"]["content"];
        assert_eq!(download["application/json"]["schema"]["$ref"], "#/components/schemas/Document");
        assert_eq!(download["text/csv; charset=utf-8"]["schema"]["type"], "string");
        assert_eq!(download.as_object().unwrap().len(), 4, "{download}");
    }

    #[test]
    fn a_list_in_a_query_is_one_value_with_commas() {
        let document = openapi();
        let runs = &document["paths"]["/api/v1/compare"]["get"]["parameters"][0];
        assert_eq!((&runs["required"], &runs["explode"]), (&json!(true), &json!(false)), "{runs}");
        assert_eq!((&runs["schema"]["minItems"], &runs["schema"]["maxItems"]), (&json!(2), &json!(5)));
        let limit = &document["paths"]["/api/v1/runs"]["get"]["parameters"][0];
        assert_eq!((&limit["required"], limit.get("explode")), (&json!(false), None), "{limit}");
    }

    #[test]
    fn parameters_are_those_of_the_paths_and_ids_are_unique() {
        let mut ids = BTreeSet::new();
        for operation in operations() {
            let names: Vec<&str> = operation
                .path
                .split('/')
                .filter_map(|part| part.strip_prefix('{').and_then(|part| part.strip_suffix('}')))
                .collect();
            let in_path = operation.parameters.iter().filter(|parameter| parameter.place == Place::Path);
            let stated: Vec<&str> = in_path.map(|parameter| parameter.name).collect();
            assert_eq!(names, stated, "{}", operation.path);
            assert!(ids.insert(operation.id), "{}", operation.id);
            let statuses: BTreeSet<u16> = operation.answers.iter().map(|answer| answer.status).collect();
            assert_eq!(statuses.len(), operation.answers.len(), "{}", operation.id);
        }
    }
}
