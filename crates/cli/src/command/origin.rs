//! `hoptax origin`: runs the test server.

use hoptax_origin::{Origin, OriginError, OriginOptions, OriginTls};
use hoptax_subject::origin::LISTENING;

use crate::arguments::{Alpn, OriginArguments};
use crate::exit::{Code, Failure};
use crate::interrupt::Interrupt;
use crate::{print, security};

/// Runs the command.
pub(crate) fn run(arguments: &OriginArguments) -> Result<Code, Failure> {
    let interrupt = Interrupt::listen()?;
    let tls = match (&arguments.cert, &arguments.key) {
        (Some(cert), Some(key)) => {
            let config = security::server(cert, key, arguments.client_ca.as_deref(), &arguments.alpn)?;
            Some(OriginTls { config, http3: arguments.alpn.contains(&Alpn::H3) })
        }
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
        OriginError::ListenHttp3 { .. } | OriginError::NoQuic => {
            Failure::environment(format!("{error}, or serve without HTTP/3: --alpn h2,http/1.1"))
        }
        _ => Failure::environment(error),
    })?;
    let address = origin.local_address();
    print::result(&format!("{LISTENING}{address}"))?;
    if options.tls.is_some() {
        let http3 = if origin.serves_http3() { format!("; HTTP/3 on UDP {address}") } else { String::new() };
        print::note(&format!("TLS is accepted on the same port{http3}"));
    }
    let report = origin.run(interrupt.flag()).map_err(Failure::environment)?;
    print::note(&format!(
        "{} requests answered on {} connections; {} connections aborted",
        report.answered, report.connections, report.broken
    ));
    Ok(Code::Success)
}
