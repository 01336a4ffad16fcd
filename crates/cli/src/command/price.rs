//! `hoptax price`: measures what an Envoy configuration costs per request, and what each of its parts adds.
//!
//! It takes the configuration apart, tries the whole and the whole without each part, and measures those that answer alike in
//! one study. If the parts do not add up, a second study measures them again, and pairs of them.

mod laboratory;
mod order;
mod passed;
#[cfg(test)]
mod plans;
mod second_study;
mod text;
mod tries;

use std::fs;
use std::path::Path;

use hoptax_bootstrap::request::DerivedRequest;
use hoptax_functions::Catalogue;
use hoptax_report::documents;
use hoptax_report::render::{html, markdown};
use hoptax_result::{BillResult, StudyResult, Verdict};
use hoptax_session::{
    Asked, Interrupt, Options, Place, StudyText, complete, library, run_folder, run_folder_path, thresholds,
};
use hoptax_study::bill::bill;
use hoptax_study::bill::second_study::is_in_doubt;
use hoptax_subject::envoy::given::{Given, GivenError};
use hoptax_text::secrets::without_signatures;
use hoptax_variants::study_file::{STUDY, Source, StudyOfBill, study_file};
use hoptax_variants::{Change, Changed, Variant};

use self::laboratory::{Laboratory, adapt, create_folder};
use self::passed::{Passed, passed};
use self::tries::{Tries, try_variants};
use crate::arguments::PriceArguments;
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::print;
use crate::progress::StudyOnTerminal;

/// Default number of rounds.
const ROUNDS: u32 = 12;
/// The folder of the tries, in the run folder.
const TRIES: &str = "tries";
/// The name of a study file in errors.
const STUDY_FILE: &str = "price.yaml";

/// Runs the command.
pub(crate) fn run(arguments: &PriceArguments) -> Result<Code, Failure> {
    // Before the tries, which take seconds.
    thresholds::limits(&arguments.measure.thresholds)?;
    let given = Given::read(&arguments.config).map_err(|error| match error {
        GivenError::File { .. } | GivenError::Content(_) => Failure::bad_input(error),
    })?;
    let catalogue = library::catalogue()?;
    if arguments.dry_run {
        let adapted = adapt(&given, Path::new("FOLDER"))?;
        let passed = passed(&adapted, arguments, (&catalogue, &[]))?;
        print::result(&text::outline(given.described(), &passed, &adapted.replacements))?;
        given.check_files(&adapted).map_err(Failure::bad_input)?;
        return Ok(Code::Success);
    }
    if let Some(folder) = &arguments.resume {
        // Before the tries, which take seconds.
        run_folder::read(folder)?;
    }
    let folder = arguments.resume.as_deref().or(arguments.out.as_deref());
    let folder = create_folder(&run_folder_path(folder, STUDY))?;
    let interrupt = interrupt::listen()?;
    match price(arguments, &given, &catalogue, &folder, &interrupt) {
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

/// Tries the variants, and measures the bill in `folder`.
fn price(
    arguments: &PriceArguments,
    given: &Given,
    catalogue: &Catalogue,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<Code, Failure> {
    let headers = headers(arguments, catalogue)?;
    let (passed, tries) = try_all(given, arguments, (catalogue, &headers), &folder.join(TRIES), interrupt)?;
    if arguments.only_try {
        return Ok(Code::Success);
    }
    measure(arguments, given, (&passed, &tries), folder, interrupt)
}

/// The headers that functions need which stand for parts.
fn headers(arguments: &PriceArguments, catalogue: &Catalogue) -> Result<Vec<(String, String)>, Failure> {
    let of_each = arguments.what_if.iter().map(|change| change.headers(catalogue));
    let all = of_each.collect::<Result<Vec<_>, String>>().map_err(Failure::bad_input)?;
    Ok(all.into_iter().flatten().collect())
}

/// Tries the variants of the listener, and prints what answers.
fn try_all(
    given: &Given,
    arguments: &PriceArguments,
    (catalogue, headers): (&Catalogue, &[(String, String)]),
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<(Passed, Tries), Failure> {
    let laboratory = Laboratory::set_up(given, arguments, folder, interrupt)?;
    let all = passed(&laboratory.adapted, arguments, (catalogue, headers))?;
    // A bill has stdout for itself.
    let print = |text: &str| {
        if arguments.only_try {
            return print::result(text);
        }
        print::note(text);
        Ok(())
    };
    print(&text::outline(given.described(), &all, &laboratory.adapted.replacements))?;
    let taken = || all.iter().filter_map(|one| Some((one, one.request.as_ref().ok()?)));
    let forwarding = taken().find(|(_, request)| request.is_forwarded());
    let Some((passed, request)) = forwarding.or_else(|| taken().next()) else {
        return Err(Failure::bad_input(
            "no request goes through any listener; the reasons and what to do are printed above",
        ));
    };
    let changes = changes(arguments, (passed, request), catalogue)?;
    let tries = try_variants(&laboratory, (passed, request), changes, interrupt)?;
    print(&text::trials(passed, &tries))?;
    Ok((passed.clone(), tries))
}

/// The variants of the changes that are asked for.
fn changes(
    arguments: &PriceArguments,
    (passed, request): (&Passed, &DerivedRequest),
    catalogue: &Catalogue,
) -> Result<Vec<(Change, Changed)>, Failure> {
    let without = Variant::of_parts(&passed.parts, request);
    let parts: Vec<_> = passed.parts.iter().zip(&without).collect();
    let (mut changes, mut problems) = (Vec::new(), Vec::new());
    for (index, change) in arguments.what_if.iter().enumerate() {
        match change.variant(&parts, request, catalogue, index + 1) {
            Ok(changed) => changes.push((change.clone(), changed)),
            Err(problem) => problems.push(format!("--what-if '{change}': {problem}")),
        }
    }
    if problems.is_empty() { Ok(changes) } else { Err(Failure::bad_input(problems.join("\n"))) }
}

/// Measures the variants that answer as the whole does, and prints the bill.
fn measure(
    arguments: &PriceArguments,
    given: &Given,
    (passed, tries): (&Passed, &Tries),
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<Code, Failure> {
    let configuration = arguments.config.canonicalize().map_err(|error| {
        Failure::environment(format!("cannot find `{}`: {error}", arguments.config.display()))
    })?;
    let statuses: Vec<u16> = tries.answers.answer.statuses.keys().copied().collect();
    let source = Source {
        configuration: &configuration,
        listener: &passed.listener.name,
        lacking: &tries.lacking,
        statuses: &statuses,
    };
    let whole = &tries.whole.variant;
    let text = study_file(source, StudyOfBill::First, whole, &tries.measured(), arguments.rate);
    if arguments.resume.is_some() && !is_same(&run_folder::read(folder)?.0, &text) {
        return Err(Failure::bad_input(format!(
            "`{}` holds the study of another bill (study.yaml): --resume needs the configuration and the options that it was \
             started with; --out starts another one",
            folder.display()
        )));
    }
    let result = run_study(arguments, ROUNDS, &text, folder, interrupt)?;
    let mut bill = bill(&result, order::order(arguments, passed, tries));
    // A second study that fails or is interrupted takes nothing from the first.
    write(folder, &bill)?;
    if is_in_doubt(&bill) {
        let of_bill = (passed, tries, source, &bill);
        let second = second_study::measure(arguments, given, of_bill, folder, interrupt);
        if second.is_err() {
            print::note(&format!("the bill of the first study is in `{}`", folder.display()));
        }
        bill.second_study = Some(second?);
        write(folder, &bill)?;
    }
    let page = folder.join("bill.html").display().to_string();
    print::document_or_json(arguments.json.file(), &bill, || documents::bill(&bill).with_page(page))?;
    Ok(if result.verdict == Verdict::Void { Code::Void } else { Code::Success })
}

/// Measures a study in `folder`, with `rounds` rounds if no options say how long it is. With `--resume`, the study of `folder` is continued
/// if it is the same, and replaced otherwise.
fn run_study(
    arguments: &PriceArguments,
    rounds: u32,
    text: &str,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<StudyResult, Failure> {
    let stored = arguments.resume.as_ref().and_then(|_| run_folder::read(folder).ok());
    let is_continued = stored.as_ref().is_some_and(|(then, _)| is_same(then, text));
    let place = if is_continued {
        Place::Resumed(folder)
    } else {
        let text =
            StudyText { name: STUDY_FILE.to_owned(), text: text.to_owned(), folder: folder.to_owned() };
        Place::New { text, folder: Some(folder), force: stored.is_some() }
    };
    let of_first = (!is_continued && arguments.budget.is_none()).then_some(rounds);
    let options = Options {
        asked: Asked { rounds: arguments.rounds.or(of_first), budget: arguments.budget, until: None },
        ..options(arguments)
    };
    let terminal = StudyOnTerminal::default();
    complete(&place, &options, interrupt, &|update| terminal.show(update))
}

/// Whether two study files ask for the same. The token of the lab is signed again each time.
fn is_same(then: &str, now: &str) -> bool {
    without_signatures(then) == without_signatures(now)
}

/// How the studies of a bill are measured, but for their length.
fn options(arguments: &PriceArguments) -> Options<'_> {
    Options {
        envoy: arguments.measure.envoy.as_deref(),
        never_halt: arguments.measure.never_halt.into(),
        thresholds: &arguments.measure.thresholds,
        ..Options::default()
    }
}

/// Writes the bill to the run folder.
fn write(folder: &Path, bill: &BillResult) -> Result<(), Failure> {
    print::write_json(Some(&folder.join("bill.json")), bill)?;
    let document = documents::bill(bill);
    let page = html::page(&document).map_err(Failure::environment)?;
    for (name, text) in [("bill.md", markdown::text(&document)), ("bill.html", page)] {
        let path = folder.join(name);
        fs::write(&path, text)
            .map_err(|error| Failure::environment(format!("cannot write `{}`: {error}", path.display())))?;
    }
    Ok(())
}
