//! `hoptax mesh`: measures what the network of pods and meshes cost per request in a cluster.

use std::fs;
use std::path::Path;

use hoptax_checks::thresholds::Limits;
use hoptax_cluster::job::Pull;
use hoptax_mesh::plan::{Asked, Plan};
use hoptax_mesh::source::{CpuTime, WORDS};
use hoptax_mesh::template::{BUILT_IN, Template};
use hoptax_session::thresholds;

use crate::arguments::{MeshArguments, PULLS};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &MeshArguments) -> Result<Code, Failure> {
    let limits = thresholds::limits(&arguments.checks.thresholds)?;
    let plan = plan(arguments)?;
    if arguments.dry_run {
        print::result(&plan.shown())?;
        return Ok(Code::Success);
    }
    let place = (arguments.out.as_deref(), arguments.force);
    measure(
        &plan,
        &limits,
        arguments.kube_context.as_deref(),
        place,
        arguments.json.file(),
        &again(arguments),
    )
}

fn plan(arguments: &MeshArguments) -> Result<Plan, Failure> {
    let mut built_in =
        arguments.meshes.iter().map(|text| Template::read(text)).collect::<Result<Vec<_>, _>>();
    if arguments.functions {
        built_in = built_in.and_then(with_functions);
    }
    let built_in = built_in.map_err(Failure::bad_input)?;
    let own = arguments.templates.iter().map(|path| {
        let refused = |why: &dyn std::fmt::Display| {
            Failure::bad_input(format!("cannot read the template `{}`: {why}", path.display()))
        };
        let text = fs::read_to_string(path).map_err(|error| refused(&error))?;
        Template::read(&text).map_err(|error| refused(&error))
    });
    let asked = Asked {
        meshes: built_in.into_iter().map(Ok).chain(own).collect::<Result<_, _>>()?,
        image: arguments.image.clone(),
        pull: arguments.pull,
        rate: arguments.rate,
        connections: arguments.connections,
        rounds: arguments.rounds,
        slice: arguments.slice,
        warmup: arguments.warmup,
        seed: arguments.seed,
        nodes: [arguments.node.clone(), arguments.caller_node.clone()],
        cpu_time: arguments.cpu_time,
    };
    Plan::new(asked).map_err(Failure::bad_input)
}

/// Templates, and after them the functions of these that come with the program.
fn with_functions(mut templates: Vec<Template>) -> Result<Vec<Template>, String> {
    for (_, text) in BUILT_IN {
        let template = Template::read(text)?;
        let is_there = |name: &String| templates.iter().any(|there| there.name == *name);
        if template.bases().iter().any(is_there) && !is_there(&template.name) {
            templates.push(template);
        }
    }
    Ok(templates)
}

/// The options that measure the same again.
fn again(arguments: &MeshArguments) -> String {
    let meshes = arguments.meshes.iter().filter_map(|text| Template::read(text).ok());
    let meshes = meshes.map(|template| format!("--mesh {}", template.name));
    let functions = arguments.functions.then(|| "--functions".to_owned());
    let own = arguments.templates.iter().map(|path| format!("--template {}", path.display()));
    let pull = PULLS.into_iter().find(|(_, pull)| *pull == arguments.pull && *pull != Pull::IfNotPresent);
    let pull = pull.map(|(word, _)| format!("--pull {word}"));
    let source = WORDS.into_iter().find(|(_, one)| *one == arguments.cpu_time && *one != CpuTime::Auto);
    let source = source.map(|(word, _)| format!("--cpu-time {word}"));
    let load = [format!("--rate {}", arguments.rate), format!("--connections {}", arguments.connections)];
    let in_a_word = |slice| humantime::format_duration(slice).to_string().replace(' ', "");
    let slice = arguments.slice.map(|slice| format!("--slice {}", in_a_word(slice)));
    let given = [
        ("--kube-context", &arguments.kube_context),
        ("--node", &arguments.node),
        ("--caller-node", &arguments.caller_node),
    ];
    let given = given.into_iter().filter_map(|(option, value)| Some(format!("{option} {}", value.as_ref()?)));
    let words =
        [format!("--image {}", arguments.image)].into_iter().chain(meshes).chain(functions).chain(own);
    words.chain(pull).chain(load).chain(slice).chain(source).chain(given).collect::<Vec<_>>().join(" ")
}

/// Measures the plan, and prints its result.
#[cfg(feature = "cluster")]
fn measure(
    plan: &Plan,
    limits: &Limits,
    context: Option<&str>,
    (out, force): (Option<&Path>, bool),
    json: Option<&Path>,
    again: &str,
) -> Result<Code, Failure> {
    use hoptax_mesh::evidence::STUDY;
    use hoptax_report::documents;
    use hoptax_session::{Update, run_folder, write_outputs};

    use crate::interrupt;

    let folder = run_folder::for_pods(out, STUDY, force)?;
    let interrupt = interrupt::listen()?;
    let measured = hoptax_mesh::measure(plan, context, limits, &interrupt, &print::say);
    let result = measured.inspect_err(|_| {
        // Nothing is in it yet, unless it was there before.
        let _ = fs::remove_dir(&folder);
    })?;
    let problems = write_outputs(&folder, &result);
    for problem in &problems {
        print::say(Update::Problem(problem));
    }
    print::document_or_json(json, &result, || {
        documents::study_of(&result, again, &folder.display().to_string()).in_folder(&folder, "report.html")
    })?;
    Ok(match Code::from(result.verdict) {
        _ if interrupt.is_requested() => Code::Interrupted,
        _ if result.plan.ended_early.is_some() || !problems.is_empty() => Code::Environment,
        code => code,
    })
}

#[cfg(not(feature = "cluster"))]
fn measure(
    _: &Plan,
    _: &Limits,
    _: Option<&str>,
    _: (Option<&Path>, bool),
    _: Option<&Path>,
    _: &str,
) -> Result<Code, Failure> {
    let refused = hoptax_cluster::Refused::NotBuiltForAgents { option: "hoptax mesh" };
    Err(crate::exit::of_cluster(refused))
}
