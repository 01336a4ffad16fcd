//! A gate against stored runs.

use std::path::{Path, PathBuf};

use hoptax_judge::gate::{Earlier, check_limits, judge_by_stored};
use hoptax_judge::sittings::machine_differences;
use hoptax_plan::file::{self, Observe};
use hoptax_result::{GateResult, Verdict};
use hoptax_session::{
    Asked, Interrupt, Options, Place, StudyText, complete, environment, library, results, run_folder_path,
    store,
};
use hoptax_store::{Filter, RESULT};

use crate::arguments::GateArguments;
use crate::exit::Failure;
use crate::print;
use crate::progress::StudyOnTerminal;

/// Measures the study as it is, and compares it with the stored runs of `label`. Returns the run folder and the gate.
pub(super) fn by_reference(
    arguments: &GateArguments,
    label: &str,
    interrupt: &Interrupt,
) -> Result<(PathBuf, GateResult), Failure> {
    let (name, text) = library::read(&arguments.study)?;
    let (given, _) = file::read(&name, &text).map_err(Failure::bad_input)?;
    if given.observe == Observe::Timeline {
        return Err(Failure::bad_input(format!("`{}` observes a timeline, which has no limits", given.name)));
    }
    check_limits(&given, &arguments.fail_on).map_err(Failure::bad_input)?;
    let store = store::path(arguments.store.as_deref())?;
    // Read first: a reference that is missing should not be found after the measurement.
    let earlier = earlier(&store, &given.name, label)?;
    let folder = run_folder_path(arguments.out.as_deref(), &given.name);
    let asked = Asked { rounds: arguments.rounds, ..Asked::default() };
    let options = Options { asked, store: Some(&store), ..super::options(arguments) };
    let text = StudyText::named(&arguments.study)?;
    let place = Place::New { text, folder: Some(&folder), force: false };
    let terminal = StudyOnTerminal::default();
    let result = complete(&place, &options, interrupt, &|update| terminal.show(update))?;
    let gate = judge_by_stored(&result, (label, earlier), &arguments.fail_on).map_err(Failure::bad_input)?;
    Ok((folder, gate))
}

/// The complete stored runs of the study that have the label.
fn earlier(store: &Path, study: &str, label: &str) -> Result<Vec<Earlier>, Failure> {
    let filter = Filter { name: Some(study.to_owned()), label: Some(label.to_owned()), since: None };
    let documents = store::with(
        store,
        |store| {
            let runs = store.list(&filter)?;
            runs.iter()
                .map(|run| Ok((run.run, store.document(run.run, RESULT)?)))
                .collect::<Result<Vec<_>, _>>()
        },
        &print::say,
    )?;
    let parsed = documents.into_iter().filter_map(|(run, text)| Some((run, text?)));
    let earlier: Vec<Earlier> = parsed
        .map(|(run, text)| {
            Ok(Earlier { run, result: results::parse(&format!("the result of run {run}"), &text)? })
        })
        .collect::<Result<_, Failure>>()?;
    let here = environment::here(false);
    let (mut usable, mut elsewhere) = (0, String::new());
    for one in earlier.iter().filter(|earlier| earlier.result.verdict != Verdict::Void) {
        match machine_differences(&one.result.environment, &here).join("; ") {
            same if same.is_empty() => usable += 1,
            differences => elsewhere += &format!("\n  run {} is of another machine: {differences}", one.run),
        }
    }
    if usable < 2 {
        return Err(Failure::bad_input(format!(
            "a reference needs at least 2 runs of the study `{study}` on this machine with the label `{label}` that are complete and not \
             void, better five, hours apart; `{}` has {usable}: `hoptax study {study} --store` measures one, and `hoptax runs label RUN \
             {label}` labels it{elsewhere}",
            store.display()
        )));
    }
    Ok(earlier)
}
