//! `hoptax trust crosscheck`: compares the reports of load generators with the server's record.

use hoptax_report::documents;
use hoptax_session::crosscheck::{CrosscheckSettings, crosscheck};

use crate::arguments::CrosscheckArguments;
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

/// Runs the command.
pub(crate) fn run(arguments: &CrosscheckArguments) -> Result<Code, Failure> {
    let interrupt = interrupt::listen()?;
    let settings = CrosscheckSettings {
        url: arguments.url.as_deref(),
        scenarios: &arguments.scenarios,
        tools: &arguments.tools,
        tools_folder: arguments.tools_dir.as_deref(),
        rate: (!arguments.closed).then_some(arguments.rate),
        connections: arguments.connections,
        seconds: arguments.seconds,
        rounds: arguments.rounds,
        never_halt: arguments.awake.never_halt,
    };
    let result = progress::stepwise(|on_step, say| crosscheck(&settings, on_step, &interrupt, say))?;
    print::document_or_json(arguments.json.file(), &result, || documents::crosscheck(&result))?;
    Ok(Code::Success)
}
