//! Recognises files of other systems that configure proxies, and states how to get the dump of such a proxy.

use hoptax_text::yaml::envoy::{Node, Tree};
use serde_json::Value;

use crate::document::Source;
use crate::manifest::{compose, objects, text_at};
use crate::place::Problem;

/// Objects of a system that configures proxies.
struct System {
    /// Its name in problems.
    name: &'static str,
    /// The API group of its objects in Kubernetes, or the end of the group.
    group: &'static str,
    /// Instruction for getting the dump of one of its proxies.
    dump: &'static str,
}

/// A command for the dump of a pod's proxy with an admin interface at a port. It needs no program in the image of the proxy.
macro_rules! forwarded {
    ($namespace:literal, $port:literal) => {
        concat!(
            "`kubectl -n ",
            $namespace,
            " port-forward POD ",
            $port,
            " & sleep 2; curl -s 'http://127.0.0.1:",
            $port,
            "/config_dump?include_eds' > dump.json; kill $!`"
        )
    };
}

const ISTIO: &str = "`istioctl proxy-config all POD.NAMESPACE -o json > dump.json`";
const ENVOY_GATEWAY: &str = forwarded!("envoy-gateway-system", "19000");

/// The systems. If several groups match, the first counts.
const SYSTEMS: [System; 17] = [
    System { name: "Istio", group: "istio.io", dump: ISTIO },
    System { name: "Envoy Gateway", group: "gateway.envoyproxy.io", dump: ENVOY_GATEWAY },
    System { name: "Consul", group: "consul.hashicorp.com", dump: forwarded!("NAMESPACE", "19000") },
    System { name: "Contour", group: "projectcontour.io", dump: forwarded!("projectcontour", "9001") },
    System { name: "Emissary-ingress", group: "getambassador.io", dump: forwarded!("emissary", "8001") },
    System { name: "kgateway", group: "gateway.kgateway.dev", dump: forwarded!("NAMESPACE", "19000") },
    System { name: "Gloo", group: "solo.io", dump: forwarded!("gloo-system", "19000") },
    System {
        name: "Kuma",
        group: "kuma.io",
        dump: "`kumactl inspect dataplane NAME --type config-dump > dump.json`",
    },
    System { name: "App Mesh", group: "appmesh.k8s.aws", dump: forwarded!("NAMESPACE", "9901") },
    System {
        name: "Open Service Mesh",
        group: "openservicemesh.io",
        dump: "`osm proxy get config_dump POD -n NAMESPACE > dump.json`",
    },
    System {
        name: "Cilium",
        group: "cilium.io",
        dump: "`kubectl -n kube-system exec POD -c cilium-agent -- cilium-dbg envoy admin config > dump.json`",
    },
    System { name: "Linkerd", group: "linkerd.io", dump: "" },
    System { name: "Traefik", group: "traefik.io", dump: "" },
    System { name: "Traefik", group: "traefik.containo.us", dump: "" },
    System { name: "Kong", group: "konghq.com", dump: "" },
    System {
        name: "the Gateway API",
        group: "gateway.networking.k8s.io",
        dump: concat!(
            "of Envoy Gateway `kubectl -n envoy-gateway-system port-forward POD 19000 & sleep 2; curl -s ",
            "'http://127.0.0.1:19000/config_dump?include_eds' > dump.json; kill $!`, of Istio `istioctl proxy-config all POD.NAMESPACE ",
            "-o json > dump.json`, and of other implementations as their documentation states"
        ),
    },
    System {
        name: "Kubernetes",
        group: "",
        dump: "if an Envoy runs for it, `kubectl -n NAMESPACE port-forward POD PORT & sleep 2; curl -s \
               'http://127.0.0.1:PORT/config_dump?include_eds' > dump.json; kill $!`, with the port of its admin interface",
    },
];

/// Kinds of configuration entries of Consul that configure proxies.
const CONSUL_KINDS: [&str; 15] = [
    "api-gateway",
    "exported-services",
    "http-route",
    "tcp-route",
    "ingress-gateway",
    "jwt-provider",
    "mesh",
    "proxy-defaults",
    "sameness-group",
    "service-defaults",
    "service-intentions",
    "service-resolver",
    "service-router",
    "service-splitter",
    "terminating-gateway",
];
const CONSUL: &str = "it is a configuration entry of Consul; give the dump of the proxy that it configures: \
    `curl -s 'http://127.0.0.1:19000/config_dump?include_eds' > dump.json` where the proxy runs";

/// Beginning of the advice to get a dump.
const DUMP: &str = "give the dump of the proxy that it configures: ";

/// Returns a problem for each object of another system in a file without a configuration of Envoy; empty if there is none.
pub(crate) fn problems(source: &Source, documents: &[Tree]) -> Vec<Problem> {
    let at = |tree: &Tree, message: String| Problem { place: source.place(tree.line), message };
    let mut found: Vec<Problem> = Vec::new();
    for document in documents {
        for object in objects(document) {
            let group = object.version.split_once('/').map(|(group, _)| group).unwrap_or_default();
            let is_of = |system: &&System| {
                let before = group.strip_suffix(system.group);
                before.is_some_and(|before| {
                    system.group.is_empty() || before.is_empty() || before.ends_with('.')
                })
            };
            let Some(system) = SYSTEMS.iter().find(is_of) else { continue };
            let name = if object.name.is_empty() { String::new() } else { format!(" `{}`", object.name) };
            let what = format!("{}{name} of {} is not an Envoy configuration", object.kind, system.name);
            let message = match system.dump {
                "" => format!(
                    "{what}, and it configures a proxy other than Envoy; measure that where it runs, as an arm with a `url`"
                ),
                dump => format!("{what}; {DUMP}{dump}"),
            };
            found.push(at(object.tree, message));
        }
        if !found.is_empty() {
            continue;
        }
        let kind = text_at(document, &["Kind"]).or_else(|| text_at(document, &["kind"]));
        let message = if kind.is_some_and(|kind| CONSUL_KINDS.contains(&kind.as_str())) {
            CONSUL.to_owned()
        } else if text_at(document, &["type"]).is_some() && text_at(document, &["mesh"]).is_some() {
            let dump = SYSTEMS.iter().find(|system| system.name == "Kuma").map_or("", |kuma| kuma.dump);
            format!("it is a resource of Kuma, not an Envoy configuration; {DUMP}{dump}")
        } else if compose(document).is_some() {
            "it is a file of Docker Compose, and none of its `configs` has an Envoy configuration as `content`; give the file that \
             `configs` or `volumes` of its Envoy service name"
                .to_owned()
        } else if has_list(document, "resources") {
            "it is a file of resources that a bootstrap refers to; give the bootstrap, with this file beside it"
                .to_owned()
        } else {
            continue;
        };
        found.push(at(document, message));
    }
    found
}

/// Returns the problem for a text that is not YAML, if it is in the language of another system.
pub(crate) fn of_text(source: &Source) -> Option<Problem> {
    let assigned = |line: &str| {
        let (key, value) = line.split_once('=')?;
        let value = value.trim().trim_matches('"').to_owned();
        key.trim().eq_ignore_ascii_case("kind").then_some(value)
    };
    let mut lines = source.text.lines().zip(1_u64..);
    let (_, line) =
        lines.find(|(text, _)| assigned(text).is_some_and(|kind| CONSUL_KINDS.contains(&kind.as_str())))?;
    Some(Problem { place: source.place(line), message: CONSUL.to_owned() })
}

fn has_list(document: &Tree, key: &str) -> bool {
    let Node::Mapping(entries) = &document.node else { return false };
    entries.iter().any(|(known, value)| known.text == key && matches!(value.node, Node::Sequence(_)))
}

/// The problem that a configuration is of API v1; none if it is not.
pub(crate) fn of_api_v1(source: &Source, document: &Value, line: &dyn Fn(&str) -> u64) -> Option<Problem> {
    let has_manager = document.get("cluster_manager").is_some_and(Value::is_object);
    let listens = document
        .pointer("/listeners/0/address")
        .and_then(Value::as_str)
        .is_some_and(|address| address.contains("://"));
    let key = if has_manager { "/cluster_manager" } else { "/listeners" };
    (has_manager || listens).then(|| Problem {
        place: source.place(line(key)),
        message: "this is a configuration of API v1, which Envoy has not read since 1.9; rewrite it in API v3: `static_resources` with \
                  `listeners` and `clusters`, as on https://www.envoyproxy.io/docs/envoy/latest/configuration/overview/examples"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use hoptax_text::yaml::envoy;

    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let documents: Vec<Tree> = envoy::documents(text).map(Result::unwrap).collect();
        let problems = problems(&Source::file("a.yaml", text), &documents);
        problems.into_iter().map(|problem| format!("{}: {}", problem.place, problem.message)).collect()
    }

    #[test]
    fn each_object_is_named_with_its_line_and_how_to_get_a_dump() {
        for (version, kind, expected) in [
            ("networking.istio.io/v1", "VirtualService", "istioctl proxy-config all"),
            ("security.istio.io/v1beta1", "AuthorizationPolicy", "istioctl proxy-config all"),
            ("gateway.networking.k8s.io/v1", "HTTPRoute", "of Envoy Gateway `kubectl"),
            ("gateway.envoyproxy.io/v1alpha1", "EnvoyProxy", "port-forward POD 19000"),
            ("consul.hashicorp.com/v1alpha1", "ServiceDefaults", "port-forward POD 19000"),
            ("projectcontour.io/v1", "HTTPProxy", "port-forward POD 9001"),
            ("policy.linkerd.io/v1beta3", "Server", "as an arm with a `url`"),
            ("networking.k8s.io/v1", "Ingress", "if an Envoy runs for it"),
            ("v1", "ConfigMap", "if an Envoy runs for it"),
        ] {
            let text = format!("# c\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: shop}}\n");
            let found = messages(&text);
            let [message] = found.as_slice() else { panic!("{found:?}") };
            assert!(message.starts_with(&format!("a.yaml:2: {kind} `shop` of ")), "{message}");
            assert!(message.contains(expected), "{message}");
        }
        let two = "apiVersion: v1\nkind: Service\n---\napiVersion: networking.istio.io/v1\nkind: Gateway\n";
        assert_eq!(messages(two).len(), 2);
    }

    #[test]
    fn entries_of_consul_are_known_in_yaml_json_and_hcl() {
        assert!(messages("Kind: service-router\nName: web\n")[0].contains("of Consul"));
        assert!(messages("{\"Kind\": \"proxy-defaults\"}")[0].contains("of Consul"));
        let problem =
            of_text(&Source::file("a.hcl", "# c\nKind = \"service-router\"\nRoutes = [{}]\n")).unwrap();
        assert!(problem.place.line == 2 && problem.message.contains("of Consul"), "{problem:?}");
        assert_eq!(of_text(&Source::file("a.hcl", "kind = \"other\"\n")), None);
    }
}
