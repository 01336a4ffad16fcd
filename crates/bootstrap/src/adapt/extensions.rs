//! Removes extensions that cannot run in a lab, because they need redirection by the kernel, or connect to addresses that requests name.

use serde_json::Value;

use super::Context;
use crate::tree::{self, extension_name, extension_type, last_step, message, message_type, text};

/// Types of extensions that are removed, each with the reason and advice. An entry matches the part of a type after `envoy.`.
const REMOVED: [(&str, &str); 11] = [
    ("extensions.filters.listener.original_dst.", REDIRECTED),
    ("extensions.filters.listener.original_src.", TRANSPARENT),
    ("extensions.filters.http.original_src.", TRANSPARENT),
    ("extensions.filters.http.dynamic_forward_proxy.", NAMED_BY_REQUESTS),
    ("extensions.filters.network.sni_dynamic_forward_proxy.", NAMED_BY_REQUESTS),
    ("extensions.filters.http.aws_lambda.", CREDENTIALS),
    ("extensions.filters.http.aws_request_signing.", CREDENTIALS),
    ("extensions.filters.http.gcp_authn.", CREDENTIALS),
    (
        "extensions.transport_sockets.proxy_protocol.",
        "the origin does not accept PROXY headers, and the transport socket inside stays; measure it where it runs, as an arm with a \
         `url`",
    ),
    (
        "extensions.transport_sockets.alts.",
        "its handshaker is a service outside of the lab; measure it where it runs, as an arm with a `url`",
    ),
    ("extensions.clusters.dynamic_forward_proxy.", NAMED_BY_REQUESTS),
];

const REDIRECTED: &str = "it needs connections that the kernel redirects, but the lab connects to the port of each listener: choose one with `--listener`";
const TRANSPARENT: &str =
    "it needs the kernel's transparent proxying; measure it where it runs, as an arm with a `url`";
const NAMED_BY_REQUESTS: &str =
    "it connects to addresses that requests name; measure it where it runs, as an arm with a `url`";
const CREDENTIALS: &str =
    "it asks services outside of the lab for credentials; measure it where it runs, as an arm with a `url`";

/// Names of the same extensions, for configurations that give no type.
const NAMES: [(&str, &str); 2] = [
    ("envoy.filters.listener.original_dst", REDIRECTED),
    ("envoy.filters.listener.original_src", TRANSPARENT),
];

/// Code that extensions load over the network: the setting, its description, and the setting for a file instead.
const REMOTE: [(&str, &str, &str); 2] = [
    ("/code/remote", "WebAssembly code", "code.local.filename"),
    ("/module/remote", "module", "module.local.filename"),
];

/// Reason why the HTTP proxy of `http_11_proxy`, which endpoint metadata or the transport socket names, is removed.
const WITHOUT_PROXY: &str =
    "the lab has no proxy that accepts CONNECT, so connections go to the origin directly";

pub(super) fn adapt(context: &mut Context<'_>) {
    loop {
        let found = context.find(&|_, node| why_removed(node).is_some());
        if found.is_empty() {
            break;
        }
        for pointer in found {
            // Removing a transport socket may leave another such extension, which the next iteration finds.
            let Some(why) = context.tree.pointer(&pointer).and_then(why_removed) else { continue };
            context.remove_extension(&pointer, why);
        }
    }
    for pointer in context.find(&|_, node| node.get("aws_iam").is_some()) {
        context.remove_key(&pointer, "aws_iam", CREDENTIALS);
    }
    let is_metadata = |pointer: &str, _: &Value| last_step(pointer) == "typed_filter_metadata";
    let is_socket = |_: &str, node: &Value| message(node).of.contains(".http_11_proxy.");
    for pointer in context.find(&is_metadata) {
        context.remove_key(&pointer, "envoy.http11_proxy_transport_socket.proxy_address", WITHOUT_PROXY);
    }
    for pointer in context.find(&is_socket) {
        context.remove_key(&pointer, "default_proxy_address", WITHOUT_PROXY);
    }
    for (setting, what, instead) in REMOTE {
        for pointer in context.find(&|_, node| node.pointer(setting).is_some_and(Value::is_object)) {
            let around = around(&context.tree, &pointer);
            let message = format!(
                "{around} loads its {what} over the network; download it and name the file in `{instead}`"
            );
            context.problem(&pointer, &message);
        }
    }
}

/// The extension that a node is in, for a message.
fn around(root: &Value, pointer: &str) -> String {
    let mut at = pointer;
    loop {
        if root.pointer(at).is_some_and(|node| node.get("typed_config").is_some()) {
            return described(root, at);
        }
        let Some((parent, _)) = at.rsplit_once('/') else { return "an extension".to_owned() };
        at = parent;
    }
}

fn why_removed(node: &Value) -> Option<&'static str> {
    if !node.is_object() {
        return None;
    }
    // A `kind` marks a name in metadata, and a `category` marks an entry in a dump's list of all available extensions.
    let is_other = ["kind", "category"].iter().any(|key| node.get(key).is_some());
    let named = NAMES.iter().find(|(name, _)| text(node, "/name") == *name);
    if let Some((_, why)) = named.filter(|_| !is_other) {
        return Some(*why);
    }
    node.get("typed_config")?;
    let of = extension_type(node).strip_prefix("envoy.")?;
    REMOVED.iter().find(|(prefix, _)| of.starts_with(prefix)).map(|(_, why)| *why)
}

/// Nodes that hold an extension with this name or type.
pub(crate) fn find(root: &Value, name: &str) -> Vec<String> {
    let is_it = |pointer: &str, node: &Value| {
        node.is_object()
            && (message_type(node) == name
                || node.get("typed_config").is_some() && (text(node, "/name") == name || extension_type(node) == name))
            // The node with the type is inside of the extension; the result is the extension around it.
            && last_step(pointer) != "typed_config"
    };
    tree::find(root, &is_it)
}

/// The name or the type of the extension that Envoy lacks according to its message; none if the message is about something else.
pub fn missing_extension(message: &str) -> Option<&str> {
    let between = |start: &str, end: &str| message.split_once(start)?.1.split_once(end).map(|(name, _)| name);
    let name = between("registered implementation for name: '", "'")
        .or_else(|| between("with type URL: '", "'").filter(|of| !of.is_empty()))
        .or_else(|| between("registered implementation for '", "'"))
        .or_else(|| between("could not find @type '", "'"))
        .or_else(|| between("unknown type: ", " "))?;
    Some(last_step(name)).filter(|name| !name.is_empty())
}

/// An extension for a list of replacements: its kind, by the list that holds it, and its name.
pub(super) fn described(root: &Value, pointer: &str) -> String {
    let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
    let kind = match (last_step(parent), last_step(pointer)) {
        ("http_filters", _) => "HTTP filter",
        ("listener_filters", _) => "listener filter",
        ("filters", _) => "network filter",
        ("access_log", _) => "access log",
        ("stats_sinks", _) => "statistics sink",
        ("bootstrap_extensions", _) => "bootstrap extension",
        (_, "transport_socket") => "transport socket",
        (_, "cluster_type") => "cluster type",
        _ => "extension",
    };
    let node = root.pointer(pointer).unwrap_or(&Value::Null);
    format!("{kind} `{}`", extension_name(node))
}

#[cfg(test)]
mod tests {
    use crate::fixture::{adapted, configuration, lab};

    /// A proxy with these HTTP filters, from line 8 on, and this cluster in the line after them.
    fn proxy(filters: &[String], cluster: &str) -> String {
        let filters: String =
            filters.iter().map(|filter| format!("                  - {filter}\n")).collect();
        format!(
            "static_resources:
  listeners:
    - name: a
      filter_chains:
        - filters:
            - typed_config:
                http_filters:
{filters}  clusters: [{cluster}]"
        )
    }

    fn filter(name: &str, of: &str) -> String {
        format!(
            "{{name: {name}, typed_config: {{'@type': type.googleapis.com/envoy.extensions.filters.http.{of}}}}}"
        )
    }

    #[test]
    fn extensions_that_cannot_run_here_are_removed_with_their_line_and_what_to_do() {
        let types = [
            "dynamic_forward_proxy.v3.FilterConfig",
            "original_src.v3.OriginalSrc",
            "aws_lambda.v3.Config",
            "aws_request_signing.v3.AwsRequestSigning",
            "gcp_authn.v3.GcpAuthnFilterConfig",
        ];
        let filters: Vec<String> =
            types.iter().enumerate().map(|(index, of)| filter(&format!("own-{index}"), of)).collect();
        let cluster = "{name: c, cluster_type: {name: own-5, typed_config: {'@type': type.googleapis.com/envoy.extensions.clusters.dynamic_forward_proxy.v3.ClusterConfig}}}";
        let adapted = adapted(&proxy(&filters, cluster));
        let removed: Vec<_> = adapted.replacements.iter().filter(|one| one.is_left_out).collect();
        assert_eq!(removed.len(), 6, "{removed:?}");
        for (index, one) in removed.iter().enumerate() {
            assert_eq!(one.place.line, 8 + index as u64, "{one:?}");
            assert!(one.node.ends_with(&format!(" `own-{index}`")), "{one:?}");
            assert!(
                one.with.starts_with("removed: ") && one.with.contains("as an arm with a `url`"),
                "{one:?}"
            );
        }
        let left = adapted.bootstrap().to_string();
        assert!(!left.contains("own-"), "{left}");
    }

    #[test]
    fn an_extension_that_is_told_by_its_name_has_the_reason_of_its_type() {
        let text = "static_resources: {listeners: [{name: a, listener_filters: [{name: envoy.filters.listener.original_src}]}]}";
        let removed = adapted(text).replacements.into_iter().find(|one| one.is_left_out).unwrap();
        assert!(removed.with.contains("transparent proxying"), "{removed:?}");
    }

    #[test]
    fn an_extension_that_a_proxy_has_and_does_not_use_is_not_removed() {
        let text = "node: {extensions: [{name: envoy.filters.listener.original_src, category: envoy.filters.listener}]}
static_resources: {listeners: [{name: a}]}";
        let adapted = adapted(text);
        assert!(!adapted.replacements.iter().any(|one| one.is_left_out), "{:?}", adapted.replacements);
    }

    #[test]
    fn a_parser_of_events_of_aws_asks_nobody_and_stays() {
        let parser = filter("events", "aws_eventstream_parser.v3.AwsEventstreamParser");
        let left = adapted(&proxy(&[parser], "{name: c}")).bootstrap().to_string();
        assert!(left.contains("AwsEventstreamParser"), "{left}");
    }

    #[test]
    fn credentials_that_redis_would_get_from_aws_are_removed_and_listed() {
        let cluster = "{name: c, typed_extension_protocol_options: {envoy.filters.network.redis_proxy: {auth_password: {inline_string: a}, aws_iam: {region: us-east-1}}}}";
        let adapted = adapted(&proxy(&[], cluster));
        let one = adapted.replacements.iter().find(|one| one.node == "`aws_iam`").unwrap();
        assert!(one.place.line == 8 && one.with.contains("for credentials"), "{one:?}");
        let left = adapted.bootstrap().to_string();
        assert!(!left.contains("us-east-1") && left.contains("auth_password"), "{left}");
    }

    #[test]
    fn proxies_that_take_connect_are_removed_and_listed() {
        let cluster = "{name: c, transport_socket: {name: own, typed_config: {'@type': type.googleapis.com/envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport, default_proxy_address: {socket_address: {address: 192.0.2.7, port_value: 3128}}}}, load_assignment: {endpoints: [{lb_endpoints: [{metadata: {typedFilterMetadata: {envoy.http11_proxy_transport_socket.proxy_address: {socketAddress: {address: 192.0.2.8, portValue: 3128}}}}}]}]}}";
        let adapted = adapted(&proxy(&[], cluster));
        let listed = adapted.replacements.iter().filter(|one| one.with.contains("accepts CONNECT"));
        assert_eq!(listed.map(|one| one.place.line).collect::<Vec<_>>(), [8, 8]);
        assert!(!adapted.bootstrap().to_string().contains("192.0.2."));
    }

    #[test]
    fn code_from_the_network_is_refused_with_its_extension_and_the_setting_for_a_file() {
        let filters = [
            "{name: w, typed_config: {config: {vm_config: {code: {remote: {sha256: a}}}}}}",
            "{name: m, typed_config: {dynamic_module_config: {module: {remote: {sha256: a}}}}}",
        ];
        let text = proxy(&filters.map(str::to_owned), "{name: c}");
        let error = configuration(&text).unwrap().adapt(&lab(), &|_| None).unwrap_err().to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines.len(), 2, "{error}");
        for (line, (number, name, setting)) in
            lines.iter().zip([(8, "`w`", "`code.local.filename`"), (9, "`m`", "`module.local.filename`")])
        {
            let is_placed = line.starts_with(&format!("envoy.yaml:{number}: "));
            assert!(is_placed && line.contains(name) && line.contains(setting), "{error}");
        }
    }
}
