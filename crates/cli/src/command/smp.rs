//! `hoptax convert smp`: sends the load of a test configuration of Service Mesh Performance, and prints its index `MeshMark`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use hoptax_load::HostPort;
use hoptax_report::documents;
use hoptax_session::results;
use hoptax_session::smp::{ChosenTest, loads};
use hoptax_tools::smp::meshmark;

use super::load::{self, Outputs};
use crate::arguments::shared::JsonArguments;
use crate::arguments::values;
use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax convert smp run test.yaml --json result.json
  hoptax convert smp run test.yaml --target shop.test:8080
  hoptax convert smp meshmark runs/quick-1

`hoptax convert export RESULT --to smp` writes results in the format of SMP, and
`hoptax convert import smp FILE` reads them. docs/reference/smp.md describes the fields, the
formula of MeshMark and its defects.")]
pub(crate) struct SmpArguments {
    #[command(subcommand)]
    action: SmpAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SmpAction {
    /// Send the load of an SMP test configuration
    ///
    /// The clients of the configuration send one after the other. Load goes to this machine only, unless --target allows another: a file
    /// alone cannot choose it.
    #[command(after_help = "\
Exit codes:
  0    no result is void
  2    not a test configuration, or a target that is not allowed
  3    a load could not run
  4    a result is void
  130  interrupted")]
    Run(RunTestArguments),
    /// Print the index `MeshMark` and the value for cost of each arm of a study
    Meshmark {
        /// Run folder of a study, or its `result.json`
        #[arg(value_name = "RESULT", value_hint = ValueHint::AnyPath)]
        result: PathBuf,
        #[command(flatten)]
        json: JsonArguments,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RunTestArguments {
    /// Test configuration, YAML or JSON; `-` is stdin
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Allow load to this server, which is not on this machine: host and port as in the URL; repeatable
    #[arg(long, value_name = "HOST:PORT")]
    target: Vec<HostPort>,
    /// Send the load of this client only, counted from 1
    #[arg(long, value_name = "NUMBER", value_parser = values::whole::<u32>(1..))]
    client: Option<u32>,
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &SmpArguments) -> Result<Code, Failure> {
    match &arguments.action {
        SmpAction::Run(arguments) => run_test(arguments),
        SmpAction::Meshmark { result, json } => {
            let study = results::read_run(result)?;
            let marks = meshmark(&study)
                .map_err(|reason| Failure::bad_input(format!("`{}`: {reason}", result.display())))?;
            let source = result.display().to_string();
            print::document_or_json(json.file(), &marks, || documents::meshmark_of(&marks, &source))?;
            Ok(Code::from(marks.verdict))
        }
    }
}

fn run_test(arguments: &RunTestArguments) -> Result<Code, Failure> {
    let json = arguments.json.file();
    let RunTestArguments { file, target, client, .. } = arguments;
    let test = ChosenTest { file, client: *client, targets: target, has_json: json.is_some() };
    let mut worst = Code::Success;
    for client in loads(test, &print::say)? {
        client.announce(&print::say);
        match load::sent(&client.sending(), Outputs { json, ..Outputs::default() })? {
            Code::Success => {}
            Code::Interrupted => return Ok(Code::Interrupted),
            code => worst = code,
        }
    }
    Ok(worst)
}
