//! The load that a controller sends to its agents: what a user states, without the files of the user's machine.
//!
//! Most parts are sent in the text form in which users write them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hoptax_checks::fail_on::Condition;
use hoptax_load::{Arrivals, Expectation, Lifetime, MAX_RATE, Pace, Share, StaticAddress, without_user};
use hoptax_session::Failure;
use hoptax_session::awake::NeverHalt;
use hoptax_session::load::{
    ArrivalsOf, Body, Connections, Files, GivenUrl, Load, Requests, Schedule, Sending, Servers, check_shared,
};
use hoptax_session::tls::{ClientTls, Versions};
use serde::{Deserialize, Serialize};

/// Maximum numbers of workers of an agent and of streams of a connection, as for the command.
const MAX_WORKERS: u32 = 1_024;
const MAX_STREAMS: u32 = 4_096;

/// A share of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedShare {
    /// The index of the agent.
    pub index: u32,
    /// The number of agents.
    pub of: u32,
    /// The whole load.
    pub load: SentLoad,
}

impl PlannedShare {
    /// Refuses a share that no controller of this program sends: an agent does not trust its controller.
    ///
    /// # Errors
    /// The first reason.
    pub fn check(&self) -> Result<(), String> {
        self.share()?;
        self.load.check_bounds()?;
        self.load.load(Vec::new())?;
        self.load.schedule().map(|_| ())
    }

    /// The share.
    ///
    /// # Errors
    /// When the index or the number of agents is out of range.
    pub(crate) fn share(&self) -> Result<Share, String> {
        Share::new(self.index, self.of)
            .ok_or_else(|| format!("the plan has share {} of {}", self.index, self.of))
    }
}

/// A load that is sent by agents. Its `Debug` output omits headers, bodies and user information.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentLoad {
    pub(crate) urls: Vec<String>,
    weights: Vec<f64>,
    protocol: Option<String>,
    method: String,
    headers: Vec<(String, String)>,
    body: PlannedBody,
    keeps_cookies: bool,
    response_bytes: u64,
    timeout_ns: u64,
    expect: Vec<String>,
    connections: u32,
    streams: u32,
    order: String,
    connect: String,
    requests_per_connection: Option<String>,
    connection_age_ns: Option<u64>,
    workers: u32,
    trusts_all: bool,
    resumes: bool,
    seed: u64,
    /// The planned rate of all agents; none in a closed loop.
    pub(crate) rate: Option<f64>,
    arrivals: String,
    think: Option<String>,
    when_busy: String,
    when_late: String,
    ramp_up_ns: Option<u64>,
    duration_ns: Option<u64>,
    count: Option<u64>,
    warmup_ns: Option<u64>,
    pub(crate) never_halt: NeverHalt,
    pub(crate) percentiles: Vec<f64>,
    pub(crate) max_error_share: Option<f64>,
}

#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PlannedBody {
    #[default]
    Empty,
    Text(String),
    Bytes(u32),
}

impl fmt::Debug for SentLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let urls: Vec<String> = self.urls.iter().map(|url| without_user(url)).collect();
        f.debug_struct("SentLoad")
            .field("urls", &urls)
            .field("connections", &self.connections)
            .field("rate", &self.rate)
            .finish_non_exhaustive()
    }
}

impl SentLoad {
    /// The load as agents get it.
    ///
    /// # Errors
    /// When it needs what agents do not have: files, processes or addresses of this machine. The error lists all of them.
    pub fn from_sending(sending: &Sending<'_>) -> Result<Self, Failure> {
        let alone = of_this_machine(sending);
        if !alone.is_empty() {
            return Err(Failure::bad_input(format!(
                "a load of agents does not support {}, which only a load of this machine can have; remove them, or send the load without \
                 agents",
                alone.join(", ")
            )));
        }
        // All options are named, here or in `of_this_machine`, so that a new option of a load is either sent or refused. The options that
        // are `_` here are refused, except for the limits of checks and the loads beside it, which stay with the controller.
        let Sending {
            load,
            schedule,
            never_halt,
            limits: _,
            fail_on,
            percentiles,
            max_error_share,
            has_kernel_stamps: _,
            files: _,
            beside: _,
        } = sending;
        let Load { requests, servers: _, connections, tls, account: _, seed } = load;
        let Requests {
            urls,
            weights,
            file: _,
            data: _,
            protocol,
            method,
            headers,
            body,
            keeps_cookies,
            response_bytes,
            services: _,
            messages: _,
            timed: _,
            timeout,
            expect,
        } = requests;
        let Connections { number, streams, order, lifetime, workers } = connections;
        let Lifetime { connect, requests: requests_per_connection, age } = lifetime;
        let Schedule { pace, arrivals, think, when_busy, when_late, ramp_up, duration, count, warmup } =
            schedule;
        let of_conditions = fail_on.iter().filter_map(Condition::percentile);
        Ok(Self {
            urls: urls.iter().map(|url| url.to_string()).collect(),
            weights: weights.clone(),
            protocol: protocol.map(|protocol| protocol.to_string()),
            method: method.clone(),
            headers: headers.clone(),
            body: PlannedBody::from_body(body)?,
            keeps_cookies: *keeps_cookies,
            response_bytes: *response_bytes,
            timeout_ns: ns(*timeout),
            expect: expect.iter().map(ToString::to_string).collect(),
            connections: *number,
            streams: *streams,
            order: order.to_string(),
            connect: connect.to_string(),
            requests_per_connection: requests_per_connection.map(|requests| requests.to_string()),
            connection_age_ns: age.map(ns),
            workers: *workers,
            trusts_all: tls.trusts_all,
            resumes: tls.resumes(),
            seed: *seed,
            rate: constant(pace.as_ref()),
            arrivals: process(arrivals),
            think: think.map(|think| think.to_string()),
            when_busy: when_busy.to_string(),
            when_late: when_late.to_string(),
            ramp_up_ns: ramp_up.map(ns),
            duration_ns: duration.map(ns),
            count: *count,
            warmup_ns: warmup.map(ns),
            never_halt: *never_halt,
            percentiles: percentiles.iter().copied().chain(of_conditions).collect(),
            max_error_share: *max_error_share,
        })
    }

    /// The time limit of a request.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_nanos(self.timeout_ns)
    }

    /// The time over which connections are opened.
    pub(crate) fn ramp_up(&self) -> Duration {
        Duration::from_nanos(self.ramp_up_ns.unwrap_or_default())
    }

    /// Refuses a load with fewer connections or requests than this many agents need.
    ///
    /// # Errors
    /// When there are too few.
    pub fn check_agents(&self, agents: usize) -> Result<(), Failure> {
        check_shared(agents as u64, self.connections.into(), self.count, self.workers.into())
    }

    /// Refuses numbers that the command does not allow.
    ///
    /// # Errors
    /// The first number that is out of bounds.
    fn check_bounds(&self) -> Result<(), String> {
        let is_share = |share: &f64| (0.0..=1.0).contains(share);
        let is_percentile = |percentile: &f64| *percentile > 0.0 && *percentile < 100.0;
        let checks = [
            (self.rate.is_none_or(|rate| rate > 0.0 && rate <= MAX_RATE), "rate"),
            ((1..=MAX_WORKERS).contains(&self.workers), "workers"),
            ((1..=MAX_STREAMS).contains(&self.streams), "streams"),
            (!self.urls.is_empty(), "urls"),
            (self.timeout_ns > 0, "timeout_ns"),
            (self.duration_ns.is_none_or(|ns| ns > 0), "duration_ns"),
            (self.max_error_share.is_none_or(|share| is_share(&share)), "max_error_share"),
            (self.percentiles.iter().all(is_percentile), "percentiles"),
        ];
        match checks.iter().find(|(is_within, _)| !is_within) {
            Some((_, name)) => Err(format!("`{name}` of the plan is out of its bounds")),
            None => Ok(()),
        }
    }

    /// The load, which connects only to these addresses.
    ///
    /// # Errors
    /// When a text is invalid for the load.
    pub(crate) fn load(&self, addresses: Vec<StaticAddress>) -> Result<Load, String> {
        let requests = Requests {
            urls: self.urls.iter().cloned().map(GivenUrl::from).collect(),
            weights: self.weights.clone(),
            protocol: self.protocol.as_deref().map(read).transpose()?,
            method: self.method.clone(),
            headers: self.headers.clone(),
            body: match &self.body {
                PlannedBody::Empty => Body::Empty,
                PlannedBody::Text(text) => Body::Text(text.clone()),
                PlannedBody::Bytes(bytes) => Body::Bytes(*bytes),
            },
            keeps_cookies: self.keeps_cookies,
            response_bytes: self.response_bytes,
            timeout: self.timeout(),
            expect: self.expect.iter().map(|text| read::<Expectation>(text)).collect::<Result<_, _>>()?,
            ..Requests::default()
        };
        let lifetime = Lifetime {
            connect: read(&self.connect)?,
            requests: self.requests_per_connection.as_deref().map(read).transpose()?,
            age: self.connection_age_ns.map(Duration::from_nanos),
        };
        let connections = Connections {
            number: self.connections,
            streams: self.streams,
            order: read(&self.order)?,
            lifetime,
            workers: self.workers,
        };
        Ok(Load {
            requests,
            servers: Servers { resolve: addresses, ..Servers::default() },
            connections,
            tls: ClientTls {
                trusts_all: self.trusts_all,
                // A load without TLS states no option of it.
                resumes: (!self.resumes).then_some(false),
                ..ClientTls::default()
            },
            account: None,
            seed: self.seed,
        })
    }

    /// Its schedule.
    ///
    /// # Errors
    /// When a text is invalid for the schedule.
    pub(crate) fn schedule(&self) -> Result<Schedule, String> {
        Ok(Schedule {
            pace: self.rate.map(Pace::Constant),
            // A trace would be a file.
            arrivals: ArrivalsOf::Process(read(&self.arrivals)?),
            think: self.think.as_deref().map(read).transpose()?,
            when_busy: read(&self.when_busy)?,
            when_late: read(&self.when_late)?,
            ramp_up: self.ramp_up_ns.map(Duration::from_nanos),
            duration: self.duration_ns.map(Duration::from_nanos),
            count: self.count,
            warmup: self.warmup_ns.map(Duration::from_nanos),
        })
    }
}

impl PlannedBody {
    fn from_body(body: &Body) -> Result<Self, Failure> {
        Ok(match body {
            Body::Empty => Self::Empty,
            Body::Text(text) => Self::Text(text.clone()),
            Body::Bytes(bytes) => Self::Bytes(*bytes),
            Body::File(path) => Self::Text(String::from_utf8(body.bytes()?).map_err(|error| {
                let path = path.display();
                Failure::bad_input(format!("cannot read the body `{path}` as text for agents: {error}"))
            })?),
        })
    }
}

/// The options of a load that agents do not take, because they name something of this machine or cannot be added over several.
fn of_this_machine(sending: &Sending<'_>) -> Vec<&'static str> {
    let Sending { load, schedule, files, .. } = sending;
    let Load { requests, servers, tls, account, .. } = load;
    let Servers { resolve, family, resolve_all, resolve_every, unix_socket, sources, proxy_protocol } =
        servers;
    let ClientTls {
        authorities,
        // They are sent.
        trusts_all: _,
        resumes: _,
        identity,
        server_name,
        versions,
        ciphers,
        groups,
    } = tls;
    let Files { log, hlog } = files;
    let has = [
        (requests.file.is_some(), "--requests"),
        (requests.data.is_some(), "--data"),
        (requests.services.is_some(), "--proto or --reflection"),
        (requests.messages != 1, "--messages"),
        (requests.timed.is_some(), "--grpc-stream"),
        (!resolve.is_empty(), "--resolve"),
        (family.is_some(), "--ipv4 or --ipv6"),
        (*resolve_all, "--resolve-all"),
        (resolve_every.is_some(), "--resolve-every"),
        (unix_socket.is_some(), "--unix-socket"),
        (!sources.is_empty(), "--source-address"),
        (proxy_protocol.is_some(), "--proxy-protocol"),
        (authorities.is_some(), "--ca"),
        (identity.is_some(), "--cert"),
        (server_name.is_some(), "--server-name"),
        (*versions != Versions::Both, "--tls-version"),
        (!ciphers.is_empty(), "--tls-ciphers"),
        (!groups.is_empty(), "--tls-groups"),
        (account.is_some(), "--account"),
        (sending.fail_on.iter().any(Condition::needs_account), "--fail-on of cpu, cpu_us or memory"),
        (matches!(schedule.pace, Some(Pace::Stages(_))), "--stages"),
        (matches!(schedule.arrivals, ArrivalsOf::Trace(_)), "--arrivals trace"),
        (sending.has_kernel_stamps, "--kernel-stamps"),
        (log.is_some(), "--log"),
        (hlog.is_some(), "--hlog"),
    ];
    has.into_iter().filter(|(is_given, _)| *is_given).map(|(_, option)| option).collect()
}

/// The rate of an open loop; none of a closed one. Stages are refused.
fn constant(pace: Option<&Pace>) -> Option<f64> {
    match pace {
        Some(Pace::Constant(rate)) => Some(*rate),
        _ => None,
    }
}

/// The arrival process. A trace is refused.
fn process(arrivals: &ArrivalsOf) -> String {
    match arrivals {
        ArrivalsOf::Process(arrivals) => arrivals.to_string(),
        ArrivalsOf::Trace(_) => Arrivals::Uniform.to_string(),
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Reads a text of the plan.
fn read<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("the plan has `{text}`, which {error}"))
}

#[cfg(test)]
mod tests;
