//! Determines the conditions of an arm from the study file.
//!
//! Three sources set them, in this order of precedence: `at` of the arm, its functions, and `conditions` of the study.
//! The arm overrides its functions only where their files list points of the condition: otherwise a function cannot work
//! under another value.

use std::fmt;

use hoptax_bootstrap::request::DerivedRequest;
use hoptax_functions::{Composition, KnobValue, NUMBERED_CONDITIONS};
use hoptax_load::Content;
use hoptax_subject::application::Application;

use super::Conditions;
use super::chain::{Chain, Hop};
use super::conditions::USUAL_BYTES;
use super::fragment;
use crate::file::{ConditionsSection, ORIGIN, OneOrMore, Protocol, TlsWord};

/// One combination of conditions; None where nothing is requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Point {
    protocol: Option<Protocol>,
    tls: Option<TlsWord>,
    request_bytes: Option<u64>,
    response_bytes: Option<u64>,
    headers: Option<u64>,
    connections: Option<u64>,
    workers: Option<u64>,
    envoy: Option<String>,
    /// The short name of an application other than that of the study.
    application: Option<String>,
}

/// The conditions requested for an arm by the study and by the arm itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Requested {
    by_study: Point,
    by_arm: Point,
    /// Connections of the first closed loop.
    usual_connections: Option<u64>,
    /// The application behind the arm; none for the origin.
    application: Option<Application>,
}

/// The conditions of an arm, and which of them were requested and differ from the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) conditions: Conditions,
    pub(super) requested: Point,
}

impl Requested {
    /// All combinations of the conditions of the study and the arm. `usual_connections` are those of the closed loop
    /// itself.
    pub(super) fn all(
        study: &ConditionsSection,
        arm: &ConditionsSection,
        usual_connections: Option<u64>,
    ) -> Vec<Self> {
        let by_study = Point::all(&study.without(arm));
        let by_arm = Point::all(arm);
        let with = |by_study: &Point| {
            let with = |by_arm: &Point| Self {
                by_study: by_study.clone(),
                by_arm: by_arm.clone(),
                usual_connections,
                application: None,
            };
            by_arm.iter().map(with).collect::<Vec<_>>()
        };
        by_study.iter().flat_map(with).collect()
    }

    /// The same with the application behind the arm, and that of the study; none for the origin.
    #[must_use]
    pub(super) fn with_application(
        mut self,
        application: Option<&Application>,
        by_study: Option<&Application>,
    ) -> Self {
        self.application = application.cloned();
        let name = self.application.as_ref().map_or(ORIGIN, Application::short_name).to_owned();
        self.by_arm.application = (self.application.as_ref() != by_study).then_some(name);
        self
    }

    /// Returns true if the arm itself sets no condition.
    pub(super) fn is_of_study(&self) -> bool {
        self.by_arm == Point::default()
    }

    /// The same with one condition at a point of the function's file. None if the arm itself sets the condition, or if
    /// there is no such condition or it cannot take this value.
    pub(super) fn at(mut self, name: &str, value: &KnobValue) -> Option<Self> {
        let KnobValue::Integer(value) = value else { return None };
        let place = match name {
            "request_bytes" => &mut self.by_arm.request_bytes,
            "response_bytes" => &mut self.by_arm.response_bytes,
            "headers" => &mut self.by_arm.headers,
            "connections" => &mut self.by_arm.connections,
            "workers" => &mut self.by_arm.workers,
            _ => return None,
        };
        if place.is_some() {
            return None;
        }
        *place = Some(*value);
        Some(self)
    }
}

impl Point {
    /// All combinations of the values of a section.
    fn all(section: &ConditionsSection) -> Vec<Self> {
        let points = vec![Self::default()];
        let points = vary(&points, section.protocol.as_ref(), |point, value| point.protocol = Some(value));
        let points = vary(&points, section.tls.as_ref(), |point, value| point.tls = Some(value));
        let points =
            vary(&points, section.request_bytes.as_ref(), |point, value| point.request_bytes = Some(value));
        let points =
            vary(&points, section.response_bytes.as_ref(), |point, value| point.response_bytes = Some(value));
        let points = vary(&points, section.headers.as_ref(), |point, value| point.headers = Some(value));
        let points =
            vary(&points, section.connections.as_ref(), |point, value| point.connections = Some(value));
        let points = vary(&points, section.workers.as_ref(), |point, value| point.workers = Some(value));
        vary(&points, section.envoy.as_ref(), |point, value| point.envoy = Some(value))
    }
}

/// Combines each point with each value, which `set` puts into it.
fn vary<T: Clone>(points: &[Point], values: Option<&OneOrMore<T>>, set: fn(&mut Point, T)) -> Vec<Point> {
    let Some(values) = values else { return points.to_vec() };
    let with = |point: &Point| {
        let at = |value: &T| {
            let mut point = point.clone();
            set(&mut point, value.clone());
            point
        };
        values.all().iter().map(at).collect::<Vec<Point>>()
    };
    points.iter().flat_map(with).collect()
}

/// Formats it as in a study file: `http2, response_bytes=16384`. Empty for the defaults.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.protocol.map(Protocol::as_str).into_iter().chain(self.tls.map(TlsWord::as_str));
        let numbers = [
            ("request_bytes", self.request_bytes),
            ("response_bytes", self.response_bytes),
            ("headers", self.headers),
            ("connections", self.connections),
            ("workers", self.workers),
        ];
        let numbers = numbers.iter().filter_map(|(name, number)| Some(format!("{name}={}", (*number)?)));
        let envoy = self.envoy.iter().map(|envoy| format!("envoy={envoy}"));
        let application = self.application.iter().map(|name| format!("application={name}"));
        let programs = envoy.chain(application);
        f.write_str(&words.map(str::to_owned).chain(numbers).chain(programs).collect::<Vec<_>>().join(", "))
    }
}

/// The conditions of a plain proxy.
///
/// # Errors
/// The requested conditions exclude each other.
pub(super) fn plain(name: &str, requested: &Requested) -> Result<Resolved, String> {
    resolve(name, &Requirements::default(), requested)
}

/// The conditions without a proxy: there is no Envoy and there are no workers, and nothing in front of the origin terminates
/// TLS. Those of the study are for its other arms.
///
/// # Errors
/// The requested conditions exclude each other, or the arm itself states one of a proxy.
pub(super) fn without_proxy(name: &str, requested: &Requested) -> Result<Resolved, String> {
    let Requested { by_study, by_arm, .. } = requested;
    let of_proxies = [
        ("tls", by_arm.tls.filter(|tls| *tls != TlsWord::None).map(|tls| tls.as_str().to_owned())),
        ("workers", by_arm.workers.map(|number| number.to_string())),
        ("envoy", by_arm.envoy.clone()),
    ];
    if let Some((key, value)) = of_proxies.into_iter().find_map(|(key, value)| Some((key, value?))) {
        return Err(format!(
            "`{name}` has no proxy that hoptax starts, so `{key}: {value}` does not apply: remove it"
        ));
    }
    let by_study = Point { tls: None, workers: None, envoy: None, ..by_study.clone() };
    plain(name, &Requested { by_study, ..requested.clone() })
}

/// The conditions of a server that already runs, which has its own TLS, workers and Envoy.
///
/// # Errors
/// As [`without_proxy`], and a protocol other than HTTP.
pub(super) fn external(name: &str, requested: &Requested) -> Result<Resolved, String> {
    let resolved = without_proxy(name, requested)?;
    let protocol = resolved.conditions.protocol;
    if protocol.content() == Content::Requests {
        return Ok(resolved);
    }
    Err(format!(
        "`{name}` has a `url` and does not support `protocol: {}`: add `at: {{protocol: http1}}` or `http2` to it",
        protocol.as_str()
    ))
}

/// The conditions of a chain of proxies, whose functions all work on the same requests.
///
/// # Errors
/// The requested conditions exclude each other, a function or a proxy.
pub(super) fn of_chain(
    name: &str,
    chain: &Chain,
    functions: &Composition,
    request: Option<&DerivedRequest>,
    requested: &Requested,
) -> Result<Resolved, String> {
    resolve(name, &Requirements::from_chain(chain, functions, request), requested)
}

/// The conditions that an arm sets itself.
#[derive(Default)]
struct Requirements {
    conditions: Conditions,
    /// Worker threads of the first proxy, if all proxies set their own; the baseline then has the usual number.
    workers: Option<u64>,
    /// Envoy of the first proxy, if all proxies have their own; the baseline then has the usual one.
    envoy: Option<String>,
    secures: bool,
    /// The protocols that requests through a given configuration may have; empty for any.
    protocols: &'static [Protocol],
    looks_at_path: bool,
    /// The part of the configuration of its functions that a proxy of TCP does not have, if there is one.
    part_of_http: Option<&'static str>,
    /// True if there are several functions.
    are_several: bool,
    /// The conditions that the arm may set to other values.
    points: Vec<&'static str>,
}

impl Requirements {
    fn from_chain(chain: &Chain, functions: &Composition, request: Option<&DerivedRequest>) -> Self {
        let workers: Option<Vec<u64>> = chain.hops.iter().map(Hop::own_workers).collect();
        let envoys: Option<Vec<&String>> = chain.hops.iter().map(|hop| hop.envoy.as_ref()).collect();
        Self {
            conditions: Conditions {
                query: functions.query(),
                response_bytes: functions.response_bytes(),
                body: functions.body(),
                headers: functions.own_headers(),
                min_connections: functions.connections().map(u64::from),
                environment: functions.environment(),
                ..Conditions::default()
            },
            workers: workers.and_then(|all| all.first().copied()),
            envoy: envoys.and_then(|all| all.first().map(|envoy| (*envoy).clone())),
            secures: chain.tls().first().is_some_and(Option::is_some)
                || chain.hops.first().is_some_and(|hop| hop.given.is_some()),
            protocols: match request {
                None => &[],
                Some(request) if request.is_http2() => &[Protocol::Http2],
                Some(_) => &[Protocol::Http1, Protocol::Http2],
            },
            looks_at_path: functions.looks_at_path(),
            part_of_http: chain.hops.iter().find_map(|hop| fragment(hop).part_of_http()),
            are_several: functions.components().len() > 1,
            points: NUMBERED_CONDITIONS.into_iter().filter(|name| functions.permits(name)).collect(),
        }
    }

    /// The protocol of the requests, if there is no choice.
    fn only_protocol(&self) -> Option<Protocol> {
        match self.protocols {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// The protocol under the requested conditions. An error if requests cannot have it.
    fn protocol(
        &self,
        name: &str,
        Requested { by_study, by_arm, .. }: &Requested,
    ) -> Result<Protocol, String> {
        let protocol = by_arm.protocol.or(self.only_protocol()).or(by_study.protocol).unwrap_or_default();
        if self.protocols.is_empty() || self.protocols.contains(&protocol) {
            return Ok(protocol);
        }
        let words: Vec<&str> = self.protocols.iter().map(|protocol| protocol.as_str()).collect();
        Err(format!(
            "`{name}` has a `config` and does not support `protocol: {}`: add `at: {{protocol: {}}}` to it",
            protocol.as_str(),
            words.join("}` or `{protocol: ")
        ))
    }

    /// Returns the reason why the functions cannot be used with a protocol, if they cannot.
    fn against(&self, protocol: Protocol) -> Option<String> {
        let content = protocol.content();
        if content == Content::Requests {
            return None;
        }
        let of_http = self.part_of_http.map(|part| format!("has {part}, which a proxy of TCP does not have"));
        let of_http = of_http.filter(|_| content == Content::Bytes);
        let why = if self.conditions.body.is_some() {
            "processes the request body"
        } else if self.conditions.query().is_some() {
            "needs a query string"
        } else if self.looks_at_path && content == Content::Calls {
            "matches the request path, which gRPC sets"
        } else {
            return of_http;
        };
        Some(of_http.unwrap_or_else(|| why.to_owned()))
    }

    /// An error if the functions cannot be used with the protocol.
    fn refuse_protocol(&self, name: &str, protocol: Protocol) -> Result<(), String> {
        let Some(why) = self.against(protocol) else { return Ok(()) };
        let instead = if self.are_several {
            "add `at: {protocol: http1}` to it".to_owned()
        } else {
            format!("write `{{function: '{name}', at: {{protocol: http1}}}}`")
        };
        Err(format!("`{name}` does not support `protocol: {}`, since it {why}: {instead}", protocol.as_str()))
    }
}

/// Chooses between the values of the arm, the function and the study, in this order. An error if the arm requests
/// another value than the function sets, unless the function `may` have it.
fn choose<T: Copy + PartialEq>(
    by_arm: Option<T>,
    by_study: Option<T>,
    required: Option<T>,
    may: bool,
    clash: impl Fn(T) -> String,
) -> Result<Option<T>, String> {
    match (by_arm, required) {
        (Some(by_arm), Some(required)) if !may && by_arm != required => Err(clash(by_arm)),
        (Some(by_arm), _) => Ok(Some(by_arm)),
        (None, Some(_)) => Ok(None),
        (None, None) => Ok(by_study),
    }
}

/// An error if requests and responses over the protocol cannot have these sizes, or this number of additional headers.
fn refuse_sizes(
    name: &str,
    protocol: Protocol,
    request_bytes: Option<u64>,
    response_bytes: Option<u64>,
    headers: Option<u64>,
) -> Result<(), String> {
    let refused = |key: &str, value: u64| {
        format!("`{name}`: `protocol: {}` does not support `{key}: {value}`", protocol.as_str())
    };
    match protocol.content() {
        Content::Requests => Ok(()),
        Content::Calls | Content::Messages => response_bytes.map_or(Ok(()), |bytes| {
            let refused = refused("response_bytes", bytes);
            Err(format!("{refused}, since the response repeats the request message; set `request_bytes`"))
        }),
        Content::Bytes => {
            let sizes = [
                ("request_bytes", request_bytes, USUAL_BYTES),
                ("response_bytes", response_bytes, USUAL_BYTES),
                ("headers", headers, 0),
            ];
            let mut unusual = sizes.into_iter().filter_map(|(key, value, usual)| {
                value.filter(|value| *value != usual).map(|value| refused(key, value))
            });
            unusual.next().map_or(Ok(()), |refused| {
                Err(format!(
                    "{refused}, since requests and responses are {USUAL_BYTES} bytes without headers: remove it"
                ))
            })
        }
    }
}

fn resolve(name: &str, required: &Requirements, requested: &Requested) -> Result<Resolved, String> {
    let Requested { by_study, by_arm, usual_connections, application } = requested;
    let own = &required.conditions;
    let may = |condition: &str| required.points.contains(&condition);
    let protocol = required.protocol(name, requested)?;
    required.refuse_protocol(name, protocol)?;
    let secured = required.secures.then_some(TlsWord::None);
    let tls = choose(by_arm.tls, by_study.tls, secured, false, |tls| {
        format!(
            "`{name}` configures TLS of these connections itself and does not support `tls: {}`: remove it",
            tls.as_str()
        )
    })?;
    let request_bytes = choose(
        by_arm.request_bytes,
        by_study.request_bytes,
        own.body.as_ref().map(|body| body.len() as u64),
        may("request_bytes"),
        |bytes| {
            format!(
                "`{name}` has its own request body and does not support `request_bytes: {bytes}`: remove it"
            )
        },
    )?;
    let response_bytes = choose(
        by_arm.response_bytes,
        by_study.response_bytes,
        own.response_bytes,
        may("response_bytes"),
        |bytes| {
            let query = own.query().unwrap_or_default();
            format!(
                "`{name}` needs the query `{query}` and does not support `response_bytes: {bytes}`: remove it"
            )
        },
    )?;
    // The minimum or any number above it is fine.
    let least = own.min_connections.unwrap_or(0);
    if let Some(number) = by_arm.connections.filter(|number| *number < least) {
        return Err(format!(
            "`{name}` needs at least {least} connections, not `connections: {number}`: raise the number"
        ));
    }
    let connections = by_arm.connections.or(by_study.connections).filter(|number| *number >= least);
    let workers = choose(by_arm.workers, by_study.workers, required.workers, false, |number| {
        format!(
            "`{name}` sets `workers: {}` and does not support `workers: {number}`: remove it",
            required.workers.unwrap_or_default()
        )
    })?;
    let own_envoy = required.envoy.as_deref();
    let envoy = choose(by_arm.envoy.as_deref(), by_study.envoy.as_deref(), own_envoy, false, |envoy| {
        let own = own_envoy.unwrap_or_default();
        format!("`{name}` has its own Envoy `{own}` and does not support `envoy: {envoy}`: remove it")
    })?;
    let more_headers = by_arm.headers.or(by_study.headers);
    refuse_sizes(name, protocol, request_bytes, response_bytes, more_headers)?;

    // Defaults are not part of the name: a plain arm keeps its plain id.
    let has_message = protocol.content() != Content::Requests;
    let usual_request = if has_message { USUAL_BYTES } else { 0 };
    let requested = Point {
        protocol: Some(protocol).filter(|protocol| *protocol != required.only_protocol().unwrap_or_default()),
        tls: tls.filter(|tls| *tls != TlsWord::None),
        request_bytes: request_bytes
            .filter(|bytes| *bytes != own.body.as_ref().map_or(usual_request, |body| body.len() as u64)),
        response_bytes: response_bytes.filter(|bytes| *bytes != own.response_bytes.unwrap_or(USUAL_BYTES)),
        headers: more_headers.filter(|number| *number != 0),
        connections: connections.filter(|number| Some(*number) != *usual_connections),
        workers: workers.filter(|number| *number != 1),
        envoy: envoy.map(str::to_owned),
        application: by_arm.application.clone(),
    };
    let body = requested.request_bytes.map(|bytes| vec![b'x'; bytes as usize]);
    let conditions = Conditions {
        protocol,
        tls: requested.tls.unwrap_or_default(),
        body: body.or_else(|| own.body.clone()),
        response_bytes: requested.response_bytes.or(own.response_bytes),
        more_headers: requested.headers.unwrap_or_default(),
        connections: requested.connections,
        min_connections: own.min_connections.filter(|_| requested.connections.is_none()),
        workers: requested.workers,
        envoy: requested.envoy.clone(),
        application: application.clone(),
        ..own.clone()
    };
    Ok(Resolved { conditions, requested })
}

impl Resolved {
    /// The id of an arm under these conditions, given its name without them.
    pub(super) fn named(&self, name: &str) -> String {
        let requested = self.requested.to_string();
        if requested.is_empty() { name.to_owned() } else { format!("{name} @ {requested}") }
    }

    /// The conditions that functions set, which the name of a baseline has in braces.
    pub(super) fn required(&self) -> String {
        let requested = &self.requested;
        let conditions = &self.conditions;
        Conditions {
            body: conditions.body.clone().filter(|_| requested.request_bytes.is_none()),
            response_bytes: conditions.response_bytes.filter(|_| requested.response_bytes.is_none()),
            ..conditions.clone()
        }
        .to_string()
    }
}
