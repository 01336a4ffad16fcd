//! The names of the files in a run folder.

/// The result, which is written at the end of the study.
pub(crate) const RESULT: &str = "result.json";
/// The results in a run folder, by precedence: that of a command that measures a study takes precedence over that of the study.
pub(crate) const RESULTS: [&str; 4] = ["bill.json", "comparison.json", "gate.json", RESULT];
/// The study file.
pub(crate) const STUDY: &str = "study.yaml";
/// Everything else that the rounds of a study depend on.
pub(crate) const MANIFEST: &str = "run.json";
/// The folder with one file for each complete round.
pub(crate) const ROUNDS: &str = "rounds";
/// The folder with the dump of the pod that a bill is about, which may contain secrets.
pub(crate) const POD_DUMP: &str = "pod-dump";

/// The path of a complete round; rounds are counted from 0.
pub(crate) fn round_file(round: u32) -> String {
    format!("{ROUNDS}/{round}.json")
}
