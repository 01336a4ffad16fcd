//! `hoptax trust checks`: lists and explains the validity checks and their thresholds.

use std::collections::BTreeSet;

use hoptax_checks::about::{About, all};
use hoptax_checks::thresholds;
use serde_json::json;

use crate::arguments::{ChecksAction, ChecksArguments};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &ChecksArguments) -> Result<Code, Failure> {
    let all = all();
    match &arguments.action {
        None if arguments.thresholds && arguments.json => print::result(&thresholds_as_json())?,
        None if arguments.thresholds => print::list(&thresholds())?,
        None if arguments.json => {
            let values: Vec<_> = all.iter().map(as_json).collect();
            print::result(&serde_json::Value::from(values).to_string())?;
        }
        None => print::list(&by_result(&all))?,
        Some(ChecksAction::Explain { id }) => {
            let about = all.iter().find(|about| about.id == id).ok_or_else(|| unknown(id, &all))?;
            print::list(&explain(about))?;
        }
    }
    Ok(Code::Success)
}

/// The checks, by the kinds of results that they judge.
fn by_result(all: &[About]) -> String {
    let kinds: BTreeSet<&[&str]> = all.iter().map(|about| about.judges.as_slice()).collect();
    let group = |kind: &[&str]| {
        let lines = all.iter().filter(|about| about.judges == kind);
        let lines: String =
            lines.map(|about| format!("  {:<24}  {}\n", about.id, about.protects_from)).collect();
        format!("every {}:\n{lines}", kind.join(" and every "))
    };
    kinds.into_iter().map(group).collect::<Vec<_>>().join("\n")
}

fn thresholds_as_json() -> String {
    let values = thresholds::ALL.iter().map(|one| {
        let stricter = if one.larger_is_tighter { "larger" } else { "smaller" };
        json!({ "name": one.name, "default": one.default, "stricter": stricter, "about": one.about })
    });
    serde_json::Value::from(values.collect::<Vec<_>>()).to_string()
}

fn thresholds() -> String {
    let line = |one: &thresholds::Threshold| format!("{:<22}  {:<8}  {}\n", one.name, one.default, one.about);
    thresholds::ALL.iter().map(line).collect()
}

fn explain(about: &About) -> String {
    format!(
        "{}\n\nprotects from: {}\njudges:        every {}\nsource:        {}\n\n\
                  A finding states the observation, the threshold, and what to do. A failed check withholds the numbers that it\n\
                  leaves without support.\n",
        about.id,
        about.protects_from,
        about.judges.join(" and every "),
        about.source
    )
}

fn as_json(about: &About) -> serde_json::Value {
    json!({
        "id": about.id, "protects_from": about.protects_from, "source": about.source, "judges": about.judges,
    })
}

fn unknown(id: &str, all: &[About]) -> Failure {
    let hint = hoptax_text::nearest::hint(id, all.iter().map(|about| about.id));
    Failure::bad_input(format!("unknown check `{id}`{hint}\n`hoptax trust checks` lists them"))
}
