//! The results of `hoptax runs` and `hoptax runs history`: runs of the store, and a number over them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, Report, Verdict};

/// The current format of the file of a run folder that holds everything that the rounds of a study depend on besides its file.
pub const RUN_FOLDER_FORMAT: &str = "hoptax.run/3";

/// A run in the store, without its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoredRun {
    /// Its number in the store.
    pub run: i64,
    /// The kind of its result: `study`, `load`, `gate` and so on.
    pub kind: String,
    /// Its subject: the name of a study, or the URL of a load.
    pub name: String,
    /// Its begin, RFC 3339 in UTC. A result of files alone has the time at which it was stored.
    pub started_at: String,
    /// Complete rounds of a study; 0 for any other kind.
    pub rounds: u32,
    /// The verdict; null while there is no result, because the study runs or was killed.
    pub verdict: Option<Verdict>,
    /// Version of the proxy; null without one.
    pub proxy_version: Option<String>,
    /// The machine: processor model, number of processors, and memory.
    pub machine: String,
    /// The folder or file that it was stored from.
    pub source: String,
    /// Its labels, in alphabetical order.
    pub labels: Vec<String>,
}

/// The output of `hoptax runs list --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunsBody {
    /// The runs, the latest first.
    pub runs: Vec<StoredRun>,
}

/// Its report.
pub type RunsResult = Report<RunsBody>;

impl Body for RunsBody {
    const FORMAT: &'static str = "hoptax.runs/2";
    type Environment = ();

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        "runs".to_owned()
    }
}

/// The output of `hoptax runs history --json`: a number over all runs of the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryBody {
    /// The number, by its name in `numbers.csv`.
    pub number: String,
    /// Probability of a change that is found where there is none, for each series.
    pub significance: f64,
    /// The series: those with changes first.
    pub series: Vec<HistorySeries>,
}

/// Its report.
pub type HistoryResult = Report<HistoryBody>;

impl Body for HistoryBody {
    const FORMAT: &'static str = "hoptax.history/2";
    type Environment = ();

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.number.clone()
    }
}

/// A number of one arm under one load of one study on one machine, run by run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistorySeries {
    /// The name of the study, or the URL of a load.
    pub name: String,
    /// The machine.
    pub machine: String,
    /// The arm; null for a load.
    pub arm: Option<String>,
    /// The arm that the number is a difference from; null for a level.
    pub compared_with: Option<String>,
    /// The load of a study by its name, null if the number belongs to none, or to the usual one. A load on a URL by its shape, null of runs
    /// that earlier versions stored.
    pub load: Option<String>,
    /// The proxy that the number describes; null for all together.
    pub proxy: Option<String>,
    /// For a number that is computed from quiet slices, the limit by which the runs classify them: the largest share of a slice that
    /// generator and proxies each waited for a processor, 0 to 1. Null for other numbers, and if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_wait_share: Option<f64>,
    /// The number in each run that states it, in chronological order.
    pub points: Vec<HistoryPoint>,
    /// Lasting changes of its level, in chronological order.
    pub changes: Vec<HistoryChange>,
}

/// The number in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryPoint {
    /// The run.
    pub run: i64,
    /// Its begin, RFC 3339 in UTC.
    pub started_at: String,
    /// Version of the proxy; null without one.
    pub proxy_version: Option<String>,
    /// The estimate.
    pub estimate: f64,
    /// The lower end of its interval; null without one.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// A change of the level of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryChange {
    /// The first run at the new level.
    pub run: i64,
    /// The index of that run in `points`.
    pub point: usize,
    /// The median of the runs since the change before it, or since the first.
    pub before: f64,
    /// The median of the runs until the change after it, or until the latest.
    pub after: f64,
    /// The probability of a split as clear as this in a series without a change, by a permutation test.
    pub chance: f64,
}
