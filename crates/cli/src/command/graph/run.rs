//! `hoptax lab graph run`: runs a graph as processes, and compares what its proxies use with the prediction.

use std::env;
use std::path::Path;
use std::time::Instant;

use hoptax_graph::plan::{self, RunPlan};
use hoptax_graph::{CONNECTIONS, Event, RunSpec, Setting, WARMUP, check, summary};
use hoptax_host::processors::{self, Placement};
use hoptax_predict::size::Processors;
use hoptax_report::documents;
use hoptax_result::{SizeResult, StudyResult, Verdict, counted};
use hoptax_session::{awake, environment, library, machine, results::read_run, thresholds};
use hoptax_subject::envoy::release::Envoy;
use include_dir::{Dir, include_dir};

use crate::arguments::GraphRunArguments;
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::print;

static GRAPHS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../studies/graphs");

/// Runs the command.
pub(super) fn run(arguments: &GraphRunArguments) -> Result<Code, Failure> {
    let limits = thresholds::limits(&arguments.measure.thresholds)?;
    let (name, text) = read(&arguments.file)?;
    let plan = plan::read(&name, &text, &library::catalogue()?).map_err(Failure::bad_input)?;
    let results = arguments.from.iter().map(|path| read_run(path)).collect::<Result<Vec<_>, _>>()?;
    // Before minutes of measuring: what the results lack is known now.
    let placement = placement(&plan)?;
    let predicted = predict(&plan, arguments.rate, &results, &placement)?;
    machine::allow_connections(CONNECTIONS)?;
    let envoy =
        Envoy::find(arguments.measure.envoy.as_deref(), &mut print::note).map_err(Failure::environment)?;
    let awake = awake::on(&placement, arguments.measure.never_halt.into(), &print::say)?;
    let environment = environment::of_study(&envoy, &placement, awake.is_some());
    let program = env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find this program: {error}")))?;
    let interrupt = interrupt::listen()?;
    let folder = tempfile::Builder::new().prefix("hoptax-graph-").tempdir().map_err(|error| {
        Failure::environment(format!("cannot create a folder for the processes: {error}"))
    })?;
    interrupt.remove_on_exit(folder.path());
    let setting = Setting {
        program: &program,
        envoy: &envoy,
        directory: folder.path(),
        placement: &placement,
        never_halted: awake.is_some(),
    };
    let spec = RunSpec {
        rate: arguments.rate,
        rounds: arguments.rounds,
        slices: arguments.slices,
        slice: arguments.slice,
        seed: arguments.seed,
    };
    let slices = f64::from(2 * spec.slices);
    let seconds = f64::from(spec.rounds) * slices * (spec.slice + WARMUP).as_secs_f64();
    print::note(&format!(
        "{}: {}, about {:.0} s",
        plan.name,
        counted(spec.rounds.into(), "round"),
        1.1 * seconds
    ));
    let began = Instant::now();
    let mut on_event = |event: Event<'_>| {
        if let Event::RoundBegan(round) = event {
            let elapsed = began.elapsed().as_secs();
            print::note(&format!("round {} of {}, after {elapsed} s", round + 1, spec.rounds));
        }
    };
    let rounds =
        hoptax_graph::run(&plan, &setting, &spec, (&environment, &limits), interrupt.flag(), &mut on_event);
    drop(awake);
    let rounds = match rounds {
        // An error after an interrupt is a consequence of it.
        _ if interrupt.is_requested() => return Ok(Code::Interrupted),
        Ok(rounds) => rounds,
        Err(error) => {
            let kept = folder.keep();
            let text = format!("{error}\nthe logs of all processes are in `{}`", kept.display());
            return Err(Failure::environment(text));
        }
    };
    let mut result = summary::result(&plan, &spec, rounds, environment, &limits);
    result.check = predicted.map(|predicted| check::check(&result, &predicted));
    print::document_or_json(arguments.json.file(), &result, || documents::graph_run(&result))?;
    let is_void = results.iter().any(|result| result.verdict == Verdict::Void);
    Ok(if is_void { Code::Void } else { Code::of(result.verdict) })
}

/// The prediction from results; none without results.
fn predict(
    plan: &RunPlan,
    rate: f64,
    results: &[StudyResult],
    placement: &Placement,
) -> Result<Option<SizeResult>, Failure> {
    if results.is_empty() {
        return Ok(None);
    }
    let count = placement.proxy.len() as u32;
    let processors = if plan.workers() > count { Processors::Shared(count) } else { Processors::Own };
    hoptax_predict::size::size_on(&plan.graph, rate, results, processors)
        .map(Some)
        .map_err(Failure::bad_input)
}

/// The processors of proxies, and those of services and generator: a processor for each worker if at least half of all are left.
fn placement(plan: &RunPlan) -> Result<Placement, Failure> {
    let allowed = processors::allowed()
        .map_err(|error| Failure::environment(format!("cannot read the allowed processors: {error}")))?;
    let most = (allowed.len() / 2).max(1);
    Ok(Placement::split(&allowed, (plan.workers() as usize).min(most)))
}

/// File name and text of a graph: `graph` is a path or the name of a graph that comes with the program.
fn read(graph: &str) -> Result<(String, String), Failure> {
    let path = Path::new(graph);
    let is_path = graph.contains('/') || path.extension().is_some() || path.exists();
    if is_path {
        return Ok((graph.to_owned(), super::file::graph_text(path, None)?));
    }
    let text = GRAPHS.get_file(format!("{graph}.yaml")).and_then(|file| file.contents_utf8());
    text.map(|text| (format!("{graph}.yaml"), text.to_owned())).ok_or_else(|| {
        let names = names();
        let hint = hoptax_text::nearest::hint(graph, names.iter().map(String::as_str));
        Failure::bad_input(format!(
            "unknown graph `{graph}`{hint}\ngraphs that come with the program are `{}`; give the path of your own graph file",
            names.join("`, `")
        ))
    })
}

fn names() -> Vec<String> {
    let stem = |file: &include_dir::File<'_>| Some(file.path().file_stem()?.to_str()?.to_owned());
    let mut names: Vec<String> = GRAPHS.files().filter_map(stem).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use hoptax_functions::Catalogue;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn every_graph_of_the_program_can_be_run_with_four_proxies_at_most() {
        let catalogue = Catalogue::load().unwrap();
        assert_eq!(names().len(), 5);
        let program = Arguments::command();
        let graph = program.find_subcommand("lab").and_then(|lab| lab.find_subcommand("graph")).unwrap();
        let help = graph.get_after_help().unwrap().to_string();
        for name in names() {
            let (file, text) = read(&name).unwrap();
            let plan = plan::read(&file, &text, &catalogue).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(plan.name, name, "a graph's name is that of its file");
            assert!((1..=4).contains(&plan.workers()), "{name}");
            assert!(help.replace('\n', " ").contains(&name), "{name}: {help}");
        }
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_graphs() {
        let error = read("chian").unwrap_err().to_string();
        assert!(error.contains("did you mean `chain`?") && error.contains("`sidecar`"), "{error}");
    }
}
