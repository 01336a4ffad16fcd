//! Results of loads as documents of SMP, and back.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hoptax_load::{Content, Protocol as LoadProtocol};
use hoptax_result as result;
use hoptax_result::LoadResult;

use crate::smp::document::{
    Client, Document, Environment, Latency, MeshConfig, Node, Protocol, TestConfig, TestResult,
};
use crate::smp::{VERSION, duration, kept};
use crate::text::date;

/// A result of a load. Times are response times; those of an imported result, which has none, are service times.
pub fn of_load(load: &LoadResult) -> Document {
    let plan = &load.plan;
    let labels = kept::labels(load);
    let id = kept::id(&labels);
    let of = |what: &str| format!("{id}-{what}");
    let latency = if load.imported.is_some() { &load.latency.service } else { &load.latency.response };
    let (start_time, end_time) = times(load);
    let has_proxy = load.environment.proxy_version.is_some();
    Document {
        test: Some(TestConfig {
            smp_version: VERSION.to_owned(),
            id: of("test"),
            name: format!("hoptax load of {}", plan.url),
            clients: vec![Client {
                load_generator: load.imported.as_ref().map_or("hoptax", |one| one.tool.as_str()).to_owned(),
                protocol: protocol(&plan.protocol),
                connections: plan.connections.into(),
                rps: rps(load),
                endpoint_urls: Vec::from_iter(plan.url.contains("://").then(|| plan.url.clone())),
                ..Client::default()
            }],
            duration: if plan.duration_s > 0.0 { duration::text(plan.duration_s) } else { String::new() },
            ..TestConfig::default()
        }),
        mesh_config: has_proxy.then(|| MeshConfig {
            smp_version: VERSION.to_owned(),
            id: of("mesh"),
            proxy_build: load.environment.proxy_version.clone().unwrap_or_default(),
            ..MeshConfig::default()
        }),
        environment: Some(environment(&load.environment, of("environment"))),
        result: Some(TestResult {
            smp_version: VERSION.to_owned(),
            id: of("result"),
            labels,
            start_time,
            end_time,
            latencies_ms: milliseconds(latency),
            actual_qps: load.rate.achieved,
            test_id: of("test"),
            mesh_config_id: if has_proxy { of("mesh") } else { String::new() },
            env_id: of("environment"),
        }),
    }
}

/// The machine.
pub(crate) fn environment(machine: &result::Environment, id: String) -> Environment {
    let is_known = !machine.cpu_model.is_empty() || machine.cpus > 0;
    let node = Node {
        kind: machine.cpu_model.clone(),
        cores: machine.cpus.into(),
        mem_mb: (machine.memory_bytes as f64 / 1e6).round() as i64,
    };
    Environment {
        smp_version: VERSION.to_owned(),
        id,
        nodes: Vec::from_iter(is_known.then_some(node)),
        ..Environment::default()
    }
}

/// The protocol by its name in results. WebSocket begins as HTTP.
pub(crate) fn protocol(name: &str) -> Protocol {
    match name.parse::<LoadProtocol>().map(LoadProtocol::content) {
        Ok(Content::Requests | Content::Messages) => Protocol::Http,
        Ok(Content::Calls) => Protocol::Grpc,
        Ok(Content::Bytes) => Protocol::Tcp,
        Err(_) => Protocol::Unstated,
    }
}

/// A time, RFC 3339; none if it is not representable.
pub(crate) fn time(unix_s: f64) -> Option<String> {
    date(Duration::try_from_secs_f64(unix_s).ok()?)
}

/// SMP has whole requests per second; a load below half a request per second would become one without a limit.
fn rps(load: &LoadResult) -> i64 {
    load.rate.target.map_or(0, |rate| rate.round().clamp(1.0, i64::MAX as f64) as i64)
}

fn times(load: &LoadResult) -> (String, String) {
    let from = load.recorded_from_unix_s.or_else(|| unix_s(&load.environment.started_at));
    let text = |unix_s: Option<f64>| unix_s.and_then(time).unwrap_or_default();
    let to = from.filter(|_| load.recorded_s > 0.0).map(|from| from + load.recorded_s);
    (text(from), text(to))
}

/// Times that are known; none if none is.
fn milliseconds(latency: &result::Latency) -> Option<Latency> {
    let ms = |us: Option<f64>| us.map(|us| us / 1e3);
    let latency = Latency {
        min: ms(latency.min_us),
        average: ms(latency.mean_us),
        p50: ms(latency.p50_us),
        p90: ms(latency.p90_us),
        p99: ms(latency.p99_us),
        max: ms(latency.max_us),
    };
    (latency != Latency::default()).then_some(latency)
}

/// Seconds since 1970 of a time.
pub(crate) fn unix_s(time: &str) -> Option<f64> {
    let time: SystemTime = humantime::parse_rfc3339_weak(time).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs_f64())
}

#[cfg(test)]
mod tests;
