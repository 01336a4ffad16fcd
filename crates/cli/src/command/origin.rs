//! `hoptax lab origin`: runs the test server.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use hoptax_origin::{
    CallingOptions, CallingOrigin, Calls, Defaults, Origin, OriginError, OriginOptions, OriginReport,
    OriginTls, Secrets,
};
use hoptax_result::counted;
use hoptax_session::Interrupt;
use hoptax_session::tls::{IdentityFiles, ServerTls};
use hoptax_subject::origin::LISTENING;
use signal_hook::consts::SIGHUP;
use signal_hook::iterator::Signals;

use crate::arguments::{Alpn, OriginArguments};
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &OriginArguments) -> Result<Code, Failure> {
    // With a file, SIGHUP makes the origin read it again.
    let interrupt = match &arguments.default_file {
        Some(_) => interrupt::listen_without_hangup()?,
        None => interrupt::listen()?,
    };
    if let Some(file) = &arguments.calls {
        return run_calling(arguments, file, &interrupt);
    }
    let tls = match (&arguments.cert, &arguments.key) {
        (Some(certificate), Some(key)) => {
            let names = arguments.alpn.iter().filter_map(|protocol| protocol.name());
            let tls = ServerTls {
                identity: IdentityFiles { certificate: certificate.clone(), key: key.clone() },
                client_authorities: arguments.client_ca.clone(),
                accepts_anonymous_clients: arguments.accept_anonymous_clients,
                alpn: names.map(<[u8]>::to_vec).collect(),
            };
            Some(OriginTls { config: tls.config()?, http3: arguments.alpn.contains(&Alpn::H3) })
        }
        _ => None,
    };
    let options = OriginOptions {
        listen: arguments.listen,
        workers: arguments.workers as usize,
        default_query: match &arguments.default_file {
            Some(file) => Defaults::read(file).map_err(Failure::bad_input)?,
            None => arguments.default.clone(),
        },
        tables: arguments.tables.clone(),
        seed: arguments.seed,
        tls,
        tcp_request_bytes: arguments.tcp_request_size,
        secrets: match &arguments.secrets {
            Some(folder) => Secrets::load(folder).map_err(Failure::bad_input)?,
            None => Secrets::default(),
        },
    };
    let origin = Origin::bind(&options).map_err(|error| match error {
        OriginError::Table(_) | OriginError::Default(_) => Failure::bad_input(error),
        OriginError::ListenHttp3 { .. } | OriginError::NoQuic => {
            Failure::environment(format!("{error}, or serve without HTTP/3: --alpn h2,http/1.1"))
        }
        _ => Failure::environment(error),
    })?;
    if let Some(file) = &arguments.default_file {
        read_again_at_hangup(file.clone(), origin.defaults())?;
    }
    let address = origin.local_address();
    print::result(&format!("{LISTENING}{address}"))?;
    if options.tls.is_some() {
        let http3 = if origin.serves_http3() { format!("; HTTP/3 on UDP {address}") } else { String::new() };
        print::note(&format!("TLS is accepted on the same port{http3}"));
    }
    note(origin.run(interrupt.flag()).map_err(Failure::environment)?);
    Ok(Code::Success)
}

/// Runs an origin that makes the calls in `file` for each request.
fn run_calling(arguments: &OriginArguments, file: &Path, interrupt: &Interrupt) -> Result<Code, Failure> {
    let refused = |what: &str, error: &dyn Display| {
        Failure::bad_input(format!("the calls `{}` {what}: {error}", file.display()))
    };
    let text = fs::read_to_string(file).map_err(|error| refused("cannot be read", &error))?;
    let calls: Calls = serde_json::from_str(&text).map_err(|error| refused("are none", &error))?;
    let OriginArguments { listen, seed, .. } = *arguments;
    let options = CallingOptions { listen, default_query: arguments.default.clone(), calls, seed };
    let origin = CallingOrigin::bind(&options).map_err(|error| match error {
        OriginError::Default(_) | OriginError::Call(_) => Failure::bad_input(error),
        _ => Failure::environment(error),
    })?;
    print::result(&format!("{LISTENING}{}", origin.local_address()))?;
    note(origin.run(interrupt.flag()).map_err(Failure::environment)?);
    Ok(Code::Success)
}

/// Prints the counts of requests and connections of the origin.
fn note(OriginReport { connections, answered, broken }: OriginReport) {
    let [connections, broken] = [connections, broken].map(|number| counted(number, "connection"));
    print::note(&format!("{} answered on {connections}; {broken} aborted", counted(answered, "request")));
}

/// Replaces the default parameters by those in the file at each SIGHUP. A file that is invalid then is reported.
fn read_again_at_hangup(file: PathBuf, defaults: Arc<Defaults>) -> Result<(), Failure> {
    let failed = |error| Failure::environment(format!("cannot listen for SIGHUP: {error}"));
    let mut signals = Signals::new([SIGHUP]).map_err(failed)?;
    let listen = move || {
        for _ in signals.forever() {
            if let Err(error) = defaults.replace_by(&file) {
                print::error(&error);
            }
        }
    };
    thread::Builder::new().name("hangup".to_owned()).spawn(listen).map(drop).map_err(failed)
}
