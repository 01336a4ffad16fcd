//! `hoptax study`: measures the cost of Envoy's functions.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use hoptax_judge::comparison::with_named;
use hoptax_report::documents;
use hoptax_result::{ComparisonBody, StudyResult};
use hoptax_run::runner::Ending;
use hoptax_session::sittings::{self, Combined};
use hoptax_session::{
    EarlierSitting, Measured, Options, Place, RequestedLength, StudyText, library, measure, outline, plan,
    run_folder, store,
};

use crate::arguments::StudyArguments;
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

/// Runs the command.
pub(crate) fn run(arguments: &StudyArguments) -> Result<Code, Failure> {
    if arguments.study == "list" {
        return print::list(&library::list()?).map(|()| Code::Success);
    }
    if !arguments.combine.is_empty() {
        let (folders, out) = (&arguments.combine, arguments.out.as_deref());
        show_combined(sittings::combine_given(folders, out, arguments.force, &print::say)?)?;
        return Ok(Code::Success);
    }
    let store = store_of(arguments)?;
    let accepts = |problem: &str| arguments.yes || is_wanted(problem);
    let options = Options {
        length: RequestedLength {
            rounds: arguments.rounds,
            budget: arguments.budget,
            until: arguments.until,
        },
        seed: arguments.seed,
        store: store.as_deref(),
        smoke: arguments.smoke,
        with_speeds: arguments.with_speeds,
        earlier_sitting: if arguments.again { EarlierSitting::Latest } else { EarlierSitting::Nothing },
        accepts_memory: Some(&accepts),
        ..arguments.measure.options()
    };
    if arguments.dry_run {
        return dry_run(arguments, &options);
    }
    let place = match &arguments.resume {
        Some(folder) => Place::Resumed(folder),
        None => Place::New {
            text: StudyText::named(&arguments.study)?,
            folder: arguments.out.as_deref(),
            force: arguments.force,
        },
    };
    let interrupt = interrupt::listen()?;
    let measured = progress::shown(|say| measure(&place, &options, &interrupt, say))?;
    let is_complete = matches!(measured.ending, Ending::Complete) && measured.problems.is_empty();
    if arguments.smoke && is_complete && !print::has_details() {
        show_smoke(&source(arguments), &measured.folder)?;
    } else if measured.result.plan.rounds_completed > 0 {
        show(&measured.result, &source(arguments), &measured.folder)?;
    }
    let combined = match measured.ending {
        Ending::Complete if arguments.again && is_complete => sittings::combine_with_stored(
            &measured.result,
            &measured.folder,
            &measured.manifest,
            &print::say,
        )?,
        _ => None,
    };
    let code = ended(measured, arguments.smoke)?;
    show_combined(combined)?;
    Ok(code)
}

/// Reports how a study ended, with the command that continues an interrupted one.
fn ended(measured: Measured, is_smoke: bool) -> Result<Code, Failure> {
    match measured.ending {
        Ending::Interrupted => {
            let folder = measured.folder.display();
            print::note(&format!("`hoptax study --resume {folder}` continues this study"));
            return Ok(Code::Interrupted);
        }
        // The problems have been printed.
        Ending::Complete if !measured.problems.is_empty() => return Ok(Code::Environment),
        Ending::Complete | Ending::Failed(_) => {}
    }
    let code = Code::from(measured.complete()?.verdict);
    Ok(if is_smoke && code == Code::Void { Code::Success } else { code })
}

/// The study that a command line names; for a study that is continued, the study file in its folder.
fn source(arguments: &StudyArguments) -> String {
    match &arguments.resume {
        Some(folder) => folder.join("study.yaml").display().to_string(),
        None => arguments.study.clone(),
    }
}

/// Prints a result, and the decisions about arms that its file compares by name.
fn show(result: &StudyResult, source: &str, folder: &Path) -> Result<(), Failure> {
    let decided =
        documents::decisions(&with_named(result, ComparisonBody::USUAL_MARGIN_SHARE), &result.findings);
    decided.as_ref().map_or(Ok(()), print::document)?;
    let document = documents::study_of(result, source, &folder.display().to_string());
    print::document(&document.in_folder(folder, "report.html"))
}

/// Prints what the short form of a study showed. Its verdict and its numbers would read as those of the study.
fn show_smoke(source: &str, folder: &Path) -> Result<(), Failure> {
    let page = folder.join("report.html");
    print::result(&format!(
        "Every part of the study came up. The numbers of its short form are of no use.\n\n\
         next: hoptax study {source}   measures it\npage: {}",
        page.display()
    ))
}

/// Prints combined sittings.
fn show_combined(combined: Option<Combined>) -> Result<(), Failure> {
    let Some(Combined { result, document }) = combined else { return Ok(()) };
    print::document(&document)?;
    if let Some(caveat) = sittings::caveat(&result) {
        print::note(caveat);
    }
    Ok(())
}

/// The store that the arguments or the environment name. The short form of a study is stored only if that is asked for.
fn store_of(arguments: &StudyArguments) -> Result<Option<PathBuf>, Failure> {
    match &arguments.store {
        Some(given) => store::path(given.as_deref()).map(Some),
        None if arguments.smoke => Ok(None),
        None => Ok(store::of_environment()),
    }
}

/// Prints a plan and its expected duration and memory.
fn dry_run(arguments: &StudyArguments, options: &Options<'_>) -> Result<Code, Failure> {
    let stored = arguments.resume.as_deref().map(run_folder::read).transpose()?;
    let text = match &stored {
        Some((text, manifest)) => manifest.study_text(text.clone()),
        None => StudyText::named(&arguments.study)?,
    };
    let plan = plan(&text, options, stored.as_ref().map(|(_, manifest)| manifest), &print::say)?;
    print::result(&outline(plan, options.never_halt, &print::say)?)?;
    Ok(Code::Success)
}

/// Asks the user; without a terminal, the answer is no.
fn is_wanted(problem: &str) -> bool {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return false;
    }
    // A failed write is ignored: without an answer, the study is refused.
    let _ = write!(io::stderr(), "hoptax: {problem}; start anyway? [y/N] ");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
