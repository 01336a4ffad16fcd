//! `hoptax origin`: runs the test server.

use hoptax_origin::{Origin, OriginError, OriginOptions};
use hoptax_subject::origin::LISTENING;

use crate::arguments::OriginArguments;
use crate::exit::{Code, Failure};
use crate::interrupt::Interrupt;
use crate::{print, security};

/// Runs the command.
pub(crate) fn run(arguments: &OriginArguments) -> Result<Code, Failure> {
    let interrupt = Interrupt::listen()?;
    let tls = match (&arguments.cert, &arguments.key) {
        (Some(cert), Some(key)) => Some(security::server(cert, key, arguments.client_ca.as_deref())?),
        _ => None,
    };
    let options = OriginOptions {
        listen: arguments.listen,
        workers: arguments.workers as usize,
        default_query: arguments.default.clone(),
        tables: arguments.tables.clone(),
        seed: arguments.seed,
        tls,
        tcp_request_bytes: arguments.tcp_request_size,
    };
    let origin = Origin::bind(&options).map_err(|error| match error {
        OriginError::Table(_) | OriginError::Default(_) => Failure::bad_input(error),
        _ => Failure::environment(error),
    })?;
    print::result(&format!("{LISTENING}{}", origin.local_address()))?;
    let report = origin.run(interrupt.flag()).map_err(Failure::environment)?;
    print::note(&format!(
        "{} requests answered on {} connections; {} connections aborted",
        report.answered, report.connections, report.broken
    ));
    Ok(Code::Success)
}
