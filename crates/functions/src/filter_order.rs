//! The order of HTTP filters in a proxy with several functions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The order of the HTTP filters of several functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum FilterOrder {
    /// The default order of Envoy Gateway; filters with the same place as written.
    #[default]
    Recommended,
    /// As written.
    AsWritten,
}

/// The place of filters that `RECOMMENDED` does not name.
const OTHERS: &str = "";

/// HTTP filters in the order in which a request passes them.
///
/// Envoy's own documentation gives an order only for single pairs of filters. This is the default order of Envoy Gateway,
/// the Envoy project's control plane for edge proxies (`newOrderedHTTPFilter` in `internal/xds/translator/httpfilters.go`
/// of `envoyproxy/gateway`, commit 0299ce2; users change it with `filterOrder` of `EnvoyProxy`). Filters that it does not
/// name have one place there too. Of the two places of Lua, this is the one of a script for a route.
const RECOMMENDED: [&str; 28] = [
    "envoy.filters.http.custom_response",
    "envoy.filters.http.health_check",
    "envoy.filters.http.fault",
    "envoy.filters.http.cors",
    "envoy.filters.http.csrf",
    "envoy.filters.http.header_mutation",
    "envoy.filters.http.ext_authz",
    "envoy.filters.http.api_key_auth",
    "envoy.filters.http.basic_auth",
    "envoy.filters.http.oauth2",
    "envoy.filters.http.jwt_authn",
    "envoy.filters.http.stateful_session",
    "envoy.filters.http.buffer",
    OTHERS,
    "envoy.filters.http.lua",
    "envoy.filters.http.ext_proc",
    "envoy.filters.http.wasm",
    "envoy.filters.http.dynamic_modules",
    "envoy.filters.http.geoip",
    "envoy.filters.http.rbac",
    "envoy.filters.http.local_ratelimit",
    "envoy.filters.http.ratelimit",
    "envoy.filters.http.bandwidth_limit",
    "envoy.filters.http.grpc_web",
    "envoy.filters.http.grpc_stats",
    "envoy.filters.http.credential_injector",
    "envoy.filters.http.compressor",
    "envoy.filters.http.dynamic_forward_proxy",
];

impl FilterOrder {
    /// Arranges HTTP filters, which are in the order of the functions that add them.
    pub(crate) fn arrange(self, filters: &mut [Map<String, Value>]) {
        if self == Self::Recommended {
            // Stable, so filters with the same place stay as written.
            filters.sort_by_key(|filter| place(filter.get("name").and_then(Value::as_str).unwrap_or(OTHERS)));
        }
    }
}

fn place(name: &str) -> Option<usize> {
    let of = |name: &str| RECOMMENDED.iter().position(|other| *other == name);
    of(name).or_else(|| of(OTHERS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arranged(order: FilterOrder, names: &[&str]) -> Vec<String> {
        let filter =
            |name: &&str| Map::from_iter([("name".to_owned(), format!("envoy.filters.http.{name}").into())]);
        let mut filters: Vec<Map<String, Value>> = names.iter().map(filter).collect();
        order.arrange(&mut filters);
        let name =
            |filter: &Map<String, Value>| filter["name"].as_str().unwrap().replace("envoy.filters.http.", "");
        filters.iter().map(name).collect()
    }

    #[test]
    fn requests_are_authenticated_before_they_are_authorized_and_limited() {
        let written = ["compressor", "local_ratelimit", "rbac", "jwt_authn", "cors", "fault"];
        let recommended = ["fault", "cors", "jwt_authn", "rbac", "local_ratelimit", "compressor"];
        assert_eq!(arranged(FilterOrder::Recommended, &written), recommended);
        assert_eq!(arranged(FilterOrder::AsWritten, &written), written);
    }

    #[test]
    fn filters_without_a_place_of_their_own_stay_as_written() {
        let written = ["wasm", "tap", "jwt_authn", "ip_tagging"];
        assert_eq!(arranged(FilterOrder::Recommended, &written), ["jwt_authn", "tap", "ip_tagging", "wasm"]);
    }

    #[test]
    fn no_filter_has_two_places() {
        let mut names = RECOMMENDED.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RECOMMENDED.len());
    }
}
