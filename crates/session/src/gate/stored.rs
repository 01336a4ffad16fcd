//! A gate against stored runs.

use std::path::Path;

use hoptax_judge::gate::{Earlier, check_limits, judge_by_stored};
use hoptax_judge::sittings::machine_differences;
use hoptax_plan::file::Observe;
use hoptax_result::Verdict;
use hoptax_text::command_line::{path_word, word};

use super::{COMMAND, GateSettings, Gated};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::length::RequestedLength;
use crate::measure::{EarlierSitting, Options, Place, complete};
use crate::run_folder::{self, Held};
use crate::store::{self, Filter};
use crate::study::Study;
use crate::update::Say;
use crate::{environment, results};

/// Measures the study as it is, and compares it with the stored runs of `label`.
pub(super) fn by_reference(
    settings: &GateSettings<'_>,
    label: &str,
    store: Option<&Path>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<Gated, Failure> {
    let study = Study { command: Some(COMMAND.to_owned()), ..Study::named(settings.study)? };
    let given = &study.file;
    if given.observe == Observe::Timeline {
        return Err(Failure::bad_input(format!(
            "`{}` observes a timeline, which has no costs to limit: name a study of costs",
            given.name
        )));
    }
    check_limits(given, settings.limits).map_err(Failure::bad_input)?;
    let store = store::path(store)?;
    // Read before the measurement, so that a missing reference is reported at once.
    let earlier = earlier(&store, &given.name, label, settings.study, say)?;
    let folder = run_folder::path_of(settings.folder, &given.name);
    let length = RequestedLength { rounds: settings.rounds, ..RequestedLength::default() };
    let of_reference = earlier.iter().map(|one| &one.result).rfind(|result| result.verdict != Verdict::Void);
    let earlier_sitting = of_reference.map_or(EarlierSitting::Nothing, EarlierSitting::Result);
    let options = Options { length, store: Some(&store), earlier_sitting, ..settings.options };
    let place = Place::New { study: Box::new(study), folder: Some(&folder), held: Held::Refused };
    let result = complete(&place, &options, interrupt, say)?;
    let gate = judge_by_stored(&result, label, earlier, settings.limits).map_err(Failure::bad_input)?;
    Ok(Gated { gate, folder })
}

/// The complete stored runs of the study with the label. `file` is the study as the user named it.
fn earlier(
    store: &Path,
    study: &str,
    label: &str,
    file: &str,
    say: Say<'_>,
) -> Result<Vec<Earlier>, Failure> {
    let filter = Filter { name: Some(study.to_owned()), label: Some(label.to_owned()), since: None };
    let documents = store::with_existing(
        store,
        |store| {
            let runs = store.list(&filter)?;
            runs.iter().map(|run| Ok((run.run, store.measured(run.run)?))).collect::<Result<Vec<_>, _>>()
        },
        say,
    )?;
    let parsed = documents.into_iter().filter_map(|(run, text)| Some((run, text?)));
    let earlier: Vec<Earlier> = parsed
        .map(|(run, text)| {
            Ok(Earlier { run, result: results::parse(&format!("the result of run {run}"), &text)? })
        })
        .collect::<Result<_, Failure>>()?;
    let this_machine = environment::current(false);
    let (mut usable, mut elsewhere) = (0, String::new());
    for one in earlier.iter().filter(|earlier| earlier.result.verdict != Verdict::Void) {
        match machine_differences(&one.result.environment, &this_machine).join("; ") {
            same if same.is_empty() => usable += 1,
            differences => {
                elsewhere += &format!("\n  run {} is from another machine: {differences}", one.run);
            }
        }
    }
    if usable < 2 {
        return Err(Failure::bad_input(format!(
            "a reference needs at least 2 runs, better 5, hours apart, of the study `{study}` on this machine with the label `{label}`, \
             complete and not void; `{}` has {usable}: `hoptax study {} --store` measures one, and `hoptax runs label RUN {}` labels \
             it{elsewhere}",
            store.display(),
            path_word(file.as_ref()),
            word(label)
        )));
    }
    Ok(earlier)
}
