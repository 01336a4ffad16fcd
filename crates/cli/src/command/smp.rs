//! `hoptax convert smp`: sends the load of a test configuration of Service Mesh Performance, and prints its index `MeshMark`.

use std::path::Path;

use hoptax_load::{Pace, without_user};
use hoptax_report::documents;
use hoptax_result::Verdict;
use hoptax_session::load::{Body, Connections, GivenUrl, Load, Requests, Schedule, Sending};
use hoptax_session::results;
use hoptax_tools::smp::{PlannedLoad, meshmark, plan, read};

use super::import;
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
            print::document_or_json(json.file(), &marks, || documents::meshmark(&marks))?;
            Ok(if marks.verdict == Verdict::Void { Code::Void } else { Code::Success })
        }
    }
}

fn run_test(arguments: &RunTestArguments) -> Result<Code, Failure> {
    let named = arguments.file.display();
    let bad = |problems: Vec<String>| {
        Failure::bad_input(format!("`{named}`: {}", problems.join(&format!("\n`{named}`: "))))
    };
    let text = import::read(&arguments.file)
        .map_err(|error| Failure::bad_input(format!("cannot read `{named}`: {error}")))?;
    let file = read(&text).map_err(bad)?;
    let tests: Vec<_> = file.documents.iter().filter_map(|document| document.test.as_ref()).collect();
    let [test] = tests.as_slice() else {
        return Err(bad(vec![format!("it has {} test configurations, and one is needed", tests.len())]));
    };
    let loads = plan(test).map_err(bad)?;
    let chosen = chosen(&loads, arguments.client).map_err(|problem| bad(vec![problem]))?;
    if arguments.json.file().is_some() && chosen.len() > 1 {
        return Err(bad(vec![format!(
            "it has {} clients, and `--json` holds the result of one: choose it with `--client 1`",
            chosen.len()
        )]));
    }
    // All targets are examined before any load begins.
    let refused: Vec<String> = chosen.iter().flat_map(|(_, load)| load.refused(&arguments.target)).collect();
    if !refused.is_empty() {
        return Err(bad(refused));
    }
    if !file.unused.is_empty() {
        print::note(&format!("hoptax: `{named}`: not used: {}", file.unused.join(", ")));
    }
    let mut worst = Code::Success;
    for (number, planned) in chosen {
        for line in &planned.ignored {
            print::note(&format!("hoptax: client {number}: not used: {line}"));
        }
        let urls: Vec<String> = planned.urls.iter().map(|url| without_user(url)).collect();
        print::note(&format!("hoptax: client {number}: {} to {}", planned.summary, urls.join(", ")));
        match send(planned, arguments.json.file())? {
            Code::Success => {}
            Code::Interrupted => return Ok(Code::Interrupted),
            code => worst = code,
        }
    }
    Ok(worst)
}

/// The clients that send, with their numbers from 1.
fn chosen(loads: &[PlannedLoad], client: Option<u32>) -> Result<Vec<(usize, &PlannedLoad)>, String> {
    let all = (1..).zip(loads);
    let Some(client) = client else { return Ok(all.collect()) };
    let chosen: Vec<_> = all.filter(|(number, _)| *number == client as usize).collect();
    if chosen.is_empty() {
        Err(format!("there is no client {client}: it has {}", loads.len()))
    } else {
        Ok(chosen)
    }
}

/// Sends a load as `hoptax load` does.
fn send(planned: &PlannedLoad, json: Option<&Path>) -> Result<Code, Failure> {
    let requests = Requests {
        urls: planned.urls.iter().cloned().map(GivenUrl::from).collect(),
        protocol: planned.protocol,
        method: planned.method.to_owned(),
        headers: planned.headers.clone(),
        body: Body::Text(planned.body.clone()),
        ..Requests::default()
    };
    let connections = Connections { number: planned.connections, ..Connections::default() };
    let sending = Sending {
        load: Load { requests, connections, ..Load::default() },
        schedule: Schedule {
            pace: planned.rate.map(Pace::Constant),
            duration: Some(planned.length),
            ..Schedule::default()
        },
        ..Sending::default()
    };
    load::sent(&sending, Outputs { json, ..Outputs::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(url: &str) -> PlannedLoad {
        PlannedLoad { urls: vec![url.to_owned()], ignored: Vec::new(), ..PlannedLoad::default() }
    }

    #[test]
    fn a_client_is_chosen_by_its_number() {
        let loads = [to("a"), to("b")];
        let numbers = |client| {
            chosen(&loads, client).map(|all| all.iter().map(|(number, _)| *number).collect::<Vec<_>>())
        };
        assert_eq!(numbers(None), Ok(vec![1, 2]));
        assert_eq!(numbers(Some(2)), Ok(vec![2]));
        assert!(numbers(Some(3)).unwrap_err().contains("it has 2"));
    }
}
