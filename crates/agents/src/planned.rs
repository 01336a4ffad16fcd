//! The load that a controller sends to its agents: what a user states, without the files of the user's machine.
//!
//! Most parts have a text that users write and that is read back, so the text is sent.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hoptax_checks::fail_on::Condition;
use hoptax_load::{Arrivals, Expectation, Lifetime, MAX_RATE, Pace, Share, StaticAddress, without_user};
use hoptax_session::Failure;
use hoptax_session::awake::NeverHalt;
use hoptax_session::load::{
    ArrivalsOf, Body, Connections, GivenUrl, Load, Requests, Schedule, Sending, Servers, check_shared,
};
use hoptax_session::tls::{ClientTls, Versions};
use serde::{Deserialize, Serialize};

/// The most workers of an agent, and streams of a connection: those of the command.
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
    pub load: PlannedLoad,
}

impl PlannedShare {
    /// Refuses a share that no controller of this program sends: an agent does not rely on its controller.
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
    /// When it is none.
    pub(crate) fn share(&self) -> Result<Share, String> {
        Share::new(self.index, self.of)
            .ok_or_else(|| format!("the plan has share {} of {}", self.index, self.of))
    }
}

/// A load that is sent by agents. Its `Debug` output omits headers, bodies and user information.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedLoad {
    urls: Vec<String>,
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
    rate: Option<f64>,
    arrivals: String,
    think: Option<String>,
    when_busy: String,
    when_late: String,
    ramp_up_ns: Option<u64>,
    duration_ns: Option<u64>,
    count: Option<u64>,
    warmup_ns: Option<u64>,
    /// True and false as the user chose; none for the choice of the agent.
    never_halt: Option<bool>,
    percentiles: Vec<f64>,
    max_error_share: Option<f64>,
}

#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PlannedBody {
    #[default]
    Empty,
    Text(String),
    Bytes(u32),
}

impl fmt::Debug for PlannedLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let urls: Vec<String> = self.urls.iter().map(|url| without_user(url)).collect();
        f.debug_struct("PlannedLoad")
            .field("urls", &urls)
            .field("connections", &self.connections)
            .field("rate", &self.rate)
            .finish_non_exhaustive()
    }
}

impl PlannedLoad {
    /// The load as agents get it.
    ///
    /// # Errors
    /// When it has what agents do not have: files, processes or addresses of this machine; all of it.
    pub fn of(sending: &Sending<'_>) -> Result<Self, Failure> {
        let alone = of_this_machine(sending);
        if !alone.is_empty() {
            return Err(Failure::bad_input(format!(
                "a load of agents has no {}: these are for a load of this machine alone; remove them, or remove --agents",
                alone.join(", ")
            )));
        }
        let Sending { load, schedule, .. } = sending;
        let Load { requests, connections, tls, .. } = load;
        let rate = match &schedule.pace {
            Some(Pace::Constant(rate)) => Some(*rate),
            _ => None,
        };
        let arrivals = match &schedule.arrivals {
            ArrivalsOf::Process(arrivals) => arrivals.to_string(),
            ArrivalsOf::Trace(_) => Arrivals::Uniform.to_string(),
        };
        let of_conditions = sending.fail_on.iter().filter_map(Condition::percentile);
        Ok(Self {
            urls: requests.urls.iter().map(|url| url.to_string()).collect(),
            weights: requests.weights.clone(),
            protocol: requests.protocol.map(|protocol| protocol.to_string()),
            method: requests.method.clone(),
            headers: requests.headers.clone(),
            body: PlannedBody::of(&requests.body)?,
            keeps_cookies: requests.keeps_cookies,
            response_bytes: requests.response_bytes,
            timeout_ns: ns(requests.timeout),
            expect: requests.expect.iter().map(ToString::to_string).collect(),
            connections: connections.number,
            streams: connections.streams,
            order: connections.order.to_string(),
            connect: connections.lifetime.connect.to_string(),
            requests_per_connection: connections.lifetime.requests.map(|requests| requests.to_string()),
            connection_age_ns: connections.lifetime.age.map(ns),
            workers: connections.workers,
            trusts_all: tls.trusts_all,
            resumes: tls.resumes,
            seed: load.seed,
            rate,
            arrivals,
            think: schedule.think.map(|think| think.to_string()),
            when_busy: schedule.when_busy.to_string(),
            when_late: schedule.when_late.to_string(),
            ramp_up_ns: schedule.ramp_up.map(ns),
            duration_ns: schedule.duration.map(ns),
            count: schedule.count,
            warmup_ns: schedule.warmup.map(ns),
            never_halt: match sending.never_halt {
                NeverHalt::Auto => None,
                NeverHalt::Always => Some(true),
                NeverHalt::Never => Some(false),
            },
            percentiles: sending.percentiles.iter().copied().chain(of_conditions).collect(),
            max_error_share: sending.max_error_share,
        })
    }

    /// The URLs of its requests.
    pub(crate) fn urls(&self) -> &[String] {
        &self.urls
    }

    /// The planned rate of all agents; none in a closed loop.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.rate
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

    /// Refuses numbers that no command states.
    ///
    /// # Errors
    /// The first that is out of its bounds.
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

    /// The load, which connects to these addresses alone.
    ///
    /// # Errors
    /// When a text is none that the load knows.
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
            tls: ClientTls { trusts_all: self.trusts_all, resumes: self.resumes, ..ClientTls::default() },
            account: None,
            seed: self.seed,
        })
    }

    /// Its schedule.
    ///
    /// # Errors
    /// When a text is none that the schedule knows.
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

    pub(crate) fn never_halt(&self) -> NeverHalt {
        match self.never_halt {
            None => NeverHalt::Auto,
            Some(true) => NeverHalt::Always,
            Some(false) => NeverHalt::Never,
        }
    }

    pub(crate) fn percentiles(&self) -> &[f64] {
        &self.percentiles
    }

    pub(crate) fn max_error_share(&self) -> Option<f64> {
        self.max_error_share
    }
}

impl PlannedBody {
    fn of(body: &Body) -> Result<Self, Failure> {
        Ok(match body {
            Body::Empty => Self::Empty,
            Body::Text(text) => Self::Text(text.clone()),
            Body::Bytes(bytes) => Self::Bytes(*bytes),
            Body::File(path) => Self::Text(std::fs::read_to_string(path).map_err(|error| {
                let path = path.display();
                Failure::bad_input(format!("cannot read the body `{path}` as text for agents: {error}"))
            })?),
        })
    }
}

/// The options of a load that agents do not take, since they name something of this machine or have no sum over several.
fn of_this_machine(sending: &Sending<'_>) -> Vec<&'static str> {
    let Sending { load, schedule, files, .. } = sending;
    let Load { requests, servers, tls, account, .. } = load;
    let has = [
        (requests.file.is_some(), "--requests"),
        (requests.data.is_some(), "--data"),
        (requests.services.is_some(), "--proto or --reflection"),
        (requests.messages != 1, "--messages"),
        (requests.timed.is_some(), "--grpc-stream"),
        (!servers.resolve.is_empty(), "--resolve"),
        (servers.family.is_some(), "--ipv4 or --ipv6"),
        (servers.resolve_all, "--resolve-all"),
        (servers.resolve_every.is_some(), "--resolve-every"),
        (servers.unix_socket.is_some(), "--unix-socket"),
        (!servers.sources.is_empty(), "--source-address"),
        (servers.proxy_protocol.is_some(), "--proxy-protocol"),
        (tls.authorities.is_some(), "--ca"),
        (tls.identity.is_some(), "--cert"),
        (tls.server_name.is_some(), "--server-name"),
        (tls.versions != Versions::Both, "--tls-version"),
        (!tls.ciphers.is_empty(), "--tls-ciphers"),
        (!tls.groups.is_empty(), "--tls-groups"),
        (account.is_some(), "--account"),
        (sending.fail_on.iter().any(Condition::needs_account), "--fail-on of cpu, cpu_us or memory"),
        (matches!(schedule.pace, Some(Pace::Stages(_))), "--stages"),
        (matches!(schedule.arrivals, ArrivalsOf::Trace(_)), "--arrivals trace"),
        (sending.has_kernel_stamps, "--kernel-stamps"),
        (files.log.is_some(), "--log"),
        (files.hlog.is_some(), "--hlog"),
    ];
    has.into_iter().filter(|(is_given, _)| *is_given).map(|(_, option)| option).collect()
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Reads a text of the plan.
fn read<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("the plan has `{text}`, which {error}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hoptax_load::{Connect, Protocol, Think, WhenBusy};
    use hoptax_session::load::Files;

    use super::*;

    fn stated() -> Sending<'static> {
        let requests = Requests {
            urls: vec![GivenUrl::from("https://joe:secret@shop.test/a?b".to_owned())],
            protocol: Some(Protocol::Http2),
            method: "POST".to_owned(),
            headers: vec![("authorization".to_owned(), "Bearer hidden".to_owned())],
            body: Body::Text("quiet".to_owned()),
            expect: vec!["status=200".parse().unwrap(), "contains=ok, all".parse().unwrap()],
            timeout: Duration::from_millis(1_500),
            ..Requests::default()
        };
        let lifetime = Lifetime {
            connect: Connect::OnDemand,
            requests: Some("5-9".parse().unwrap()),
            age: Some(Duration::from_secs(3)),
        };
        let connections =
            Connections { number: 7, streams: 3, order: "random".parse().unwrap(), lifetime, workers: 2 };
        let tls = ClientTls { trusts_all: true, resumes: false, ..ClientTls::default() };
        let load = Load { requests, connections, tls, seed: 9, ..Load::default() };
        let schedule = Schedule {
            pace: Some(Pace::Constant(1234.5)),
            arrivals: "jitter=10%".parse().unwrap(),
            think: Some("exp:40ms".parse::<Think>().unwrap()),
            when_busy: "queue=100".parse::<WhenBusy>().unwrap(),
            when_late: "skip".parse().unwrap(),
            ramp_up: Some(Duration::from_millis(7)),
            duration: Some(Duration::from_secs(2)),
            count: Some(99),
            warmup: Some(Duration::ZERO),
        };
        Sending { load, schedule, percentiles: &[95.0], ..Sending::default() }
    }

    #[test]
    fn agents_get_the_load_that_was_stated() {
        let sending = stated();
        let text = serde_json::to_string(&PlannedLoad::of(&sending).unwrap()).unwrap();
        let planned: PlannedLoad = serde_json::from_str(&text).unwrap();
        assert_eq!(format!("{:?}", planned.load(Vec::new()).unwrap()), format!("{:?}", sending.load));
        assert_eq!(format!("{:?}", planned.schedule().unwrap()), format!("{:?}", sending.schedule));
        assert_eq!(planned.percentiles(), [95.0]);
        // User information is not in the debug output above.
        assert_eq!(planned.urls(), ["https://joe:secret@shop.test/a?b"]);
    }

    #[test]
    fn a_plan_is_shown_without_secrets() {
        let planned = PlannedLoad::of(&stated()).unwrap();
        let shown = format!("{:?}", PlannedShare { index: 0, of: 1, load: planned });
        assert!(shown.contains("shop.test"), "{shown}");
        for secret in ["joe", "secret", "hidden", "quiet"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }

    #[test]
    fn options_of_this_machine_are_named_all_together() {
        let mut sending = stated();
        sending.files = Files { log: Some(Path::new("log")), hlog: None };
        sending.load.requests.messages = 2;
        sending.schedule.pace = Some("1:2@1s".parse().unwrap());
        let refused = PlannedLoad::of(&sending).unwrap_err().to_string();
        assert!(refused.contains("no --messages, --stages, --log: "), "{refused}");
    }

    #[test]
    fn numbers_out_of_their_bounds_are_refused() {
        let stated = PlannedLoad::of(&stated()).unwrap();
        assert_eq!(stated.check_bounds(), Ok(()));
        for (planned, name) in [
            (PlannedLoad { rate: Some(1e300), ..stated.clone() }, "rate"),
            (PlannedLoad { rate: Some(0.0), ..stated.clone() }, "rate"),
            (PlannedLoad { workers: u32::MAX, ..stated.clone() }, "workers"),
            (PlannedLoad { streams: 0, ..stated.clone() }, "streams"),
            (PlannedLoad { urls: Vec::new(), ..stated.clone() }, "urls"),
            (PlannedLoad { percentiles: vec![100.0], ..stated.clone() }, "percentiles"),
        ] {
            assert!(planned.check_bounds().unwrap_err().contains(name), "{name}");
        }
    }

    #[test]
    fn a_text_that_no_load_knows_is_refused() {
        let planned = PlannedLoad { order: "sorted".to_owned(), ..PlannedLoad::of(&stated()).unwrap() };
        assert!(planned.load(Vec::new()).unwrap_err().contains("sorted"));
        let planned = PlannedLoad { arrivals: "trace=/etc/passwd".to_owned(), ..planned };
        assert!(planned.schedule().is_err());
    }
}
