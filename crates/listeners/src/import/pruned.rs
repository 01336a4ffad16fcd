//! Reduces an Envoy listener to what a listeners file supports: removes filter chains other than one for HTTP, and routes that do not send
//! their requests to a single upstream.

use serde_json::Value;

use super::{Clusters, name_of, target};

const MANAGER: &str = ".HttpConnectionManager";
const TCP_PROXY: &str = ".TcpProxy";
const CHAINS: &str = "filter_chains";
const DEFAULT_CHAIN: &str = "default_filter_chain";

/// Returns true if a network filter is an HTTP connection manager.
fn is_manager(filter: &Value) -> bool {
    let of = filter.pointer("/typed_config/@type").and_then(Value::as_str);
    of.is_some_and(|of| of.ends_with(MANAGER))
}

/// The index of the HTTP connection manager among the filters of a chain.
fn manager_of(chain: &Value) -> Option<usize> {
    chain.get("filters")?.as_array()?.iter().position(is_manager)
}

/// The connection manager of a listener's only filter chain.
///
/// # Errors
/// The reason why there is none.
pub(super) fn manager(chain: &Value) -> Result<&Value, String> {
    let number = manager_of(chain);
    let manager = number.and_then(|number| chain.pointer(&format!("/filters/{number}/typed_config")));
    manager.ok_or_else(|| format!("{}, and a listeners file describes HTTP listeners only", kind_of(chain)))
}

/// Describes a listener whose only chain is not for HTTP.
fn kind_of(chain: &Value) -> String {
    let filters = chain.get("filters").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_tcp = |config: &&Value| {
        config.get("@type").and_then(Value::as_str).is_some_and(|name| name.ends_with(TCP_PROXY))
    };
    let proxy = filters.iter().filter_map(|filter| filter.get("typed_config")).find(is_tcp);
    match proxy.map(|proxy| proxy.get("cluster").and_then(Value::as_str)) {
        Some(Some(cluster)) => format!("it forwards TCP to `{cluster}`"),
        Some(None) => "it forwards TCP".to_owned(),
        None => "it has no HTTP connection manager".to_owned(),
    }
}

/// A listener without unsupported parts, and a line for each removed part.
pub(super) fn pruned(listener: &Value, clusters: &Clusters<'_>) -> (Value, Vec<String>) {
    let mut listener = listener.clone();
    let mut removed = Vec::new();
    keep_one_chain(&mut listener, &mut removed);
    if let Some(chain) = listener.pointer_mut(&format!("/{CHAINS}/0"))
        && let Some(number) = manager_of(chain)
        && let Some(Value::Array(hosts)) =
            chain.pointer_mut(&format!("/filters/{number}/typed_config/route_config/virtual_hosts"))
    {
        for host in hosts {
            keep_routes(host, clusters, &mut removed);
        }
    }
    (listener, removed)
}

/// Keeps the first filter chain for HTTP.
fn keep_one_chain(listener: &mut Value, removed: &mut Vec<String>) {
    let Value::Object(keys) = listener else { return };
    let listed = keys.get(CHAINS).and_then(Value::as_array).cloned().unwrap_or_default();
    let number = listed.len();
    let all: Vec<Value> = listed.into_iter().chain(keys.get(DEFAULT_CHAIN).cloned()).collect();
    if all.len() < 2 && number == all.len() {
        return;
    }
    let Some(kept) = all.iter().position(|chain| manager_of(chain).is_some()) else { return };
    for (index, chain) in all.iter().enumerate().filter(|(index, _)| *index != kept) {
        let shown = match name_of(chain) {
            _ if index == number => "its default filter chain".to_owned(),
            "" => format!("filter chain {}", index + 1),
            name => format!("filter chain `{name}`"),
        };
        removed.push(format!("{shown}: the file has room for one"));
    }
    keys.shift_remove(DEFAULT_CHAIN);
    keys.insert(CHAINS.to_owned(), all.into_iter().nth(kept).into_iter().collect());
}

/// Keeps the supported routes of a virtual host.
fn keep_routes(host: &mut Value, clusters: &Clusters<'_>, removed: &mut Vec<String>) {
    let name = name_of(host).to_owned();
    let Some(Value::Array(routes)) = host.get_mut("routes") else { return };
    let mut number = 0;
    routes.retain(|route| {
        number += 1;
        let why = why_not(route, clusters);
        if let Some(why) = &why {
            removed.push(format!("route {number} of `{name}`: {why}"));
        }
        why.is_none()
    });
}

/// Returns the reason why a route is not supported.
fn why_not(route: &Value, clusters: &Clusters<'_>) -> Option<String> {
    let Some(action) = route.get("route") else {
        let why = if route.get("redirect").is_some() { "it redirects" } else { "it answers by itself" };
        return Some(why.to_owned());
    };
    let Some(cluster) = action.get("cluster").and_then(Value::as_str) else {
        return Some("it does not name one cluster".to_owned());
    };
    if route.pointer("/match/prefix").is_none_or(|prefix| !prefix.is_string()) {
        return Some("it does not match by a path prefix".to_owned());
    }
    target::keys(cluster, clusters).err()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chain(name: &str, routes: &Value) -> Value {
        json!({"name": name, "filters": [{"name": "other"}, {"typed_config": {
            "@type": "x.HttpConnectionManager",
            "route_config": {"virtual_hosts": [{"name": "all", "routes": routes}]},
        }}]})
    }

    #[test]
    fn a_listener_of_another_kind_is_named_by_what_it_does() {
        let why = |config: &Value| manager(&json!({"filters": [{"typed_config": config}]})).unwrap_err();
        let tcp = "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy";
        assert_eq!(
            why(&json!({"@type": tcp, "cluster": "db"})),
            "it forwards TCP to `db`, and a listeners file describes HTTP listeners only"
        );
        assert!(why(&json!({"@type": tcp, "weighted_clusters": {}})).starts_with("it forwards TCP, and"));
        assert!(why(&json!({"@type": "x.RedisProxy"})).starts_with("it has no HTTP connection manager, and"));
    }

    #[test]
    fn one_chain_of_http_and_its_routes_to_upstreams_stay() {
        let cluster = json!({"name": "a", "load_assignment": {"endpoints": [{"lb_endpoints": [
            {"endpoint": {"address": {"socket_address": {"address": "a", "port_value": 1}}}},
        ]}]}});
        let clusters = Clusters::from_iter([("a", &cluster)]);
        let sound = json!({"match": {"prefix": "/"}, "route": {"cluster": "a"}});
        let routes = json!([
            {"match": {"prefix": "/"}, "redirect": {}},
            {"match": {"prefix": "/"}, "direct_response": {}},
            sound,
            {"match": {"prefix": "/"}, "route": {"weighted_clusters": {}}},
            {"match": {"path": "/"}, "route": {"cluster": "a"}},
            {"match": {"prefix": "/"}, "route": {"cluster": "b"}},
        ]);
        let listener = json!({
            "filter_chains": [{"name": "tcp"}, chain("http", &routes), chain("", &routes)],
            "default_filter_chain": {},
        });
        let (kept, removed) = pruned(&listener, &clusters);
        assert_eq!(kept, json!({"filter_chains": [chain("http", &json!([sound]))]}));
        let expected = [
            "filter chain `tcp`: the file has room for one",
            "filter chain 3: the file has room for one",
            "its default filter chain: the file has room for one",
            "route 1 of `all`: it redirects",
            "route 2 of `all`: it answers by itself",
            "route 4 of `all`: it does not name one cluster",
            "route 5 of `all`: it does not match by a path prefix",
            "route 6 of `all`: its cluster `b` is not in the file",
        ];
        assert_eq!(removed, expected);
    }

    #[test]
    fn a_default_chain_alone_is_the_only_one_and_what_has_no_http_stays_as_it_is() {
        let clusters = Clusters::new();
        let (kept, removed) = pruned(&json!({"default_filter_chain": chain("", &json!([]))}), &clusters);
        assert_eq!(kept, json!({"filter_chains": [chain("", &json!([]))]}));
        assert!(removed.is_empty(), "{removed:?}");
        for other in [json!({}), json!(5), json!({"filter_chains": [{}, {}]})] {
            assert_eq!(pruned(&other, &clusters), (other.clone(), Vec::new()));
        }
    }
}
