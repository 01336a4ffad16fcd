//! The file format of a function, with all checks on a file.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;

use crate::NUMBERED_CONDITIONS;
use crate::code_file::CodeFile;
use crate::function::{Change, Family, Function, KnownAnswer, PATH, RenderError, Request, Secured};
use crate::in_listeners::InListeners;
use crate::knob::{Knob, KnobRange, KnobValue};
use crate::template::environment;

/// Variables of every fragment besides the knobs of its function: the arm's directory, for log files, the path of the
/// requests, the address of the companion, and the paths of files with our code.
const VARIABLES: [&str; 6] = [
    "directory",
    PATH,
    COMPANION[0],
    COMPANION[1],
    CodeFile::Module.variable(),
    CodeFile::WasmFilters.variable(),
];
/// Variables of a function that calls the companion.
const COMPANION: [&str; 2] = ["companion_address", "companion_port"];

/// Fault of a file of the catalogue.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is not a function file.
    #[error("its name does not end in `.yaml`: the catalogue contains only functions")]
    Name,
    /// Its bytes are not UTF-8.
    #[error("it is not UTF-8 text: {0}")]
    Text(#[from] std::str::Utf8Error),
    /// It is not YAML, a key is unknown or missing, or a value has the wrong type.
    #[error("{0}")]
    Syntax(#[from] Box<serde_saphyr::Error>),
    /// The id does not match the path.
    #[error(
        "its id `{id}` does not match its path: name the file `{id}.yaml` or give it the id `{expected}`"
    )]
    Id {
        /// The id in the file.
        id: String,
        /// The id that matches its path.
        expected: String,
    },
    /// A required text is empty.
    #[error("its {0} is empty")]
    Empty(&'static str),
    /// The source is not the address of a page.
    #[error("its source `{0}` is not an https URL")]
    Source(String),
    /// A change names no release.
    #[error("invalid release `{0}` of a change: write it as `1.40`, in quotes")]
    Release(String),
    /// Nothing would show that the function was active.
    #[error("it has no `proof`: name an Envoy statistic that changes when the function is active")]
    Proof,
    /// The known answer has no quantity, or two.
    #[error("its `known_answer` needs either `response_p50_us` or `cpu_us`")]
    KnownAnswer,
    /// There is no origin behind the proxy.
    #[error("its `upstreams` is 0: set at least one, or remove the key")]
    Upstreams,
    /// Header names are compared case-sensitively here, and sent in lower case.
    #[error("header `{0}` of its request is not in lower case")]
    HeaderCase(String),
    /// Two functions exclude each other in a study.
    #[error(
        "its request header `{header}` has another value than that of `{other}`: rename one of the two headers"
    )]
    HeaderConflict {
        /// The header.
        header: String,
        /// The other function.
        other: String,
    },
    /// The knob's range is missing or ambiguous.
    #[error("knob `{0}` needs either `min` and `max` or `choices`")]
    KnobRange(String),
    /// The default is outside the knob's range.
    #[error("knob `{knob}` has the default `{default}`, but takes {takes}")]
    KnobDefault {
        /// The knob.
        knob: String,
        /// Its default.
        default: KnobValue,
        /// The values that it accepts.
        takes: String,
    },
    /// A listeners file could not state it.
    #[error("its `listeners` has `{0}`, which is none of its knobs")]
    ListenersKnob(String),
    /// The knob would shadow a variable.
    #[error("knob `{0}` has the name of a variable of every fragment: rename it")]
    KnobName(String),
    /// A point names neither a knob nor a condition of a study.
    #[error("its points contain `{0}`, which is neither one of its knobs nor `{conditions}`", conditions = NUMBERED_CONDITIONS.join("`, `"))]
    PointName(String),
    /// A point that cannot be measured.
    #[error("its points set `{name}` to `{value}`, but it takes {takes}")]
    Point {
        /// The knob or condition.
        name: String,
        /// The point.
        value: KnobValue,
        /// The values that it accepts.
        takes: String,
    },
    /// Its list of points is empty or has duplicates.
    #[error("its points of `{0}` are empty or have a duplicate")]
    PointsRepeat(String),
    /// A knob that neither the fragment nor the body of the request uses has no effect.
    #[error("knob `{0}` is used neither in its fragment nor in the body of its request")]
    KnobUnused(String),
    /// Rendering the fragment would fail at this name.
    #[error("its fragment uses `{0}`, which is neither a knob nor a variable")]
    Undeclared(String),
    /// The fragment cannot be rendered at the defaults of the knobs.
    #[error(transparent)]
    Render(#[from] RenderError),
}

/// The file of a function, as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionFile {
    id: String,
    family: Family,
    summary: String,
    source: String,
    #[serde(default)]
    changes: Vec<Change>,
    #[serde(default)]
    knobs: BTreeMap<String, KnobFile>,
    #[serde(default)]
    request: Request,
    #[serde(default = "one")]
    upstreams: u16,
    connections: Option<u32>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    known_answer: Option<KnownAnswerFile>,
    proof: Vec<String>,
    #[serde(default)]
    opens: Vec<String>,
    workers: Option<u32>,
    limit: Option<String>,
    #[serde(default)]
    application: BTreeMap<String, String>,
    #[serde(default)]
    points: BTreeMap<String, Vec<KnobValue>>,
    #[serde(default)]
    secured: Secured,
    #[serde(default)]
    listeners: InListeners,
    #[serde(default = "nothing")]
    fragment: String,
}

/// The known answer of a function; exactly one field is set.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownAnswerFile {
    response_p50_us: Option<(u64, u64)>,
    cpu_us: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnobFile {
    default: KnobValue,
    min: Option<u64>,
    max: Option<u64>,
    choices: Option<Vec<String>>,
    summary: String,
}

/// Returns true if the text is a release without its patch number.
fn is_release(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('.').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

fn nothing() -> String {
    "{}".to_owned()
}

fn one() -> u16 {
    1
}

/// Parses and checks the file whose path in the catalogue is `expected`, without its suffix.
pub(crate) fn read(expected: &str, contents: &[u8]) -> Result<Function, FileError> {
    let file: FunctionFile = serde_saphyr::from_str(std::str::from_utf8(contents)?).map_err(Box::new)?;
    if file.id != expected {
        return Err(FileError::Id { id: file.id, expected: expected.to_owned() });
    }
    if file.summary.trim().is_empty() {
        return Err(FileError::Empty("summary"));
    }
    if !file.source.starts_with("https://") {
        return Err(FileError::Source(file.source));
    }
    if let Some(change) = file.changes.iter().find(|change| !is_release(&change.release)) {
        return Err(FileError::Release(change.release.clone()));
    }
    if file.changes.iter().any(|change| change.what.trim().is_empty()) {
        return Err(FileError::Empty("change"));
    }
    if file.proof.is_empty() {
        return Err(FileError::Proof);
    }
    if file.upstreams == 0 {
        return Err(FileError::Upstreams);
    }
    if let Some(name) = file.request.headers.keys().find(|name| name.chars().any(char::is_uppercase)) {
        return Err(FileError::HeaderCase(name.clone()));
    }
    let (known_answer, known_cpu_us) = match file.known_answer {
        None => (None, None),
        Some(KnownAnswerFile { response_p50_us: Some((low_us, high_us)), cpu_us: None }) => {
            (Some(KnownAnswer { response_p50_low_us: low_us, response_p50_high_us: high_us }), None)
        }
        Some(KnownAnswerFile { response_p50_us: None, cpu_us: Some(cpu_us) }) => (None, Some(cpu_us)),
        Some(_) => return Err(FileError::KnownAnswer),
    };
    let knobs = file
        .knobs
        .into_iter()
        .map(|(name, knob)| Ok((name.clone(), knob.check(name)?)))
        .collect::<Result<_, FileError>>()?;
    let mut function = Function {
        id: file.id,
        family: file.family,
        summary: file.summary,
        source: file.source,
        changes: file.changes,
        knobs,
        request: file.request,
        upstreams: file.upstreams,
        connections: file.connections,
        environment: file.environment,
        known_answer,
        known_cpu_us,
        proof: file.proof,
        opens: file.opens,
        workers: file.workers,
        limit: file.limit,
        application: file.application,
        asks_companion: false,
        code_files: Vec::new(),
        points: file.points,
        secured: file.secured,
        listeners: file.listeners,
        fragment: file.fragment,
    };
    if let InListeners::Fit(stated) = &function.listeners
        && let Some(name) = stated.iter().find(|name| !function.knobs.contains_key(*name))
    {
        return Err(FileError::ListenersKnob(name.clone()));
    }
    check_points(&function)?;
    let used = check_variables(&function)?;
    function.asks_companion = COMPANION.iter().any(|name| used.contains(*name));
    function.code_files = CodeFile::ALL.into_iter().filter(|file| used.contains(file.variable())).collect();
    Ok(function)
}

/// Reads a file, and renders all of it at the defaults of its knobs. The catalogue is a part of the program, so tests do that for all who
/// start it.
#[cfg(test)]
pub(crate) fn read_and_render(expected: &str, contents: &[u8]) -> Result<Function, FileError> {
    let function = read(expected, contents)?;
    let knobs = function.default_knobs();
    function.limit(&knobs)?;
    function.known_cpu_us(&knobs)?;
    function.application(&knobs)?;
    function.body(&knobs)?;
    function.proofs(&knobs)?;
    let nowhere = crate::function::Context { directory: "/".as_ref(), companion: None };
    function.render(&knobs, &nowhere)?;
    Ok(function)
}

/// Each point must be one that a study could request. Values of knobs are checked here, values of conditions where
/// conditions are checked.
fn check_points(function: &Function) -> Result<(), FileError> {
    for (name, values) in &function.points {
        let is_repeated = |(index, value)| values.iter().take(index).any(|earlier| earlier == value);
        if values.is_empty() || values.iter().enumerate().any(is_repeated) {
            return Err(FileError::PointsRepeat(name.clone()));
        }
        let range = match function.knobs.get(name) {
            Some(knob) => knob.range.clone(),
            None if NUMBERED_CONDITIONS.contains(&name.as_str()) => {
                KnobRange::Integer { min: 0, max: u64::MAX }
            }
            None => return Err(FileError::PointName(name.clone())),
        };
        if let Some(value) = values.iter().find(|value| !range.contains(value)) {
            let (name, value, takes) = (name.clone(), value.clone(), range.to_string());
            return Err(FileError::Point { name, value, takes });
        }
    }
    Ok(())
}

/// A knob that the fragment does not use has no effect, and an undefined variable would fail only when the template
/// reaches it. Returns the variables that the fragment uses.
fn check_variables(function: &Function) -> Result<HashSet<String>, FileError> {
    let environment = environment();
    let template = environment
        .template_from_named_str(&function.id, &function.fragment)
        .map_err(|source| RenderError::Template { id: function.id.clone(), source })?;
    let globals: Vec<&str> = environment.globals().map(|(name, _)| name).collect();
    let mut used = template.undeclared_variables(false);
    used.retain(|name| !globals.contains(&name.as_str()));
    if let Some(knob) = function.knobs.keys().find(|knob| VARIABLES.contains(&knob.as_str())) {
        return Err(FileError::KnobName(knob.clone()));
    }
    let is_elsewhere = |knob: &str| {
        let mut templates = function.application.values().chain(&function.request.body);
        templates.any(|template| template.contains(knob))
    };
    if let Some(knob) = function.knobs.keys().find(|knob| !used.contains(*knob) && !is_elsewhere(knob)) {
        return Err(FileError::KnobUnused(knob.clone()));
    }
    let undeclared =
        used.iter().find(|name| !function.knobs.contains_key(*name) && !VARIABLES.contains(&name.as_str()));
    match undeclared {
        Some(name) => Err(FileError::Undeclared(name.clone())),
        None => Ok(used),
    }
}

impl KnobFile {
    fn check(self, name: String) -> Result<Knob, FileError> {
        let range = match (self.min, self.max, self.choices) {
            (Some(min), Some(max), None) => KnobRange::Integer { min, max },
            (None, None, Some(choices)) => KnobRange::Word(choices),
            _ => return Err(FileError::KnobRange(name)),
        };
        if self.summary.trim().is_empty() {
            return Err(FileError::Empty("knob's summary"));
        }
        if !range.contains(&self.default) {
            let takes = range.to_string();
            return Err(FileError::KnobDefault { knob: name, default: self.default, takes });
        }
        Ok(Knob { default: self.default, range, summary: self.summary })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../CONTRIBUTING.md");

    #[test]
    fn the_example_of_the_page_for_contributors_has_every_required_key_and_no_other() {
        let after = PAGE.split_once("## Add a function").unwrap().1;
        let example = after.split_once("```yaml\n").unwrap().1.split_once("```").unwrap().0;
        let file: FunctionFile = serde_saphyr::from_str(example).unwrap();
        assert!(!file.summary.is_empty() && file.source.starts_with("https://") && !file.proof.is_empty());
        for knob in file.knobs.into_values() {
            knob.check("of-the-page".to_owned()).unwrap();
        }
        // Each key that no default stands for.
        for key in ["id", "family", "summary", "source", "proof"] {
            let lines = example.lines().filter(|line| !line.starts_with(&format!("{key}:")));
            let without = lines.collect::<Vec<_>>().join("\n");
            let error = serde_saphyr::from_str::<FunctionFile>(&without).err().unwrap().to_string();
            assert!(error.contains(key), "{key}: {error}");
        }
    }
}
