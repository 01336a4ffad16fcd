//! The commands, one file each; each has a `run` function from arguments to an exit code.

mod agent;
mod calibrate;
mod certs;
mod checks;
mod cleanup;
mod compare;
mod crosscheck;
mod doctor;
mod envoy;
mod export;
mod find;
mod functions;
mod gate;
mod generate;
mod graph;
mod history;
mod import;
mod input;
mod lint;
mod listeners;
mod listeners_run;
mod load;
mod log;
mod merge;
mod mesh;
mod origin;
mod parquet;
mod pod_dump;
mod price;
mod prices;
mod reader;
mod runs;
mod scale;
mod serve;
mod size;
mod smp;
mod study;

use crate::arguments::{Command, ConvertCommand, GenerateCommand, LabCommand, PredictCommand, TrustCommand};
use crate::exit::{Code, Failure};

/// Runs a command.
///
/// # Errors
/// When it fails.
pub(crate) fn run(command: Command) -> Result<Code, Failure> {
    match command {
        Command::Study(arguments) => study::run(&arguments),
        Command::Price(arguments) => price::run(&arguments),
        Command::Mesh(arguments) => mesh::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Gate(arguments) => gate::run(&arguments),
        Command::Load(arguments) => load::run(&arguments),
        Command::Find(arguments) => find::run(&arguments),
        Command::Lint(arguments) => lint::run(&arguments),
        Command::Listeners(command) => listeners::run(&command),
        Command::Predict(PredictCommand::Prices(arguments)) => prices::run(&arguments),
        Command::Predict(PredictCommand::Size(arguments)) => size::run(&arguments),
        Command::Predict(PredictCommand::Scale(arguments)) => scale::run(&arguments),
        Command::Runs(arguments) => runs::run(&arguments.action),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Convert(ConvertCommand::Import(arguments)) => import::run(&arguments),
        Command::Convert(ConvertCommand::Export(arguments)) => export::run(&arguments),
        Command::Convert(ConvertCommand::Smp(arguments)) => smp::run(&arguments),
        Command::Convert(ConvertCommand::Log(arguments)) => log::run(&arguments),
        Command::Convert(ConvertCommand::ParquetToCsv) => parquet::run(),
        Command::Lab(LabCommand::Origin(arguments)) => origin::run(&arguments),
        Command::Lab(LabCommand::Certs(arguments)) => certs::run(&arguments),
        Command::Lab(LabCommand::Agent(arguments)) => agent::run(&arguments),
        Command::Lab(LabCommand::Reader(arguments)) => reader::run(&arguments),
        Command::Lab(LabCommand::Envoy(arguments)) => envoy::run(&arguments),
        Command::Lab(LabCommand::Graph(arguments)) => graph::run(&arguments),
        Command::Trust(TrustCommand::Doctor(arguments)) => doctor::run(&arguments),
        Command::Trust(TrustCommand::Checks(arguments)) => checks::run(&arguments),
        Command::Trust(TrustCommand::Calibrate(arguments)) => calibrate::run(&arguments),
        Command::Trust(TrustCommand::Crosscheck(arguments)) => crosscheck::run(&arguments),
        Command::Functions(arguments) => functions::run(&arguments),
        Command::Generate(GenerateCommand::Schema(arguments)) => generate::schema(&arguments),
        Command::Generate(GenerateCommand::Completions(arguments)) => generate::completions(&arguments),
        Command::Generate(GenerateCommand::Man(arguments)) => generate::man(&arguments),
        Command::Generate(GenerateCommand::Pages(arguments)) => generate::pages(&arguments),
    }
}
