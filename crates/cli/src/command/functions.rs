//! `hoptax functions`: what a study can measure.

use hoptax_functions::{Catalogue, Function};
use serde_json::json;

use crate::arguments::FunctionsArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &FunctionsArguments) -> Result<Code, Failure> {
    let catalogue = load()?;
    let text = if arguments.json {
        let all: Vec<_> = catalogue.iter().map(as_json).collect();
        serde_json::Value::from(all).to_string()
    } else {
        catalogue.iter().map(as_text).collect()
    };
    print::result(&text)?;
    Ok(Code::Fine)
}

/// The catalogue that comes with hoptax.
pub(crate) fn load() -> Result<Catalogue, Failure> {
    Catalogue::load().map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::environment(lines.join("\n"))
    })
}

fn as_text(function: &Function) -> String {
    let mut text = format!("{:<20} {}\n", function.id, function.summary);
    for (name, knob) in &function.knobs {
        text += &format!("{:<20}   {name}={}: {}; {}\n", "", knob.default, knob.summary, knob.range);
    }
    text
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
    json!({"id": function.id, "summary": function.summary, "source": function.source, "knobs": knobs})
}
