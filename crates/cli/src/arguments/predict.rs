//! Arguments of `hoptax predict`.

use clap::Subcommand;

use super::prices::PricesArguments;
use super::scale::ScaleArguments;
use super::size::SizeArguments;

#[derive(Debug, Subcommand)]
pub(crate) enum PredictCommand {
    /// Print the cost of functions, from the price list or predicted for this machine
    Prices(PricesArguments),
    /// Predict what the proxies of a service graph use, from results of studies
    Size(SizeArguments),
    /// Fit how the rate grows with connections, workers or clones, in the result of a study
    Scale(ScaleArguments),
}
