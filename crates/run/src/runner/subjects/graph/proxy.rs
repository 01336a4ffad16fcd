//! The Envoy configuration of a service's proxy: a plain proxy with functions for requests to the service. If the calls of the service pass
//! the proxy too, it has a listener for each service that is called.
//!
//! Each side is generated like the only proxy of a study, so that the results of a study apply to it. Then the listeners and clusters
//! of all sides are put into one process.

use std::net::SocketAddr;
use std::path::PathBuf;

use hoptax_functions::{Composition, Context, Fragment, RenderError};
use hoptax_plan::plan::PlannedProxy;
use hoptax_subject::envoy::bootstrap::{INGRESS, ORIGIN, ProxyPlan, bootstrap};
use hoptax_subject::envoy::process::{ProxyError, Source};
use serde_json::Value;

use crate::runner::ArmError;

/// Calls from a service to another that pass its proxy.
#[derive(Clone, Debug)]
pub(super) struct Outbound {
    /// The name of the service that is called.
    pub(super) name: String,
    /// Address at which the proxy listens for these calls.
    pub(super) listen: SocketAddr,
    /// Address that the proxy sends them to.
    pub(super) to: SocketAddr,
}

/// A configuration with the files that it needs.
type Generated = (Source, Vec<(PathBuf, &'static [u8])>);

/// The configuration of a proxy in front of a service at `service`.
///
/// # Errors
/// When a function cannot be rendered, or functions do not fit together.
pub(super) fn configuration(
    proxy: &PlannedProxy,
    service: SocketAddr,
    outbound: &[Outbound],
    context: &Context<'_>,
) -> Result<Generated, ArmError> {
    let fragment = fragment(&proxy.inbound, context)?;
    let inbound = plan(([127, 0, 0, 1], 0).into(), service, fragment);
    let functions = proxy.outbound.as_ref().filter(|_| !outbound.is_empty());
    let Some(functions) = functions else { return Ok((inbound.into(), Vec::new())) };
    let mut files = files(&inbound);
    let mut all = bootstrap(&inbound).map_err(ProxyError::from)?;
    for Outbound { name, listen, to } in outbound {
        let side = plan(*listen, *to, self::fragment(functions, context)?);
        files.extend(self::files(&side));
        let mut side = bootstrap(&side).map_err(ProxyError::from)?;
        rename(&mut side, name);
        merge(&mut all, side, "")?;
    }
    Ok((Source::Given { bootstrap: all, listener: INGRESS.to_owned() }, files))
}

fn fragment(functions: &Composition, context: &Context<'_>) -> Result<Option<Fragment>, RenderError> {
    (!functions.is_empty()).then(|| functions.render(context)).transpose()
}

fn plan(listen: SocketAddr, to: SocketAddr, fragment: Option<Fragment>) -> ProxyPlan {
    ProxyPlan { fragment, ..ProxyPlan::plain(listen, vec![to]) }
}

fn files(plan: &ProxyPlan) -> Vec<(PathBuf, &'static [u8])> {
    plan.fragment.iter().flat_map(|fragment| fragment.files.clone()).collect()
}

/// Gives the listener for requests and the cluster behind it their own names.
fn rename(side: &mut Value, service: &str) {
    let name = format!("{}{service}", PlannedProxy::OUTBOUND);
    if let Some(listener) = side.pointer_mut("/static_resources/listeners/0") {
        rename_cluster(listener, &name, false);
        if let Some(own) = listener.pointer_mut("/name") {
            *own = Value::from(name.as_str());
        }
    }
    for pointer in
        ["/static_resources/clusters/0/name", "/static_resources/clusters/0/load_assignment/cluster_name"]
    {
        if let Some(own) = side.pointer_mut(pointer) {
            *own = Value::from(name.as_str());
        }
    }
}

/// Replaces the name of the cluster of origins in a listener. `is_list` is true within a list of weighted clusters, each of which has that
/// name as its `name`.
fn rename_cluster(value: &mut Value, new: &str, is_list: bool) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let names_cluster = key == "cluster" || key == "cluster_name" || (is_list && key == "name");
                if names_cluster && value == ORIGIN {
                    *value = Value::from(new);
                } else {
                    rename_cluster(value, new, is_list || key == "weighted_clusters");
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename_cluster(value, new, is_list)),
        _ => {}
    }
}

/// Adds one side to the others. A list member with a name is the same on both sides, or exists on one side only.
fn merge(all: &mut Value, side: Value, place: &str) -> Result<(), ArmError> {
    match (all, side) {
        (Value::Object(all), Value::Object(side)) => {
            for (key, value) in side {
                let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                match all.get_mut(&key) {
                    Some(own) => merge(own, value, &place)?,
                    None => drop(all.insert(key, value)),
                }
            }
            Ok(())
        }
        (Value::Array(all), Value::Array(side)) => {
            for value in side {
                let same_name =
                    |other: &&Value| other.get("name").is_some() && other.get("name") == value.get("name");
                match all.iter().find(same_name) {
                    _ if all.contains(&value) => {}
                    Some(_) => return Err(ArmError::Sides(place.to_owned())),
                    None => all.push(value),
                }
            }
            Ok(())
        }
        (all, side) if *all == side => Ok(()),
        _ => Err(ArmError::Sides(place.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::proxy_with;
    use super::*;

    fn generated(inbound: &str, outbound: &str) -> Result<Value, ArmError> {
        let proxy = proxy_with(inbound, outbound);
        let to = |name: &str, port: u16| Outbound {
            name: name.to_owned(),
            listen: ([127, 0, 0, 1], port).into(),
            to: ([127, 0, 0, 1], port + 1).into(),
        };
        let outbound = [to("one", 2_000), to("other", 3_000)];
        let context = Context { directory: "/run".as_ref(), companion: Some(([127, 0, 0, 1], 9).into()) };
        let (source, _) = configuration(&proxy, ([127, 0, 0, 1], 1_000).into(), &outbound, &context)?;
        let Source::Given { bootstrap, listener } = source else { panic!("{source:?}") };
        assert_eq!(listener, INGRESS);
        Ok(bootstrap)
    }

    fn names<'a>(bootstrap: &'a Value, what: &str) -> Vec<&'a str> {
        let list = bootstrap.pointer(&format!("/static_resources/{what}")).unwrap();
        list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
    }

    #[test]
    fn each_service_that_is_called_has_a_listener_that_leads_to_it() {
        let bootstrap = generated("jwt", "ext-authz/grpc").unwrap();
        assert_eq!(names(&bootstrap, "listeners"), ["ingress", "outbound-one", "outbound-other"]);
        let clusters = names(&bootstrap, "clusters");
        assert_eq!(clusters[..2], ["origin", "outbound-one"]);
        // The service that the function calls has a single cluster.
        assert_eq!(clusters.len(), 4, "{clusters:?}");
        for (number, name, port) in
            [(0, "origin", 1_000), (1, "outbound-one", 2_001), (2, "outbound-other", 3_001)]
        {
            let listener = &bootstrap["static_resources"]["listeners"][number];
            let manager = &listener["filter_chains"][0]["filters"][0]["typed_config"];
            let route = &manager["route_config"]["virtual_hosts"][0]["routes"][0]["route"];
            assert_eq!(route["cluster"], name, "{manager:#}");
            let filters = manager["http_filters"].to_string();
            assert_eq!(filters.contains("jwt_authn"), number == 0, "{filters}");
            assert_eq!(filters.contains("ext_authz"), number > 0, "{filters}");
            let clusters = bootstrap["static_resources"]["clusters"].as_array().unwrap();
            let cluster = clusters.iter().find(|cluster| cluster["name"] == name).unwrap();
            assert_eq!(cluster["load_assignment"]["cluster_name"], name);
            assert!(cluster.to_string().contains(&format!("\"port_value\":{port}")), "{cluster}");
        }
    }

    #[test]
    fn no_cluster_of_calls_leads_back_to_the_service() {
        let mut listener = serde_json::json!({
            "route": {"cluster": "origin", "request_mirror_policies": [{"cluster": "origin"}]},
            "weighted_clusters": {"clusters": [{"name": "origin", "weight": 1}]},
            "virtual_hosts": [{"name": "origin"}],
        });
        rename_cluster(&mut listener, "outbound-one", false);
        assert_eq!(listener.to_string().matches("outbound-one").count(), 3, "{listener}");
        assert_eq!(listener["virtual_hosts"][0]["name"], "origin");
    }

    #[test]
    fn sides_that_need_different_values_are_refused() {
        let mut all = serde_json::json!({"a": {"b": 1}, "list": [{"name": "x", "v": 1}]});
        merge(&mut all, serde_json::json!({"a": {"b": 1, "c": 2}, "list": [{"name": "y"}]}), "").unwrap();
        assert_eq!(
            all,
            serde_json::json!({"a": {"b": 1, "c": 2}, "list": [{"name": "x", "v": 1}, {"name": "y"}]})
        );
        for (side, place) in [
            (serde_json::json!({"a": {"b": 2}}), "`a.b`"),
            (serde_json::json!({"list": [{"name": "x", "v": 2}]}), "`list`"),
        ] {
            let error = merge(&mut all, side, "").unwrap_err().to_string();
            assert!(error.contains(place), "{error}");
        }
    }

    #[test]
    fn a_proxy_without_calls_of_its_own_is_that_of_a_study() {
        let proxy = proxy_with("jwt", "");
        let context = Context { directory: "/run".as_ref(), companion: None };
        let (source, files) = configuration(&proxy, ([127, 0, 0, 1], 1_000).into(), &[], &context).unwrap();
        assert!(source.plan().is_some() && files.is_empty());
    }
}
