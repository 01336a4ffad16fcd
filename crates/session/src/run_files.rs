//! The names of the files in a run folder.

/// The result, which is written when the study ends.
pub(crate) const RESULT: &str = "result.json";
/// The study file.
pub(crate) const STUDY: &str = "study.yaml";
/// Everything else that the rounds of a study depend on.
pub(crate) const MANIFEST: &str = "run.json";
/// The folder with one file for each complete round.
pub(crate) const ROUNDS: &str = "rounds";
/// The folder with the dump of a pod that a bill is of, which may hold secrets.
pub(crate) const POD_DUMP: &str = "pod-dump";

/// The file of a complete round, counted from 0.
pub(crate) fn round_file(round: u32) -> String {
    format!("{ROUNDS}/{round}.json")
}
