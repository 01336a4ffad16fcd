//! `hoptax runs cleanup`: removes files that killed studies left in their folders, and objects that killed loads and mesh measurements left
//! in a cluster.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use hoptax_cluster::Namespace;
use hoptax_session::cleanup::clean_up;

use crate::arguments::values;
use crate::exit::{Code, Failure, of_cluster};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax runs cleanup                 all studies in the folder `runs`
  hoptax runs cleanup results/quick   one study
  hoptax runs cleanup --kube-context prod --namespace perf    jobs of agents in a cluster

Only files that functions wrote, such as access logs, are removed. Running studies are skipped. In a
cluster, only jobs of `hoptax load --agent-pods` are removed and, without --namespace, namespaces of
`hoptax mesh`; those in which agents run are kept.")]
pub(crate) struct CleanupArguments {
    /// Run folder, or the folder that contains run folders
    #[arg(value_name = "DIR", default_value = "runs", conflicts_with = "kube_context", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// Instead, remove what killed loads and measurements of a mesh left in the cluster of this context of the kubeconfig
    #[arg(long, value_name = "NAME", value_parser = values::name_in_cluster)]
    kube_context: Option<String>,
    /// Only in this namespace of the cluster [default: all that you may list]
    #[arg(long, value_name = "NAME", requires = "kube_context", conflicts_with = "folder")]
    namespace: Option<Namespace>,
}

/// Runs the command.
pub(crate) fn run(arguments: &CleanupArguments) -> Result<Code, Failure> {
    if let Some(context) = &arguments.kube_context {
        return jobs(context, arguments.namespace.as_ref());
    }
    let mut on_removed = |path: &Path| print::result(&format!("removed {}", path.display()));
    clean_up(&arguments.folder, &mut on_removed, &print::say)?;
    Ok(Code::Success)
}

#[cfg(feature = "cluster")]
fn jobs(context: &str, namespace: Option<&Namespace>) -> Result<Code, Failure> {
    let found = hoptax_cluster::remove_left(Some(context), namespace).map_err(of_cluster)?;
    for job in &found.removed {
        print::result(&format!("removed job {job}"))?;
    }
    for job in &found.in_use {
        print::note(&format!(
            "job `{job}` was kept: its agents run or start, and end with their load or at its deadline"
        ));
    }
    if namespace.is_none() {
        let found = hoptax_cluster::remove_left_namespaces(Some(context)).map_err(of_cluster)?;
        for name in &found.removed {
            print::result(&format!("removed namespace {name}"))?;
        }
        for name in &found.in_use {
            print::note(&format!("namespace `{name}` was kept: it is new, or agents run in it"));
        }
    }
    Ok(Code::Success)
}

#[cfg(not(feature = "cluster"))]
fn jobs(_: &str, _: Option<&Namespace>) -> Result<Code, Failure> {
    Err(of_cluster(hoptax_cluster::Refused::NotBuiltForAgents { option: "--kube-context" }))
}

#[cfg(test)]
mod tests {
    use crate::command::parsed;

    #[test]
    fn a_namespace_is_one_of_a_cluster_and_not_of_a_folder() {
        let is_valid = |options: &str| parsed(format!("hoptax runs cleanup {options}").split(' ')).is_ok();
        assert!(is_valid("--kube-context prod --namespace perf") && is_valid("results/quick"));
        assert!(!is_valid("--namespace perf") && !is_valid("results/quick --namespace perf"));
    }
}
