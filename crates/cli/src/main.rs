//! The hoptax program: parses arguments, runs a command, and returns its exit code.

mod arguments;
mod command;
mod exit;
mod interrupt;
mod print;
mod progress;
mod schema;

use std::env;
use std::process::ExitCode;

use hoptax_host::child;
use hoptax_result::Program;

use command::Arguments;
use exit::{Code, Failure};

fn main() -> ExitCode {
    Program::set_commit(option_env!("HOPTAX_COMMIT"));
    let arguments = match command::parsed(env::args_os()) {
        Ok(arguments) => arguments,
        Err(answer) => {
            return match print::answer(&answer) {
                Ok(()) => ExitCode::from(answer.exit_code() as u8),
                Err(failure) => failed(&failure),
            };
        }
    };
    let Arguments { details, quiet, no_color, command } = arguments;
    print::set(print::Settings { details, is_quiet: quiet, no_color });
    let outcome = command::run(command);
    for process in child::left_behind() {
        print::error(&format!("process {process} runs as another user, could not be ended, and still runs"));
    }
    match outcome {
        Ok(code) => code.into(),
        Err(failure) => failed(&failure),
    }
}

/// Prints why the program fails, and returns its exit code.
fn failed(failure: &Failure) -> ExitCode {
    print::error(&failure.to_string());
    Code::from(failure).into()
}
