//! Arguments of `hoptax predict scale`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use hoptax_result::ScaleDimension;

use super::shared::JsonArguments;

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
    pub(crate) result: PathBuf,
    /// The size that the rate grows with
    #[arg(long, value_name = "SIZE", value_enum)]
    pub(crate) over: Over,
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}

/// What a size counts, by the names of study files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Over {
    /// Connections of a closed loop
    Connections,
    /// Worker threads of the first proxy, and of all others that have as many
    Workers,
    /// Processors that the first proxy may use, and all others that may use as many
    Processors,
    /// Clones of the last proxy
    Clones,
    /// Bytes in the body of each request, where a study states them
    RequestBytes,
    /// Bytes in the body of each response, where a study states them
    ResponseBytes,
}

impl From<Over> for ScaleDimension {
    fn from(over: Over) -> Self {
        match over {
            Over::Connections => Self::Connections,
            Over::Workers => Self::Workers,
            Over::Processors => Self::Processors,
            Over::Clones => Self::Clones,
            Over::RequestBytes => Self::RequestBytes,
            Over::ResponseBytes => Self::ResponseBytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_names_of_results() {
        let named: Vec<(String, &str)> = Over::value_variants()
            .iter()
            .map(|over| {
                let name = over.to_possible_value().unwrap().get_name().to_owned();
                (name, ScaleDimension::from(*over).as_str())
            })
            .collect();
        assert_eq!(named.len(), ScaleDimension::ALL.len());
        assert!(named.iter().all(|(name, of_result)| name == of_result), "{named:?}");
    }
}
