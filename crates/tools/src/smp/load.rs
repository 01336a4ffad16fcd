//! Results of loads as documents of SMP, and back.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{Reported, imported};
use hoptax_result::{self as result, LoadResult, StudyResult};

use crate::smp::document::{
    Client, Document, Environment, Latency, MeshConfig, Node, Protocol, TestConfig, TestResult,
};
use crate::smp::{VERSION, duration, kept};

/// The first second of the year 10000, which RFC 3339 cannot write.
const YEAR_10000_S: f64 = 253_402_300_800.0;

/// What results of SMP do not hold.
const UNKNOWN: [&str; 4] = [
    "whether its rate is that of all requests or of the answered ones",
    "whether latencies begin with the intended start or with the sending of a request",
    "a histogram",
    "open or closed loop, warm-up, sizes",
];

/// What a file of SMP is as a result of hoptax.
#[derive(Clone, Debug, PartialEq)]
pub enum Restored {
    /// A result of a load.
    Load(Box<LoadResult>),
    /// A result of a study.
    Study(Box<StudyResult>),
}

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
    match name {
        "http1" | "http2" | "http3" | "websocket" => Protocol::Http,
        "grpc" | "grpc-http3" => Protocol::Grpc,
        "tcp" => Protocol::Tcp,
        _ => Protocol::Unstated,
    }
}

/// A time, RFC 3339; none if it is not representable.
pub(crate) fn time(unix_s: f64) -> Option<String> {
    let since = Duration::try_from_secs_f64(unix_s).ok().filter(|_| unix_s < YEAR_10000_S)?;
    Some(humantime::format_rfc3339_nanos(UNIX_EPOCH + since).to_string())
}

/// Seconds since 1970 of a time.
pub(crate) fn unix_s(time: &str) -> Option<f64> {
    let time: SystemTime = humantime::parse_rfc3339_weak(time).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs_f64())
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

/// The result that documents hold: that of hoptax in their labels, or else what the fields of one document state.
///
/// # Errors
/// When they hold no result, several, or one whose fields contradict its labels: the reason.
pub fn restore(documents: &[Document]) -> Result<Restored, String> {
    let results: Vec<(&Document, &TestResult)> =
        documents.iter().filter_map(|one| Some((one, one.result.as_ref()?))).collect();
    let (document, first) = *results
        .first()
        .ok_or("it has no `result`; a test configuration alone can be run (`hoptax convert smp run`)")?;
    match kept::format(&first.labels).as_deref() {
        Some(LoadResult::FORMAT) => {
            let load: LoadResult = kept::result(&first.labels)?;
            contradiction(documents, &[of_load(&load)])?;
            Ok(Restored::Load(Box::new(load)))
        }
        Some(StudyResult::FORMAT) => {
            let study: StudyResult = kept::result(&first.labels)?;
            contradiction(documents, &crate::smp::of_study(&study)?)?;
            Ok(Restored::Study(Box::new(study)))
        }
        Some(other) => {
            Err(format!("its labels hold a result of the format `{other}`, which this version does not read"))
        }
        None if results.len() == 1 => Ok(Restored::Load(Box::new(foreign(document, first)))),
        None => Err(format!("it has {} results, and only one can be read: split it", results.len())),
    }
}

/// Refuses numbers that were changed after the export: the labels would not show it.
fn contradiction(found: &[Document], expected: &[Document]) -> Result<(), String> {
    let numbers = |documents: &[Document]| {
        let of = |one: &Document| {
            let (result, test) = (one.result.as_ref()?, one.test.as_ref());
            let clients = test.map(|test| (test.clients.clone(), duration::parse(&test.duration)));
            Some((result.latencies_ms, result.actual_qps, clients))
        };
        documents.iter().map(of).collect::<Vec<_>>()
    };
    let (found, expected) = (numbers(found), numbers(expected));
    if found.len() != expected.len() {
        return Err(format!("it has {} documents, and the export had {}", found.len(), expected.len()));
    }
    match found.iter().zip(&expected).position(|(found, expected)| found != expected) {
        None => Ok(()),
        Some(index) => Err(format!(
            "document {} was changed after the export: its test, its latencies or its rate are not those in the labels \
             `hoptax/...`; remove these labels to read the fields of SMP alone",
            index + 1
        )),
    }
}

/// A result of another tool: what the fields of SMP state.
fn foreign(document: &Document, found: &TestResult) -> LoadResult {
    let test = document.test.as_ref();
    let client = test.and_then(|test| test.clients.first());
    // An absent number is 0 in SMP.
    let us = |ms: Option<f64>| ms.filter(|ms| *ms > 0.0).map(|ms| ms * 1e3);
    let latency = found.latencies_ms.unwrap_or_default();
    let measured_s = unix_s(&found.end_time).zip(unix_s(&found.start_time)).map(|(end, start)| end - start);
    let planned_s = test.and_then(|test| duration::parse(&test.duration)).map(|length| length.as_secs_f64());
    let count = |number: i64| u32::try_from(number).ok().filter(|number| *number > 0);
    let tool = client.map(|client| client.load_generator.as_str()).filter(|name| !name.is_empty());
    let reported = Reported {
        url: client.and_then(|client| client.endpoint_urls.first().cloned()),
        started_at: Some(found.start_time.clone()).filter(|time| !time.is_empty()),
        target: client.map(|client| client.rps as f64).filter(|rate| *rate > 0.0),
        connections: client.and_then(|client| count(client.connections)),
        rate: found.actual_qps.filter(|rate| *rate > 0.0),
        seconds: measured_s.filter(|seconds| *seconds > 0.0).or(planned_s),
        latency: result::Latency {
            min_us: us(latency.min),
            mean_us: us(latency.average),
            p50_us: us(latency.p50),
            p90_us: us(latency.p90),
            p99_us: us(latency.p99),
            max_us: us(latency.max),
            ..result::Latency::default()
        },
        ..Reported::default()
    };
    let source = format!("SMP ({})", tool.unwrap_or("unknown load generator"));
    let rate = reported.rate.filter(|rate| rate.is_finite());
    let mut load = imported(&source, reported, UNKNOWN.map(str::to_owned).to_vec());
    // SMP states no numbers of requests, so its rate is the only one that is known.
    load.rate.achieved = rate;
    load.environment.proxy_version =
        document.mesh_config.as_ref().map(|mesh| mesh.proxy_build.clone()).filter(|build| !build.is_empty());
    if let Some([node]) = document.environment.as_ref().map(|one| one.nodes.as_slice()) {
        load.environment.cpu_model.clone_from(&node.kind);
        load.environment.cpus = count(node.cores).unwrap_or_default();
        load.environment.memory_bytes =
            u64::try_from(node.mem_mb).unwrap_or_default().saturating_mul(1_000_000);
    }
    load
}

#[cfg(test)]
mod tests;
