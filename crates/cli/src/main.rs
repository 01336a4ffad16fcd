//! The hoptax program: parses arguments, runs a command, and returns its exit code.

mod arguments;
mod command;
mod exit;
mod interrupt;
mod print;
mod progress;
mod security;

use std::process::ExitCode;

use clap::Parser;
use hoptax_host::child;

use arguments::{Arguments, Command};
use exit::Code;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Compare(arguments) => command::compare::run(&arguments),
        Command::Gate(arguments) => command::gate::run(&arguments),
        Command::Study(arguments) => command::study::run(&arguments),
        Command::Load(arguments) => command::load::run(&arguments),
        Command::Find(arguments) => command::find::run(&arguments),
        Command::Certs(arguments) => command::certs::run(&arguments),
        Command::Origin(arguments) => command::origin::run(&arguments),
        Command::Envoy(arguments) => command::envoy::run(&arguments),
        Command::Functions(arguments) => command::functions::run(&arguments),
        Command::Calibrate(arguments) => command::calibrate::run(&arguments),
        Command::Crosscheck(arguments) => command::crosscheck::run(&arguments),
        Command::Merge(arguments) => command::merge::run(&arguments),
        Command::Import(arguments) => command::import::run(&arguments),
        Command::ParquetToCsv => command::parquet::run(),
        Command::Export(arguments) => command::export::run(&arguments),
        Command::Tune(arguments) => command::tune::run(&arguments),
        Command::Prices(arguments) => command::prices::run(&arguments),
        Command::Price(arguments) => command::price::run(&arguments),
        Command::Runs(arguments) => command::runs::run(&arguments),
        Command::History(arguments) => command::history::run(&arguments),
        Command::Scale(arguments) => command::scale::run(&arguments),
        Command::Smp(arguments) => command::smp::run(&arguments),
        Command::Size(arguments) => command::size::run(&arguments),
        Command::Graph(arguments) => command::graph::run(&arguments),
        Command::Cleanup(arguments) => command::cleanup::run(&arguments),
        Command::Checks(arguments) => command::checks::run(&arguments),
        Command::Log(arguments) => command::log::run(&arguments),
        Command::Schema(arguments) => command::reference::schema(&arguments),
        Command::Completions(arguments) => command::reference::completions(&arguments),
        Command::Man(arguments) => command::reference::man(&arguments),
    };
    for process in child::left_behind() {
        print::error(&format!("process {process} runs as another user, could not be ended, and still runs"));
    }
    match outcome {
        Ok(code) => code.into(),
        Err(failure) => {
            if !failure.is_interrupt() {
                print::error(&failure.to_string());
            }
            Code::from(&failure).into()
        }
    }
}
