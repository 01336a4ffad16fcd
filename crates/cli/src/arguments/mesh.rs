//! Arguments of `hoptax mesh`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use hoptax_cluster::job::Pull;
use hoptax_mesh::source::{CpuTime, WORDS};
use hoptax_mesh::template::BUILT_IN;

use super::agent_pods::PULLS;
use super::shared::{JsonArguments, ThresholdArguments};
use super::values;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax mesh --image registry.example/hoptax:1 --mesh istio --dry-run     read what it would make
  hoptax mesh --image registry.example/hoptax:1 --mesh istio --kube-context staging
  hoptax mesh --image registry.example/hoptax:1 --mesh istio,istio-authorization-100

Measures the same load on the network of nodes, on that of pods, and with each mesh, which has to be
installed; without --mesh and --template, on both networks alone. It makes a namespace for each with
a caller and an origin, and removes it at the end, at an interrupt, and when it fails. Each round
has new pods, and a slice of each arm in a random order. CPU time is that of the proxies' containers
by their control groups, which a DaemonSet reads on the nodes of the pods: a slice takes half a
minute, or less with --slice. Where it may not, CPU time is from the metrics of the
kubelets, which read it every 10 to 20 seconds: then a slice takes about a minute, and five rounds
with one mesh some twenty. The result says which, and why.

A function of a mesh, such as istio-authorization-100, is an arm of its own, whose cost is what it
adds to its mesh where that is measured too. --functions measures all of a mesh.

It needs rights in the whole cluster, which --dry-run prints with all that it makes.
docs/guide/mesh.md describes the image, the rights, and templates with objects of your own, such as
policies.

Exit codes:
  0    the costs were measured
  2    invalid input: a template, an option or the context of the kubeconfig
  3    the cluster refuses something, pods do not come, or a mesh is not installed
  4    the result is void
  130  interrupted; complete rounds are kept")]
pub(crate) struct MeshArguments {
    /// Context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) kube_context: Option<String>,
    /// Mesh that is installed in the cluster, or a function of one; repeatable, or separated by commas
    #[arg(long = "mesh", value_name = "NAME", value_delimiter = ',', value_parser = values::one_of(BUILT_IN))]
    pub(crate) meshes: Vec<&'static str>,
    /// Measure each function of these meshes that is built in, too
    #[arg(long, requires = "meshes")]
    pub(crate) functions: bool,
    /// Template of a mesh or a configuration of your own, YAML; repeatable
    #[arg(long = "template", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) templates: Vec<PathBuf>,
    /// Image of callers and origins, with this program at `/hoptax`
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: String,
    /// When nodes pull the image
    #[arg(long, value_name = "WHEN", default_value = "if-not-present", value_parser = values::one_of(PULLS))]
    pub(crate) pull: Pull,
    /// Requests per second
    #[arg(short = 'q', long, value_name = "NUMBER", default_value_t = 1_000.0, value_parser = values::rate)]
    pub(crate) rate: f64,
    /// Number of connections
    #[arg(short, long, value_name = "NUMBER", default_value_t = 16, value_parser = values::whole::<u32>(1..=10_000))]
    pub(crate) connections: u32,
    /// Number of rounds, each with new pods
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = values::whole::<u32>(2..=1000))]
    pub(crate) rounds: u32,
    /// Length of a slice [default: 30s, or more where rare readings of CPU time need it]
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub(crate) slice: Option<Duration>,
    /// Warm-up before each slice
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = values::duration)]
    pub(crate) warmup: Duration,
    /// Seed of the order of slices
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Node of the origins [default: that of the first one]
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Node of the callers [default: that of the first one, another than the origin's if there is one]
    #[arg(long, value_name = "NAME")]
    pub(crate) caller_node: Option<String>,
    /// Source of CPU times: control groups, kubelets, or control groups where they can be read
    #[arg(long, value_name = "SOURCE", default_value = "auto", value_parser = values::one_of(WORDS))]
    pub(crate) cpu_time: CpuTime,
    /// Print the rights and the manifests as YAML, and make nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run folder [default: a new one in `runs`]
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite the study of the run folder
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) checks: ThresholdArguments,
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}
