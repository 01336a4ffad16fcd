//! Adds the credentials of the lab to a request, and the properties on which filters act.

use serde_json::Value;

use super::conditions::Scopes;
use super::{DerivedRequest, authorization, conditions, tokens};
use crate::adapt::{Adapted, BASIC_USER};
use crate::matcher::matched_text;
use crate::tree::{extension_type, items, join, message, message_type, text};

/// Adds the credentials that the filters of a connection manager require, and the properties on which its filters and access logs act.
/// `stated` are the user's headers. A property is added only if `is_meant` still accepts the request with it.
pub(super) fn add(
    adapted: &Adapted,
    manager: &str,
    scopes: Scopes<'_>,
    stated: &[(String, String)],
    request: &mut DerivedRequest,
    is_meant: &dyn Fn(&DerivedRequest) -> bool,
) {
    for (_, filter) in items(&adapted.tree, &join(manager, "http_filters")) {
        let Some(configuration) = filter.get("typed_config") else { continue };
        let configuration = message(configuration).fields;
        let of_scope = scopes.settings(filter);
        match extension_type(filter) {
            "envoy.extensions.filters.http.basic_auth.v3.BasicAuth" => {
                request.set_header("authorization", BASIC_USER);
            }
            "envoy.extensions.filters.http.api_key_auth.v3.ApiKeyAuth" => {
                add_key(configuration, of_scope, request);
            }
            "envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication" => {
                tokens::add(configuration, of_scope, stated, request);
            }
            "envoy.extensions.filters.http.compressor.v3.Compressor" => {
                let library = message_type(
                    configuration.pointer("/compressor_library/typed_config").unwrap_or(&Value::Null),
                );
                let encoding = ["gzip", "brotli", "zstd"].into_iter().find(|name| library.contains(name));
                let encoding = if encoding == Some("brotli") { Some("br") } else { encoding };
                if let Some(encoding) = encoding {
                    let before = request.header("accept-encoding").map(|before| format!("{before}, "));
                    request
                        .set_header("accept-encoding", &format!("{}{encoding}", before.unwrap_or_default()));
                }
            }
            "envoy.extensions.filters.http.cors.v3.Cors" => {
                let origin = of_scope.and_then(|policy| policy.pointer("/allow_origin_string_match/0"));
                if let Some(origin) = origin.and_then(matched_text) {
                    request.set_header("origin", &origin);
                }
            }
            "envoy.extensions.filters.http.rbac.v3.RBAC" => {
                let of_route = of_scope.and_then(|scope| scope.get("rbac"));
                authorization::satisfy(of_route.unwrap_or(configuration), request);
            }
            _ => conditions::satisfy(filter, scopes, request, is_meant),
        }
    }
    for (_, log) in items(&adapted.tree, &join(manager, "access_log")) {
        conditions::satisfy_log(log, request, is_meant);
    }
}

/// Adds a key that a filter accepts, in the first header that the filter checks. Lists of the route or the virtual host replace those of
/// the filter.
fn add_key(filter: &Value, of_scope: Option<&Value>, request: &mut DerivedRequest) {
    let list = |name: &str| {
        let lists = [of_scope, Some(filter)].into_iter().flatten();
        let list = lists.filter_map(|owner| owner.get(name)?.as_array()).find(|list| !list.is_empty());
        list.into_iter().flatten()
    };
    let allowed = of_scope.and_then(|scope| scope.get("allowed_clients")?.as_array());
    let is_allowed =
        |client: &Value| allowed.is_none_or(|clients| clients.is_empty() || clients.contains(client));
    let key = list("credentials").find(|credential| is_allowed(&credential["client"]));
    let header = list("key_sources").map(|source| text(source, "/header")).find(|header| !header.is_empty());
    let (Some(key), Some(header)) = (key, header) else { return };
    let (key, header) = (text(key, "/key"), header.to_ascii_lowercase());
    let value = if header == "authorization" { format!("Bearer {key}") } else { key.to_owned() };
    request.set_header(&header, &value);
}
