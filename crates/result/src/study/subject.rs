//! The planned subject of an arm: its proxies with their functions, and the connections between them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The subject of an arm, from the generator to the application.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedSubject {
    /// The protocol from end to end: `http1`, `http2`, `grpc`, `websocket` or `tcp`.
    pub protocol: String,
    /// Its proxies, in the order in which a request passes them; empty without one.
    pub hops: Vec<PlannedHop>,
    /// TLS of the connections, in the order in which a request passes them: from the generator to the first proxy,
    /// between proxies, and to the application. One more than `hops`. Connections that a configuration of the user opens are
    /// `none` here: it determines them itself.
    pub tls: Vec<ConnectionTls>,
    /// The application behind the proxies: `origin` or `go`; `external` if the arm is a server that already ran.
    pub application: String,
    /// Processes of the application that the last proxy distributes requests to.
    pub upstreams: u32,
    /// Flags that its function passes to the application, with their values.
    pub application_flags: BTreeMap<String, String>,
    /// Expected statuses of responses, by load; an empty list for all below 400.
    pub expect: BTreeMap<String, Vec<u16>>,
    /// Its request, if a proxy has a configuration of the user, or if it is a server that already ran; null for the usual
    /// request.
    pub request: Option<PlannedRequest>,
    /// The processes whose CPU time and memory are those of a server that already ran, for example `unit envoy.service`; null
    /// for other arms, and if its CPU time is not accounted for.
    pub account: Option<String>,
    /// The network between callers and the first proxy; null for the loopback interface, and for the link of the study.
    pub network: Option<PlannedNetwork>,
}

/// The network between callers and proxies of an arm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedNetwork {
    /// Place of the proxies: `host` or `container`.
    pub servers: String,
    /// Program that translates the address of the host to that of the container: `none`, `iptables` or `nftables`.
    pub nat: String,
    /// The rules for packets that arrive where the proxies are; null without any.
    pub firewall: Option<PlannedFirewall>,
}

/// Firewall rules, each for one source address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedFirewall {
    /// Method that looks addresses up: `iptables`, `iptables-legacy`, `ipset`, `nftables`, `nftables-set` or `nftables-map`.
    pub firewall: String,
    /// Number of rules, or of addresses in the set or map.
    pub rules: u32,
    /// The place of the only rule that matches the callers: `first`, `last` or `none`.
    #[serde(rename = "match")]
    pub matching: String,
    /// True if packets of established connections are accepted before all rules.
    pub accept_established: bool,
}

/// A request that is not the usual one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedRequest {
    /// The method.
    pub method: String,
    /// The URL, with the host of the request instead of the address of the proxy.
    pub url: String,
    /// The names of its headers, in lower case. Their values may be secret.
    pub headers: Vec<String>,
}

/// A proxy of a subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedHop {
    /// Its name: `gateway`, `client` or `server` for a position, or as in the study file.
    pub name: String,
    /// Its software: `envoy`, `nginx` or `haproxy`.
    pub proxy: String,
    /// The version that its program reports; null if unknown, and in results of earlier versions.
    pub version: Option<String>,
    /// SHA-256 of its program; null if unknown, and in results of earlier versions.
    pub sha256: Option<String>,
    /// What its program reports of its build, as `proxy_build` of the environment; absent if it reports none, and in results of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Its functions; empty for a plain proxy.
    pub functions: Vec<PlannedFunction>,
    /// The configuration of the user that it runs; null if its configuration is generated.
    pub config: Option<PlannedConfig>,
    /// The processors that it may use; null for those of the proxies, and in results of earlier versions.
    pub processors: Option<HopProcessors>,
    /// Its worker threads; null for one per processor that it may use.
    pub workers: Option<u32>,
    /// Flags of its command line, in addition to those of hoptax.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Environment variables of its process, in addition to those of hoptax.
    pub environment: BTreeMap<String, String>,
}

/// The processors that a proxy may use, where they are not those of the proxies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum HopProcessors {
    /// This many processors of the study: those of the proxies come before those of generator and origin.
    Number(#[schemars(range(min = 1, max = 1024))] u32),
    /// All processors of the study.
    Word(AllProcessors),
}

/// The word for all processors of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum AllProcessors {
    /// All of them.
    All,
}

impl HopProcessors {
    /// All processors of a study.
    pub const ALL: Self = Self::Word(AllProcessors::All);

    /// Their number on a machine where a study has `all` processors.
    pub fn number(self, all: u32) -> u32 {
        match self {
            Self::Number(number) => number,
            Self::Word(AllProcessors::All) => all,
        }
    }
}

/// A configuration of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedConfig {
    /// Its path, as in the study file.
    pub path: String,
    /// SHA-256 of its contents, including the files that it names.
    pub sha256: String,
    /// The listener to which requests are sent.
    pub listener: String,
    /// The nodes that are removed from it, by their JSON pointers.
    pub without: Vec<String>,
}

/// A function of a proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedFunction {
    /// Its id in the catalogue.
    pub id: String,
    /// All its knobs, those not set at their defaults.
    pub knobs: BTreeMap<String, String>,
    /// True if it was removed from the running proxy before anything was measured.
    pub unloaded: bool,
}

/// TLS of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConnectionTls {
    /// Plaintext.
    #[default]
    None,
    /// TLS with a server certificate.
    Tls,
    /// Mutual TLS.
    Mtls,
}
