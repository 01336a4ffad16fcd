//! `hoptax price`: measures what an Envoy configuration costs per request, and what each of its parts adds.
//!
//! It takes the configuration apart, tries the whole and the whole without each part, and measures those that answer alike in
//! one study.

mod order;
mod passed;
mod text;
mod tries;

use std::env;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use hoptax_bill::study_file::{STUDY, Source, study_file};
use hoptax_bill::{LabError, Stubs, write_files};
use hoptax_bootstrap::{Adapted, Lab};
use hoptax_report::{markdown, terminal};
use hoptax_result::{BillResult, Verdict};
use hoptax_study::bill::bill;
use hoptax_subject::envoy::given::{FilesError, Given, GivenError};
use hoptax_subject::envoy::release::Envoy;

use self::passed::{Passed, passed};
use self::tries::{Bench, Tries};
use super::own_study::{self, MAX_ROUNDS};
use super::study;
use crate::arguments::PriceArguments;
use crate::exit::{Code, Failure};
use crate::interrupt::Interrupt;
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &PriceArguments) -> Result<Code, Failure> {
    let given = Given::read(&arguments.config).map_err(|error| match error {
        GivenError::File { .. } | GivenError::Content(_) => Failure::bad_input(error),
    })?;
    if arguments.dry_run {
        let unknown = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let adapted = adapt(&given, unknown, unknown, Path::new("FOLDER"))?;
        print::result(&text::outline(&passed(&adapted, arguments)?, &adapted.replacements))?;
        return Ok(Code::Success);
    }
    let folder = create_folder(&study::run_folder_path(arguments.out.as_deref(), STUDY))?;
    let interrupt = Interrupt::listen()?;
    let Some((passed, tries)) = try_all(&given, arguments, &folder.join("tries"), &interrupt)? else {
        return Ok(Code::Interrupted);
    };
    if arguments.only_try {
        return Ok(Code::Success);
    }
    measure(arguments, &passed, &tries, &folder)
}

/// Tries the variants of the listener, and prints what answers. None after an interrupt.
fn try_all(
    given: &Given,
    arguments: &PriceArguments,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<Option<(Passed, Tries)>, Failure> {
    let envoy = Envoy::find(arguments.envoy.as_deref(), &mut print::note).map_err(Failure::environment)?;
    let program = env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find this program: {error}")))?;
    let folder = create_folder(folder)?;
    let unknown = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    // The certificates of the origin depend on the configuration, and the configuration on the address of the origin.
    let names = adapt(given, unknown, unknown, &folder)?;
    let certificates = write_files(given, &names, &folder).map_err(|error| match error {
        LabError::Files(FilesError::Missing(_)) => Failure::bad_input(error),
        LabError::Files(_) | LabError::Certificates(_) => Failure::environment(error),
    })?;
    let stubs = Stubs::start(&program, &certificates, &folder).map_err(Failure::environment)?;
    let mut adapted = adapt(given, stubs.origin.address, stubs.companion.address, &folder)?;
    let bench =
        Bench { envoy: &envoy, program: &program, folder: &folder, certificates: &certificates, interrupt };
    let lacking = bench.accept(&mut adapted)?;
    let mut all = passed(&adapted, arguments)?;
    // A bill has stdout for itself.
    let print = |text: &str| {
        if arguments.only_try {
            return print::result(text);
        }
        print::note(text);
        Ok(())
    };
    print(&text::outline(&all, &adapted.replacements))?;
    let Some(chosen) = all.iter().position(|one| one.request.is_ok()) else {
        return Err(Failure::bad_input(
            "no request goes through any listener; the reasons are printed above. Give one with --request",
        ));
    };
    let passed = all.swap_remove(chosen);
    let Some(tries) = bench.try_variants(&adapted, &passed, lacking)? else { return Ok(None) };
    print(&text::trials(&passed, &tries))?;
    Ok(Some((passed, tries)))
}

/// Measures the variants that answer as the whole does, and prints the bill.
fn measure(
    arguments: &PriceArguments,
    passed: &Passed,
    tries: &Tries,
    folder: &Path,
) -> Result<Code, Failure> {
    let cannot = |what: &str, path: &Path, error: &std::io::Error| {
        Failure::environment(format!("cannot {what} `{}`: {error}", path.display()))
    };
    let configuration = arguments.config.canonicalize();
    let configuration = configuration.map_err(|error| cannot("find", &arguments.config, &error))?;
    let statuses: Vec<u16> = tries.answers.statuses.keys().copied().collect();
    let source = Source {
        configuration: &configuration,
        listener: &passed.listener.name,
        lacking: &tries.lacking,
        statuses: &statuses,
    };
    let text = study_file(source, &tries.whole.variant, &tries.measured(), arguments.rate);
    let file = folder.join("price.yaml");
    fs::write(&file, text).map_err(|error| cannot("write", &file, &error))?;
    let result = match own_study::run(options(arguments, &file), folder)? {
        Ok(result) => result,
        Err(code) => return Ok(code),
    };
    let bill = bill(&result, order::order(arguments, passed, tries));
    write(folder, &bill)?;
    print::table_or_json(arguments.json.as_deref(), &bill, || terminal::bill(&bill, print::style()))?;
    Ok(if result.verdict == Verdict::Void { Code::Void } else { Code::Success })
}

/// Arguments of the study.
fn options(arguments: &PriceArguments, file: &Path) -> Vec<String> {
    let mut options = vec![file.display().to_string()];
    let mut option = |name: &str, value: String| options.extend([name.to_owned(), value]);
    match arguments.budget {
        None => option("--rounds", arguments.rounds.to_string()),
        Some(budget) => {
            option("--rounds", MAX_ROUNDS.to_string());
            option("--budget", format!("{}ms", budget.as_millis()));
        }
    }
    if let Some(envoy) = &arguments.envoy {
        option("--envoy", envoy.clone());
    }
    option("--never-halt", arguments.never_halt.as_str().to_owned());
    options
}

/// Writes the bill to the run folder.
fn write(folder: &Path, bill: &BillResult) -> Result<(), Failure> {
    print::write_json(Some(&folder.join("bill.json")), bill)?;
    let path = folder.join("bill.md");
    fs::write(&path, markdown::bill(bill))
        .map_err(|error| Failure::environment(format!("cannot write `{}`: {error}", path.display())))
}

fn adapt(
    given: &Given,
    origin: SocketAddr,
    companion: SocketAddr,
    folder: &Path,
) -> Result<Adapted, Failure> {
    let lab = Lab { admin_port: 0, listener_ports: Vec::new(), origin, companion, folder: folder.to_owned() };
    given.adapt(&lab).map_err(Failure::bad_input)
}

/// Creates a folder, and returns its absolute path: Envoy reads its files from there.
fn create_folder(path: &Path) -> Result<PathBuf, Failure> {
    let created = fs::create_dir_all(path).and_then(|()| path.canonicalize());
    created.map_err(|error| Failure::environment(format!("cannot create `{}`: {error}", path.display())))
}
