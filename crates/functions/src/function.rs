//! One function of the catalogue, and rendering its fragment.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hoptax_nearest::nearest;
use minijinja::{Environment, UndefinedBehavior};
use serde::Deserialize;

use crate::REQUEST_PATH;
use crate::call::{CallError, FunctionCall};
use crate::fragment::Fragment;
use crate::knob::{Knob, KnobValue, Knobs};

/// The variable of a fragment that looks at the path of requests.
pub(crate) const PATH: &str = "path";

/// Our filters of WebAssembly, as `make filters` builds them.
pub const WASM_FILTERS: &[u8] = include_bytes!("../../../filters/hoptax_filters.wasm");

/// The dynamic module of `control/burn`, as `build.rs` compiles it from `modules/` for the machine that hoptax is built for.
const BURN_MODULE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hoptax_burn.so"));
/// Its file in the arm's directory.
const BURN_MODULE_FILE: &str = "hoptax_burn.so";

/// A traffic function that Envoy performs.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its id, which is also its path in the catalogue: `rate-limit/local`.
    pub id: String,
    /// The family that it belongs to.
    pub family: Family,
    /// What it does, in a line.
    pub summary: String,
    /// The page of Envoy's documentation that describes it.
    pub source: String,
    /// What releases of Envoy changed of it, newest first.
    pub changes: Vec<Change>,
    /// What changes its cost, by name.
    pub knobs: BTreeMap<String, Knob>,
    /// What a request must carry for the function to have work.
    pub request: Request,
    /// How many origins stand behind the proxy.
    pub upstreams: u16,
    /// Connections that it takes to keep the proxy busy under a closed loop, where a load has fewer: requests that a
    /// function holds back keep their connections.
    pub connections: Option<u32>,
    /// Environment variables of the proxy's process.
    pub environment: BTreeMap<String, String>,
    /// What measuring its response time must come to, at the defaults of its knobs.
    pub known_answer: Option<KnownAnswer>,
    /// What measuring its CPU time must come to, as a template: see [`Function::known_cpu_us`].
    pub(crate) known_cpu_us: Option<String>,
    /// Statistics of Envoy's admin interface that show the function at work, as templates: see [`Proof`].
    pub(crate) proof: Vec<String>,
    /// Requests per second that it lets pass, as a template; as many at once.
    pub(crate) limit: Option<String>,
    /// What the application behind the proxy is told, by flag, as templates: where it is the application that does it.
    pub(crate) application: BTreeMap<String, String>,
    /// Worker threads of the proxy, where that is what the function is.
    pub workers: Option<u32>,
    /// The values of its knobs, and of conditions that a study measures under ([`NUMBERED_CONDITIONS`](crate::NUMBERED_CONDITIONS)),
    /// that are worth measuring beside the defaults, by name: what its cost grows with. A knob of the same name goes before a
    /// condition.
    pub points: BTreeMap<String, Vec<KnobValue>>,
    /// Whether it asks a companion: another program that answers it.
    pub asks_companion: bool,
    /// Whether it runs our filters of WebAssembly.
    pub(crate) uses_wasm: bool,
    /// Whether it runs our dynamic module.
    pub(crate) uses_burn_module: bool,
    /// How the connections on both sides are secured, if they are.
    pub secured: Secured,
    pub(crate) fragment: String,
}

/// What a release of Envoy changed of a function: what it does, its defaults, or the work behind it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The release, without its patch number: `1.40`.
    pub release: String,
    /// What changed, in a line.
    pub what: String,
}

/// A family of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Where a request goes.
    Routing,
    /// When, and whether, a request goes on.
    #[serde(rename = "traffic shaping")]
    TrafficShaping,
    /// Who may send it.
    Security,
    /// What becomes of its bytes.
    Transformation,
    /// What is written down about it.
    Observability,
    /// What happens when an origin fails.
    Resilience,
    /// Code of one's own.
    Extension,
    /// How the proxy itself is set up.
    Server,
    /// Nothing that anybody wants of a proxy: its cost is known beforehand, so that a measurement can be checked.
    Control,
}

impl Family {
    /// The word for it.
    pub fn word(self) -> &'static str {
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

/// The statistic that every answered request moves, for functions that count nothing of their own.
const OF_EVERY_REQUEST: &str = "cluster.origin.upstream_rq_completed";

/// A statistic of Envoy's admin interface that shows a function at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Its name, in which `*` stands for anything.
    pub name: String,
    /// The value that it must be above; without one it must move while requests are sent.
    pub above: Option<u64>,
}

impl Proof {
    /// What is wrong with a function at work whose statistic went from one value to another, if anything.
    pub fn failure(&self, before: u64, now: u64) -> Option<String> {
        match self.above {
            _ if self.holds(before, now) => None,
            None => Some(format!("`{}` did not move", self.name)),
            Some(above) => Some(format!("`{}` is {now}, not above {above}", self.name)),
        }
    }

    /// The same of a function that was taken away, whose statistic must stand still. One that every request moves says nothing
    /// of it, and neither does one that stands above a value: it may until old connections are drained.
    pub fn failure_unloaded(&self, before: u64, now: u64) -> Option<String> {
        let says = self.above.is_none() && self.name != OF_EVERY_REQUEST;
        (says && before != now)
            .then(|| format!("`{}` still moves, although the function was taken away", self.name))
    }

    /// Whether it shows a function at work whose statistic went from one value to another.
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
        let above = above.parse().map_err(|_| format!("`{above}` is no number"))?;
        Ok(Self { name: name.to_owned(), above: Some(above) })
    }
}

/// How the connections on both sides of a proxy are secured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Secured {
    /// Those that requests come on.
    pub downstream: Option<Tls>,
    /// Those that they go on.
    pub upstream: Option<Tls>,
}

/// How a connection is secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tls {
    /// The server shows a certificate.
    Tls,
    /// Both sides do.
    Mtls,
}

/// What a request must carry for a function to have work. Every arm of a study carries what any of them needs, so
/// that the function is the only difference between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// Headers, by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The query without `?`. Since it changes what the origin answers, a function that has one is compared with a
    /// baseline that has the same.
    pub query: Option<String>,
    /// Headers of its own requests alone; compared with a baseline that has the same.
    pub own_headers: BTreeMap<String, String>,
    /// A body, which makes it a `POST`; compared with a baseline that has the same.
    pub body: Option<String>,
    /// A body that is no text, in base64.
    pub body_base64: Option<String>,
}

impl Request {
    /// The body that is sent; None for a request without one.
    pub fn body(&self) -> Option<Vec<u8>> {
        let coded = self.body_base64.as_ref().map(|coded| BASE64_STANDARD.decode(coded).unwrap_or_default());
        coded.or_else(|| self.body.as_ref().map(|body| body.as_bytes().to_vec()))
    }
}

/// What measuring a function's response time must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownAnswer {
    /// Lowest and highest cost in response time at the median, microseconds.
    pub response_p50_us: (u64, u64),
}

/// Where a fragment will be used.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The arm's run directory, in which Envoy may write log files.
    pub directory: &'a Path,
    /// Where the companion listens; none where there is none.
    pub companion: Option<SocketAddr>,
}

/// Why a fragment cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The template does not evaluate.
    #[error("cannot render the fragment of function `{id}`: {source}")]
    Template {
        /// The id of the function.
        id: String,
        /// What the template engine says.
        source: minijinja::Error,
    },
    /// What the template evaluates to is no fragment.
    #[error("the fragment of function `{id}` renders to something that is no fragment: {source}")]
    Fragment {
        /// The id of the function.
        id: String,
        /// What the parser says, with line and column of the rendered text.
        source: Box<serde_saphyr::Error>,
    },
    /// What a proof evaluates to is none.
    #[error("the proof `{proof}` of function `{id}` is none: {reason}")]
    Proof {
        /// The id of the function.
        id: String,
        /// What it evaluates to.
        proof: String,
        /// Why.
        reason: String,
    },
    /// What ought to evaluate to a number, zero or above, does not.
    #[error("the {what} `{text}` of function `{id}` is no number")]
    Number {
        /// The id of the function.
        id: String,
        /// What it is.
        what: &'static str,
        /// What it evaluates to.
        text: String,
    },
    /// The directory cannot be written into YAML.
    #[error(
        "cannot render the fragment of function `{id}`: the run directory `{directory}` is not valid UTF-8"
    )]
    Directory {
        /// The id of the function.
        id: String,
        /// The directory, as far as it can be shown.
        directory: String,
    },
}

impl Function {
    /// The template of its fragment.
    pub fn fragment(&self) -> &str {
        &self.fragment
    }

    /// Whether its fragment looks at the path of requests, and so takes [`REQUEST_PATH`] alone.
    pub fn looks_at_path(&self) -> bool {
        let environment = environment();
        let template = environment.template_from_str(&self.fragment);
        // One that is no template is refused when its file is read.
        template.is_ok_and(|template| template.undeclared_variables(false).contains(PATH))
    }

    /// Every knob at its default.
    pub fn default_knobs(&self) -> Knobs {
        Knobs(self.knobs.iter().map(|(name, knob)| (name.clone(), knob.default.clone())).collect())
    }

    /// The knobs that `call` names, the others at their defaults.
    ///
    /// # Errors
    /// Every knob of the call that the function has not, or that does not take its value.
    pub fn knobs_of(&self, call: &FunctionCall) -> Result<Knobs, Vec<CallError>> {
        let mut knobs = self.default_knobs();
        let mut errors = Vec::new();
        for (name, value) in &call.knobs {
            match self.knobs.get(name) {
                None => errors.push(self.unknown_knob(name)),
                Some(knob) if !knob.range.contains(value) => errors.push(CallError::KnobValue {
                    id: self.id.clone(),
                    knob: name.clone(),
                    value: value.to_string(),
                    takes: knob.range.to_string(),
                }),
                Some(_) => {
                    knobs.0.insert(name.clone(), value.clone());
                }
            }
        }
        if errors.is_empty() { Ok(knobs) } else { Err(errors) }
    }

    /// The fragment that turns the function on.
    ///
    /// # Errors
    /// The template does not evaluate with these knobs, or not to a fragment.
    pub fn render(&self, knobs: &Knobs, context: &Context<'_>) -> Result<Fragment, RenderError> {
        let text = self.rendered(knobs, context)?;
        let mut fragment: Fragment = serde_saphyr::from_str(&text)
            .map_err(|source| RenderError::Fragment { id: self.id.clone(), source: Box::new(source) })?;
        if self.uses_burn_module {
            fragment.files.push((context.directory.join(BURN_MODULE_FILE), BURN_MODULE));
        }
        Ok(fragment)
    }

    /// The text of the fragment with everything filled in.
    ///
    /// # Errors
    /// The template does not evaluate with these knobs.
    pub fn rendered(&self, knobs: &Knobs, context: &Context<'_>) -> Result<String, RenderError> {
        let directory = context.directory.to_str().ok_or_else(|| RenderError::Directory {
            id: self.id.clone(),
            directory: context.directory.display().to_string(),
        })?;
        let mut variables = variables(knobs);
        variables.extend([("directory", directory.into()), (PATH, REQUEST_PATH.into())]);
        if self.uses_wasm {
            variables.insert("wasm_filters", BASE64_STANDARD.encode(WASM_FILTERS).into());
        }
        if self.uses_burn_module {
            let path = context.directory.join(BURN_MODULE_FILE);
            variables.insert("burn_module", path.to_string_lossy().into_owned().into());
        }
        if self.asks_companion {
            // A function is checked without one.
            let companion = context.companion.unwrap_or_else(|| ([127, 0, 0, 1], 1).into());
            variables.insert("companion_address", companion.ip().to_string().into());
            variables.insert("companion_port", companion.port().into());
        }
        environment()
            .render_named_str(&self.id, &self.fragment, variables)
            .map_err(|source| RenderError::Template { id: self.id.clone(), source })
    }

    /// What shows the function at work with these knobs.
    ///
    /// # Errors
    /// A template does not evaluate, or to no proof.
    pub fn proofs(&self, knobs: &Knobs) -> Result<Vec<Proof>, RenderError> {
        let render = |template: &String| {
            let text = self.rendered_text(template, knobs)?;
            text.parse().map_err(|reason| RenderError::Proof { id: self.id.clone(), proof: text, reason })
        };
        self.proof.iter().map(render).collect()
    }

    /// Requests per second that it lets pass with these knobs, and as many at once; None for one that does not limit.
    ///
    /// # Errors
    /// The template does not evaluate, or to no number.
    pub fn limit(&self, knobs: &Knobs) -> Result<Option<f64>, RenderError> {
        self.number("limit", self.limit.as_ref(), knobs)
    }

    /// CPU time that the proxy uses for each request with these knobs, microseconds, beyond what it uses with knobs for which
    /// this is 0; None for a function whose CPU time is not known beforehand.
    ///
    /// So it is a difference between two arms of the function that must come to a known number, or a slope over several: that
    /// a function is there at all costs something too, which nobody knows. It is known as far as the rest of a request costs
    /// the same in both arms, which is not so on a machine that others use at the same time.
    ///
    /// # Errors
    /// The template does not evaluate, or to no number.
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
        number.map(Some).ok_or_else(|| RenderError::Number { id: self.id.clone(), what, text })
    }

    /// What the application behind the proxy is told with these knobs, by flag.
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
            .map_err(|source| RenderError::Template { id: self.id.clone(), source })
    }

    fn unknown_knob(&self, name: &str) -> CallError {
        CallError::UnknownKnob {
            id: self.id.clone(),
            knob: name.to_owned(),
            nearest: nearest(name, self.knobs.keys().map(String::as_str))
                .into_iter()
                .map(str::to_owned)
                .collect(),
            known: self.knobs.keys().cloned().collect(),
        }
    }
}

/// The values of knobs, as templates have them.
fn variables(knobs: &Knobs) -> BTreeMap<&str, minijinja::Value> {
    let value = |value: &KnobValue| match value {
        KnobValue::Integer(integer) => (*integer).into(),
        KnobValue::Word(word) => word.as_str().into(),
    };
    knobs.iter().map(|(name, one)| (name, value(one))).collect()
}

/// The template engine as every fragment is rendered with it: a name that nothing defines is an error.
pub(crate) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment
}
