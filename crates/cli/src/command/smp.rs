//! `hoptax convert smp`: sends the load of a test configuration of Service Mesh Performance, and prints its index `MeshMark`.

use hoptax_load::without_user;
use hoptax_report::documents;
use hoptax_session::load::Sending;
use hoptax_session::results;
use hoptax_tools::smp::{Chosen, choose, meshmark};

use super::input;
use super::load::{self, Outputs};
use crate::arguments::{RunTestArguments, SmpAction, SmpArguments};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &SmpArguments) -> Result<Code, Failure> {
    match &arguments.action {
        SmpAction::Run(arguments) => run_test(arguments),
        SmpAction::Meshmark { result, json } => {
            let study = results::read_run(result)?;
            let marks = meshmark(&study)
                .map_err(|reason| Failure::bad_input(format!("`{}`: {reason}", result.display())))?;
            let source = result.display().to_string();
            print::document_or_json(json.file(), &marks, || documents::meshmark_of(&marks, &source))?;
            Ok(Code::from(marks.verdict))
        }
    }
}

fn run_test(arguments: &RunTestArguments) -> Result<Code, Failure> {
    let json = arguments.json.file();
    let (named, text) = (arguments.file.display(), input::read(&arguments.file)?);
    let bad = |problems: Vec<String>| input::refused(&arguments.file, &problems);
    let chosen = choose(&text, arguments.client).map_err(bad)?;
    let refused = chosen.refused(&arguments.target);
    let Chosen { loads, unused } = chosen;
    if json.is_some() && loads.len() > 1 {
        return Err(bad(vec![format!(
            "it has {} clients, and `--json` holds the result of one: choose it with `--client 1`",
            loads.len()
        )]));
    }
    if !refused.is_empty() {
        return Err(bad(refused));
    }
    if !unused.is_empty() {
        print::note(&format!("hoptax: `{named}`: not used: {}", unused.join(", ")));
    }
    let mut worst = Code::Success;
    for (number, planned) in &loads {
        for line in &planned.ignored {
            print::note(&format!("hoptax: client {number}: not used: {line}"));
        }
        let urls: Vec<String> = planned.urls.iter().map(|url| without_user(url)).collect();
        print::note(&format!("hoptax: client {number}: {} to {}", planned.summary, urls.join(", ")));
        match load::sent(&Sending::from(planned), Outputs { json, ..Outputs::default() })? {
            Code::Success => {}
            Code::Interrupted => return Ok(Code::Interrupted),
            code => worst = code,
        }
    }
    Ok(worst)
}
