//! Converts an Envoy listener to a section of the file.

use serde_json::{Value, json};

use super::{Clusters, Keys, add, pruned, target};

/// The section of a listener that has been reduced to what the file supports.
///
/// # Errors
/// The reason why there is no such section.
pub(super) fn section(listener: &Value, clusters: &Clusters<'_>) -> Result<Keys, String> {
    let chains = listener.get("filter_chains").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let [chain] = chains else {
        return Err(format!("it has {} filter chains, none of them for HTTP", chains.len()));
    };
    let manager = pruned::manager(chain)?;
    let hosts = manager.pointer("/route_config/virtual_hosts").and_then(Value::as_array);
    let hosts = hosts.ok_or("its routes are not in the file")?;
    let mut section = Keys::new();
    add(&mut section, "name", listener.get("name").cloned());
    addresses(listener, &mut section)?;
    let mut timeout = None;
    let mut last = None;
    let mut routes = Vec::new();
    for host in hosts {
        let domains = host.get("domains").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let is_all = domains.iter().any(|domain| domain == "*");
        for route in host.get("routes").and_then(Value::as_array).into_iter().flatten() {
            let Some(action) = route.get("route") else { continue };
            let cluster = action.get("cluster").and_then(Value::as_str).unwrap_or_default();
            let prefix = route.pointer("/match/prefix").and_then(Value::as_str).unwrap_or_default();
            let mut keys = target::keys(cluster, clusters)?;
            timeout = timeout.or_else(|| action.get("timeout").cloned());
            let regex = route.pointer("/match/headers/0/string_match/safe_regex/regex");
            let share = route.pointer("/match/runtime_fraction/default_value/numerator");
            if let Some(regex) = regex.filter(|_| is_all) {
                let mut split = Keys::new();
                split.insert("name".to_owned(), cluster.into());
                split.insert("host_regex".to_owned(), regex.clone());
                split.append(&mut keys);
                let all = section.entry("splits").or_insert_with(|| json!([]));
                all.as_array_mut().into_iter().for_each(|all| all.push(Value::Object(split.clone())));
            } else if let Some(share) = share.filter(|_| is_all) {
                let mut split = Keys::new();
                split.insert("percentage".to_owned(), share.clone());
                split.append(&mut keys);
                section.insert("split".to_owned(), split.into());
            } else if prefix == "/" && is_all {
                last = Some((keys, action.clone()));
            } else {
                let mut own = Keys::new();
                if !is_all {
                    own.insert("hosts".to_owned(), domains.to_vec().into());
                }
                if prefix != "/" {
                    own.insert("prefix".to_owned(), prefix.into());
                }
                add(&mut own, "timeout", action.get("timeout").cloned());
                own.append(&mut keys);
                routes.push(Value::Object(own));
            }
        }
    }
    if last.is_none()
        && routes.is_empty()
        && !["split", "splits"].iter().any(|key| section.contains_key(*key))
    {
        return Err("none of its routes sends requests to one upstream by a path prefix".to_owned());
    }
    // Envoy's default.
    section.insert("timeout".to_owned(), timeout.unwrap_or_else(|| "15s".into()));
    if !routes.is_empty() {
        section.insert("routes".to_owned(), routes.into());
    }
    if let Some((mut keys, action)) = last {
        if let Some(own) = action.get("timeout") {
            section.insert("timeout".to_owned(), own.clone());
        }
        add(&mut section, "idle_timeout", action.get("idle_timeout").cloned());
        add(&mut section, "http_host", action.get("host_rewrite_literal").cloned());
        if keys.contains_key("sets_sni")
            && action.get("auto_host_rewrite").is_none()
            && !section.contains_key("http_host")
        {
            keys.insert("sni_rewrites_host_header".to_owned(), false.into());
        }
        add(&mut section, "retry", action.get("retry_policy").map(retry));
        section.append(&mut keys);
    }
    add(&mut section, "xfp", hosts.iter().find_map(forwarded_proto));
    if let Some(socket) = chain.get("transport_socket") {
        section.insert("tls".to_owned(), tls(socket)?);
    }
    Ok(section)
}

fn addresses(listener: &Value, section: &mut Keys) -> Result<(), String> {
    let first = listener.get("address");
    let more = listener.get("additional_addresses").and_then(Value::as_array).into_iter().flatten();
    let all = first.into_iter().chain(more.filter_map(|one| one.get("address")));
    let sockets: Vec<&Value> = all.filter_map(|address| address.get("socket_address")).collect();
    let port = sockets.first().and_then(|socket| socket.get("port_value"));
    let port = port.ok_or("it has no port")?;
    if sockets.iter().any(|socket| socket.get("port_value") != Some(port)) {
        return Err("its addresses have different ports".to_owned());
    }
    section.insert("port".to_owned(), port.clone());
    let addresses: Vec<Value> = sockets.iter().filter_map(|socket| socket.get("address").cloned()).collect();
    match addresses.as_slice() {
        [one] if one == "127.0.0.1" => {}
        [one] => add(section, "listen", Some(one.clone())),
        _ => add(section, "listen", Some(addresses.into())),
    }
    Ok(())
}

/// The fields of a policy that have the same names in the file.
fn retry(policy: &Value) -> Value {
    const SAME: [&str; 5] =
        ["retry_on", "num_retries", "per_try_timeout", "retriable_status_codes", "retry_back_off"];
    let field = |name: &str| Some((name.to_owned(), policy.get(name)?.clone()));
    Value::Object(SAME.into_iter().filter_map(field).collect())
}

/// The x-forwarded-proto header that a host sets.
fn forwarded_proto(host: &Value) -> Option<Value> {
    let headers = host.get("request_headers_to_add")?.as_array()?;
    let is_meant = |header: &&Value| {
        let key = header.pointer("/header/key").and_then(Value::as_str);
        key.is_some_and(|key| key.eq_ignore_ascii_case("x-forwarded-proto"))
    };
    headers.iter().find(is_meant)?.pointer("/header/value").cloned()
}

fn tls(socket: &Value) -> Result<Value, String> {
    let common = socket.pointer("/typed_config/common_tls_context");
    let file = |path: &str| common.and_then(|common| common.pointer(path)).cloned();
    let certificate = file("/tls_certificates/0/certificate_chain/filename");
    let key = file("/tls_certificates/0/private_key/filename");
    let (Some(certificate), Some(key)) = (certificate, key) else {
        return Err("its certificate is not in a file".to_owned());
    };
    let mut keys = Keys::new();
    keys.insert("certificate".to_owned(), certificate);
    keys.insert("key".to_owned(), key);
    if socket.pointer("/typed_config/require_client_certificate") == Some(&Value::Bool(true)) {
        add(&mut keys, "client_ca", file("/validation_context/trusted_ca/filename"));
    }
    Ok(Value::Object(keys))
}
