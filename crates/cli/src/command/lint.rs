//! `hoptax lint`: finds faults in Envoy configurations, and mends them.

use std::path::Path;

use hoptax_lint::output::{self, File};
use hoptax_report::sarif;
use hoptax_result::Program;
use hoptax_session::lint::{Examination, examine, mend, rule};

use crate::arguments::{LintAction, LintArguments};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &LintArguments) -> Result<Code, Failure> {
    match &arguments.action {
        None => return lint(arguments),
        Some(LintAction::Rules { markdown: true }) => print::result(&output::page())?,
        Some(LintAction::Rules { markdown: false }) => print::list(&output::listed())?,
        Some(LintAction::Explain { id }) => print::list(&output::explained(rule(id)?))?,
    }
    Ok(Code::Success)
}

fn lint(arguments: &LintArguments) -> Result<Code, Failure> {
    let (files, only) = (&arguments.files, &arguments.only);
    only.iter().try_for_each(|id| rule(id).map(drop))?;
    let how = Examination {
        only,
        prices: arguments.prices.as_deref(),
        allow: arguments.allow.as_deref(),
        services: arguments.catalogue.file(),
    };
    if arguments.fix {
        mend(files, &how, &print::say)?;
    }
    let examined = examine(files, &how)?;
    write(arguments, &examined.files)?;
    let has_errors = examined.has_errors();
    match examined.failure {
        Some(failure) => Err(failure),
        None if has_errors => Ok(Code::ConditionFailed),
        None => Ok(Code::Success),
    }
}

/// Writes the findings as they are asked for.
fn write(arguments: &LintArguments, files: &[File]) -> Result<(), Failure> {
    let version = Program::this().version;
    let (sarif, json, stdout) = (arguments.sarif.as_deref(), arguments.json.file(), Some(Path::new("-")));
    if let Some(path) = sarif {
        let (rules, results) = output::sarif(files);
        print::write_value(path, &sarif::log(&version, &rules, &results))?;
    }
    if let Some(path) = json {
        print::write_value(path, &output::json(files, &version))?;
    }
    if arguments.github {
        print::result(&output::github(files))?;
    } else if json != stdout && sarif != stdout {
        print::result(&output::screen(files, print::has_details()))?;
    }
    Ok(())
}
