//! The functions of the catalogue, with their listed prices, as text and as JSON.

use std::fmt::Write as _;

use hoptax_functions::{Catalogue, Function, FunctionCall};
use hoptax_report::numbers::{difference, percent_difference};
use hoptax_result::ArmResult;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::{library, prices};

/// All functions, by family.
///
/// # Errors
/// When the catalogue cannot be read.
pub fn list() -> Result<String, Failure> {
    let catalogue = library::catalogue()?;
    let mut functions: Vec<&Function> = catalogue.iter().collect();
    functions.sort_by(|a, b| (a.family, &a.id).cmp(&(b.family, &b.id)));
    let mut text = String::new();
    for family in functions.chunk_by(|a, b| a.family == b.family) {
        for (place, function) in family.iter().enumerate() {
            if place == 0 {
                let _ = writeln!(
                    text,
                    "{}{}:",
                    if text.is_empty() { "" } else { "\n" },
                    function.family.as_str()
                );
            }
            text += &as_text(function);
        }
    }
    Ok(text)
}

fn as_text(function: &Function) -> String {
    let mut text = format!("  {:<24}  {}\n", function.id, function.summary);
    for (name, knob) in &function.knobs {
        let _ = writeln!(text, "  {:<24}    {name}={}: {}; {}", "", knob.default, knob.summary, knob.range);
    }
    text
}

/// All functions as JSON.
///
/// # Errors
/// When the catalogue cannot be read.
pub fn list_as_json() -> Result<Value, Failure> {
    Ok(library::catalogue()?.iter().map(as_json).collect())
}

/// One function as JSON.
///
/// # Errors
/// When there is none with this id.
pub fn described_as_json(id: &str) -> Result<Value, Failure> {
    Ok(as_json(found(library::catalogue()?, id)?))
}

/// One function, with its fragment and its price.
///
/// # Errors
/// When there is none with this id.
pub fn described(id: &str) -> Result<String, Failure> {
    let catalogue = library::catalogue()?;
    let function = found(catalogue, id)?;
    let mut text = format!("{}: {}\n", function.id, function.summary);
    let _ = writeln!(text, "family  {}\nsource  {}", function.family.as_str(), function.source);
    for change in &function.changes {
        let _ = writeln!(text, "changed {}: {}", change.release, change.what);
    }
    for (name, knob) in &function.knobs {
        let _ = writeln!(text, "knob    {name}={}: {}; {}", knob.default, knob.summary, knob.range);
    }
    for (name, value) in function.request.headers.iter().chain(&function.request.own_headers) {
        let _ = writeln!(text, "request {name}: {}", truncated(value));
    }
    if let Some(query) = &function.request.query {
        let _ = writeln!(text, "request ?{query}");
    }
    if let Some(body) = function.body(&function.default_knobs()).map_err(Failure::environment)? {
        let _ = writeln!(text, "request a body of {} bytes", body.len());
    }
    if function.asks_companion {
        text += "calls   a companion: `hoptax lab origin`, started by the study\n";
    }
    let proofs = function.proofs(&function.default_knobs()).map_err(Failure::environment)?;
    for proof in proofs {
        let how = if proof.above.is_some() { "" } else { " moves" };
        let _ = writeln!(text, "proof   {proof}{how}");
    }
    let _ = write!(text, "\nfragment (a template):\n\n{}", indented(function.fragment()));
    text += &price(&function.id)?;
    Ok(text)
}

fn found<'a>(catalogue: &'a Catalogue, id: &str) -> Result<&'a Function, Failure> {
    let call = FunctionCall::parse(id).map_err(Failure::bad_input)?;
    let (function, _) = catalogue.resolve(&call).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::bad_input(lines.join("\n"))
    })?;
    Ok(function)
}

/// Listed price of a function, one line for each arm.
fn price(id: &str) -> Result<String, Failure> {
    let list = prices::published()?;
    let arms: Vec<&ArmResult> = list.arms.iter().filter(|arm| arm.function.as_deref() == Some(id)).collect();
    if arms.is_empty() {
        return Ok("\nno price is listed\n".to_owned());
    }
    let mut text = format!(
        "\nlisted price (docs/results/price-list: Envoy {}, {}, {}), added to each request, as a share of plain proxying and in us:\n\n",
        list.environment.proxy_version.as_deref().unwrap_or("?"),
        list.environment.cpu_model,
        list.environment.started_at
    );
    for arm in arms {
        let or = |text: Option<String>| text.unwrap_or_else(|| "withheld".to_owned());
        let _ = write!(
            text,
            "  {}: CPU {} ({} us), p50 {} us",
            arm.id,
            or(arm.cost.cpu_share.as_ref().map(percent_difference)),
            or(arm.cost.cpu_us_per_request.as_ref().map(difference)),
            or(arm.cost.response_us.p50.as_ref().map(difference)),
        );
        if let Some(companion) = &arm.companion_cpu_us_per_request {
            let _ = write!(text, ", and {:.1} us of the companion's CPU", companion.estimate);
        }
        text.push('\n');
    }
    Ok(text)
}

fn indented(fragment: &str) -> String {
    fragment.lines().map(|line| format!("  {}\n", truncated(line))).collect()
}

/// Truncates long words such as keys and tokens, and none as long as the name of a type of Envoy.
fn truncated(text: &str) -> String {
    const LONGEST: usize = 90;
    const KEPT: usize = 60;
    let word = |word: &str| {
        if word.chars().count() <= LONGEST {
            return word.to_owned();
        }
        word.chars().take(KEPT).chain("...".chars()).collect()
    };
    text.split(' ').map(word).collect::<Vec<String>>().join(" ")
}

fn as_json(function: &Function) -> Value {
    let knobs: Map<String, Value> = function
        .knobs
        .iter()
        .map(|(name, knob)| {
            let shown = json!({
                "default": knob.default.to_string(), "takes": knob.range.to_string(), "summary": knob.summary,
            });
            (name.clone(), shown)
        })
        .collect();
    let changes: Vec<Value> = function
        .changes
        .iter()
        .map(|change| json!({"release": change.release, "what": change.what}))
        .collect();
    json!({
        "id": function.id, "family": function.family.as_str(), "summary": function.summary,
        "source": function.source, "changes": changes, "knobs": knobs, "fragment": function.fragment(),
    })
}
