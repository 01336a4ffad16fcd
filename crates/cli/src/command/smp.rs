//! `hoptax convert smp`: sends the load of a test configuration of Service Mesh Performance, and prints its index `MeshMark`.

use std::net::IpAddr;
use std::path::Path;

use hoptax_load::{Pace, Target, without_user};
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
    let refused: Vec<String> = chosen.iter().flat_map(|(_, load)| refused(load, &arguments.target)).collect();
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

/// Why a load is refused: its URLs that are invalid, or whose server is neither on this machine nor allowed. A name other than
/// `localhost` may have any address, so it is not looked up.
fn refused(load: &PlannedLoad, allowed: &[(String, u16)]) -> Vec<String> {
    let refused = |url: &String| {
        let (host, port) = match Target::host_and_port(url) {
            Ok(found) => found,
            Err(error) => return Some(error.to_string()),
        };
        let host = host.to_ascii_lowercase();
        let is_here =
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if is_here || allowed.contains(&(host.clone(), port)) {
            return None;
        }
        let place = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        Some(format!(
            "its load goes to `{place}`, which may be another machine, and a file does not choose a target: allow it with \
             `--target {place}`"
        ))
    };
    load.urls.iter().filter_map(refused).collect()
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
    fn load_goes_to_this_machine_unless_the_user_names_the_other() {
        for url in [
            "http://127.0.0.1/",
            "http://127.8.0.1:80/a",
            "http://[::1]:80/",
            "http://LOCALHOST:1",
            "tcp://127.0.0.1:1",
        ] {
            assert_eq!(refused(&to(url), &[]), Vec::<String>::new(), "{url}");
        }
        for (url, place) in [
            ("http://shop.test/", "shop.test:80"),
            ("https://shop.test/", "shop.test:443"),
            ("http://192.0.2.1:8080/", "192.0.2.1:8080"),
            ("http://0.0.0.0:1/", "0.0.0.0:1"),
            // Before the `@` is user information, not the host.
            ("http://127.0.0.1:80@shop.test/", "shop.test:80"),
            ("http://127.0.0.1.shop.test/", "127.0.0.1.shop.test:80"),
            ("http://localhost.shop.test/", "localhost.shop.test:80"),
            ("http://[::ffff:192.0.2.1]/", "[::ffff:192.0.2.1]:80"),
        ] {
            let problems = refused(&to(url), &[]);
            assert!(problems.concat().contains(&format!("`--target {place}`")), "{url}: {problems:?}");
        }
        let allowed = [("shop.test".to_owned(), 443)];
        assert!(refused(&to("https://Shop.test/"), &allowed).is_empty());
        assert_eq!(refused(&to("http://shop.test/"), &allowed).len(), 1, "the port is another");
        assert_eq!(refused(&to("http://a b/"), &allowed).len(), 1, "not a URL");
        assert_eq!(refused(&to("http://{random}.test/"), &allowed).len(), 1);
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
