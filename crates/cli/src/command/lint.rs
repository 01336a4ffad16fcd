//! `hoptax lint`: finds faults in Envoy configurations, and mends them.

use std::path::Path;

use hoptax_lint::output;
use hoptax_report::documents;
use hoptax_result::LintResult;
use hoptax_session::lint::{Examination, lint, rule, sarif};

use crate::arguments::{LintAction, LintArguments};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &LintArguments) -> Result<Code, Failure> {
    match &arguments.action {
        None => return linted(arguments),
        Some(LintAction::Rules { markdown: true }) => print::result(&output::page())?,
        Some(LintAction::Rules { markdown: false }) => print::list(&output::listed())?,
        Some(LintAction::Explain { id }) => print::list(&output::explained(rule(id)?))?,
    }
    Ok(Code::Success)
}

fn linted(arguments: &LintArguments) -> Result<Code, Failure> {
    let how = Examination {
        only: &arguments.only,
        prices: arguments.prices.as_deref(),
        allow: arguments.allow.as_deref(),
        services: arguments.catalogue.file(),
        mends: arguments.fix,
    };
    let examined = lint(&arguments.files, &how, &print::say)?;
    write(arguments, &examined.result)?;
    let code = if examined.has_errors() { Code::ConditionFailed } else { Code::Success };
    examined.failure.map_or(Ok(code), Err)
}

/// Writes the findings as they are asked for.
fn write(arguments: &LintArguments, result: &LintResult) -> Result<(), Failure> {
    let (json, stdout) = (arguments.json.file(), Some(Path::new("-")));
    if let Some(path) = &arguments.sarif {
        print::write_value(path, &sarif(result))?;
    }
    match (arguments.github, arguments.lines) {
        (true, _) => print::result(&output::github(result))?,
        (_, true) => print::result(&output::lines(result))?,
        _ if arguments.sarif.as_deref() == stdout => {}
        _ => return print::document_or_json(json, result, || documents::lint(result)),
    }
    print::write_json(json, result)
}
