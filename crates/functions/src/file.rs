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

/// The file of a function, as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionFile {
    id: String,
    family: Family,
    summary: String,
    description: Option<String>,
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
///
/// # Errors
/// The fault of the file.
pub(crate) fn read(expected: &str, contents: &[u8]) -> Result<Function, String> {
    let text = std::str::from_utf8(contents).map_err(|error| format!("it is not UTF-8 text: {error}"))?;
    let file: FunctionFile = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    if file.id != expected {
        return Err(format!(
            "its id `{id}` does not match its path: name the file `{id}.yaml` or give it the id `{expected}`",
            id = file.id
        ));
    }
    if file.summary.trim().is_empty() {
        return Err("its summary is empty".to_owned());
    }
    if file.description.as_ref().is_some_and(|text| text.trim().is_empty() || text.contains('\n')) {
        return Err("its description is empty or has several lines: write it behind `>-`".to_owned());
    }
    if !file.source.starts_with("https://") {
        return Err(format!("its source `{}` is not an https URL", file.source));
    }
    if let Some(Change { release, .. }) = file.changes.iter().find(|change| !is_release(&change.release)) {
        return Err(format!("invalid release `{release}` of a change: write it as `1.40`, in quotes"));
    }
    if file.changes.iter().any(|change| change.summary.trim().is_empty()) {
        return Err("its change is empty".to_owned());
    }
    if file.proof.is_empty() {
        let message = "it has no `proof`: name an Envoy statistic that changes when the function is active";
        return Err(message.to_owned());
    }
    if file.upstreams == 0 {
        return Err("its `upstreams` is 0: set at least one, or remove the key".to_owned());
    }
    // Header names are compared case-sensitively here, and sent in lower case.
    if let Some(name) = file.request.headers.keys().find(|name| name.chars().any(char::is_uppercase)) {
        return Err(format!("header `{name}` of its request is not in lower case"));
    }
    let (known_answer, known_cpu_us) = match file.known_answer {
        None => (None, None),
        Some(KnownAnswerFile { response_p50_us: Some((low_us, high_us)), cpu_us: None }) => {
            (Some(KnownAnswer { response_p50_low_us: low_us, response_p50_high_us: high_us }), None)
        }
        Some(KnownAnswerFile { response_p50_us: None, cpu_us: Some(cpu_us) }) => (None, Some(cpu_us)),
        Some(_) => return Err("its `known_answer` needs either `response_p50_us` or `cpu_us`".to_owned()),
    };
    let knobs = file
        .knobs
        .into_iter()
        .map(|(name, knob)| Ok((name.clone(), knob.check(&name)?)))
        .collect::<Result<_, String>>()?;
    let mut function = Function {
        id: file.id,
        family: file.family,
        summary: file.summary,
        description: file.description,
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
        return Err(format!("its `listeners` has `{name}`, which is not one of its knobs"));
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
pub(crate) fn read_and_render(expected: &str, contents: &[u8]) -> Result<Function, String> {
    let function = read(expected, contents)?;
    let knobs = function.default_knobs();
    let render = || -> Result<(), RenderError> {
        function.limit(&knobs)?;
        function.known_cpu_us(&knobs)?;
        function.application(&knobs)?;
        function.body(&knobs)?;
        function.proofs(&knobs)?;
        let nowhere = crate::function::Context { directory: "/".as_ref(), companion: None };
        function.render(&knobs, &nowhere).map(drop)
    };
    render().map_err(|error| error.to_string())?;
    Ok(function)
}

/// Each point must be one that a study could request. Values of knobs are checked here, values of conditions where
/// conditions are checked.
fn check_points(function: &Function) -> Result<(), String> {
    for (name, values) in &function.points {
        let is_repeated = |(index, value)| values.iter().take(index).any(|earlier| earlier == value);
        if values.is_empty() || values.iter().enumerate().any(is_repeated) {
            return Err(format!("its points of `{name}` are empty or have a duplicate"));
        }
        let range = match function.knobs.get(name) {
            Some(knob) => knob.range.clone(),
            None if NUMBERED_CONDITIONS.contains(&name.as_str()) => {
                KnobRange::Integer { min: 0, max: u64::MAX }
            }
            None => {
                let conditions = NUMBERED_CONDITIONS.join("`, `");
                return Err(format!(
                    "its points contain `{name}`, which is neither one of its knobs nor `{conditions}`"
                ));
            }
        };
        if let Some(value) = values.iter().find(|value| !range.contains(value)) {
            return Err(format!("its points set `{name}` to `{value}`, but it takes {range}"));
        }
    }
    Ok(())
}

/// A knob that the fragment does not use has no effect, and an undefined variable would fail only when the template
/// reaches it. Returns the variables that the fragment uses.
fn check_variables(function: &Function) -> Result<HashSet<String>, String> {
    let environment = environment();
    let template = environment
        .template_from_named_str(&function.id, &function.fragment)
        .map_err(|error| RenderError::from_template(&function.id, &error).to_string())?;
    let globals: Vec<&str> = environment.globals().map(|(name, _)| name).collect();
    let mut used = template.undeclared_variables(false);
    used.retain(|name| !globals.contains(&name.as_str()));
    if let Some(knob) = function.knobs.keys().find(|knob| VARIABLES.contains(&knob.as_str())) {
        return Err(format!("knob `{knob}` has the name of a variable of every fragment: rename it"));
    }
    let is_elsewhere = |knob: &str| {
        let mut templates = function.application.values().chain(&function.request.body);
        templates.any(|template| template.contains(knob))
    };
    if let Some(knob) = function.knobs.keys().find(|knob| !used.contains(*knob) && !is_elsewhere(knob)) {
        return Err(format!("knob `{knob}` is used neither in its fragment nor in the body of its request"));
    }
    let undeclared =
        used.iter().find(|name| !function.knobs.contains_key(*name) && !VARIABLES.contains(&name.as_str()));
    match undeclared {
        Some(name) => Err(format!("its fragment uses `{name}`, which is neither a knob nor a variable")),
        None => Ok(used),
    }
}

impl KnobFile {
    fn check(self, name: &str) -> Result<Knob, String> {
        let range = match (self.min, self.max, self.choices) {
            (Some(min), Some(max), None) => KnobRange::Integer { min, max },
            (None, None, Some(choices)) => KnobRange::Word(choices),
            _ => return Err(format!("knob `{name}` needs either `min` and `max` or `choices`")),
        };
        if self.summary.trim().is_empty() {
            return Err("its knob's summary is empty".to_owned());
        }
        if !range.contains(&self.default) {
            return Err(format!("knob `{name}` has the default `{}`, but takes {range}", self.default));
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
            knob.check("of-the-page").unwrap();
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
