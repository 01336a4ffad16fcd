//! `hoptax trust checks`: lists and explains the validity checks and their thresholds.

use hoptax_checks::about::{About, all};
use hoptax_checks::thresholds;
use serde_json::json;

use crate::arguments::{ChecksAction, ChecksArguments};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &ChecksArguments) -> Result<Code, Failure> {
    let all = all();
    let text = match &arguments.action {
        None if arguments.thresholds => thresholds(arguments.json),
        None if arguments.json => {
            let values: Vec<_> = all.iter().map(as_json).collect();
            format!("{}\n", serde_json::Value::from(values))
        }
        None => all.iter().map(|about| format!("{:<24} {}\n", about.id, about.protects_from)).collect(),
        Some(ChecksAction::Explain { id }) => {
            let about = all.iter().find(|about| about.id == id).ok_or_else(|| unknown(id, &all))?;
            explain(about)
        }
    };
    print::result(&text)?;
    Ok(Code::Success)
}

fn thresholds(as_json: bool) -> String {
    if as_json {
        let values = thresholds::ALL.iter().map(|one| {
            let stricter = if one.larger_is_tighter { "larger" } else { "smaller" };
            json!({ "name": one.name, "default": one.default, "stricter": stricter, "about": one.about })
        });
        return format!("{}\n", serde_json::Value::from(values.collect::<Vec<_>>()));
    }
    thresholds::ALL.iter().map(|one| format!("{:<22} {:<8} {}\n", one.name, one.default, one.about)).collect()
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
