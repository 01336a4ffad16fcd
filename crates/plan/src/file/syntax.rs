//! Reads a study file, or another YAML file with a schema: parses YAML, validates it against the schema, and records positions. Writes a
//! study that a command made.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::LazyLock;

use hoptax_text::command_line::path_word;
use hoptax_text::nearest::hint;
use hoptax_text::yaml::template::{self, Template};
use hoptax_text::yaml::write::written;
use hoptax_text::yaml::{Node, Placed};
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::StudyFile;
use super::positions::Positions;
use super::problem::{Problem, Problems};

/// Keys of an Envoy configuration, or of a dump of one, that no other file has.
const CONFIGURATION: [&str; 4] = ["static_resources", "dynamic_resources", "layered_runtime", "configs"];

/// Reads a study file. `name` is the file name in problems.
///
/// # Errors
/// All problems with its structure.
pub fn read(name: &str, text: &str) -> Result<(StudyFile, Positions), Problems> {
    STUDY_FILE.read(name, text)
}

/// The text of a study that no user wrote. [`read`] reads it as the same study. It states defaults too, so it means the same if these
/// change. Problems with the study name its arms and loads, and no lines.
///
/// # Errors
/// All values that the schema does not permit.
pub fn write(study: &StudyFile) -> Result<(String, Positions), Problems> {
    write_known_as(study, &BTreeMap::new())
}

/// As [`write()`], for a user who knows arms by other names. `known_as` has these by arm, such as "subject `envoy.yaml`"; problems name
/// them.
///
/// # Errors
/// As of [`write()`].
pub fn write_known_as(
    study: &StudyFile,
    known_as: &BTreeMap<String, String>,
) -> Result<(String, Positions), Problems> {
    let of_made = |value: Value| Positions::of_made(value, known_as.clone());
    let value =
        serde_json::to_value(study).map_err(|error| fault(&of_made(Value::Null), &error.to_string()))?;
    let positions = of_made(value.clone());
    STUDY_FILE.check(&value, &positions)?;
    Ok((written(&value).text, positions))
}

/// Returns true if a text is a study file, and not another file in YAML such as an Envoy configuration: a study file has the key
/// `arms`.
pub fn is_study(text: &str) -> bool {
    let root: Result<Placed, _> = serde_saphyr::from_str(text);
    matches!(root, Ok(Placed { value: Node::Mapping(entries), .. }) if entries.iter().any(|(name, _)| name.value == "arms"))
}

static STUDY_FILE: LazyLock<Format<StudyFile>> = LazyLock::new(Format::new);

/// A type of YAML files with its schema. Compiling the schema takes longer than reading most files, so each type has one, in a static.
#[derive(Debug)]
pub struct Format<T> {
    schema: Value,
    /// An error is a bug in the types.
    validator: Result<Validator, String>,
    of: PhantomData<fn() -> T>,
}

impl<T: JsonSchema + DeserializeOwned> Format<T> {
    /// The format that the type describes.
    pub fn new() -> Self {
        let mut schema = schemars::schema_for!(T).to_value();
        limit(&mut schema);
        let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string());
        Self { schema, validator, of: PhantomData }
    }

    /// Reads a file, as [`read`] reads a study file.
    ///
    /// # Errors
    /// All problems with its structure.
    pub fn read(&self, name: &str, text: &str) -> Result<(T, Positions), Problems> {
        let root: Placed = serde_saphyr::from_str(text)
            .map_err(|error| Problems::new(name, vec![unparsed(text, &error)]))?;
        let value = root.value.to_value();
        let positions = Positions::of_text(name, root);
        if let Some(key) = CONFIGURATION.into_iter().find(|key| value.get(key).is_some()) {
            let message = format!(
                "this is an Envoy configuration (`{key}`): `hoptax price {}` measures it, and a study names it in \
                 `hops: [{{config: {}}}]`",
                path_word(name.as_ref()),
                written(&Value::from(name)).text.trim_end()
            );
            return Err(positions.problems(vec![positions.problem(&format!("/{key}"), message)]));
        }
        self.check(&value, &positions)?;
        // A whole number may be written with decimals, as `2.0`.
        let file = serde_json::from_value(value.clone()).or_else(|_| serde_json::from_value(whole(value)));
        let file = file.map_err(|error| fault(&positions, &error.to_string()))?;
        Ok((file, positions))
    }

    /// Checks the value of a file.
    fn check(&self, value: &Value, positions: &Positions) -> Result<(), Problems> {
        let validator = self.validator.as_ref().map_err(|error| fault(positions, error))?;
        let problems = shape_problems(validator, &self.schema, value, positions);
        if problems.is_empty() { Ok(()) } else { Err(positions.problems(problems)) }
    }
}

/// The problem that the types of a file are wrong.
fn fault(positions: &Positions, what: &str) -> Problems {
    positions.problems(vec![positions.problem("", format!("{what}; this is a bug in hoptax"))])
}

impl<T: JsonSchema + DeserializeOwned> Default for Format<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// The problem that a text cannot be parsed: that it is a template, or why it is no YAML.
pub fn unparsed(text: &str, error: &serde_saphyr::Error) -> Problem {
    let (line, column) = error.location().map_or((0, 0), |place| (place.line(), place.column()));
    match template::unparsed(text, line) {
        Some(found) => {
            Problem { line: found.line, column: found.column(text), message: found.message(found.line) }
        }
        None => Problem { line, column, message: format!("not YAML: {}", hoptax_text::yaml::message(error)) },
    }
}

/// The problem that a value at a place is one of a template; none if it is no such text.
pub fn templated(value: &Value, line: u64, column: u64) -> Option<Problem> {
    let text = value.as_str()?;
    let found = Template::new(text, line, &template::sign_in(text)?);
    Some(Problem { line, column, message: found.message(line) })
}

/// States the limits of the types of whole numbers, which a schema only names.
fn limit(schema: &mut Value) {
    if let Value::Object(keys) = schema {
        let limits: Option<(Value, Value)> = match keys.get("format").and_then(Value::as_str) {
            Some("uint8") => Some((0.into(), u8::MAX.into())),
            Some("uint16") => Some((0.into(), u16::MAX.into())),
            Some("uint32") => Some((0.into(), u32::MAX.into())),
            Some("uint64" | "uint") => Some((0.into(), u64::MAX.into())),
            Some("int32") => Some((i32::MIN.into(), i32::MAX.into())),
            Some("int64" | "int") => Some((i64::MIN.into(), i64::MAX.into())),
            _ => None,
        };
        if let Some((least, most)) = limits {
            keys.entry("minimum").or_insert(least);
            keys.entry("maximum").or_insert(most);
        }
    }
    match schema {
        Value::Object(keys) => keys.values_mut().for_each(limit),
        Value::Array(items) => items.iter_mut().for_each(limit),
        _ => {}
    }
}

/// A value whose whole numbers have no decimals.
fn whole(value: Value) -> Value {
    /// Up to here, a number with decimals is exact.
    const EXACT: f64 = (1_u64 << 53) as f64;
    match value {
        Value::Object(keys) => keys.into_iter().map(|(key, value)| (key, whole(value))).collect(),
        Value::Array(items) => items.into_iter().map(whole).collect(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.abs() <= EXACT && float.fract() == 0.0 => {
                (float as i64).into()
            }
            _ => Value::Number(number),
        },
        other => other,
    }
}

fn shape_problems(
    validator: &Validator,
    schema: &Value,
    value: &Value,
    positions: &Positions,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for error in validator.iter_errors(value) {
        problems.extend(shape_problem(&error, schema, positions));
    }
    problems
}

fn shape_problem(error: &ValidationError<'_>, schema: &Value, positions: &Positions) -> Vec<Problem> {
    let pointer = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let known = known_keys(schema, error.schema_path().as_str());
            let problem = |key: &String| positions.problem_with_key(pointer, key, unknown_key(key, &known));
            unexpected.iter().map(problem).collect()
        }
        // For a mapping or a list, report its fault, not that a string would be valid too.
        ValidationErrorKind::AnyOf { context } if !is_scalar(error.instance()) => {
            problems_of_nearest(context, pointer, schema, positions)
                .unwrap_or_else(|| vec![positions.problem(pointer, message(error, pointer, &[]))])
        }
        _ => {
            let words = permitted_words(schema, error.schema_path().as_str());
            let problem = positions.problem(pointer, message(error, pointer, &words));
            // An invalid value of a text may be a placeholder of a template that has not been rendered yet.
            let of_template =
                positions.file().and_then(|_| templated(error.instance(), problem.line, problem.column));
            vec![of_template.unwrap_or(problem)]
        }
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

/// The problems of the alternative that the user most likely meant: the one whose keys are present; otherwise, that no
/// alternative has such a key. None if the alternative cannot be determined.
fn problems_of_nearest(
    alternatives: &[Vec<ValidationError<'_>>],
    pointer: &str,
    schema: &Value,
    positions: &Positions,
) -> Option<Vec<Problem>> {
    let is_here = |error: &&ValidationError<'_>| error.instance_path().as_str() == pointer;
    let has = |errors: &[ValidationError<'_>], is_it: fn(&ValidationErrorKind) -> bool| {
        errors.iter().filter(is_here).any(|error| is_it(error.kind()))
    };
    let lacks = |kind: &ValidationErrorKind| matches!(kind, ValidationErrorKind::Required { .. });
    let has_unknown =
        |kind: &ValidationErrorKind| matches!(kind, ValidationErrorKind::AdditionalProperties { .. });
    // An alternative of words has `oneOf`.
    let is_other = |kind: &ValidationErrorKind| {
        matches!(kind, ValidationErrorKind::Type { .. } | ValidationErrorKind::OneOfNotValid { .. })
    };
    let possible: Vec<&Vec<ValidationError<'_>>> =
        alternatives.iter().filter(|errors| !has(errors, is_other)).collect();
    let unknown_keys = |errors: &&&Vec<ValidationError<'_>>| -> usize {
        let keys = |error: &ValidationError<'_>| match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => unexpected.len(),
            _ => 0,
        };
        errors.iter().filter(is_here).map(keys).sum()
    };
    let meant = possible
        .iter()
        .filter(|errors| !has(errors, lacks))
        .min_by_key(unknown_keys)
        .or_else(|| possible.iter().find(|errors| !has(errors, has_unknown)))
        .or_else(|| possible.first().filter(|_| possible.len() == 1));
    if let Some(errors) = meant {
        return Some(errors.iter().flat_map(|error| shape_problem(error, schema, positions)).collect());
    }
    let mut known = Vec::new();
    let mut unknown: Option<Vec<&String>> = None;
    for error in possible.into_iter().flatten().filter(is_here) {
        if let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() {
            known.extend(known_keys(schema, error.schema_path().as_str()));
            // A key that one of the alternatives knows is not unknown.
            let in_all = |key: &&String| unknown.as_ref().is_none_or(|earlier| earlier.contains(key));
            unknown = Some(unexpected.iter().filter(in_all).collect());
        }
    }
    let unknown = unknown.filter(|keys| !keys.is_empty())?;
    let problem = |key: &String| positions.problem_with_key(pointer, key, unknown_key(key, &known));
    Some(unknown.into_iter().map(problem).collect())
}

/// The keys that a mapping accepts, given the `path` of its `additionalProperties` in the schema.
fn known_keys<'a>(schema: &'a Value, path: &str) -> Vec<&'a str> {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let properties = schema.pointer(parent).and_then(|parent| parent.get("properties"));
    properties.and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

/// The permitted values, if the alternatives at `path` of the schema are constants with descriptions.
fn permitted_words<'a>(schema: &'a Value, path: &str) -> Vec<&'a str> {
    let alternatives = schema.pointer(path).and_then(Value::as_array).into_iter().flatten();
    let constant = |alternative: &'a Value| alternative.get("const").and_then(Value::as_str);
    // An optional value has its list inside one of the alternatives.
    let inner =
        |alternative: &'a Value| alternative.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let nested = alternatives.clone().flat_map(inner).filter_map(constant);
    alternatives.filter_map(constant).chain(nested).collect()
}

fn unknown_key(key: &str, known: &[&str]) -> String {
    let hint = hint(key, known.iter().copied());
    if hint.is_empty() {
        return format!("unknown key `{key}`; valid keys: `{}`", known.join("`, `"));
    }
    format!("unknown key `{key}`{hint}")
}

fn message(error: &ValidationError<'_>, pointer: &str, words: &[&str]) -> String {
    let what = match pointer.rsplit('/').next() {
        None | Some("") => "the file".to_owned(),
        Some(step) => match step.parse::<usize>() {
            Ok(index) => {
                format!("entry {} of `{}`", index + 1, pointer.rsplit('/').nth(1).unwrap_or_default())
            }
            Err(_) => format!("`{step}`"),
        },
    };
    let instance = error.instance();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            format!("{what} has no key `{}`", property.as_str().unwrap_or_default())
        }
        ValidationErrorKind::Type { kind } => {
            format!("{what} must be {}, not {}", expected_type(kind), shown(instance))
        }
        ValidationErrorKind::OneOfNotValid { .. } | ValidationErrorKind::AnyOf { .. }
            if !words.is_empty() =>
        {
            let hint = instance.as_str().map(|word| hint(word, words.iter().copied())).unwrap_or_default();
            format!("{what} must be one of `{}`, not {}{hint}", words.join("`, `"), shown(instance))
        }
        // Its alternatives are mappings of one key, which say nothing of each other.
        _ if pointer.ends_with("/account") => {
            const KEYS: &str = "`cgroup: PATH`, `pid: NUMBER`, `process: NAME` and `unit: NAME`";
            let is_one = |keys: &Map<String, Value>| {
                keys.len() == 1 && keys.keys().all(|key| KEYS.contains(&format!("`{key}: ")))
            };
            let stated = instance.as_object().filter(|keys| is_one(keys)).and_then(|keys| keys.iter().next());
            match stated {
                Some((key, value)) => {
                    format!("{what} must be one of {KEYS}, and `{key}` is {}", shown(value))
                }
                None => format!("{what} must have exactly one key, which is one of {KEYS}"),
            }
        }
        ValidationErrorKind::AnyOf { .. } if pointer.contains("/hops/") => {
            format!(
                "{what} must be the name of a plain proxy, or a mapping such as `{{functions: [jwt]}}`, not {}",
                shown(instance)
            )
        }
        ValidationErrorKind::AnyOf { .. } if pointer.contains("/calls/") => {
            format!(
                "{what} must be a call such as `{{service: NAME}}`, or a list of calls that are made at the same time, not {}",
                shown(instance)
            )
        }
        ValidationErrorKind::AnyOf { .. } => {
            format!(
                "{what} must be a name, `function: NAME`, `unloaded: NAME`, `subject: {{position: ...}}` or `name: NAME` with `functions: [...]`, `envoy: RELEASE`, `hops: [...]` or `url: URL`, not {}",
                shown(instance)
            )
        }
        ValidationErrorKind::Pattern { pattern } => {
            let wanted = described_pattern(pointer).map(str::to_owned);
            let wanted = wanted.unwrap_or_else(|| format!("match `{pattern}`"));
            format!("{what} must {wanted}, not {}", shown(instance))
        }
        ValidationErrorKind::Minimum { limit } => format!("{what} must be at least {limit}, not {instance}"),
        ValidationErrorKind::Maximum { limit } => format!("{what} must be at most {limit}, not {instance}"),
        ValidationErrorKind::MinItems { limit } => format!("{what} must have at least {limit} entries"),
        ValidationErrorKind::MaxItems { limit } => format!("{what} must have at most {limit} entries"),
        ValidationErrorKind::UniqueItems => format!("{what} has a duplicate entry"),
        ValidationErrorKind::MinLength { .. } => format!("{what} is empty"),
        _ => format!("{what}: {error}"),
    }
}

/// Returns the demand of the pattern of a text, in words; none for a text that is not listed here.
fn described_pattern(pointer: &str) -> Option<&'static str> {
    let key = pointer.rsplit('/').next()?;
    Some(match key {
        // Studies do not accept traces, which would be files of their own.
        "arrivals" => "be `uniform`, `poisson`, `jitter=10%` or `burst=8`",
        "method" => "be a method in capitals, such as `POST`",
        "name" => "consist of letters, digits, `-`, `_` and `.`",
        "path" | "ready" => "begin with `/`",
        "spread" => "consist of letters, digits, `-`, `_`, `.` and `*`",
        "utilisation" => "be a share such as `30%`",
        _ => return None,
    })
}

fn expected_type(kind: &TypeKind) -> String {
    let word = |kind: &str| match kind {
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a string",
        "array" => "a list",
        "object" => "a mapping",
        "boolean" => "`true` or `false`",
        _ => "nothing",
    };
    match kind {
        TypeKind::Single(kind) => word(&kind.to_string()).to_owned(),
        TypeKind::Multiple(kinds) => {
            let words: Vec<&str> =
                kinds.iter().map(|kind| word(&kind.to_string())).filter(|word| *word != "nothing").collect();
            words.join(" or ")
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "empty".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

#[cfg(test)]
mod tests;
