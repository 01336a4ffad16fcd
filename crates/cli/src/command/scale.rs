//! `hoptax predict scale`: fits how the rate of a study's arms grows with a size.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use hoptax_report::documents;
use hoptax_result::ScaleDimension;
use hoptax_session::results::read_run;

use crate::arguments::shared::JsonArguments;
use crate::arguments::values;
use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Fits the Universal Scalability Law to the rates of closed loops in a study that was measured
before:
  X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))
lambda is the rate at size 1, sigma the contention, kappa the coherency. A fit needs 4 sizes and
5 rounds. Points whose rate the generator or too few connections limited are left out and named.

Examples:
  hoptax predict scale runs/front-proxy-clones-1 --over clones
  hoptax predict scale runs/front-proxy-clones-1/result.json --over clones --json scale.json

docs/guide/scale.md describes the method and its limits.

Exit codes:
  0    at least one series of the study has a fit
  2    invalid input: not a study result, or too few sizes
  4    the study is void, or too few points or rounds are left for a fit")]
pub(crate) struct ScaleArguments {
    /// Run folder of a study, or its `result.json`
    #[arg(value_name = "RESULT", value_hint = ValueHint::AnyPath)]
    result: PathBuf,
    /// The size that the rate grows with
    ///
    /// `connections` are those of a closed loop. `workers` are the threads of the first proxy, and of all others that have as many,
    /// `processors` those that these may use. `clones` are those of the last proxy. `request_bytes` and `response_bytes` are sizes of
    /// bodies, where a study states them.
    #[arg(long, value_name = "SIZE", value_parser = values::one_of(ScaleDimension::ALL.map(|size| (size.as_str(), size))))]
    over: ScaleDimension,
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &ScaleArguments) -> Result<Code, Failure> {
    let study = read_run(&arguments.result)?;
    let result = hoptax_predict::scale::scale(&study, arguments.over).map_err(Failure::bad_input)?;
    print::document_or_json(arguments.json.file(), &result, || {
        documents::scale_of(&result, &arguments.result.display().to_string())
    })?;
    let has_fit = result.series.iter().any(|series| series.fit.is_some());
    Ok(if has_fit { Code::from(result.verdict) } else { Code::Void })
}
