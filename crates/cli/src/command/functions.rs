//! `hoptax functions`: lists the functions of the catalogue, with their listed prices.

use std::fmt::Write as _;

use hoptax_functions::{Catalogue, Function, FunctionCall};
use hoptax_report::numbers::{difference, percent_difference};
use hoptax_result::{ArmResult, StudyResult};
use hoptax_session::library;
use serde_json::json;

use crate::arguments::{FunctionsAction, FunctionsArguments};
use crate::exit::{Code, Failure};
use crate::print;

/// The study result behind the built-in price list.
pub(super) const PRICE_LIST: &str = include_str!("../../../../docs/results/price-list/result.json");

/// Runs the command.
pub(crate) fn run(arguments: &FunctionsArguments) -> Result<Code, Failure> {
    let catalogue = library::catalogue()?;
    if let Some(FunctionsAction::Show { id }) = &arguments.action {
        let call = FunctionCall::parse(id).map_err(Failure::bad_input)?;
        let (function, _) = catalogue.resolve(&call).map_err(|errors| {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Failure::bad_input(lines.join("\n"))
        })?;
        let text = if arguments.json { as_json(function).to_string() } else { described(function)? };
        print::result(&text)?;
        return Ok(Code::Success);
    }
    let text = if arguments.json {
        let all: Vec<_> = catalogue.iter().map(as_json).collect();
        serde_json::Value::from(all).to_string()
    } else {
        listed(&catalogue)
    };
    print::result(&text)?;
    Ok(Code::Success)
}

/// All functions, by family.
fn listed(catalogue: &Catalogue) -> String {
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
    text
}

fn as_text(function: &Function) -> String {
    let mut text = format!("  {:<24} {}\n", function.id, function.summary);
    for (name, knob) in &function.knobs {
        let _ = writeln!(text, "  {:<24}   {name}={}: {}; {}", "", knob.default, knob.summary, knob.range);
    }
    text
}

/// Description of one function, with its fragment and its price.
fn described(function: &Function) -> Result<String, Failure> {
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

/// Listed price of a function, one line for each arm.
fn price(id: &str) -> Result<String, Failure> {
    let list: StudyResult = serde_json::from_str(PRICE_LIST)
        .map_err(|error| Failure::environment(format!("invalid price list: {error}")))?;
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

/// Truncates long text such as keys.
fn truncated(text: &str) -> String {
    const LONGEST: usize = 160;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain("...".chars()).collect()
}

fn as_json(function: &Function) -> serde_json::Value {
    let knobs: serde_json::Map<String, serde_json::Value> = function
        .knobs
        .iter()
        .map(|(name, knob)| {
            let shown = json!({
                "default": knob.default.to_string(), "takes": knob.range.to_string(), "summary": knob.summary,
            });
            (name.clone(), shown)
        })
        .collect();
    let changes: Vec<serde_json::Value> = function
        .changes
        .iter()
        .map(|change| json!({"release": change.release, "what": change.what}))
        .collect();
    json!({
        "id": function.id, "family": function.family.as_str(), "summary": function.summary,
        "source": function.source, "changes": changes, "knobs": knobs, "fragment": function.fragment(),
    })
}
