//! Arguments of agents in pods of a cluster.

use clap::Args;
use hoptax_cluster::Namespace;
use hoptax_cluster::job::Pull;

use super::values;

/// The words for when nodes pull an image.
pub(crate) const PULLS: [(&str, Pull); 3] =
    [("always", Pull::Always), ("if-not-present", Pull::IfNotPresent), ("never", Pull::Never)];
/// The most agents of a load.
const MOST_AGENTS: u32 = 1_000;

/// Agents in pods of a cluster.
#[derive(Debug, Args)]
pub(crate) struct AgentPodArguments {
    /// Have this many agents in pods of a Kubernetes cluster send the load
    ///
    /// They are pods of a Job, which is removed at the end. The kubeconfig says which cluster, and docs/guide/agents.md which
    /// rights that needs. URLs are as pods of the cluster reach them.
    #[arg(long, value_name = "NUMBER", group = "senders", conflicts_with = "every", requires_all = ["namespace", "agent_image"], value_parser = values::whole::<u32>(1..=MOST_AGENTS))]
    pub(crate) agent_pods: Option<u32>,
    /// Context of the kubeconfig, for --agent-pods [default: its current one]
    #[arg(long, value_name = "NAME", requires = "agent_pods")]
    pub(crate) kube_context: Option<String>,
    /// Namespace of the pods of agents, which has to exist
    #[arg(long, value_name = "NAME", requires = "agent_pods")]
    pub(crate) namespace: Option<Namespace>,
    /// Image of the agents, with this program at `/hoptax`
    #[arg(long, value_name = "IMAGE", requires = "agent_pods")]
    pub(crate) agent_image: Option<String>,
    /// When nodes pull the image: `always`, `if-not-present` or `never`
    #[arg(long, value_name = "WHEN", default_value = "if-not-present", requires = "agent_pods", value_parser = values::one_of(PULLS))]
    pub(crate) agent_pull: Pull,
    /// Processors of each agent, such as `2` or `0.5` [default: as many as --workers, and one more]
    ///
    /// It is a limit, too: with less than it uses, an agent is throttled, and states no times. Of whole processors, a node with a
    /// static policy gives each agent its own.
    #[arg(long, value_name = "NUMBER", requires = "agent_pods", value_parser = values::millis_of_processors)]
    pub(crate) agent_cpus: Option<u32>,
    /// Memory of each agent, MiB [default: 256, and 1 for each 16 connections]
    #[arg(long, value_name = "MIB", requires = "agent_pods", value_parser = values::whole::<u32>(16..=1_048_576))]
    pub(crate) agent_memory: Option<u32>,
    /// Print the rights and the manifests of --agent-pods as YAML, and send nothing
    #[arg(long, requires = "agent_pods")]
    pub(crate) dry_run: bool,
}
