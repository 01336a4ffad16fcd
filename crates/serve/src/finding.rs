//! Searches for the highest rate of a job's server, and stores the result.

use std::time::Duration;

use hoptax_result::FindEnd;
use hoptax_session::awake::NeverHalt;
use hoptax_session::find::{Aim, Found, Objective, Options, Preset, on_server};
use hoptax_session::load::Load;
use hoptax_session::{EnvoyChoice, Failure, Interrupt, Update, thresholds};

use crate::job::Outcome;
use crate::working::{JobHandle, JobReporter};

/// A validated search whose target has been admitted.
pub(crate) struct Search {
    /// Requests, servers and connections; the rate is searched for.
    pub(crate) load: Load,
    /// The objectives that must hold at the rate.
    pub(crate) objectives: Vec<Objective>,
    /// How narrow the interval of the rate should be.
    pub(crate) preset: Preset,
    /// The lowest rate, requests per second; none for a share of the highest.
    pub(crate) min_rate: Option<f64>,
    /// The highest rate, requests per second; none for a multiple of the rate of a closed loop.
    pub(crate) max_rate: Option<f64>,
    /// Time limit; none for that of the preset.
    pub(crate) budget: Option<Duration>,
}

/// Runs the search.
///
/// # Errors
/// When the search cannot begin or its result cannot be stored, and when it is interrupted before it has a result.
pub(crate) fn found(handle: &JobHandle, search: &Search, interrupt: &Interrupt) -> Result<Outcome, Failure> {
    let reporter = JobReporter::new(handle, &[]);
    let say = |update: Update<'_>| reporter.report(update);
    let limits = thresholds::limits(&[])?;
    let options = Options {
        objectives: &search.objectives,
        preset: search.preset,
        min_rate: search.min_rate,
        max_rate: search.max_rate,
        budget: search.budget,
        limits: &limits,
        envoy: EnvoyChoice::default(),
        never_halt: NeverHalt::Auto,
    };
    let Found { result, failure } = on_server(&search.load, Aim::default(), &options, interrupt, &say)?;
    if let Some(failure) = failure {
        handle.note(&failure.to_string());
    }
    let text = serde_json::to_string_pretty(&result).map_err(Failure::environment)? + "\n";
    handle.kept(&text, result.verdict, result.ended_by == FindEnd::Interrupt)
}
