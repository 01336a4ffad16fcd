//! A function of the catalogue, and rendering of its fragment.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hoptax_text::nearest::{nearest, suggestion};
use serde::Deserialize;

use crate::REQUEST_PATH;
use crate::call::{CallError, FunctionCall};
use crate::code_file::CodeFile;
use crate::fragment::{Fragment, repeat_within, repeated};
use crate::in_listeners::InListeners;
use crate::knob::{Knob, KnobValue, Knobs};
use crate::template::{environment, variables};

/// The variable with the path of requests.
pub(crate) const PATH: &str = "path";

/// A traffic function of Envoy.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its id, which is also its path in the catalogue: `rate-limit/local`.
    pub id: String,
    /// Its family.
    pub family: Family,
    /// A one-line description.
    pub summary: String,
    /// What its price includes and what it leaves out, as one paragraph, if the summary does not say all of that.
    pub description: Option<String>,
    /// The page of Envoy's documentation that describes it.
    pub source: String,
    /// Changes to it by release of Envoy, newest first.
    pub changes: Vec<Change>,
    /// Parameters that change its cost, by name.
    pub knobs: BTreeMap<String, Knob>,
    /// Parts that a request must carry for the function to be active.
    pub request: Request,
    /// Number of origins behind the proxy.
    pub upstreams: u16,
    /// Connections needed to saturate the proxy in a closed loop, if a load has fewer: delayed requests occupy their connections.
    pub connections: Option<u32>,
    /// Environment variables of the proxy's process.
    pub environment: BTreeMap<String, String>,
    /// Its known response time, at the default knobs.
    pub known_answer: Option<KnownAnswer>,
    /// Its known CPU time, as a template: see [`Function::known_cpu_us`].
    pub(crate) known_cpu_us: Option<String>,
    /// Statistics of Envoy's admin interface that show that the function was active, as templates: see [`Proof`].
    pub(crate) proof: Vec<String>,
    /// Targets that file descriptors of the proxy's process link to while the function is active, for a function that Envoy silently
    /// replaces where the kernel lacks it.
    pub opens: Vec<String>,
    /// The rate limit that it enforces, in requests per second, as a template; also the burst size.
    pub(crate) limit: Option<String>,
    /// Flags of the application behind the proxy with values as templates, if the application performs the function.
    pub(crate) application: BTreeMap<String, String>,
    /// Worker threads of the proxy, if they are the function itself.
    pub workers: Option<u32>,
    /// Values of its knobs, and of conditions of a study ([`NUMBERED_CONDITIONS`](crate::NUMBERED_CONDITIONS)), that are worth measuring
    /// besides the defaults, by name: the quantities that its cost grows with. A knob takes precedence over a condition of the same name.
    pub points: BTreeMap<String, Vec<KnobValue>>,
    /// True if it calls a companion, a separate service.
    pub asks_companion: bool,
    /// The files with our code that Envoy loads for it.
    pub(crate) code_files: Vec<CodeFile>,
    /// TLS on the connections on both sides.
    pub secured: Secured,
    /// Permission for listeners files to name it.
    pub listeners: InListeners,
    pub(crate) fragment: String,
}

/// A change of a function in a release of Envoy: of its behaviour, its defaults, or its implementation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The release, without its patch number: `1.40`.
    pub release: String,
    /// A one-line description.
    pub summary: String,
}

/// A family of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Chooses the destination of a request.
    Routing,
    /// Delays, limits or rejects requests.
    #[serde(rename = "traffic shaping")]
    TrafficShaping,
    /// Controls who may send a request.
    Security,
    /// Changes the bytes of a request or a response.
    Transformation,
    /// Records requests.
    Observability,
    /// Handles failures of an origin.
    Resilience,
    /// Custom code.
    Extension,
    /// Configuration of the proxy itself.
    Server,
    /// No practical use: its cost is known in advance, to validate measurements.
    Control,
}

impl Family {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Routing => "routing",
            Self::TrafficShaping => "traffic shaping",
            Self::Security => "security",
            Self::Transformation => "transformation",
            Self::Observability => "observability",
            Self::Resilience => "resilience",
            Self::Extension => "extension",
            Self::Server => "server",
            Self::Control => "control",
        }
    }
}

/// The statistic that every answered request increments, for functions without statistics of their own.
const OF_EVERY_REQUEST: &str = "cluster.origin.upstream_rq_completed";

/// The statistic that every byte to a caller increments if the proxy is one of TCP, which counts no requests.
const OF_EVERY_BYTE: &str = "tcp.ingress.downstream_cx_tx_bytes_total";

/// A statistic of Envoy's admin interface that shows that a function was active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Its name, in which `*` is a wildcard.
    pub name: String,
    /// The value that it must exceed; without one it must change while requests are sent.
    pub above: Option<u64>,
}

impl Proof {
    /// Returns the reason why the change of the statistic does not show an active function, if so.
    pub fn failure(&self, before: u64, now: u64) -> Option<String> {
        match self.above {
            _ if self.holds(before, now) => None,
            None => Some(format!("`{}` did not change", self.name)),
            Some(above) => Some(format!("`{}` is {now}, not above {above}", self.name)),
        }
    }

    /// Returns the reason why the change of the statistic does not show a removed function, if so: it must stay
    /// constant. A statistic that every request increments is inconclusive, and so is one with a threshold, which may
    /// be exceeded until old connections are drained.
    pub fn failure_unloaded(&self, before: u64, now: u64) -> Option<String> {
        let must_rest = self.above.is_none() && !self.is_of_every_request();
        (must_rest && before != now)
            .then(|| format!("`{}` still changes, although the function was removed", self.name))
    }

    /// The proof if the proxy is one of TCP: a proof that only shows traffic must be a statistic of traffic over TCP.
    #[must_use]
    pub fn over_tcp(self) -> Self {
        if self.is_of_every_request() { Self { name: OF_EVERY_BYTE.to_owned(), ..self } } else { self }
    }

    /// Returns true if every answered request increments the statistic, with any function and without.
    pub(crate) fn is_of_every_request(&self) -> bool {
        self.name == OF_EVERY_REQUEST
    }

    /// Returns true if the change of the statistic shows an active function.
    pub fn holds(&self, before: u64, now: u64) -> bool {
        self.above.map_or(before != now, |above| now > above)
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.above {
            None => f.write_str(&self.name),
            Some(above) => write!(f, "{} > {above}", self.name),
        }
    }
}

impl FromStr for Proof {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, above)) = text.split_once(" > ") else {
            return Ok(Self { name: text.to_owned(), above: None });
        };
        let above = above.parse().map_err(|_| format!("`{above}` is not a number"))?;
        Ok(Self { name: name.to_owned(), above: Some(above) })
    }
}

/// TLS on the connections on both sides of a proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Secured {
    /// Downstream connections.
    pub downstream: Option<Tls>,
    /// Upstream connections.
    pub upstream: Option<Tls>,
}

/// A mode of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tls {
    /// TLS with a server certificate.
    Tls,
    /// Mutual TLS.
    Mtls,
}

/// Parts that a request must carry for a function to be active. Every arm of a study sends the parts that any of its functions needs, so
/// that the function is the only difference between arms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// Headers, by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The query without `?`. It changes the origin's response, so a function that has one is compared with a baseline
    /// that has the same.
    pub query: Option<String>,
    /// Headers of its own arm's requests only; compared with a baseline that has the same.
    pub own_headers: BTreeMap<String, String>,
    /// A body as a template, which makes the request a `POST`; compared with a baseline that has the same. The template
    /// may call `json_document(kib)` for a JSON object of this size.
    pub body: Option<String>,
    /// A binary body, in base64.
    pub body_base64: Option<String>,
}

impl Request {
    /// Returns true if it has a body.
    pub(crate) fn has_body(&self) -> bool {
        self.body.is_some() || self.body_base64.is_some()
    }
}

/// The known response time of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownAnswer {
    /// Lower limit of the cost at the median of response time, us.
    pub response_p50_low_us: u64,
    /// Its upper limit.
    pub response_p50_high_us: u64,
}

/// The environment that a fragment is rendered for.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The arm's run directory, in which Envoy may write log files.
    pub directory: &'a Path,
    /// The address of the companion, if any.
    pub companion: Option<SocketAddr>,
}

/// Reason why a fragment, or another template of a function, cannot be rendered.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RenderError(pub(crate) String);

impl RenderError {
    /// A template of the function with this id does not evaluate.
    pub(crate) fn from_template(id: &str, error: &minijinja::Error) -> Self {
        Self(format!("cannot render the fragment of function `{id}`: {error}"))
    }
}

impl Function {
    /// The template of its fragment.
    pub fn fragment(&self) -> &str {
        &self.fragment
    }

    /// Returns true if its fragment uses the path of requests, and so supports [`REQUEST_PATH`] only.
    pub fn looks_at_path(&self) -> bool {
        let template = || environment().template_from_str(&self.fragment);
        // An invalid template is rejected when its file is read.
        let uses = || template().is_ok_and(|template| template.undeclared_variables(false).contains(PATH));
        // To compile a template takes longer than to search it.
        self.fragment.contains(PATH) && uses()
    }

    /// All knobs at their defaults.
    pub fn default_knobs(&self) -> Knobs {
        Knobs(self.knobs.iter().map(|(name, knob)| (name.clone(), knob.default.clone())).collect())
    }

    /// The knobs that `call` sets, and the others at their defaults.
    ///
    /// # Errors
    /// All knobs of the call that the function lacks, or that do not accept the value.
    pub fn knobs_of(&self, call: &FunctionCall) -> Result<Knobs, Vec<CallError>> {
        let mut knobs = self.default_knobs();
        let mut errors = Vec::new();
        for (name, value) in &call.knobs {
            match self.knobs.get(name) {
                None => errors.push(self.unknown_knob(name)),
                Some(knob) if !knob.range.contains(value) => errors.push(CallError(format!(
                    "invalid value `{value}` of knob `{name}` of function `{}`: it takes {}",
                    self.id, knob.range
                ))),
                Some(_) => {
                    knobs.0.insert(name.clone(), value.clone());
                }
            }
        }
        if errors.is_empty() { Ok(knobs) } else { Err(errors) }
    }

    /// The fragment that enables the function.
    ///
    /// # Errors
    /// The template does not evaluate with these knobs, or not to a fragment.
    pub fn render(&self, knobs: &Knobs, context: &Context<'_>) -> Result<Fragment, RenderError> {
        let text = self.rendered(knobs, context)?;
        let mut fragment: Fragment = serde_saphyr::from_str(&text).map_err(|error| {
            RenderError(format!("the rendered fragment of function `{}` is invalid: {error}", self.id))
        })?;
        fragment.routes = repeated(&fragment.routes);
        repeat_within(&mut fragment.http_filters);
        let files = self.code_files.iter().map(|file| (file.path(context.directory), file.bytes()));
        fragment.files.extend(files);
        Ok(fragment)
    }

    /// The rendered text of the fragment.
    ///
    /// # Errors
    /// The template does not evaluate with these knobs.
    pub fn rendered(&self, knobs: &Knobs, context: &Context<'_>) -> Result<String, RenderError> {
        let directory = context.directory.to_str().ok_or_else(|| {
            RenderError(format!(
                "cannot render the fragment of function `{}`: the run directory `{}` is not valid UTF-8",
                self.id,
                context.directory.display()
            ))
        })?;
        let mut variables = variables(knobs);
        variables.extend([("directory", directory.into()), (PATH, REQUEST_PATH.into())]);
        for file in &self.code_files {
            let path = file.path(context.directory);
            variables.insert(file.variable(), path.to_string_lossy().into_owned().into());
        }
        if self.asks_companion {
            // Functions are checked without a companion.
            let companion = context.companion.unwrap_or_else(|| ([127, 0, 0, 1], 1).into());
            variables.insert("companion_address", companion.ip().to_string().into());
            variables.insert("companion_port", companion.port().into());
        }
        environment()
            .render_named_str(&self.id, &self.fragment, variables)
            .map_err(|error| RenderError::from_template(&self.id, &error))
    }

    /// The proofs of the function with these knobs.
    ///
    /// # Errors
    /// A template does not evaluate, or not to a proof.
    pub fn proofs(&self, knobs: &Knobs) -> Result<Vec<Proof>, RenderError> {
        let render = |template: &String| {
            let text = self.rendered_text(template, knobs)?;
            text.parse::<Proof>().map_err(|why| {
                RenderError(format!("the proof `{text}` of function `{}` is invalid: {why}", self.id))
            })
        };
        self.proof.iter().map(render).collect()
    }

    /// The rate limit with these knobs, in requests per second, which is also the burst size; None for a function that
    /// does not limit.
    ///
    /// # Errors
    /// The template does not evaluate, or not to a number.
    pub fn limit(&self, knobs: &Knobs) -> Result<Option<f64>, RenderError> {
        self.number("limit", self.limit.as_ref(), knobs)
    }

    /// CPU time that the proxy uses per request with these knobs, us, in addition to that with knobs for which this is
    /// 0; None for a function without known CPU time.
    ///
    /// Only the difference between two arms of the function is known, or the slope over several: the presence of the
    /// function has an unknown cost too. It is exact only if the rest of a request costs the same in both arms, which
    /// does not hold on a machine with other load.
    ///
    /// # Errors
    /// The template does not evaluate, or not to a number.
    pub fn known_cpu_us(&self, knobs: &Knobs) -> Result<Option<f64>, RenderError> {
        self.number("known CPU time", self.known_cpu_us.as_ref(), knobs)
    }

    fn number(
        &self,
        what: &'static str,
        template: Option<&String>,
        knobs: &Knobs,
    ) -> Result<Option<f64>, RenderError> {
        let Some(template) = template else { return Ok(None) };
        let text = self.rendered_text(template, knobs)?;
        let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        let error = || RenderError(format!("the {what} `{text}` of function `{}` is not a number", self.id));
        number.map(Some).ok_or_else(error)
    }

    /// The body of its request with these knobs; None for a request without one.
    ///
    /// # Errors
    /// The template does not evaluate.
    pub fn body(&self, knobs: &Knobs) -> Result<Option<Vec<u8>>, RenderError> {
        if let Some(coded) = &self.request.body_base64 {
            return Ok(Some(BASE64_STANDARD.decode(coded).unwrap_or_default()));
        }
        let body = self.request.body.as_ref().map(|body| self.rendered_text(body, knobs)).transpose()?;
        Ok(body.map(String::into_bytes))
    }

    /// Flags of the application behind the proxy with these knobs, with their values.
    ///
    /// # Errors
    /// A template does not evaluate.
    pub fn application(&self, knobs: &Knobs) -> Result<Vec<(String, String)>, RenderError> {
        let flag =
            |(name, template): (&String, &String)| Ok((name.clone(), self.rendered_text(template, knobs)?));
        self.application.iter().map(flag).collect()
    }

    fn rendered_text(&self, template: &str, knobs: &Knobs) -> Result<String, RenderError> {
        environment()
            .render_named_str(&self.id, template, variables(knobs))
            .map_err(|error| RenderError::from_template(&self.id, &error))
    }

    fn unknown_knob(&self, name: &str) -> CallError {
        let known: Vec<&str> = self.knobs.keys().map(String::as_str).collect();
        let hint = match (nearest(name, known.iter().copied()).as_slice(), known.as_slice()) {
            (_, []) => "; it has none".to_owned(),
            ([], known) => format!("; it has `{}`", known.join("`, `")),
            (nearest, _) => suggestion(nearest),
        };
        CallError(format!("function `{}` has no knob `{name}`{hint}", self.id))
    }
}
