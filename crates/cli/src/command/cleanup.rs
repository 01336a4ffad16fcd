//! `hoptax runs cleanup`: removes files that killed studies left in their folders, and jobs that killed loads left in a cluster.

use std::path::Path;

use hoptax_cluster::Refused;
use hoptax_session::cleanup::clean_up;

use crate::arguments::CleanupArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &CleanupArguments) -> Result<Code, Failure> {
    if let Some(context) = &arguments.kube_context {
        return of_cluster(context, arguments);
    }
    let mut on_removed = |path: &Path| print::result(&format!("removed {}", path.display()));
    clean_up(&arguments.folder, &mut on_removed, &print::say)?;
    Ok(Code::Success)
}

#[cfg(feature = "cluster")]
fn of_cluster(context: &str, arguments: &CleanupArguments) -> Result<Code, Failure> {
    let found = hoptax_cluster::remove_left(Some(context), arguments.namespace.as_ref()).map_err(failure)?;
    for job in &found.removed {
        print::result(&format!("removed job {job}"))?;
    }
    for job in &found.running {
        print::note(&format!(
            "job `{job}` was left: its agents run, and end with their load or at its deadline"
        ));
    }
    Ok(Code::Success)
}

#[cfg(not(feature = "cluster"))]
fn of_cluster(_: &str, _: &CleanupArguments) -> Result<Code, Failure> {
    Err(failure(Refused::NotBuiltForAgents { option: "--kube-context" }))
}

fn failure(refused: Refused) -> Failure {
    if refused.is_of_input() { Failure::bad_input(refused) } else { Failure::environment(refused) }
}
