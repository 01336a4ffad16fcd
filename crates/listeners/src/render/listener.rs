//! Renders a listener as Envoy's message.

use serde_json::{Map, Value, json};

use super::merge::merge;
use crate::file::{RateLimitKey, RateLimitSection, Scheme, TlsSection, TracingSection};
use crate::plan::{HostHeader, Listener, Matches, Plan, RATELIMIT, Retry, Route, TRACING};

/// The message of a listener.
///
/// # Errors
/// When functions set a field that the file sets, too.
pub(super) fn message(plan: &Plan, listener: &Listener) -> Result<Value, String> {
    let fragment = listener.fragment.clone().unwrap_or_default();
    let mut manager = manager(plan, listener);
    merge(&mut manager, &fragment.connection_manager, "connection_manager", &fragment.replaces)?;
    if let Some(Value::Array(loggers)) = manager.get_mut("access_log") {
        loggers.extend(fragment.access_log.iter().cloned().map(Value::Object));
    }
    if let Some(Value::Array(hosts)) = manager.pointer_mut("/route_config/virtual_hosts") {
        for host in hosts {
            if let Some(Value::Array(routes)) = host.get_mut("routes") {
                for route in routes {
                    merge(route, &fragment.route, "route", &fragment.replaces)?;
                }
            }
            merge(host, &fragment.virtual_host, "virtual_host", &fragment.replaces)?;
        }
    }
    let mut filters: Vec<Value> = fragment.http_filters.iter().cloned().map(Value::Object).collect();
    if let Some(limit) = &listener.ratelimit {
        filters.push(ratelimit(limit));
    }
    filters.push(extension(
        "envoy.filters.http.router",
        "envoy.extensions.filters.http.router.v3.Router",
        &json!({}),
    ));
    manager["http_filters"] = filters.into();
    let mut chain_filters: Vec<Value> = fragment.network_filters.iter().cloned().map(Value::Object).collect();
    chain_filters.push(extension(
        "envoy.filters.network.http_connection_manager",
        "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        &manager,
    ));
    let mut chain = json!({"filters": chain_filters});
    if let Some(tls) = &listener.tls {
        chain["transport_socket"] = self::tls(tls);
    }
    let address = |address: &std::net::IpAddr| {
        let mut socket = json!({"address": address.to_string(), "port_value": listener.port});
        // Otherwise it occupies the port on all IPv4 addresses, too.
        if address.is_ipv6() && address.is_unspecified() && listener.listen.len() == 1 {
            socket["ipv4_compat"] = json!(true);
        }
        json!({"socket_address": socket})
    };
    let mut addresses = listener.listen.iter().map(address);
    let mut message = json!({"name": listener.name, "address": addresses.next()});
    let additional: Vec<Value> = addresses.map(|address| json!({"address": address})).collect();
    if !additional.is_empty() {
        message["additional_addresses"] = additional.into();
    }
    if listener.is_ingress() {
        message["per_connection_buffer_limit_bytes"] = json!(32_768);
    }
    message["filter_chains"] = json!([chain]);
    merge(&mut message, &fragment.listener, "listener", &fragment.replaces)?;
    Ok(message)
}

/// An extension with its typed configuration.
fn extension(name: &str, of: &str, fields: &Value) -> Value {
    let mut config = Map::from_iter([("@type".to_owned(), json!(format!("type.googleapis.com/{of}")))]);
    if let Value::Object(fields) = fields {
        config.extend(fields.clone());
    }
    json!({"name": name, "typed_config": config})
}

fn manager(plan: &Plan, listener: &Listener) -> Value {
    let is_ingress = listener.is_ingress();
    let side = if is_ingress { "ingress" } else { "egress" };
    let mut manager = json!({"stat_prefix": format!("{}_{side}", listener.name)});
    if is_ingress {
        // Envoy's documentation recommends these settings for an edge proxy.
        manager["use_remote_address"] = json!(true);
        manager["normalize_path"] = json!(true);
        manager["common_http_protocol_options"] =
            json!({"headers_with_underscores_action": "REJECT_REQUEST"});
        manager["http2_protocol_options"] = json!({
            "max_concurrent_streams": 100,
            "initial_stream_window_size": 65_536,
            "initial_connection_window_size": 1_048_576,
        });
        manager["request_headers_timeout"] = json!("10s");
    }
    if listener
        .routes
        .iter()
        .any(|route| matches!(&route.matches, Matches::Place { hosts, .. } if !hosts.is_empty()))
    {
        manager["strip_any_host_port"] = json!(true);
    }
    if let Some(tracing) = plan.tracing.as_ref().filter(|_| listener.is_traced) {
        manager["tracing"] = self::tracing(tracing);
        manager["request_id_extension"] = json!({"typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.request_id.uuid.v3.UuidRequestIdConfig",
            "pack_trace_reason": false,
        }});
    }
    manager["access_log"] = json!([access_log(plan, listener)]);
    manager["route_config"] = json!({"name": listener.name, "virtual_hosts": virtual_hosts(listener)});
    manager
}

/// The access log, with the times of Envoy's phases in microseconds.
fn access_log(plan: &Plan, listener: &Listener) -> Value {
    let format = json!({
        // A percent sign begins a command operator.
        "listener": listener.name.replace('%', "%%"),
        "start": "%START_TIME%",
        "method": "%REQ(:METHOD)%",
        "host": "%REQ(:AUTHORITY)%",
        "path": "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
        "status": "%RESPONSE_CODE%",
        "flags": "%RESPONSE_FLAGS%",
        "why": "%RESPONSE_CODE_DETAILS%",
        "upstream": "%UPSTREAM_HOST%",
        "request_id": "%REQ(X-REQUEST-ID)%",
        "total_us": "%COMMON_DURATION(DS_RX_BEG:DS_TX_END:us)%",
        "upstream_us": "%COMMON_DURATION(US_TX_END:US_RX_BEG:us)%",
    });
    let mut log = extension(
        "envoy.access_loggers.file",
        "envoy.extensions.access_loggers.file.v3.FileAccessLog",
        &json!({"path": plan.access_log.path.0, "log_format": {"json_format": format}}),
    );
    if plan.access_log.min_status > 0 {
        log["filter"] = json!({"status_code_filter": {"comparison": {
            "op": "GE",
            "value": {
                "default_value": plan.access_log.min_status,
                "runtime_key": format!("{}_min_log_code", listener.name),
            },
        }}});
    }
    log
}

fn tracing(section: &TracingSection) -> Value {
    let provider = extension(
        "envoy.tracers.opentelemetry",
        "envoy.config.trace.v3.OpenTelemetryConfig",
        &json!({
            "grpc_service": {"envoy_grpc": {"cluster_name": TRACING}, "timeout": "0.25s"},
            "service_name": section.service_name.as_ref().map_or("envoy", |name| name.0.as_str()),
        }),
    );
    json!({"provider": provider, "random_sampling": {"value": section.sampling_percent.unwrap_or(1)}})
}

/// The rate limit filter. If its service fails, all requests are admitted.
fn ratelimit(section: &RateLimitSection) -> Value {
    extension(
        "envoy.filters.http.ratelimit",
        "envoy.extensions.filters.http.ratelimit.v3.RateLimit",
        &json!({
            "domain": section.domain,
            "timeout": "0.02s",
            "failure_mode_deny": false,
            "rate_limit_service": {
                "grpc_service": {"envoy_grpc": {"cluster_name": RATELIMIT}},
                "transport_api_version": "V3",
            },
        }),
    )
}

fn tls(section: &TlsSection) -> Value {
    let mut context = json!({
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
        "common_tls_context": {
            "tls_params": {"tls_minimum_protocol_version": "TLSv1_2"},
            "tls_certificates": [{
                "certificate_chain": {"filename": section.certificate.0},
                "private_key": {"filename": section.key.0},
            }],
            "alpn_protocols": ["h2", "http/1.1"],
        },
    });
    if let Some(ca) = &section.client_ca {
        context["require_client_certificate"] = json!(true);
        context["common_tls_context"]["validation_context"] = json!({"trusted_ca": {"filename": ca.0}});
    }
    json!({"name": "envoy.transport_sockets.tls", "typed_config": context})
}

/// The virtual hosts: one for each list of hosts, in the order of the file, and one for all other hosts.
fn virtual_hosts(listener: &Listener) -> Vec<Value> {
    let mut lists: Vec<&[String]> = Vec::new();
    for route in &listener.routes {
        if let Matches::Place { hosts, .. } = &route.matches
            && !hosts.is_empty()
            && !lists.contains(&hosts.as_slice())
        {
            lists.push(hosts);
        }
    }
    let host = |name: String, domains: &[String]| {
        let is_there = |route: &&Route| match &route.matches {
            Matches::Place { hosts, .. } => hosts.is_empty() || hosts == domains,
            _ => true,
        };
        // Nothing reaches a route after one that matches every request of these hosts.
        let mut is_open = true;
        let reached = listener.routes.iter().filter(is_there).take_while(|one| {
            let takes_all = match &one.matches {
                Matches::All => true,
                Matches::Place { prefix, .. } => prefix == "/",
                _ => false,
            };
            let is_reached = is_open;
            is_open &= !takes_all;
            is_reached
        });
        let routes: Vec<Value> = reached.map(|one| route(listener, one)).collect();
        let domains = if domains.is_empty() { vec!["*".to_owned()] } else { domains.to_vec() };
        let mut host = json!({"name": name, "domains": domains, "routes": routes});
        if let Some(scheme) = listener.xfp {
            let scheme = if scheme == Scheme::Https { "https" } else { "http" };
            host["request_headers_to_add"] = json!([{
                "header": {"key": "x-forwarded-proto", "value": scheme},
                "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
            }]);
        }
        host
    };
    let named = lists
        .iter()
        .enumerate()
        .map(|(index, hosts)| host(format!("{}_{}", listener.name, index + 1), hosts));
    let mut hosts: Vec<Value> = named.collect();
    hosts.push(host(listener.name.clone(), &[]));
    hosts
}

fn route(listener: &Listener, one: &Route) -> Value {
    let matches = match &one.matches {
        Matches::All => json!({"prefix": "/"}),
        Matches::Place { prefix, .. } => json!({"prefix": prefix}),
        Matches::Host(regex) => json!({
            "prefix": "/",
            "headers": [{"name": ":authority", "string_match": {"safe_regex": {"regex": regex}}}],
        }),
        Matches::Share(percent) => json!({
            "prefix": "/",
            "runtime_fraction": {
                "default_value": {"numerator": percent, "denominator": "HUNDRED"},
                "runtime_key": format!("routing.traffic_shift.{}", listener.name),
            },
        }),
    };
    let mut action = json!({"cluster": one.cluster, "timeout": one.timeout.in_seconds()});
    if let Some(idle) = listener.stream_idle(one) {
        action["idle_timeout"] = json!(idle.in_seconds());
    }
    match &one.host {
        HostHeader::Kept => {}
        HostHeader::OfUpstream => action["auto_host_rewrite"] = json!(true),
        HostHeader::Literal(host) => action["host_rewrite_literal"] = json!(host),
    }
    if let Some(retry) = &listener.retry {
        action["retry_policy"] = retry_policy(retry, one);
    }
    if let Some(limit) = &listener.ratelimit {
        let RateLimitKey::UserAgent = limit.by;
        let descriptor = json!({"header_name": "user-agent", "descriptor_key": "user-agent"});
        action["rate_limits"] = json!([{"actions": [{"request_headers": descriptor}]}]);
    }
    json!({"match": matches, "route": action})
}

fn retry_policy(retry: &Retry, route: &Route) -> Value {
    let mut policy = json!({
        "retry_on": retry.conditions.join(","),
        "num_retries": retry.retries,
        "per_try_timeout": retry.per_try(route.timeout).in_seconds(),
        "retry_host_predicate": [{
            "name": "envoy.retry_host_predicates.previous_hosts",
            "typed_config": {"@type": "type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"},
        }],
        "host_selection_retry_max_attempts": 3,
    });
    if !retry.status_codes.is_empty() {
        policy["retriable_status_codes"] = json!(retry.status_codes);
    }
    if let Some(back_off) = &retry.back_off {
        policy["retry_back_off"] = json!({"base_interval": back_off.base_interval.in_seconds()});
        if let Some(most) = back_off.max_interval {
            policy["retry_back_off"]["max_interval"] = json!(most.in_seconds());
        }
    }
    policy
}
