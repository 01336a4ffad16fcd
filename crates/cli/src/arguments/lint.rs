//! Arguments of `hoptax lint`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::shared::{JsonArguments, ServicesArguments};
use super::values;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  hoptax lint envoy.yaml                       what is wrong, the worst first
  hoptax lint envoy.yaml --fix                 mend what needs no decision
  hoptax lint explain rate-limit-off           why, what happened, and what to do

A file is a bootstrap, a list of listeners or clusters, or one of them alone, in YAML or JSON, or
the dump of a running proxy: `curl 'http://ADMIN/config_dump?include_eds' > dump.json`. Files
that it names are read beside it. It may be inside a ConfigMap, a Secret or another object of
Kubernetes; all of a file are read, or with `map.yaml#envoy.yaml` the one with that key. A file of
`hoptax listeners` is rendered first, and findings have the lines of its listeners.

An error: the file alone shows that it does not do what it says, or that Envoy refuses it. A
warning fails under conditions that are usual, and an info is a default that the owner should know.
A comment on the line of a finding, or above it, allows it:
`# hoptax-lint: allow RULE-ID REASON`. For JSON and dumps, --allow FILE has a list of
`{rule: RULE-ID, at: PATH, reason: TEXT}`: --json prints the path of each finding, and an entry
without `at` is for all of its rule.

--fix changes the lines that are wrong, and keeps all others with their comments. It mends errors
and warnings, and infos only if --only names their rules.

Exit codes:
  0  no errors
  1  errors; with --fix, errors that are left
  2  invalid input: a file cannot be read, or Envoy refuses its form"
)]
pub(crate) struct LintArguments {
    #[command(subcommand)]
    pub(crate) action: Option<LintAction>,
    /// Envoy configurations, YAML or JSON
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Mend what needs no decision, in the files
    #[arg(long)]
    pub(crate) fix: bool,
    /// Apply only this rule; repeatable [default: all]
    #[arg(long, value_name = "RULE-ID")]
    pub(crate) only: Vec<String>,
    /// Say what findings cost by this study result, such as a price list
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) prices: Option<PathBuf>,
    /// Allow the findings that this file lists, with a reason each
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) allow: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) catalogue: ServicesArguments,
    #[command(flatten)]
    pub(crate) json: JsonArguments,
    /// Write the findings as SARIF to a file, for code scanning
    #[arg(long, value_name = "FILE", value_parser = values::output_file, value_hint = ValueHint::FilePath)]
    pub(crate) sarif: Option<PathBuf>,
    /// Print annotations for a workflow of GitHub, instead of the table
    #[arg(long)]
    pub(crate) github: bool,
    /// Print all findings as lines `FILE:LINE:COLUMN: SEVERITY RULE-ID: MESSAGE`, then their count
    #[arg(long, conflicts_with = "github")]
    pub(crate) lines: bool,
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
