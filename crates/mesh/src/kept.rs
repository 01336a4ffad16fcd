//! A measurement whose result is kept in a run folder.

use std::path::{Path, PathBuf};

use hoptax_checks::thresholds::Limits;
use hoptax_result::StudyResult;
use hoptax_session::{Failure, Interrupt, Say};

use crate::plan::Plan;

/// Settings of a measurement: its plan, its cluster and its folder.
#[derive(Clone, Copy, Debug)]
pub struct MeshSettings<'a> {
    /// The plan that is measured.
    pub plan: &'a Plan,
    /// The context of the kubeconfig; none for the current one.
    pub context: Option<&'a str>,
    /// The limits of checks.
    pub limits: &'a Limits,
    /// The run folder; none for a new one.
    pub folder: Option<&'a Path>,
    /// True to replace the study that the run folder holds.
    pub force: bool,
    /// The store that gets the result, also of a measurement that ends early; none to store nothing.
    pub store: Option<&'a Path>,
}

/// A measurement, which may have ended early.
#[derive(Debug)]
pub struct MeasuredMesh {
    /// Its result.
    pub result: StudyResult,
    /// Its run folder.
    pub folder: PathBuf,
    /// True if it did not end early, and all of its files were written.
    pub is_complete: bool,
}

/// Measures a plan in a cluster, and writes the result into its run folder.
///
/// # Errors
/// When the run folder cannot be created or holds another result, the store cannot be opened, the cluster refuses a request, pods do not
/// start, a mesh injects no proxy, an arm does not answer, or when it is interrupted before the end of its first round. Nothing remains in
/// the cluster then.
#[cfg(feature = "client")]
pub fn measure(
    settings: &MeshSettings<'_>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<MeasuredMesh, Failure> {
    use std::fs;

    use hoptax_session::{Update, run_folder, store, write_outputs};

    let MeshSettings { plan, context, limits, folder, force, store: path } = *settings;
    if let Some(path) = path {
        // An unusable store is reported before minutes of measuring.
        store::with_existing_or_new(path, |_| Ok(()), say)?;
    }
    let folder = run_folder::for_pods(folder, crate::evidence::NAME, force)?;
    let measured = crate::run::measure(plan, context, limits, interrupt, say);
    let result = measured.inspect_err(|_| {
        // The folder is still empty, unless it existed before.
        let _ = fs::remove_dir(&folder);
    })?;
    let problems = write_outputs(&folder, &result);
    for problem in &problems {
        say(Update::Problem(problem));
    }
    if let Some(path) = path {
        store::put_measured(path, &folder, say);
    }
    let is_complete = result.plan.ended_early.is_none() && problems.is_empty();
    Ok(MeasuredMesh { result, folder, is_complete })
}

/// Measures a plan in a cluster.
///
/// # Errors
/// Always: this build has no Kubernetes client.
#[cfg(not(feature = "client"))]
pub fn measure(_: &MeshSettings<'_>, _: &Interrupt, _: Say<'_>) -> Result<MeasuredMesh, Failure> {
    Err(Failure::environment(hoptax_cluster::Refused::NotBuiltForAgents { option: "hoptax mesh" }))
}
