//! The form of an extension, which matches a part of a configuration with the same function in the catalogue.

use serde_json::Value;

use crate::tree::{extension_type, is_version, message_type};

/// The form of an extension. Two extensions of the same form do the same task, perhaps with other settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Its type; `lines` for access logs that write lines, whatever the destination.
    of: String,
    /// Settings that distinguish extensions of the same type.
    details: Vec<String>,
    /// Its type as the configuration states it.
    stated: String,
}

/// Access logs that write lines.
const LINES: [&str; 2] = ["envoy.extensions.access_loggers.file.", "envoy.extensions.access_loggers.stream."];
/// Pointers in such logs to a line as a JSON object, the current one first.
const JSON: [&str; 3] = ["/log_format/json_format", "/json_format", "/typed_json_format"];
/// Extensions inside of an extension that do its work.
const LIBRARIES: [&str; 2] = ["compressor_library", "decompressor_library"];
/// Protocols of the service that an extension calls.
const SERVICES: [&str; 2] = ["grpc_service", "http_service"];

impl Form {
    /// The form of an extension of Envoy; none if the node is not one.
    pub fn from_extension(extension: &Value) -> Option<Self> {
        let configuration = extension.get("typed_config").unwrap_or(&Value::Null);
        let stated = extension_type(extension);
        // Routes and clusters have names too.
        let is_extension = configuration.is_object() || stated.starts_with("envoy.");
        if stated.is_empty() || !is_extension {
            return None;
        }
        let has = |pointer: &&str| configuration.pointer(pointer).is_some_and(|node| !node.is_null());
        let mut details: Vec<String> = Vec::new();
        let of = if LINES.iter().any(|family| stated.starts_with(family)) {
            details.push(if JSON.iter().any(has) { "json" } else { "text" }.to_owned());
            "lines"
        } else {
            let services =
                SERVICES.iter().filter(|key| configuration.get(**key).is_some_and(Value::is_object));
            details.extend(services.map(|key| (*key).to_owned()));
            let libraries = LIBRARIES.iter().filter_map(|key| configuration.get(*key)?.get("typed_config"));
            details.extend(libraries.map(|library| message_type(library).to_owned()));
            stated
        };
        Some(Self { of: of.to_owned(), details, stated: stated.to_owned() })
    }

    /// True if two extensions do the same task.
    pub fn is_same(&self, other: &Self) -> bool {
        self.of == other.of && self.details == other.details
    }

    /// The distinctive words of its type: the message, and the package before its version, such as `JwtAuthentication` and `jwt_authn`.
    pub fn words(&self) -> Vec<&str> {
        let mut segments: Vec<&str> = self.stated.split('.').collect();
        let message = segments.pop();
        let package = segments.pop().filter(|segment| is_version(segment)).and_then(|_| segments.pop());
        message.into_iter().chain(package).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(kind: &str, settings: &Value) -> Form {
        let mut configuration = settings.clone();
        configuration["@type"] = format!("type.googleapis.com/{kind}").into();
        Form::from_extension(&json!({"name": "own", "typed_config": configuration})).unwrap()
    }

    #[test]
    fn access_logs_of_lines_are_told_apart_by_their_format_not_by_where_they_write() {
        let file = "envoy.extensions.access_loggers.file.v3.FileAccessLog";
        let stdout = "envoy.extensions.access_loggers.stream.v3.StdoutAccessLog";
        let json = json!({"log_format": {"json_format": {"status": "%RESPONSE_CODE%"}}});
        assert!(form(file, &json).is_same(&form(stdout, &json)));
        assert!(!form(file, &json).is_same(&form(file, &json!({"path": "/log"}))));
        let grpc = form("envoy.extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig", &json!({}));
        assert!(!form(file, &json!({})).is_same(&grpc));
    }

    #[test]
    fn a_form_depends_on_the_service_and_the_library_of_an_extension() {
        let authorization = "envoy.extensions.filters.http.ext_authz.v3.ExtAuthz";
        let of = |key: &str| form(authorization, &json!({key: {}}));
        assert!(!of("grpc_service").is_same(&of("http_service")));
        let compressor = |library: &str| {
            let library = json!({"typed_config": {"@type": format!("type.googleapis.com/{library}")}});
            form(
                "envoy.extensions.filters.http.compressor.v3.Compressor",
                &json!({"compressor_library": library}),
            )
        };
        assert!(!compressor("a.Gzip").is_same(&compressor("a.Brotli")));
        for other in [json!({"tag_name": "shop"}), json!({"name": "shop", "routes": []}), json!(null)] {
            assert_eq!(Form::from_extension(&other), None, "{other}");
        }
    }

    #[test]
    fn a_type_ends_in_its_message_and_in_its_package() {
        let jwt = form("envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication", &json!({}));
        assert_eq!(jwt.words(), ["JwtAuthentication", "jwt_authn"]);
        let named = Form::from_extension(&json!({"name": "envoy.filters.http.cors"})).unwrap();
        assert_eq!(named.words(), ["cors"]);
    }
}
