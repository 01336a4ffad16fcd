//! The messages of SMP, as far as hoptax writes or uses them, and files of them.
//!
//! SMP defines messages and no file. A file of hoptax is a mapping of four messages: `test`, `mesh_config`, `environment` and
//! `result`; or a list of such mappings. Meshery puts a test configuration under `test`, too. A test configuration or a result
//! alone is also read.

use std::collections::BTreeMap;

use hoptax_text::yaml::Placed;
use serde::Serialize;
use serde_json::Value;

use crate::smp::message::{Message, Notes, message};

/// The names of a value of `Protocol`, by its number.
const PROTOCOLS: [&str; 5] =
    ["PROTOCOL_INVALID", "PROTOCOL_HTTP", "PROTOCOL_TCP", "PROTOCOL_UDP", "PROTOCOL_GRPC"];

/// Document of SMP about one test.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Document {
    /// The load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<TestConfig>,
    /// The proxies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh_config: Option<MeshConfig>,
    /// The machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// The measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<TestResult>,
}

/// `PerformanceTestConfig`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TestConfig {
    /// Version of SMP.
    pub smp_version: String,
    /// Its id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The load generators.
    pub clients: Vec<Client>,
    /// Its length, for example `30m`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub duration: String,
}

/// `PerformanceTestConfig.Client`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Client {
    /// True if it runs inside the mesh.
    pub internal: bool,
    /// Name of the load generator.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub load_generator: String,
    /// Protocol.
    pub protocol: Protocol,
    /// Connections.
    pub connections: i64,
    /// Requests per second; 0 for as many as possible.
    pub rps: i64,
    /// Headers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Cookies.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cookies: BTreeMap<String, String>,
    /// Body.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Its type.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub content_type: String,
    /// The targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoint_urls: Vec<String>,
    /// A certificate; SMP does not say of whom, or in which form.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ssl_certificate: String,
    /// Options of the load generator.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub additional_options: String,
}

/// `PerformanceTestConfig.Client.Protocol`. Written as its number, which every reader of JSON takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// None.
    #[default]
    Unstated = 0,
    /// HTTP of any version.
    Http = 1,
    /// TCP.
    Tcp = 2,
    /// UDP.
    Udp = 3,
    /// gRPC.
    Grpc = 4,
}

impl Serialize for Protocol {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}

/// `PerformanceTestResult`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TestResult {
    /// Version of SMP.
    pub smp_version: String,
    /// Its id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Start, RFC 3339.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub start_time: String,
    /// End, RFC 3339.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub end_time: String,
    /// Response times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latencies_ms: Option<Latency>,
    /// Answered requests per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_qps: Option<f64>,
    /// Id of the test configuration.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub test_id: String,
    /// Id of the mesh configuration.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mesh_config_id: String,
    /// Id of the environment.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub env_id: String,
}

/// `PerformanceTestResult.Latency`, milliseconds. SMP cannot say that a value is not known: readers take an absent one for 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Smallest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average: Option<f64>,
    /// Median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<f64>,
    /// 90th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<f64>,
    /// 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// Largest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

/// `ServiceMeshConfig`, as far as a study has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MeshConfig {
    /// Version of SMP.
    pub smp_version: String,
    /// Its id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Front proxies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress_gateway: Option<Unit>,
    /// All other proxies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sidecar: Option<Unit>,
    /// True if any connection uses mutual TLS.
    pub mtls_enabled: bool,
    /// Worker threads of each proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_concurrency: Option<i64>,
    /// Software of the proxies, with its version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub proxy_build: String,
}

/// Proxies of one kind: `ServiceMeshConfig.IngressGateway` and `Sidecar`. Numbers are sums over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unit {
    /// Number of proxies.
    pub count: i64,
    /// Thousandths of a core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_mcores: Option<i64>,
    /// Memory, 10^6 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mem_mb: Option<i64>,
    /// Requests per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rps: Option<i64>,
}

/// `EnvironmentConfig`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Environment {
    /// Version of SMP.
    pub smp_version: String,
    /// Its id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Machines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Node>,
    /// Applications.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub individual_workloads: Vec<Workload>,
}

/// `EnvironmentConfig.Node`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Its kind: the model of its processor.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Processors.
    pub cores: i64,
    /// Memory, 10^6 bytes.
    pub mem_mb: i64,
}

/// `EnvironmentConfig.IndividualWorkload`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Workload {
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Processes.
    pub count: i64,
    /// Thousandths of a core, all processes together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_mcores: Option<i64>,
}

/// The documents of a file as JSON, which readers of YAML read too. One document is written without a list.
pub fn text(documents: &[Document]) -> String {
    let value = match documents {
        [document] => serde_json::to_value(document),
        documents => serde_json::to_value(documents),
    };
    // The documents consist of texts and numbers, so this cannot fail.
    format!("{:#}\n", value.unwrap_or_default())
}

/// Content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    /// Its documents, at least one.
    pub documents: Vec<Document>,
    /// Paths of fields that hoptax does not use.
    pub unused: Vec<String>,
}

/// Reads a file, JSON or YAML.
///
/// # Errors
/// All problems.
pub fn read(text: &str) -> Result<Read, Vec<String>> {
    let value = parse(text).map_err(|problem| vec![problem])?;
    let mut notes = Notes::default();
    let documents = match value {
        Value::Array(all) => {
            let numbered = all.into_iter().enumerate();
            numbered.filter_map(|(index, value)| document(value, &format!("[{index}]"), &mut notes)).collect()
        }
        one => Vec::from_iter(document(one, "", &mut notes)),
    };
    if documents.is_empty() && notes.problems.is_empty() {
        notes.problems.push("it has no document".to_owned());
    }
    if notes.problems.is_empty() { Ok(Read { documents, unused: notes.unused }) } else { Err(notes.problems) }
}

fn parse(text: &str) -> Result<Value, String> {
    if text.trim_start().starts_with(['{', '[']) {
        return serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"));
    }
    let root: Placed = serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map_or(0, |place| place.line());
        format!("it is not YAML, line {line}: {}", hoptax_text::yaml::message(&error))
    })?;
    Ok(root.value.to_value())
}

/// A mapping of messages, or one message alone.
fn document(value: Value, path: &str, notes: &mut Notes) -> Option<Document> {
    let has = |names: &[&str]| names.iter().any(|name| value.get(name).is_some());
    if has(&["test", "mesh_config", "meshConfig", "environment", "result"]) {
        return message(value, path, notes, |one| Document {
            test: one.message("test", test_config),
            mesh_config: one.message("mesh_config", mesh_config),
            environment: one.message("environment", environment),
            result: one.message("result", test_result),
        });
    }
    if has(&["clients"]) {
        let test = message(value, path, notes, test_config)?;
        return Some(Document { test: Some(test), ..Document::default() });
    }
    if has(&["latencies_ms", "latenciesMs", "actual_qps", "actualQps"]) {
        let result = message(value, path, notes, test_result)?;
        return Some(Document { result: Some(result), ..Document::default() });
    }
    notes.problems.push(
        "it is not a message of SMP: it has none of the keys `test`, `result`, `mesh_config` and `environment`, and neither the `clients` \
         of a test configuration nor the `latencies_ms` of a result"
            .to_owned(),
    );
    None
}

fn test_config(one: &mut Message<'_>) -> TestConfig {
    TestConfig {
        smp_version: one.text("smp_version"),
        id: one.text("id"),
        name: one.text("name"),
        labels: one.labels("labels"),
        clients: one.messages("clients", client),
        duration: one.text("duration"),
    }
}

fn client(one: &mut Message<'_>) -> Client {
    Client {
        internal: one.flag("internal"),
        load_generator: one.text("load_generator"),
        protocol: match one.enumeration("protocol", &PROTOCOLS) {
            1 => Protocol::Http,
            2 => Protocol::Tcp,
            3 => Protocol::Udp,
            4 => Protocol::Grpc,
            _ => Protocol::Unstated,
        },
        connections: one.integer("connections"),
        rps: one.integer("rps"),
        headers: one.labels("headers"),
        cookies: one.labels("cookies"),
        body: one.text("body"),
        content_type: one.text("content_type"),
        endpoint_urls: one.texts("endpoint_urls"),
        ssl_certificate: one.text("ssl_certificate"),
        additional_options: one.text("additional_options"),
    }
}

fn test_result(one: &mut Message<'_>) -> TestResult {
    TestResult {
        smp_version: one.text("smp_version"),
        id: one.text("id"),
        labels: one.labels("labels"),
        start_time: one.text("start_time"),
        end_time: one.text("end_time"),
        latencies_ms: one.message("latencies_ms", |one| Latency {
            min: one.number("min"),
            average: one.number("average"),
            p50: one.number("p50"),
            p90: one.number("p90"),
            p99: one.number("p99"),
            max: one.number("max"),
        }),
        actual_qps: one.number("actual_qps"),
        test_id: one.text("test_id"),
        mesh_config_id: one.text("mesh_config_id"),
        env_id: one.text("env_id"),
    }
}

fn mesh_config(one: &mut Message<'_>) -> MeshConfig {
    MeshConfig {
        smp_version: one.text("smp_version"),
        id: one.text("id"),
        labels: one.labels("labels"),
        ingress_gateway: one.message("ingress_gateway", unit),
        sidecar: one.message("sidecar", unit),
        mtls_enabled: one.flag("mtls_enabled"),
        proxy_concurrency: stated(one.integer("proxy_concurrency")),
        proxy_build: one.text("proxy_build"),
    }
}

fn unit(one: &mut Message<'_>) -> Unit {
    Unit {
        count: one.integer("count"),
        cpu_mcores: stated(one.integer("cpu_mcores")),
        mem_mb: stated(one.integer("mem_mb")),
        rps: stated(one.integer("rps")),
    }
}

fn environment(one: &mut Message<'_>) -> Environment {
    Environment {
        smp_version: one.text("smp_version"),
        id: one.text("id"),
        labels: one.labels("labels"),
        nodes: one.messages("nodes", |one| Node {
            kind: one.text("type"),
            cores: one.integer("cores"),
            mem_mb: one.integer("mem_mb"),
        }),
        individual_workloads: one.messages("individual_workloads", |one| Workload {
            name: one.text("name"),
            count: one.integer("count"),
            cpu_mcores: stated(one.integer("cpu_mcores")),
        }),
    }
}

/// A number that is not 0, the value of an absent field.
fn stated(number: i64) -> Option<i64> {
    (number != 0).then_some(number)
}
