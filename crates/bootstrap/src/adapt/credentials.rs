//! Replaces the users and keys that filters require by the same number of the lab's. Requests present one of them.

use serde_json::{Value, json};

use super::Context;
use super::masks::Taken;
use crate::tree::{items, join, message};

/// The user of the lab, `lab` with the password `lab`, as basic authentication stores it.
const USER: &str = "lab:{SHA}OVP53fl1q1CX7kaNmVVcW0QRab8=";
/// The header with which that user authenticates.
pub(crate) const BASIC_USER: &str = "Basic bGFiOmxhYg==";

pub(super) fn adapt(context: &mut Context<'_>) {
    for at in fields(context, ".basic_auth.v3.", "users") {
        replace_users(context, &at);
    }
    for at in fields(context, ".api_key_auth.v3.", "credentials") {
        replace_keys(context, &at);
    }
}

/// The pointers of a field in all messages of a package.
fn fields(context: &Context<'_>, package: &str, field: &str) -> Vec<String> {
    let is_meant = |_: &str, node: &Value| {
        let message = message(node);
        message.of.contains(package) && message.fields.get(field).is_some()
    };
    let at = |pointer: &String| context.tree.pointer(pointer).map_or("", |node| message(node).at);
    let found = context.find(&is_meant);
    found.iter().map(|pointer| join(&format!("{pointer}{}", at(pointer)), field)).collect()
}

fn replace_users(context: &mut Context<'_>, at: &str) {
    let given = context.tree.pointer(at).and_then(|source| context.content(source)).unwrap_or_default();
    let number = String::from_utf8_lossy(&given).lines().count().max(1);
    let more = (1..number).map(|number| format!("\n{}", USER.replacen("lab", &format!("lab{number}"), 1)));
    let users = std::iter::once(USER.to_owned()).chain(more).collect::<String>();
    let source = json!({"inline_string": users});
    context.replace(at, source, "users and hashed passwords", "as many users of the lab");
}

/// Clients keep their names, because routes may admit only some clients.
fn replace_keys(context: &mut Context<'_>, at: &str) {
    let mut credentials: Vec<Value> =
        items(&context.tree, at).into_iter().map(|(_, one)| one.clone()).collect();
    let mut taken = Taken::default();
    for entries in credentials.iter_mut().filter_map(Value::as_object_mut) {
        let given = entries.get("key").and_then(Value::as_str).unwrap_or_default();
        let key = context.masks.distinct(given, &mut taken);
        entries.insert("key".to_owned(), key.into());
    }
    context.replace(at, credentials.into(), "keys of clients", "as many keys of the lab, of the same length");
}

#[cfg(test)]
mod tests {
    use crate::fixture::{adapted, configuration, lab, request_of};

    use super::*;

    /// A configuration whose only filter has these settings, and these settings of its route.
    fn with_filter(typed_config: &Value, of_route: &Value) -> String {
        let manager = json!({
            "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "http_filters": [{"name": "one", "typed_config": typed_config}],
            "route_config": {"virtual_hosts": [{"domains": ["*"], "routes": [{
                "match": {"prefix": "/", "headers": [{"name": "x-api-key", "string_match": {"exact": "hunter2-key-b"}}]},
                "route": {"cluster": "c"},
                "typed_per_filter_config": {"one": of_route},
            }]}]},
        });
        let listener = json!({"name": "a", "filter_chains": [{"filters": [{"typed_config": manager}]}]});
        json!({"static_resources": {"listeners": [listener]}}).to_string()
    }

    /// The settings in plain form, and wrapped like those of Istio and others.
    fn both_forms(of: &str, settings: &Value) -> [Value; 2] {
        let kind = format!("type.googleapis.com/envoy.extensions.filters.http.{of}");
        let mut plain = settings.clone();
        plain["@type"] = kind.as_str().into();
        let wrapper = "type.googleapis.com/xds.type.v3.TypedStruct";
        [plain, json!({"@type": wrapper, "type_url": kind, "value": settings})]
    }

    /// The text of the adapted configuration, and a header of the request that is derived from it.
    fn text_and_header(configuration: &str, header: &str) -> (String, Option<String>) {
        let adapted = adapted(configuration);
        let request = request_of(&adapted);
        let found = request.headers.into_iter().find(|(name, _)| name == header);
        (adapted.bootstrap().to_string(), found.map(|(_, value)| value))
    }

    #[test]
    fn users_are_replaced_and_one_is_presented_also_where_the_settings_are_wrapped() {
        let users = json!({"users": {"inline_string": "ann:{SHA}hunter2-a=\nbob:{SHA}hunter2-b="}});
        for filter in both_forms("basic_auth.v3.BasicAuth", &users) {
            let (text, header) = text_and_header(&with_filter(&filter, &Value::Null), "authorization");
            assert!(!text.contains("hunter2") && !text.contains("ann:"), "{text}");
            assert!(
                text.contains(&json!(format!("{USER}\n{}", USER.replacen("lab", "lab1", 1))).to_string()),
                "{text}"
            );
            assert_eq!(header.as_deref(), Some(BASIC_USER));
        }
    }

    #[test]
    fn a_token_is_presented_also_where_the_settings_are_wrapped() {
        let provider = json!({"issuer": "i", "local_jwks": {"inline_string": "{\"keys\": []}"}});
        let rules = json!([{"match": {"prefix": "/"}, "requires": {"provider_name": "a"}}]);
        let settings = json!({"providers": {"a": provider}, "rules": rules});
        for filter in both_forms("jwt_authn.v3.JwtAuthentication", &settings) {
            let (_, header) = text_and_header(&with_filter(&filter, &Value::Null), "authorization");
            assert!(header.is_some_and(|value| value.starts_with("Bearer eyJ")), "{filter}");
        }
    }

    #[test]
    fn as_many_users_as_are_in_a_file() {
        let users = json!({"users": {"filename": "/etc/users"}});
        let [plain, _] = both_forms("basic_auth.v3.BasicAuth", &users);
        let configuration = configuration(&with_filter(&plain, &Value::Null)).unwrap();
        let read = |path: &str| (path == "/etc/users").then(|| b"a:{SHA}A=\nb:{SHA}B=\nc:{SHA}C=\n".to_vec());
        let bootstrap = configuration.adapt(&lab(), &read).unwrap().bootstrap().to_string();
        assert_eq!(bootstrap.matches("{SHA}").count(), 3, "{bootstrap}");
    }

    #[test]
    fn keys_have_the_length_of_the_originals_and_the_request_has_one_that_its_route_and_its_filter_accept() {
        let credentials =
            json!([{"key": "hunter2-key-b", "client": "b"}, {"key": "hunter2-other", "client": "c"}]);
        let own =
            json!({"credentials": credentials, "key_sources": [{"query": "key"}, {"header": "X-Api-Key"}]});
        let (first, second) = ("x".repeat(13), format!("{}1", "x".repeat(12)));
        for filter in both_forms("api_key_auth.v3.ApiKeyAuth", &own) {
            let (text, header) = text_and_header(&with_filter(&filter, &Value::Null), "x-api-key");
            let wanted = json!([{"key": first, "client": "b"}, {"key": second, "client": "c"}]);
            assert!(!text.contains("hunter2") && text.contains(&wanted.to_string()), "{text}");
            assert_eq!(header, Some(first.clone()));
        }
    }

    /// Would take half a minute if each key were compared with all others.
    #[test]
    fn a_thousand_clients_have_keys_of_their_own() {
        let credential = |number: usize| {
            let key = if number < 500 { "[redacted]".to_owned() } else { format!("hunter2-{number:04}") };
            json!({"key": key, "client": format!("c-{number}")})
        };
        let credentials: Vec<Value> = (0..1000).map(credential).collect();
        let [plain, _] = both_forms("api_key_auth.v3.ApiKeyAuth", &json!({"credentials": credentials}));
        let bootstrap = adapted(&with_filter(&plain, &Value::Null)).bootstrap();
        let at = "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config/http_filters/0/typed_config/credentials";
        let keys: Vec<&str> =
            items(&bootstrap, at).into_iter().map(|(_, one)| one["key"].as_str().unwrap()).collect();
        assert_eq!(keys.iter().collect::<std::collections::HashSet<_>>().len(), 1000);
        assert!(keys[500..].iter().all(|key| key.len() == "hunter2-0000".len()));
        assert!(!bootstrap.to_string().contains("hunter2-0"));
    }

    #[test]
    fn a_route_has_keys_clients_and_places_of_its_own() {
        let own = json!({"credentials": [{"key": "hunter2-own", "client": "a"}], "key_sources": [{"header": "x-own"}]});
        let [plain, _] = both_forms("api_key_auth.v3.ApiKeyAuth", &own);
        let credentials =
            json!([{"key": "hunter2-1", "client": "one"}, {"key": "hunter2-second", "client": "two"}]);
        let of_route = json!({"credentials": credentials, "allowed_clients": ["two"], "key_sources": [{"header": "Authorization"}]});
        for of_route in both_forms("api_key_auth.v3.ApiKeyAuthPerRoute", &of_route) {
            let (text, header) = text_and_header(&with_filter(&plain, &of_route), "authorization");
            assert!(!text.contains("hunter2"), "{text}");
            assert_eq!(header, Some(format!("Bearer {}", "x".repeat("hunter2-second".len()))));
        }
    }
}
