//! `hoptax gate`: fails if a candidate exceeds limits, measured side by side with what it would replace, or against stored runs.

use hoptax_report::render::markdown;
use hoptax_report::{documents, junit, sarif};
use hoptax_result::{GateResult, Verdict};
use hoptax_session::gate::{Against, GateSettings, Gated, measure};

use crate::arguments::GateArguments;
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

/// Runs the command.
pub(crate) fn run(arguments: &GateArguments) -> Result<Code, Failure> {
    let GateArguments { run, .. } = arguments;
    let against = match (&arguments.candidate, &arguments.reference) {
        (Some(candidate), _) => Against::Candidate(candidate),
        (None, Some(label)) => Against::Stored { label, store: arguments.store.as_deref() },
        (None, None) => return Err(Failure::bad_input("state what is judged: --candidate or --reference")),
    };
    let settings = GateSettings {
        study: &arguments.study,
        against,
        limits: &arguments.fail_on,
        rounds: run.rounds,
        until_decided: arguments.until_decided,
        folder: run.out.as_deref(),
        options: run.measure.options(),
    };
    let interrupt = interrupt::listen()?;
    let Gated { gate, folder } = progress::shown(|say| measure(&settings, &interrupt, say))?;
    write_reports(arguments, &gate)?;
    print::document_or_json(run.json.file(), &gate, || {
        documents::gate(&gate).in_folder(&folder, "report.html")
    })?;
    Ok(code(&gate))
}

fn code(gate: &GateResult) -> Code {
    if !gate.answer_differences.is_empty() {
        // An answer needs no interval, so it counts however the measurement went.
        Code::ConditionFailed
    } else if gate.verdict == Verdict::Void || gate.is_unknown() {
        Code::Void
    } else if gate.has_failed() {
        Code::ConditionFailed
    } else {
        Code::Success
    }
}

fn write_reports(arguments: &GateArguments, gate: &GateResult) -> Result<(), Failure> {
    if let Some(path) = &arguments.markdown {
        print::write_file(path, &markdown::text(&documents::gate(gate)))?;
    }
    if let Some(path) = &arguments.junit {
        print::write_file(path, &junit::gate(gate).map_err(Failure::environment)?)?;
    }
    if let Some(path) = &arguments.sarif {
        print::write_value(path, &sarif::gate(gate, &arguments.study))?;
    }
    Ok(())
}
