//! `hoptax mesh`: measures the cost per request of pod networks and meshes in a cluster.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use hoptax_cluster::job::Pull;
use hoptax_cluster::prometheus::Address;
use hoptax_mesh::plan::{Asked, Plan};
use hoptax_mesh::source::{CpuTime, WORDS};
use hoptax_mesh::template::{BUILT_IN, Template};
use hoptax_mesh::{MeasuredMesh, MeshSettings, measure};
use hoptax_report::documents;
use hoptax_session::thresholds;
use hoptax_text::command_line::{duration_word, option, path_option, word};

use crate::arguments::shared::{
    ClusterArguments, JsonArguments, OutArguments, PULLS, RateArguments, SeedArguments, StoredArguments,
    ThresholdArguments,
};
use crate::arguments::values;
use crate::exit::{Code, Failure};
use crate::{interrupt, print};

/// The warm-up of a slice that states none.
const USUAL_WARMUP: &str = "3s";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax mesh --image registry.example/hoptax:1 --mesh istio --dry-run   # what it would create
  hoptax mesh --image registry.example/hoptax:1 --mesh istio,istio-authorization-100
  hoptax mesh --image registry.example/hoptax:1 --mesh istio --prometheus monitoring/prometheus:9090

Measures the same load on the network of nodes, on that of pods, and with each mesh, which must be
installed; without --mesh and --template, only on both networks. It creates a namespace for each
with a caller and an origin, and removes it at the end, at an interrupt, and when it fails. Each
round has new pods, and a slice of each arm in a random order. CPU time is that of the proxies'
containers by their control groups, which a DaemonSet reads on the nodes of the pods: a slice takes
half a minute, or less with --slice. If that is not allowed, CPU time is from the metrics of the
kubelets, which read it every 10 to 20 seconds: then a slice takes about a minute, and five rounds
with one mesh about twenty minutes. If those may not be read either, it is from the Prometheus that
--prometheus names, in slices of one to five minutes. The result says which, and why.

A function of a mesh, such as istio-authorization-100, is an arm of its own, whose cost is what it
adds to its mesh where that is measured too. --functions measures all of a mesh.

With --max-rate, each arm also gets requests as fast as they are answered, at the end of each round:
its maximum rate. This takes processors of the nodes from everything else on them.

It needs a hoptax with the client of Kubernetes, which `make build` includes, and rights in the
whole cluster, which --dry-run prints with all manifests. docs/guide/mesh.md describes the image,
the rights, and templates with objects of your own, such as policies.

Exit codes:
  0    the costs were measured
  2    invalid input: a template, an option or the context of the kubeconfig
  3    the cluster refuses a request, pods do not start, or a mesh is not installed
  4    the result is void
  130  interrupted; complete rounds are kept")]
#[expect(clippy::struct_excessive_bools, reason = "command-line flags are independent of each other")]
pub(crate) struct MeshArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Mesh that is installed in the cluster, or a function of one; repeatable, or separated by commas
    #[arg(long = "mesh", value_name = "NAME", value_delimiter = ',', value_parser = values::one_of(BUILT_IN.map(|(name, _)| (name, name))))]
    meshes: Vec<&'static str>,
    /// Also measure each built-in function of these meshes
    #[arg(long, requires = "meshes")]
    functions: bool,
    /// Template of a mesh or a configuration of your own, YAML; repeatable
    #[arg(long = "template", value_name = "FILE", value_hint = ValueHint::FilePath)]
    templates: Vec<PathBuf>,
    /// Image of callers and origins, with this program at `/hoptax`
    #[arg(long, value_name = "IMAGE", value_parser = values::name_in_cluster)]
    image: String,
    /// When nodes pull the image
    #[arg(long, value_name = "WHEN", default_value = "if-not-present", value_parser = values::one_of(PULLS))]
    pull: Pull,
    #[command(flatten)]
    rate: RateArguments,
    /// Also measure the maximum rate of each arm, by requests as fast as they are answered at the end of each round
    #[arg(long)]
    max_rate: bool,
    /// Number of connections
    #[arg(short, long, value_name = "NUMBER", default_value_t = 16, value_parser = values::whole::<u32>(1..=10_000))]
    connections: u32,
    /// Number of rounds, each with new pods
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = values::rounds)]
    rounds: u32,
    /// Length of a slice [default: 30s, or longer where CPU time is read rarely]
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    slice: Option<Duration>,
    /// Warm-up before each slice
    #[arg(long, value_name = "DURATION", default_value = USUAL_WARMUP, value_parser = values::duration)]
    warmup: Duration,
    #[command(flatten)]
    seed: SeedArguments,
    /// Node of the origins [default: that of the first one]
    #[arg(long, value_name = "NAME", value_parser = values::name_in_cluster)]
    node: Option<String>,
    /// Node of the callers [default: that of the first one, if possible not the node of the origins]
    #[arg(long, value_name = "NAME", value_parser = values::name_in_cluster)]
    caller_node: Option<String>,
    /// Source of CPU times: control groups, kubelets, a Prometheus, or the first of these that can be read
    #[arg(long, value_name = "SOURCE", default_value = "auto", value_parser = values::one_of(WORDS))]
    cpu_time: CpuTime,
    /// Prometheus that has CPU times of containers: a service of the cluster, `NAMESPACE/SERVICE:PORT`, or a URL
    #[arg(long, value_name = "ADDRESS")]
    prometheus: Option<Address>,
    /// Print the rights and the manifests as YAML, and create nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    out: OutArguments,
    /// Overwrite the study of the run folder
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    stored: StoredArguments,
    #[command(flatten)]
    checks: ThresholdArguments,
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &MeshArguments) -> Result<Code, Failure> {
    let limits = thresholds::limits(&arguments.checks.thresholds)?;
    let plan = plan(arguments)?;
    if arguments.dry_run {
        print::note(&plan.summary());
        print::result(&plan.shown())?;
        return Ok(Code::Success);
    }
    let store = arguments.stored.path()?;
    let settings = MeshSettings {
        plan: &plan,
        context: arguments.cluster.kube_context.as_deref(),
        limits: &limits,
        folder: arguments.out.folder(),
        force: arguments.force,
        store: store.as_deref(),
    };
    let interrupt = interrupt::listen()?;
    let MeasuredMesh { result, folder, is_complete } = measure(&settings, &interrupt, &print::say)?;
    print::document_or_json(arguments.json.file(), &result, || {
        documents::mesh_of(&result, &again(arguments)).in_folder(&folder, "report.html")
    })?;
    Ok(match Code::from(result.verdict) {
        _ if interrupt.is_requested() => Code::Interrupted,
        _ if !is_complete => Code::Environment,
        code => code,
    })
}

fn plan(arguments: &MeshArguments) -> Result<Plan, Failure> {
    let asked = Asked {
        meshes: Template::read_all(&arguments.meshes, arguments.functions, &arguments.templates)?,
        image: arguments.image.clone(),
        pull: arguments.pull,
        rate: arguments.rate.per_second,
        has_max_rate: arguments.max_rate,
        connections: arguments.connections,
        rounds: arguments.rounds,
        slice: arguments.slice,
        warmup: arguments.warmup,
        seed: arguments.seed.number(),
        nodes: [arguments.node.clone(), arguments.caller_node.clone()],
        cpu_time: arguments.cpu_time,
        prometheus: arguments.prometheus.clone(),
    };
    Plan::new(asked).map_err(Failure::bad_input)
}

/// The options that measure the same again.
fn again(arguments: &MeshArguments) -> String {
    let meshes = arguments.meshes.iter().map(|name| option("--mesh", Some(name)));
    let functions = arguments.functions.then(|| " --functions".to_owned());
    let own = arguments.templates.iter().map(|path| path_option("--template", Some(path)));
    let max_rate = arguments.max_rate.then(|| " --max-rate".to_owned());
    let pull = PULLS.into_iter().find(|(_, pull)| *pull == arguments.pull && *pull != Pull::IfNotPresent);
    let source = WORDS.into_iter().find(|(_, one)| *one == arguments.cpu_time && *one != CpuTime::Auto);
    let warmup = Some(duration_word(arguments.warmup)).filter(|warmup| warmup != USUAL_WARMUP);
    let once = [
        option("--pull", pull.map(|(word, _)| word)),
        option("--rate", Some(arguments.rate.per_second)),
        option("--connections", Some(arguments.connections)),
        option("--slice", arguments.slice.map(duration_word)),
        option("--warmup", warmup),
        option("--cpu-time", source.map(|(word, _)| word)),
        option("--prometheus", arguments.prometheus.as_ref()),
        option("--kube-context", arguments.cluster.kube_context.as_ref()),
        option("--node", arguments.node.as_ref()),
        option("--caller-node", arguments.caller_node.as_ref()),
        arguments.seed.again(),
        arguments.stored.again(),
        arguments.checks.again(),
    ];
    let words: String = meshes.chain(functions).chain(own).chain(max_rate).chain(once).collect();
    format!("--image {}{words}", word(&arguments.image))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Command, parsed};

    #[test]
    fn the_same_mesh_has_all_options_but_the_rounds_and_the_folder() {
        let again_of = |options: &str| {
            let line = format!("hoptax mesh {options} --rounds 4 --out runs/1");
            let parsed = parsed(line.split(' ')).unwrap();
            let Command::Mesh(arguments) = parsed.command else { panic!("{parsed:?}") };
            again(&arguments)
        };
        for given in [
            "--image a/b:1 --mesh istio --functions --template my.yaml --pull never --rate 500 --connections 4 \
             --slice 1m30s --cpu-time kubelet --kube-context prod --node one --caller-node two",
            "--image hoptax:1 --template my.yaml --max-rate --rate 50 --connections 4",
            "--image hoptax:1 --rate 50 --connections 4 --warmup 5s --seed 7 --store=my.db \
             --threshold steal=0.02",
            "--image hoptax:1 --rate 50 --connections 4 --store",
            "--image example/hoptax:1 --rate 50 --connections 4",
        ] {
            assert_eq!(again_of(given), given);
        }
        assert_eq!(again_of("--image a/b:1"), "--image a/b:1 --rate 1000 --connections 16");
    }
}
