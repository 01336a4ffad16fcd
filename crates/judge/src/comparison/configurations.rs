//! Differences between the configurations of two arms, by filter instead of by line of text.

use std::path::Path;

use hoptax_bootstrap::Adapted;
use hoptax_bootstrap::differences::{Difference, TakenApart, differences};
use hoptax_bootstrap::parts::{Part, parts};
use hoptax_bootstrap::request::{StatedRequest, tls_of};
use hoptax_plan::configurations::Configuration;
use hoptax_plan::file::{ArmEntry, HopEntry, HopSection};
use hoptax_plan::plan::listener_with_request;
use hoptax_result::{ConfigurationDifferences, PartDifference};

/// An arm of a study file in this folder.
#[derive(Clone, Copy, Debug)]
pub struct ArmIn<'a> {
    /// The entry of the arm in the file.
    pub entry: &'a ArmEntry,
    /// The folder of the file, to which its paths are relative.
    pub folder: &'a Path,
}

/// Reads the configuration at a path. The error states why it cannot be used.
pub type Read<'a> = &'a dyn Fn(&Path) -> Result<Configuration, String>;

/// Returns the differences between the configurations of the proxies of two arms, compared in order: first with first and so on. Nodes that
/// an arm removes are left out, and nodes that it replaces are in their new form. Places name files relative to the folders. None unless
/// both arms have the same number of proxies, and at least one pair of proxies has a configuration in both arms.
///
/// # Errors
/// The reason why a configuration cannot be used, or has no request, with its path.
pub fn configuration_differences(
    reference: ArmIn<'_>,
    other: ArmIn<'_>,
    read: Read<'_>,
) -> Result<Option<ConfigurationDifferences>, String> {
    let [ones, others] = [reference, other].map(|arm| hops(arm.entry));
    if ones.len() != others.len() {
        return Ok(None);
    }
    let mut all: Option<ConfigurationDifferences> = None;
    for pair in ones.iter().zip(others) {
        // A proxy that is only named has a generated configuration.
        let (HopEntry::Hop(one), HopEntry::Hop(other_hop)) = pair else { continue };
        if one.config.is_none() || other_hop.config.is_none() {
            continue;
        }
        let one = taken_apart(one, reference, read)?;
        let other = taken_apart(other_hop, other, read)?;
        let [one, other] = [&one, &other].map(|(adapted, parts)| TakenApart { adapted, parts });
        let found = differences(one, other);
        let all = all.get_or_insert_default();
        all.parts.extend(found.parts.into_iter().map(part));
        all.is_order_different |= found.is_order_different;
        all.rest.extend(found.rest);
    }
    Ok(all)
}

fn hops(entry: &ArmEntry) -> &[HopEntry] {
    match entry {
        ArmEntry::Chain(chain) => chain.hops.as_deref().unwrap_or_default(),
        _ => &[],
    }
}

fn part(found: Difference) -> PartDifference {
    PartDifference {
        kind: found.kind.to_string(),
        name: found.name,
        reference_place: found.first.map(|place| place.to_string()),
        place: found.second.map(|place| place.to_string()),
        fields: found.fields,
    }
}

/// The configuration of a proxy as it runs, with the parts that a request passes.
fn taken_apart(hop: &HopSection, arm: ArmIn<'_>, read: Read<'_>) -> Result<(Adapted, Vec<Part>), String> {
    let ArmIn { entry, folder } = arm;
    let request = match entry {
        ArmEntry::Chain(chain) => chain.request.as_ref().map(StatedRequest::from).unwrap_or_default(),
        _ => StatedRequest::default(),
    };
    let path = folder.join(hop.config.as_deref().unwrap_or_default());
    let of_path = |why: String| format!("`{}`: {why}", path.display());
    let configuration = read(&path).map_err(of_path)?;
    let mut adapted = configuration.adapted_with(&hop.replace).map_err(of_path)?;
    let (listener, mut request) = listener_with_request(&adapted, hop.listener.as_deref(), &request)
        .map_err(|(_, why)| of_path(why))?;
    adapted.remove(&hop.without);
    request.tls = tls_of(&adapted, &request);
    let parts = parts(&adapted, &listener, &request);
    Ok((adapted, parts))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use hoptax_subject::envoy::given::Given;

    use super::*;

    const EDGE: &str = r#"static_resources:
  listeners:
    - name: edge
      address: {socket_address: {address: 127.0.0.1, port_value: 10000}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: edge
                route_config:
                  virtual_hosts:
                    - {name: all, domains: ["*"], routes: [{match: {prefix: "/"}, route: {cluster: service}}]}
                http_filters:
                  - name: cors
                    typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors}
                  - name: router
                    typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
    - name: service
      type: STATIC
      load_assignment:
        cluster_name: service
        endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 8080}}}}]}]
"#;

    fn read(path: &Path) -> Result<Configuration, String> {
        let given = Given::read(path).map_err(|error| error.to_string())?;
        Configuration::new(given, |_| Ok(String::new()))
    }

    fn entry(text: &str) -> ArmEntry {
        let text = format!("name: x\narms: [{text}]\nloads: [{{name: all, loop: closed}}]\n");
        hoptax_plan::file::read("x.yaml", &text).unwrap().0.arms.remove(0)
    }

    #[test]
    fn configurations_differ_as_they_run() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("edge.yaml"), EDGE).unwrap();
        let between = |one: &str, other: &str| {
            let [one, other] = [one, other].map(entry);
            let [one, other] = [&one, &other].map(|entry| ArmIn { entry, folder: folder.path() });
            configuration_differences(one, other, &read)
        };
        let whole = "{name: a, hops: [{config: edge.yaml}]}";
        assert_eq!(between(whole, whole), Ok(Some(ConfigurationDifferences::default())));
        let filter = "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config/http_filters/0";
        let without = format!("{{name: b, hops: [{{config: edge.yaml, without: [{filter}]}}]}}");
        let found = between(whole, &without).unwrap().unwrap();
        let [part] = found.parts.as_slice() else { panic!("{found:?}") };
        assert_eq!((part.kind.as_str(), part.place.as_deref()), ("HTTP filter", None));
        assert!(part.reference_place.as_ref().unwrap().ends_with("edge.yaml:15"), "{part:?}");
        // The second proxies differ.
        let chain =
            format!("{{name: c, hops: [{{config: edge.yaml}}, {{config: edge.yaml, without: [{filter}]}}]}}");
        let twice = "{name: d, hops: [{config: edge.yaml}, {config: edge.yaml}]}";
        assert_eq!(between(twice, &chain).unwrap().unwrap().parts.len(), 1);
        assert_eq!(between(whole, twice), Ok(None), "chains of different lengths");
        assert_eq!(between("{name: e, functions: [lua]}", "{name: f, functions: [jwt]}"), Ok(None));
        let error = between(whole, "{name: b, hops: [{config: missing.yaml}]}").unwrap_err();
        assert!(error.contains("missing.yaml"), "{error}");
        let error = between(whole, "{name: b, hops: [{config: edge.yaml, listener: nothing}]}").unwrap_err();
        assert!(error.contains("no listener `nothing`"), "{error}");
    }
}
