//! Combines the fragments of two functions, or returns the obstacle.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Fragment, KeyExchangeGroup};

impl Fragment {
    /// Returns true if a management server sends the routes.
    fn receives_routes(&self) -> bool {
        self.connection_manager.contains_key("rds")
    }

    /// Returns true if it adds to the routes or to their virtual host.
    fn sets_routes(&self) -> bool {
        !self.routes.is_empty() || !self.route.is_empty() || !self.virtual_host.is_empty()
    }

    /// Adds another fragment behind this one. Lists are joined and maps are merged key by key.
    ///
    /// # Errors
    /// The setting that both fragments determine differently: a field, a cluster, a listener, the table of routes, the zones of the
    /// origins, the protocol to them, or the key exchange group.
    pub(crate) fn combine(self, other: Self) -> Result<Self, String> {
        let mut all = self;
        // Each would leave the other's last route without requests.
        if !all.routes.is_empty() && !other.routes.is_empty() {
            return Err("both have their own route table".to_owned());
        }
        if all.receives_routes() && other.sets_routes() || other.receives_routes() && all.sets_routes() {
            return Err(
                "one sets properties of routes, which the other receives from a management server".to_owned()
            );
        }
        if !all.origin_zones.is_empty()
            && !other.origin_zones.is_empty()
            && all.origin_zones != other.origin_zones
        {
            return Err("both assign the origins to zones".to_owned());
        }
        // They are fields of their own in Envoy's configuration, of which it takes only one.
        if let (Some(one), Some(another)) = (all.protocol_to_origin(), other.protocol_to_origin())
            && one != another
        {
            return Err("both choose the protocol to the origin".to_owned());
        }
        let usual = KeyExchangeGroup::default();
        if all.key_exchange_group == usual {
            all.key_exchange_group = other.key_exchange_group;
        } else if other.key_exchange_group != usual && other.key_exchange_group != all.key_exchange_group {
            return Err("both choose the key exchange group of TLS".to_owned());
        }
        all.quic_downstream |= other.quic_downstream;
        all.quic_upstream |= other.quic_upstream;
        merge("certificate_source", &mut all.certificate_source, other.certificate_source)?;
        if all.quic_downstream && !all.certificate_source.is_empty() {
            return Err(
                "one fetches its certificate on demand, which Envoy does not support over QUIC".to_owned()
            );
        }
        all.http_filters.extend(other.http_filters);
        all.routes.extend(other.routes);
        all.access_log.extend(other.access_log);
        all.network_filters.extend(other.network_filters);
        if all.origin_zones.is_empty() {
            all.origin_zones = other.origin_zones;
        }
        for (place, own, other) in [
            ("route", &mut all.route, other.route),
            ("virtual_host", &mut all.virtual_host, other.virtual_host),
            ("connection_manager", &mut all.connection_manager, other.connection_manager),
            ("cluster", &mut all.cluster, other.cluster),
            ("listener", &mut all.listener, other.listener),
            ("bootstrap", &mut all.bootstrap, other.bootstrap),
        ] {
            merge(place, own, other)?;
        }
        add_named("cluster", &mut all.clusters, other.clusters)?;
        add_named("listener", &mut all.listeners, other.listeners)?;
        for path in other.replaces {
            if !all.replaces.contains(&path) {
                all.replaces.push(path);
            }
        }
        for file in other.files {
            if !all.files.contains(&file) {
                all.files.push(file);
            }
        }
        Ok(all)
    }
}

/// Adds messages that have names.
fn add_named(
    what: &str,
    own: &mut Vec<Map<String, Value>>,
    other: Vec<Map<String, Value>>,
) -> Result<(), String> {
    let name = |message: &Map<String, Value>| {
        message.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    // Lists may have ten thousand.
    let before: BTreeMap<String, usize> =
        own.iter().enumerate().map(|(number, message)| (name(message), number)).collect();
    for message in other {
        match before.get(&name(&message)).and_then(|number| own.get(*number)) {
            None => own.push(message),
            Some(same) if *same == message => {}
            Some(_) => return Err(format!("each defines the {what} `{}` differently", name(&message))),
        }
    }
    Ok(())
}

/// The list of limits for a priority of requests, of which there is one. In other lists, two messages are two items.
const JOINED: &str = "thresholds";

/// Merges maps key by key. The limits of two functions become one message if they have no field in common.
fn merge(path: &str, own: &mut Map<String, Value>, other: Map<String, Value>) -> Result<(), String> {
    for (key, value) in other {
        let path = format!("{path}.{key}");
        match (own.get_mut(&key), value) {
            (None, value) => {
                own.insert(key, value);
            }
            (Some(own), value) if *own == value => {}
            (Some(Value::Object(own)), Value::Object(value)) => merge(&path, own, value)?,
            (Some(own), value) => {
                let is_joined = match (&mut *own, &value) {
                    (Value::Array(own), Value::Array(other)) if key == JOINED => join_messages(own, other),
                    _ => false,
                };
                if !is_joined {
                    return Err(both_set(&path, own, &value));
                }
            }
        }
    }
    Ok(())
}

/// Adds the fields of a message to another, if each is the only one of its list and they have no field in common. Returns true if it
/// did.
fn join_messages(own: &mut [Value], other: &[Value]) -> bool {
    let ([Value::Object(own)], [Value::Object(other)]) = (own, other) else { return false };
    let is_possible = other.keys().all(|key| !own.contains_key(key));
    if is_possible {
        own.extend(other.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    is_possible
}

/// Lists and maps are too long for a message.
fn both_set(path: &str, own: &Value, other: &Value) -> String {
    let is_long = |value: &Value| value.is_array() || value.is_object();
    if is_long(own) || is_long(other) {
        format!("both set `{path}`")
    } else {
        format!("both set `{path}`, to {own} and to {other}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::HTTP_PROTOCOL_OPTIONS;
    use super::*;

    fn fragment(text: &str) -> Fragment {
        serde_saphyr::from_str(text).unwrap()
    }

    fn error(first: &str, second: &str) -> String {
        fragment(first).combine(fragment(second)).unwrap_err()
    }

    #[test]
    fn received_routes_cannot_be_set() {
        let received = "connection_manager: {rds: {route_config_name: a}}\n";
        for sets in
            ["routes: [{match: {path: /a}}]\n", "route: {stat_prefix: a}\n", "virtual_host: {cors: {}}\n"]
        {
            assert!(error(received, sets).contains("receives from a management server"), "{sets}");
            assert!(error(sets, received).contains("receives from a management server"), "{sets}");
        }
        let filter = "http_filters: [{name: a}]\n";
        assert!(fragment(received).combine(fragment(filter)).is_ok());
    }

    #[test]
    fn lists_are_joined_and_maps_are_merged() {
        let first =
            "http_filters: [{name: a}]\nroute: {route: {x: 1, z: 3}}\nclusters: [{name: c, type: STATIC}]\n";
        let second =
            "http_filters: [{name: b}]\nroute: {route: {y: 2, z: 3}}\nclusters: [{name: c, type: STATIC}]\n";
        let all = "http_filters: [{name: a}, {name: b}]\nroute: {route: {x: 1, y: 2, z: 3}}\n\
                   clusters: [{name: c, type: STATIC}]\n";
        assert_eq!(fragment(first).combine(fragment(second)), Ok(fragment(all)));
    }

    #[test]
    fn limits_that_are_alone_in_their_lists_are_one_message() {
        let limits = |list: &str| format!("cluster: {{thresholds: {list}}}");
        let combined = fragment(&limits("[{a: 1}]")).combine(fragment(&limits("[{b: 2}]")));
        assert_eq!(combined, Ok(fragment(&limits("[{a: 1, b: 2}]"))));
        for other in ["[{a: 2}]", "[{a: 1, b: 2}]", "[{b: 2}, {c: 3}]", "[2]"] {
            let why = error(&limits("[{a: 1}]"), &limits(other));
            assert_eq!(why, "both set `cluster.thresholds`", "{other}");
        }
        let others = |list: &str| format!("cluster: {{policies: {list}}}");
        assert_eq!(error(&others("[{a: 1}]"), &others("[{b: 2}]")), "both set `cluster.policies`");
    }

    #[test]
    fn a_proxy_has_one_protocol_to_the_origin() {
        let options = |fields: &str| {
            fragment(&format!(
                "cluster: {{typed_extension_protocol_options: {{{HTTP_PROTOCOL_OPTIONS}: {{{fields}}}}}}}"
            ))
        };
        let http2 = || options("explicit_http_config: {http2_protocol_options: {}}");
        let http3 = options("explicit_http_config: {http3_protocol_options: {}}");
        let others = options("common_http_protocol_options: {idle_timeout: 1s}");
        assert_eq!(http2().combine(http3).unwrap_err(), "both choose the protocol to the origin");
        let combined = http2().combine(others.clone()).unwrap();
        assert_eq!(combined.protocol_to_origin(), Some("http2_protocol_options"));
        assert_eq!(combined, others.combine(http2()).unwrap());
        assert!(http2().combine(http2()).is_ok());
    }

    #[test]
    fn what_both_determine_is_named() {
        let errors = [
            error("cluster: {lb_policy: RANDOM}", "cluster: {lb_policy: MAGLEV}"),
            error("cluster: {a: {b: [1]}}", "cluster: {a: {b: [2]}}"),
            error("cluster: {a: {b: 1}}", "cluster: {a: null}"),
            error("routes: [{a: 1}]", "routes: [{a: 1}]"),
            error("clusters: [{name: c, type: STATIC}]", "clusters: [{name: c, type: EDS}]"),
            error("origin_zones: [a, b]", "origin_zones: [a, c]"),
            error("key_exchange_group: p256", "key_exchange_group: x25519mlkem768"),
            error("quic_downstream: true", "certificate_source: {resource_api_version: V3}"),
        ];
        insta::assert_snapshot!(errors.join("\n"), @r#"
        both set `cluster.lb_policy`, to "RANDOM" and to "MAGLEV"
        both set `cluster.a.b`
        both set `cluster.a`
        both have their own route table
        each defines the cluster `c` differently
        both assign the origins to zones
        both choose the key exchange group of TLS
        one fetches its certificate on demand, which Envoy does not support over QUIC
        "#);
    }
}
