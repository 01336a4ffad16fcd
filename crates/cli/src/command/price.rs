//! `hoptax price`: measures what an Envoy configuration costs per request, and what each of its parts adds.

use std::path::Path;

use hoptax_report::documents;
use hoptax_session::price::{
    Budget, Configuration, Laboratory, PriceSettings, Studies, outcomes, outline, page,
};
use hoptax_session::{Interrupt, Options, RequestedLength, run_folder, thresholds};

use super::pod_dump::Given;
use crate::arguments::{PriceArguments, RunArguments};
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

/// Runs the command.
pub(crate) fn run(arguments: &PriceArguments) -> Result<Code, Failure> {
    // Before the tries, which take seconds.
    thresholds::limits(&arguments.run.measure.checks.thresholds)?;
    let given = Given::from_arguments(arguments)?;
    let ended = price_given(arguments, &given);
    if ended.is_err() {
        given.keep();
    }
    ended
}

/// Prices the configuration in a file.
fn price_given(arguments: &PriceArguments, given: &Given) -> Result<Code, Failure> {
    let headers: Vec<_> = arguments.headers.iter().flat_map(|headers| headers.0.clone()).collect();
    let configuration = Configuration::read(PriceSettings {
        configuration: &given.path,
        listener: arguments.listener.as_deref(),
        request: arguments.request.as_ref(),
        headers: &headers,
        without: &arguments.without,
        what_if: &arguments.what_if,
        rate: arguments.rate,
        price_per_core_hour: arguments.price_per_core_hour,
    })?;
    if arguments.dry_run {
        let listed = configuration.listed()?;
        print::result(&outline(configuration.described(), &listed))?;
        configuration.check_files(&listed)?;
        return Ok(Code::Success);
    }
    if let Some(folder) = &arguments.resume {
        // Before the tries, which take seconds.
        run_folder::read(folder)?;
    }
    let folder = arguments.resume.as_deref().or(given.run_folder.as_deref()).or(arguments.run.out.as_deref());
    let folder = Configuration::create_run_folder(folder)?;
    let budget = arguments.budget.map(Budget::begin);
    let interrupt = interrupt::listen()?;
    match price(arguments, &configuration, &folder, budget, &interrupt) {
        // An error after an interrupt is a consequence of it.
        Err(failure) if interrupt.is_requested() || failure.is_interrupt() => {
            if run_folder::read(&folder).is_ok() {
                print::note(&format!(
                    "`hoptax price` with the same configuration and options, and `--resume {}`, continues this bill",
                    folder.display()
                ));
            }
            Err(Failure::interrupted())
        }
        priced => priced,
    }
}

/// Tries the variants, measures the bill in `folder`, and prints it.
fn price(
    arguments: &PriceArguments,
    configuration: &Configuration<'_>,
    folder: &Path,
    budget: Option<Budget>,
    interrupt: &Interrupt,
) -> Result<Code, Failure> {
    // Stdout is for the bill alone.
    let print = |text: &str| {
        if arguments.only_try {
            return print::result(text);
        }
        print::note(text);
        Ok(())
    };
    let RunArguments { rounds, measure, json, .. } = &arguments.run;
    let laboratory =
        Laboratory::set_up(configuration, measure.envoy.choice(), folder, interrupt, &print::say)?;
    print(&outline(configuration.described(), &laboratory.listed))?;
    let tries = laboratory.try_variants(None)?;
    print(&outcomes(&tries))?;
    if arguments.only_try {
        return Ok(Code::Success);
    }
    let length = RequestedLength { rounds: *rounds, ..RequestedLength::default() };
    let options = Options { length, ..measure.options() };
    let studies = Studies { folder, is_resumed: arguments.resume.is_some(), budget, options };
    let bill = progress::shown(|say| configuration.measure(&tries, &studies, interrupt, say))?;
    print::document_or_json(json.file(), &bill, || {
        documents::bill(&bill).with_page(page(folder)).shown_by(folder.display())
    })?;
    Ok(Code::from(bill.verdict))
}
