//! Results that documents of Service Mesh Performance hold: ours as they were, those of others as far as they state them.

use hoptax_result as result;
use hoptax_result::{LoadResult, StudyResult};

use super::document::{Document, TestResult};
use super::load::{of_load, unix_s};
use super::{duration, kept};
use crate::imported;
use crate::reported::Reported;

/// Result of hoptax from a file of SMP.
#[derive(Clone, Debug, PartialEq)]
pub enum Restored {
    /// A result of a load.
    Load(Box<LoadResult>),
    /// A result of a study.
    Study(Box<StudyResult>),
}

/// The result that documents hold: that of hoptax in their labels, or else the numbers in the fields of one document.
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
        Some(format) if LoadResult::is_format(format) => {
            let load: LoadResult = kept::result(&first.labels)?;
            contradiction(documents, &[of_load(&load)])?;
            Ok(Restored::Load(Box::new(load)))
        }
        Some(format) if StudyResult::is_format(format) => {
            let study: StudyResult = kept::result(&first.labels)?;
            contradiction(documents, &crate::smp::of_study(&study)?)?;
            Ok(Restored::Study(Box::new(study)))
        }
        Some(other) => {
            Err(format!("its labels hold a result of the format `{other}`, which this version does not read"))
        }
        None if results.len() == 1 => Ok(Restored::Load(Box::new(foreign(document, first)))),
        None => Err(format!("it has {} results, but hoptax reads only one: split it", results.len())),
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
        return Err(format!("it has {} documents, but the export had {}", found.len(), expected.len()));
    }
    match found.iter().zip(&expected).position(|(found, expected)| found != expected) {
        None => Ok(()),
        Some(index) => Err(format!(
            "document {} was changed after the export: its test, its latencies or its rate differ from the labels `hoptax/...`; remove \
             these labels to read the fields of SMP alone",
            index + 1
        )),
    }
}

/// A result of another tool, from the fields of SMP.
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

/// Values of a result of hoptax that results of SMP do not hold.
pub(super) const UNKNOWN: [&str; 4] = [
    "whether its rate counts all requests or only answered requests",
    "whether latencies begin with the intended start or with the sending of a request",
    "a histogram",
    "open or closed loop, warm-up, sizes",
];
