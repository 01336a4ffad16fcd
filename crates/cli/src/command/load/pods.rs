//! `hoptax load --agent-pods`: a load sent by agents in pods of a cluster.

use clap::Args;
use hoptax_agents::{PodNeeds, SentLoad};
use hoptax_cluster::Namespace;
use hoptax_cluster::job::{ARRIVAL, AgentJob, PORT, PodPatch, Pull, new_name};
use hoptax_session::load::Sending;

use super::{LoadArguments, Outputs};
use crate::arguments::shared::{ClusterArguments, PULLS};
use crate::arguments::values;
use crate::exit::{Code, Failure, of_cluster};
use crate::print;

/// Agents in pods of a cluster.
// Options that require `--agent-pods` also refuse what excludes it: clap requires nothing that another option excludes, so a dry run would
// send requests.
#[derive(Debug, Args)]
#[command(mut_arg("kube_context", |context| context.requires("agent_pods").conflicts_with_all(["agents", "every"])))]
pub(crate) struct AgentPodArguments {
    /// Send the load from this many agents in pods of a Kubernetes cluster
    ///
    /// They are pods of a Job, which is removed at the end. The kubeconfig selects the cluster; docs/guide/agents.md lists the necessary
    /// rights. URLs must be reachable from pods of the cluster.
    #[arg(long, value_name = "NUMBER", group = "senders", conflicts_with = "every", requires_all = ["namespace", "agent_image"], value_parser = values::whole::<u32>(1..=MOST_AGENTS))]
    pub(super) agent_pods: Option<u32>,
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Namespace of the pods of agents, which must exist
    #[arg(long, value_name = "NAME", requires = "agent_pods", conflicts_with_all = ["agents", "every"])]
    namespace: Option<Namespace>,
    /// Image of the agents, with this program at `/hoptax`
    #[arg(long, value_name = "IMAGE", requires = "agent_pods", conflicts_with_all = ["agents", "every"], value_parser = values::name_in_cluster)]
    agent_image: Option<String>,
    /// When nodes pull the image: `always`, `if-not-present` or `never`
    #[arg(long, value_name = "WHEN", default_value = "if-not-present", requires = "agent_pods", conflicts_with_all = ["agents", "every"], value_parser = values::one_of(PULLS))]
    agent_pull: Pull,
    /// Processors of each agent, such as `2` or `0.5` [default: --workers plus one]
    ///
    /// It is also a limit: an agent that needs more is throttled, and its response times are withheld. With a whole number, a node with the
    /// static CPU manager policy gives each agent processors of its own.
    #[arg(long, value_name = "NUMBER", requires = "agent_pods", conflicts_with_all = ["agents", "every"], value_parser = values::millis_of_processors)]
    agent_cpus: Option<u32>,
    /// Memory of each agent, MiB [default: 256, and 1 for each 16 connections]
    #[arg(long, value_name = "MIB", requires = "agent_pods", conflicts_with_all = ["agents", "every"], value_parser = values::whole::<u32>(16..=1_048_576))]
    agent_memory: Option<u32>,
    /// Print the rights and the manifests of --agent-pods as YAML, and send nothing
    #[arg(long, requires = "agent_pods", conflicts_with_all = ["agents", "every"])]
    dry_run: bool,
}

/// The most agents of a load.
const MOST_AGENTS: u32 = 1_000;

/// Sends a load from this many agents in pods and prints its result; with `--dry-run`, prints their manifests alone.
pub(super) fn sent(
    sending: &Sending<'_>,
    arguments: &LoadArguments,
    number: u32,
    outputs: Outputs<'_>,
) -> Result<Code, Failure> {
    let least = arguments.least_agents.unwrap_or(number);
    if least > number {
        return Err(Failure::bad_input(format!(
            "`--least-agents {least}` is more than the {number} of `--agent-pods`"
        )));
    }
    SentLoad::from_sending(sending)?.check_agents(number as usize)?;
    let job = job(sending, &arguments.of_pods, number)?;
    if arguments.of_pods.dry_run {
        print::result(&job.shown())?;
        return Ok(Code::Success);
    }
    send(sending, arguments.of_pods.cluster.kube_context.as_deref(), job, least as usize, outputs)
}

/// The Job of the agents of a load.
fn job(sending: &Sending<'_>, pods: &AgentPodArguments, agents: u32) -> Result<AgentJob, Failure> {
    let (Some(namespace), Some(image)) = (&pods.namespace, &pods.agent_image) else {
        return Err(Failure::bad_input("`--agent-pods` needs --namespace and --agent-image"));
    };
    let needs = PodNeeds::of_load(sending, agents, ARRIVAL)?;
    Ok(AgentJob {
        name: new_name(),
        namespace: namespace.clone(),
        agents,
        image: image.clone(),
        pull: pods.agent_pull,
        port: PORT,
        targets: needs.targets,
        deadline: needs.deadline,
        cpu_millis: pods.agent_cpus.unwrap_or(needs.cpu_millis),
        memory_mib: pods.agent_memory.unwrap_or(needs.memory_mib),
        avoided: Vec::new(),
        patch: PodPatch::default(),
    })
}

/// Makes the Job, sends the load, and removes the Job.
#[cfg(feature = "cluster")]
fn send(
    sending: &Sending<'_>,
    context: Option<&str>,
    job: AgentJob,
    least: usize,
    outputs: Outputs<'_>,
) -> Result<Code, Failure> {
    use hoptax_agents::controller::{LoadRequest, RemoteAgent};
    use hoptax_cluster::{PendingAgent, start_agents};
    use hoptax_result::Agents;
    use hoptax_session::token::Token;
    use hoptax_session::{Update, machine};

    use crate::{interrupt, progress};

    // Each agent needs a connection of this process.
    machine::allow_connections(job.agents as usize)?;
    let interrupt = interrupt::listen()?;
    let token = Token::generated();
    let of = format!("{} agents are pods of job `{}/{}`", job.agents, job.namespace, job.name);
    let mut running = start_agents(job, context, token.secret()).map_err(of_cluster)?;
    print::note(&format!("{of}, which is removed at the end"));
    let progress = progress::of_agents();
    let called = |PendingAgent { name, stream }| RemoteAgent::behind(name, stream);
    let request = LoadRequest {
        sending,
        agents: running.pending_agents().into_iter().map(called).collect(),
        news: running.take_news(),
        advice: "read the messages about its pod above",
        token: Some(token),
        least,
        is_watched: progress.is_shown(),
    };
    let add = |agents: &mut Agents| {
        running.agents().into_iter().zip(&mut agents.all).for_each(|(pod, agent)| pod.add_to(agent));
    };
    let sent = super::agents::gather(request, progress, &interrupt, outputs, add);
    if let Err(refused) = running.end() {
        let text = format!(
            "{of}, which was not removed: its agents end at its deadline, and the cluster removes it then; {refused}"
        );
        print::say(Update::Problem(&text));
    }
    sent
}

#[cfg(not(feature = "cluster"))]
fn send(_: &Sending<'_>, _: Option<&str>, _: AgentJob, _: usize, _: Outputs<'_>) -> Result<Code, Failure> {
    Err(of_cluster(hoptax_cluster::Refused::NotBuiltForAgents { option: "--agent-pods" }))
}
