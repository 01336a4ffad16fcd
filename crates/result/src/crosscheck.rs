//! Comparison of load generators under the same load: the report of each, and the server's record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, Environment, Finding, Measured, Report, Severity, counted};

/// The result of a crosscheck.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrosscheckBody {
    /// Requests per second requested of each tool; null for full speed.
    pub rate: Option<f64>,
    /// Connections requested of each tool.
    pub connections: u32,
    /// Length of each run, seconds.
    pub seconds: u32,
    /// Runs of each tool in each scenario, alternating.
    pub rounds: u32,
    /// True if the processors were kept from halting, by a task on each that spins and yields to all others.
    #[serde(default)]
    pub never_halted: bool,
    /// The scenarios.
    pub scenarios: Vec<Scenario>,
    /// Tools that were left out, with the reason.
    pub left_out: Vec<LeftOut>,
}

/// Its report.
pub type CrosscheckResult = Report<CrosscheckBody>;

impl Body for CrosscheckBody {
    const FORMAT: &'static str = "hoptax.crosscheck/2";
    type Environment = Environment;

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.scenarios.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// None if tools were compared, no run of them failed, and none withheld what is compared.
    fn own_findings(&self) -> Vec<Finding> {
        let warning = |id: &str, count: usize, message: String, advice: &str| {
            Finding::new(id, Severity::Warn, Measured::count(count as f64, 0.0, ""), message, advice)
        };
        let nothing = self.compares_nothing().then(|| {
            let message = "no two tools ran against the same server".to_owned();
            warning("compares-nothing", 0, message, "install another load generator")
        });
        let of_tool = |(scenario, tool): (&Scenario, &ToolRuns)| {
            let (name, server) = (&tool.tool, &scenario.name);
            let failed = tool.failed.first().map(|why| {
                let (count, advice) = (tool.failed.len(), "its other runs are compared, if there are any");
                let runs = counted(count as u64, "run");
                let message = format!("{runs} of `{name}` failed on `{server}`: {why}");
                warning("failed-runs", count, message, advice)
            });
            let withheld = (!tool.withheld_by.is_empty()).then(|| {
                let checks = tool.withheld_by.join(", ");
                let message = format!("`{name}` withheld p50 or p99 of a run on `{server}`: {checks}");
                let advice = "stop other work: numbers that are withheld are compared with nothing";
                warning("withheld-numbers", 0, message, advice)
            });
            failed.into_iter().chain(withheld)
        };
        let tools = self.scenarios.iter().flat_map(|one| one.tools.iter().map(move |tool| (one, tool)));
        nothing.into_iter().chain(tools.flat_map(of_tool)).collect()
    }
}

impl CrosscheckBody {
    /// True if no scenario has two tools.
    pub fn compares_nothing(&self) -> bool {
        self.scenarios.iter().all(|scenario| scenario.tools.len() < 2)
    }
}

/// One server, and the results of every tool against it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name, or the URL.
    pub name: String,
    /// A one-line description.
    pub summary: String,
    /// The tools.
    pub tools: Vec<ToolRuns>,
}

/// A tool that was left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// The tool.
    pub tool: String,
    /// The reason.
    pub reason: String,
}

/// The runs of one tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolRuns {
    /// The tool.
    pub tool: String,
    /// Its version, if it reports one.
    pub version: Option<String>,
    /// Its runs.
    pub runs: Vec<ToolRun>,
    /// Runs that failed, with the tool's last message.
    pub failed: Vec<String>,
    /// Checks of the tool that left p50 or p99 of a run without a value, each once; only of hoptax.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld_by: Vec<String>,
}

/// One run of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolRun {
    /// The numbers that the tool reports.
    pub reported: ToolNumbers,
    /// The numbers that the server saw: from the arrival of a request to its response.
    pub seen: ToolNumbers,
    /// The response times of users arriving at that rate, computed from the server's own schedule; null without a rate
    /// or a schedule.
    pub known: Option<ToolNumbers>,
    /// The gaps between arrivals at the server.
    pub gaps: Gaps,
    /// Connections that carried a request.
    pub connections: u64,
    /// CPU time of the tool per request that the server saw, us.
    pub cpu_us_per_request: f64,
}

/// Rate and quantiles; null if not reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolNumbers {
    /// Requests per second.
    pub rate: Option<f64>,
    /// Median, us.
    pub p50_us: Option<f64>,
    /// 90th percentile, us.
    pub p90_us: Option<f64>,
    /// 99th percentile, us.
    pub p99_us: Option<f64>,
}

/// Gaps between arrivals at the server, over all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gaps {
    /// Mean, us.
    pub mean_us: f64,
    /// Median, us.
    pub p50_us: f64,
    /// 99th percentile, us.
    pub p99_us: f64,
    /// Share of gaps below a tenth of the mean, 0 to 1: arrivals in bursts.
    pub burst_share: f64,
    /// 99th percentile of the deviation of a gap from the planned, even gap, us; null without a rate.
    pub error_p99_us: Option<f64>,
    /// Coefficient of variation: 0 for even arrivals, 1 for Poisson arrivals.
    pub variation: f64,
}
