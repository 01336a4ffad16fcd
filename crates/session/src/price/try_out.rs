//! Tries an arm: starts one Envoy on a bootstrap, sends requests through a listener, and reads which statistics moved.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hoptax_bootstrap::request::DerivedRequest;
use hoptax_load::Protocol;
use hoptax_result::{Answer, LoadResult};
use hoptax_run::runner::{ClientCertificates, tls_flags};
use hoptax_subject::envoy::process::{ProxyError, ProxySpec, Source};
use hoptax_subject::envoy::release::Envoy;
use hoptax_subject::lab::{GENERATOR, Lab};
use hoptax_subject::origin::{OriginError, OriginProcess};
use serde_json::Value;

use crate::awake::NeverHalt;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::load::{Connections, GivenUrl, Load, Requests, Schedule, Sending, send};
use crate::tls::{ClientTls, IdentityFiles};

/// Time limit for the requests.
const LIMIT: Duration = Duration::from_mins(1);
/// Number of requests. Examples often have rate limits of single digits per second, which would refuse most of more requests.
const REQUESTS: u64 = 10;

/// The servers behind the proxy.
#[derive(Debug)]
pub(crate) struct Stubs {
    /// The server that stands for every cluster.
    pub(crate) origin: OriginProcess,
    /// The server that stands for every external service.
    pub(crate) companion: OriginProcess,
}

impl Stubs {
    /// Starts both servers, with certificates of `lab`. `program` is hoptax. If the proxy `presents_certificate`, both servers request it.
    ///
    /// # Errors
    /// When one of them does not start.
    pub(crate) fn start(
        program: &Path,
        lab: &Lab,
        presents_certificate: bool,
        folder: &Path,
    ) -> Result<Self, OriginError> {
        let flags = tls_flags(lab, ClientCertificates::behind_given(presents_certificate));
        let start = |name: &str| {
            let log = folder.join(format!("{name}.log"));
            OriginProcess::start(program, IpAddr::V4(Ipv4Addr::LOCALHOST), &flags, &log, &[])
        };
        Ok(Self { origin: start("origin")?, companion: start("companion")? })
    }
}

/// One arm of the configuration.
#[derive(Debug)]
pub(crate) struct TryOut<'a> {
    /// The Envoy to run.
    pub(crate) envoy: &'a Envoy,
    /// The folder of the bootstrap and the log of this arm.
    pub(crate) folder: PathBuf,
    /// The certificates of the client and its authority.
    pub(crate) lab: &'a Lab,
    /// The server that stands for every cluster.
    pub(crate) origin: SocketAddr,
}

/// Responses to the requests of a try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answers {
    /// The responses, and how much the statistics moved.
    pub(crate) answer: Answer,
    /// Failed requests by kind.
    pub(crate) failures: BTreeMap<String, u64>,
}

/// Reason why an arm cannot be tried.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TryOutError {
    /// Envoy refuses it, or does not become live.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// The requests cannot be sent.
    #[error("the requests were not sent: {0}")]
    NotSent(Failure),
}

impl TryOut<'_> {
    fn spec(&self, bootstrap: Value, listener: &str) -> ProxySpec {
        ProxySpec {
            envoy: self.envoy.clone(),
            directory: self.folder.clone(),
            source: Source::Given { bootstrap, listener: listener.to_owned() },
            environment: BTreeMap::new(),
            flags: Vec::new(),
            workers: 1,
            processors: Vec::new(),
            generation: None,
        }
    }

    /// Asks Envoy to validate a bootstrap.
    ///
    /// # Errors
    /// When Envoy refuses it, with its reason.
    pub(crate) fn validate(&self, bootstrap: Value, stop: &AtomicBool) -> Result<(), TryOutError> {
        let spec = self.spec(bootstrap, "");
        spec.configure()?;
        Ok(spec.validate(stop)?)
    }

    /// Starts Envoy with a bootstrap, sends ten requests through the listener with this name, and ends Envoy.
    ///
    /// # Errors
    /// When Envoy refuses the bootstrap or does not become live, or the requests cannot be sent.
    pub(crate) fn run(
        &self,
        bootstrap: Value,
        listener: &str,
        request: &DerivedRequest,
        interrupt: &Interrupt,
    ) -> Result<Answers, TryOutError> {
        let stop = interrupt.flag();
        let spec = self.spec(bootstrap, listener);
        spec.configure()?;
        let proxy = spec.start()?.wait_unless(stop).map_err(|error| spec.explained(error, stop))?;
        let before = proxy.all_statistics()?.unwrap_or_default();
        let result = self.send(proxy.address, request, interrupt)?.body;
        let answer = Answer {
            statuses: result.statuses,
            body_bytes: result.body_bytes,
            // No other requests have passed through the proxy.
            reached_origin: proxy.requests_to(&[self.origin])?,
            statistics: proxy.all_statistics()?.unwrap_or_default().grown_since(&before),
        };
        proxy.end()?;
        Ok(Answers { answer, failures: result.failures })
    }

    fn send(
        &self,
        address: SocketAddr,
        request: &DerivedRequest,
        interrupt: &Interrupt,
    ) -> Result<LoadResult, TryOutError> {
        let scheme = if request.tls.is_some() { "https" } else { "http" };
        let host = ("host".to_owned(), request.host.clone());
        let requests = Requests {
            urls: vec![GivenUrl::from(format!("{scheme}://{address}{}", request.path))],
            protocol: request.is_http2().then_some(Protocol::Http2),
            method: request.method.clone(),
            headers: [host].into_iter().chain(request.headers.iter().cloned()).collect(),
            ..Requests::default()
        };
        let tls = request.tls.as_ref().map(|tls| ClientTls {
            authorities: Some(self.lab.authority()),
            identity: tls.presents_certificate.then(|| IdentityFiles {
                certificate: self.lab.certificate(GENERATOR),
                key: self.lab.key(GENERATOR),
            }),
            server_name: tls.server_name.clone(),
            ..ClientTls::default()
        });
        let load = Load {
            requests,
            tls: tls.unwrap_or_default(),
            connections: Connections { number: 1, ..Connections::default() },
            ..Load::default()
        };
        let schedule = Schedule {
            count: Some(REQUESTS),
            duration: Some(LIMIT),
            warmup: Some(Duration::ZERO),
            ..Schedule::default()
        };
        let sending = Sending { load, schedule, never_halt: NeverHalt::Never, ..Sending::default() };
        let sent = send(&sending, None, None, interrupt, &|_| ()).map_err(TryOutError::NotSent)?;
        Ok(sent.result)
    }
}
