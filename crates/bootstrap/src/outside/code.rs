//! Finds servers in the settings of code that is not part of Envoy. Only that code knows to which of its fields it connects, so they cannot
//! be replaced.

use std::net::IpAddr;

use serde_json::Value;

use super::{host_of, server_of_uri};
use crate::tree::{at, find, is_within, last_step, message, walk};

/// Packages of messages that belong to Envoy and to its libraries.
const KNOWN: [&str; 4] = ["envoy.", "google.", "xds.", "udpa."];
/// Envoy extensions that run the user's code, and hold its settings.
const RUNNERS: [&str; 2] = [".dynamic_modules.", ".golang."];
/// Fields with a host, next to a field with its port.
const HOSTS: [&str; 3] = ["host", "hostname", "address"];

/// Code that is not part of Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Code that an extension of Envoy loads. It runs even when a configuration is only validated.
    Loaded,
    /// An extension that is not part of Envoy. The Envoy on this machine may lack it.
    Extension,
}

/// The pointers of all settings of such code.
pub(crate) fn settings_of_code(bootstrap: &Value) -> Vec<String> {
    find(bootstrap, &|_, node| is_of(Code::Loaded, node) || is_of(Code::Extension, node))
}

/// The pointers of the servers on other machines that such settings name: `host:port`, hosts next to a port, texts that are an IP address,
/// and URIs in texts that are settings. A name without a port, or with its port elsewhere, cannot be recognised.
pub(crate) fn addresses_of_code(bootstrap: &Value, code: Code) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for pointer in find(bootstrap, &|_, node| is_of(code, node)) {
        let Some(node) = at(bootstrap, &pointer) else { continue };
        walk(node, &pointer, &mut |pointer, node| {
            let is_known = found.last().is_some_and(|last| is_within(pointer, last));
            let is_whole = last_step(pointer) == "value";
            if !is_known && (names_server(pointer, node) || is_whole && is_uri(node)) {
                found.push(pointer.to_owned());
            }
        });
    }
    found.sort();
    found.dedup();
    found
}

/// True if a node has the settings of such code.
fn is_of(code: Code, node: &Value) -> bool {
    let of = message(node).of;
    match code {
        Code::Loaded => RUNNERS.iter().any(|runner| of.contains(runner)),
        Code::Extension => !of.is_empty() && !KNOWN.iter().any(|package| of.starts_with(package)),
    }
}

/// True if a node names a server on another machine. IP addresses in lists are more often rules than servers.
fn names_server(pointer: &str, node: &Value) -> bool {
    match node {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(inner) if inner.is_object() || inner.is_array() => names_server_within(&inner),
            _ => {
                let is_item = last_step(pointer).parse::<usize>().is_ok();
                are_servers(text)
                    || !is_item && ip_address(text).is_some_and(|address| !is_of_this_machine(address))
                    || text.split(|c: char| !is_part_of_word(c)).any(is_server)
            }
        },
        Value::Object(entries) => {
            let has_host = |key: &&str| entries.get(*key).and_then(Value::as_str).is_some_and(is_elsewhere);
            entries.contains_key("port") && HOSTS.iter().any(has_host)
        }
        _ => false,
    }
}

/// True if JSON settings within a text of the configuration name a server on another machine.
fn names_server_within(settings: &Value) -> bool {
    let mut is_found = false;
    walk(settings, "", &mut |pointer, node| is_found |= names_server(pointer, node) || is_uri(node));
    is_found
}

/// True if a node is a URI with a host other than this machine.
fn is_uri(node: &Value) -> bool {
    node.as_str().and_then(server_of_uri).is_some_and(|server| is_elsewhere(host_of(server)))
}

/// True if a character is part of hosts, ports, and ranges of addresses.
fn is_part_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || ".:-_[]/".contains(c)
}

/// True if a text is a list of hosts with ports, at least one of them on another machine.
fn are_servers(text: &str) -> bool {
    let mut servers = text.split(',').map(str::trim);
    servers.clone().all(|server| has_port(server) && is_host(host_of(server)))
        && servers.any(|server| is_elsewhere(host_of(server)))
}

/// True if a word within a text is a host with a port on another machine. The name must have a domain, because rules contain words such as
/// `phase:3`.
fn is_server(word: &str) -> bool {
    let word = word.rsplit("://").next().unwrap_or_default();
    let server = word.split('/').next().unwrap_or_default();
    let host = host_of(server);
    let domain = host.rsplit_once('.').map_or("", |(_, domain)| domain);
    let is_named = domain.len() > 1 && domain.chars().all(|c| c.is_ascii_alphabetic());
    has_port(server) && is_elsewhere(host) && (is_named || ip_address(host).is_some())
}

/// True if a text ends with a port. Numbers below 22 are more often counts.
fn has_port(server: &str) -> bool {
    let port = server.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    port.is_some_and(|port| port >= 22)
}

fn is_host(host: &str) -> bool {
    ip_address(host).is_some() || host.eq_ignore_ascii_case("localhost") || is_elsewhere(host)
}

/// True if a text is the name or the address of another machine.
fn is_elsewhere(host: &str) -> bool {
    if let Some(address) = ip_address(host) {
        return !is_of_this_machine(address);
    }
    let is_name = host.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c))
        && host.contains(|c: char| c.is_ascii_alphabetic())
        && (host.contains('.') || host.starts_with(|c: char| c.is_ascii_alphabetic()));
    is_name && !host.eq_ignore_ascii_case("localhost")
}

fn ip_address(text: &str) -> Option<IpAddr> {
    text.trim_matches(['[', ']']).parse().ok()
}

/// True if an address is on loopback. Connections to the unspecified address also stay on this machine.
fn is_of_this_machine(address: IpAddr) -> bool {
    let address = address.to_canonical();
    address.is_loopback() || address.is_unspecified()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::{configuration, lab};

    #[test]
    fn servers_on_other_machines_are_found_in_every_form() {
        for setting in [
            json!("kafka.corp.example:9092"),
            json!("127.0.0.1:9092,kafka-2:9092"),
            json!("joe@tcp(db.corp.example:3306)/shop"),
            json!("url=http://api.corp.example:8080/x"),
            json!("203.0.113.77"),
            json!("[2001:db8::7]:80"),
            json!("2001:db8::7"),
            json!({"host": "db.corp.example", "port": 5432}),
            json!({"hostname": "203.0.113.7", "port": "5432"}),
            json!(r#"{"peers": [{"host": "db", "port": 1}]}"#),
            json!(r#"["https://api.corp.example/x"]"#),
        ] {
            assert!(names_server("/value", &setting), "{setting}");
        }
    }

    #[test]
    fn what_is_on_this_machine_and_what_is_no_server_are_not_found() {
        for setting in [
            json!("127.0.0.1:9092"),
            json!("localhost:9092"),
            json!("http://127.0.0.1:9002/x"),
            json!("[::1]:80"),
            json!("0.0.0.0:80"),
            json!("10.0.0.0/8, 2001:db8::/32"),
            json!("12:30:45"),
            json!("sha256:0123456789abcdef"),
            json!("std::net::TcpStream"),
            json!("retries: 3"),
            json!("SecRule ARGS \"@rx a\" id:101,phase:3,log,redirect:http"),
            json!("retries:3"),
            json!("width:10px;z-index:500"),
            json!("2024-01-01T10:30"),
            json!("::ffff:127.0.0.1"),
            json!(r#"{"allow": ["203.0.113.7"]}"#),
            json!({"host": "localhost", "port": 5432}),
            json!({"host": "db.corp.example"}),
            json!(r#"{"bind": "127.0.0.1:80", "see": "https://localhost/"}"#),
        ] {
            assert!(!names_server("/value", &setting), "{setting}");
        }
    }

    /// The lines of the problems of a filter with these settings.
    fn lines(settings: &str) -> Vec<String> {
        let text = format!(
            "static_resources:
  listeners:
    - name: a
      filter_chains: [{{filters: [{{typed_config: {{http_filters: [{{name: own, typed_config:
        {settings}}}]}}}}]}}]"
        );
        let adapted = configuration(&text).unwrap().adapt(&lab(), &|_| None);
        let Err(problems) = adapted.and_then(|adapted| adapted.check_extensions()) else { return Vec::new() };
        problems.to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_server_in_settings_of_other_code_is_a_problem_with_its_line_and_what_to_do() {
        let found = lines(
            "{'@type': type.googleapis.com/corp.filters.v3.Private,
               bootstrap_servers: 'kafka.corp.example:9092',
               range: 10.0.0.0/8,
               db: {host: db.corp.example,
                    port: 5432}}",
        );
        assert_eq!(found.len(), 2, "{found:?}");
        for (line, problem) in [6, 8].into_iter().zip(&found) {
            assert!(problem.starts_with(&format!("envoy.yaml:{line}: ")), "{found:?}");
            assert!(problem.contains("loopback address") && !problem.contains("corp"), "{found:?}");
        }
    }

    #[test]
    fn settings_of_modules_are_those_of_other_code_and_settings_of_envoy_are_not() {
        let module = |config: &str| {
            format!(
                "{{'@type': type.googleapis.com/envoy.extensions.filters.http.dynamic_modules.v3.DynamicModuleFilter, filter_config:
        {config}}}"
            )
        };
        let structure =
            "{'@type': type.googleapis.com/google.protobuf.Struct, value: {peer: 'db.corp.example:5432'}}";
        let text =
            "{'@type': type.googleapis.com/google.protobuf.StringValue, value: 'https://api.corp.example/x'}";
        for config in [structure, text] {
            assert!(lines(&module(config))[0].starts_with("envoy.yaml:6: "), "{config}");
        }
        let wrapped = |of: &str| {
            format!(
                "{{'@type': type.googleapis.com/xds.type.v3.TypedStruct, type_url: type.googleapis.com/{of}, value: {{a: 'db:5432'}}}}"
            )
        };
        assert_eq!(lines(&wrapped("corp.filters.v3.Private")).len(), 1);
        assert_eq!(lines(&wrapped("envoy.extensions.filters.http.lua.v3.Lua")), Vec::<String>::new());
    }
}
