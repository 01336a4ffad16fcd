//! `hoptax lint`: finds faults in Envoy configurations, and fixes them.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};
use hoptax_lint::output;
use hoptax_report::documents;
use hoptax_result::LintResult;
use hoptax_session::lint::{Examination, lint, rule, sarif};

use crate::arguments::shared::{JsonArguments, ServicesArguments};
use crate::arguments::values;
use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  hoptax lint envoy.yaml                       what is wrong, the worst first
  hoptax lint envoy.yaml --fix                 fix what needs no decision
  hoptax lint explain rate-limit-off           why, what happened, and what to do

A file is a bootstrap, a list of listeners or clusters, or one of them alone, in YAML or JSON, or
the dump of a running proxy: `curl 'http://ADMIN/config_dump?include_eds' > dump.json`. Files that
it names are read beside it. It may be inside a ConfigMap, a Secret or another object of Kubernetes;
all in a file are read, or only the one with the key behind `#`, as in `map.yaml#envoy.yaml`. A file
of `hoptax listeners` is rendered first, and findings have the lines of its listeners.

An error: the file by itself shows that it does not do what it says, or that Envoy refuses it. A
warning fails under usual conditions, and an info is a default that the owner should know. A comment
on the line of a finding, or above it, allows it: `# hoptax-lint: allow RULE-ID REASON`. For JSON
and dumps, --allow FILE has a list of `{rule: RULE-ID, at: PATH, reason: TEXT}`: --json prints the
path of each finding, and an entry without `at` allows all findings of its rule.

--fix changes the lines that are wrong, and keeps all others with their comments. It fixes errors
and warnings, and infos only if --only names their rules.

Exit codes:
  0  no errors
  1  errors; with --fix, errors that remain
  2  invalid input: a file cannot be read, or Envoy refuses its form"
)]
pub(crate) struct LintArguments {
    #[command(subcommand)]
    action: Option<LintAction>,
    /// Envoy configurations, YAML or JSON
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required = true)]
    files: Vec<PathBuf>,
    /// Fix what needs no decision, in the files
    #[arg(long)]
    fix: bool,
    /// Apply only this rule; repeatable [default: all]
    #[arg(long, value_name = "RULE-ID")]
    only: Vec<String>,
    /// Run folder of a study, or its `result.json`, such as a price list: print the CPU cost of findings from it
    #[arg(long, value_name = "RESULT", value_hint = ValueHint::AnyPath)]
    from: Option<PathBuf>,
    /// Allow the findings that this file lists, with a reason each
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    allow: Option<PathBuf>,
    #[command(flatten)]
    catalogue: ServicesArguments,
    #[command(flatten)]
    json: JsonArguments,
    /// Write the findings as SARIF to a file, for code scanning
    #[arg(long, value_name = "FILE", value_parser = values::output_file, value_hint = ValueHint::FilePath)]
    sarif: Option<PathBuf>,
    /// Print annotations for a workflow of GitHub, instead of the table
    #[arg(long)]
    github: bool,
    /// Print all findings as lines `FILE:LINE:COLUMN: SEVERITY RULE-ID: MESSAGE`, then their count
    #[arg(long, conflicts_with = "github")]
    lines: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LintAction {
    /// List all rules
    Rules {
        /// Print them with their reasons as a page in Markdown
        #[arg(long)]
        markdown: bool,
    },
    /// Explain one rule: why, what happened, and what to do
    Explain {
        /// Rule id, as in findings
        id: String,
    },
}

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
        prices: arguments.from.as_deref(),
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
