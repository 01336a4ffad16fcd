//! `hoptax predict prices`: prints the cost of functions, from a price list or predicted for this machine.

use hoptax_predict::prices::listed;
use hoptax_report::documents;
use hoptax_report::render::markdown;
use hoptax_result::StudyResult;
use hoptax_session::prices::{measure_anchors, prices_on_this_machine, published};
use hoptax_session::results::read_run;
use hoptax_session::{EnvoyChoice, Options};

use crate::arguments::PricesArguments;
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

/// Runs the command.
pub(crate) fn run(arguments: &PricesArguments) -> Result<Code, Failure> {
    let list = arguments.list.as_deref().map_or_else(|| published().cloned(), read_run)?;
    let prices =
        if arguments.here { prices_on_this_machine(&list, &anchors(arguments)?)? } else { listed(&list) };
    let document = documents::prices(&prices);
    if arguments.markdown {
        print::result(&markdown::text(&document))?;
        print::write_json(arguments.json.file(), &prices)?;
    } else {
        print::document_or_json(arguments.json.file(), &prices, || document)?;
    }
    Ok(Code::Success)
}

/// The costs of the anchor functions on this machine: of an earlier measurement that the user names, or measured now.
fn anchors(arguments: &PricesArguments) -> Result<StudyResult, Failure> {
    if let Some(path) = &arguments.measured {
        return read_run(path);
    }
    let options = Options {
        envoy: EnvoyChoice { named: arguments.envoy.as_deref(), is_offline: arguments.offline.is_set },
        thresholds: &arguments.thresholds,
        ..Options::default()
    };
    let interrupt = interrupt::listen()?;
    progress::shown(|say| measure_anchors(&options, &interrupt, say))
}
