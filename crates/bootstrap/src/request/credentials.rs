//! Headers that filters ask for: the credentials of the lab, and what lets a filter act on a request.

use serde_json::Value;

use super::sample::matched_text;
use super::{DerivedRequest, authorization, tokens};
use crate::adapt::{API_KEY, Adapted, BASIC_USER};
use crate::tree::{extension_type, items, join, message_type, text};

/// Adds the headers that the filters of a connection manager ask for. `stated` are those of the user.
pub(super) fn add(
    adapted: &Adapted,
    manager: &str,
    (virtual_host, route): (&Value, &Value),
    stated: &[(String, String)],
    request: &mut DerivedRequest,
) {
    for (_, filter) in items(&adapted.tree, &join(manager, "http_filters")) {
        let Some(configuration) = filter.get("typed_config") else { continue };
        let of_filter =
            |scope: &Value| scope.get("typed_per_filter_config")?.get(text(filter, "/name")).cloned();
        let of_scope = || [route, virtual_host].into_iter().find_map(of_filter);
        match extension_type(filter) {
            "envoy.extensions.filters.http.basic_auth.v3.BasicAuth" => {
                request.set_header("authorization", BASIC_USER);
            }
            "envoy.extensions.filters.http.api_key_auth.v3.ApiKeyAuth" => {
                let header = text(configuration, "/key_sources/0/header").to_ascii_lowercase();
                match header.as_str() {
                    "" => {}
                    "authorization" => request.set_header(&header, &format!("Bearer {API_KEY}")),
                    _ => request.set_header(&header, API_KEY),
                }
            }
            "envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication" => {
                tokens::add(configuration, of_scope().as_ref(), stated, request);
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
                let policy = of_scope().unwrap_or_default();
                let origins = policy.pointer("/allow_origin_string_match/0");
                if let Some(origin) = origins.and_then(matched_text) {
                    request.set_header("origin", &origin);
                }
            }
            "envoy.extensions.filters.http.rbac.v3.RBAC" => {
                let of_route = of_scope().and_then(|scope| scope.get("rbac").cloned());
                authorization::satisfy(of_route.as_ref().unwrap_or(configuration), request);
            }
            _ => {}
        }
    }
}
