//! The origin that a user runs in a lab, with what its files hold.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use hoptax_origin::{
    CallingOptions, CallingOrigin, Defaults, Origin, OriginError, OriginOptions, OriginReport, OriginTls,
    Secrets, read_small_file,
};
use hoptax_result::counted;
use hoptax_subject::origin::LISTENING;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::tls::{Alpn, ServerTls};

/// What an origin of a lab does.
#[derive(Clone, Debug)]
pub struct LabOriginSettings {
    /// Listen address; port 0 selects a free port.
    pub listen: SocketAddr,
    /// Number of worker threads.
    pub workers: u32,
    /// Files of delays.
    pub tables: Vec<PathBuf>,
    /// The default response, in query syntax.
    pub default: String,
    /// A file with the default response, instead.
    pub default_file: Option<PathBuf>,
    /// Seed of all random choices.
    pub seed: u64,
    /// TLS; none for plain connections only.
    pub tls: Option<ServerTls>,
    /// Request size for plain TCP, bytes; none for all other protocols.
    pub tcp_request_bytes: Option<u64>,
    /// The folder of certificates that proxies may fetch.
    pub secrets: Option<PathBuf>,
    /// A JSON file of the calls that are made for each request. The origin then has no TLS, no delays from tables and no secrets.
    pub calls: Option<PathBuf>,
}

/// An origin that listens, and does not serve yet.
#[derive(Debug)]
pub struct LabOrigin(Kind);

#[derive(Debug)]
enum Kind {
    Responding {
        origin: Box<Origin>,
        /// True if it accepts TLS.
        has_tls: bool,
        /// True if it speaks plain TCP only.
        is_tcp: bool,
        /// The file of its default response.
        default_file: Option<PathBuf>,
    },
    /// One that makes calls for each request.
    Calling(CallingOrigin),
}

impl LabOrigin {
    /// Reads the files, and starts to listen.
    ///
    /// # Errors
    /// When a file cannot be read or is invalid, or an address cannot be bound.
    pub fn bind(settings: &LabOriginSettings) -> Result<Self, Failure> {
        if let Some(file) = &settings.calls {
            return calling(settings, file).map(|origin| Self(Kind::Calling(origin)));
        }
        let options = options(settings)?;
        let origin = Origin::bind(&options).map_err(|error| match error {
            OriginError::ListenHttp3 { .. } | OriginError::NoQuic => {
                Failure::environment(format!("{error}, or serve without HTTP/3: --alpn h2,http/1.1"))
            }
            other => other.into(),
        })?;
        let default_file = settings.default_file.clone();
        let (has_tls, is_tcp) = (options.tls.is_some(), options.tcp_request_bytes.is_some());
        Ok(Self(Kind::Responding { origin: Box::new(origin), has_tls, is_tcp, default_file }))
    }

    /// Where it listens, as a line that other processes of hoptax read.
    pub fn line(&self) -> String {
        let (scheme, address) = match &self.0 {
            Kind::Responding { origin, is_tcp: true, .. } => ("tcp", origin.local_address()),
            Kind::Responding { origin, .. } => ("http", origin.local_address()),
            Kind::Calling(origin) => ("http", origin.local_address()),
        };
        format!("{LISTENING}{scheme}://{address}")
    }

    /// How it accepts TLS; none if it does not.
    pub fn note(&self) -> Option<String> {
        let Kind::Responding { origin, has_tls: true, .. } = &self.0 else { return None };
        let http3 = if origin.serves_http3() {
            format!("; HTTP/3 on UDP {}", origin.local_address())
        } else {
            String::new()
        };
        Some(format!("TLS is accepted on the same port{http3}"))
    }

    /// A function that reads the file of the default response again while the origin runs; none without a file. A file that is invalid then
    /// changes nothing, and is the error.
    pub fn reading_again(&self) -> Option<impl Fn() -> Result<(), String> + Send + use<>> {
        let Kind::Responding { origin, default_file: Some(file), .. } = &self.0 else { return None };
        let (defaults, file) = (origin.defaults(), file.clone());
        Some(move || defaults.replace_by(&file))
    }

    /// Serves until a signal, and returns the counts of requests and connections in words.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn run(self, interrupt: &Interrupt) -> Result<String, Failure> {
        let OriginReport { connections, answered, broken } = match self.0 {
            Kind::Responding { origin, .. } => origin.run(interrupt.flag())?,
            Kind::Calling(origin) => origin.run(interrupt.flag())?,
        };
        let [connections, broken] = [connections, broken].map(|number| counted(number, "connection"));
        Ok(format!("{} answered on {connections}; {broken} aborted", counted(answered, "request")))
    }
}

/// The options of an origin, with what the files hold.
fn options(settings: &LabOriginSettings) -> Result<OriginOptions, Failure> {
    let tls = |tls: &ServerTls| -> Result<OriginTls, Failure> {
        Ok(OriginTls { config: tls.config()?, http3: tls.protocols.contains(&Alpn::H3) })
    };
    Ok(OriginOptions {
        listen: settings.listen,
        workers: settings.workers as usize,
        tls: settings.tls.as_ref().map(tls).transpose()?,
        default_query: match &settings.default_file {
            Some(file) => Defaults::read(file).map_err(Failure::bad_input)?,
            None => settings.default.clone(),
        },
        tables: settings.tables.clone(),
        seed: settings.seed,
        tcp_request_bytes: settings.tcp_request_bytes,
        secrets: match &settings.secrets {
            Some(folder) => Secrets::load(folder).map_err(Failure::bad_input)?,
            None => Secrets::default(),
        },
    })
}

/// An origin that makes the calls in `file` for each request.
fn calling(settings: &LabOriginSettings, file: &Path) -> Result<CallingOrigin, Failure> {
    let refused = |what: &str, error: &dyn Display| {
        Failure::bad_input(format!("the file of calls `{}` {what}: {error}", file.display()))
    };
    let text = read_small_file(file).map_err(|error| refused("cannot be read", &error))?;
    let calls =
        serde_json::from_str(&text).map_err(|error| refused("does not list calls as JSON", &error))?;
    let options = CallingOptions {
        listen: settings.listen,
        default_query: settings.default.clone(),
        calls,
        seed: settings.seed,
    };
    Ok(CallingOrigin::bind(&options)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::Ipv4Addr;

    use super::*;

    fn settings() -> LabOriginSettings {
        LabOriginSettings {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            workers: 1,
            tables: Vec::new(),
            default: String::new(),
            default_file: None,
            seed: 1,
            tls: None,
            tcp_request_bytes: None,
            secrets: None,
            calls: None,
        }
    }

    #[test]
    fn an_origin_without_tls_has_no_note_and_one_without_a_file_reads_nothing_again() {
        let origin = LabOrigin::bind(&settings()).unwrap();
        assert!(origin.line().starts_with("listening on http://127.0.0.1:"), "{}", origin.line());
        let tcp = LabOriginSettings { tcp_request_bytes: Some(10), ..settings() };
        let line = LabOrigin::bind(&tcp).unwrap().line();
        assert!(line.starts_with("listening on tcp://127.0.0.1:"), "{line}");
        assert_eq!(origin.note(), None);
        assert!(origin.reading_again().is_none());
    }

    #[test]
    fn a_file_of_defaults_is_read_again_and_an_invalid_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("default");
        fs::write(&file, "status=203\n").unwrap();
        let origin =
            LabOrigin::bind(&LabOriginSettings { default_file: Some(file.clone()), ..settings() }).unwrap();
        let read_again = origin.reading_again().unwrap();
        assert_eq!(read_again(), Ok(()));
        fs::write(&file, "delay=soon").unwrap();
        assert!(read_again().unwrap_err().starts_with("the default response is unchanged: "));
        let calls = Some(folder.path().join("none.json"));
        let refused = LabOrigin::bind(&LabOriginSettings { calls, ..settings() }).unwrap_err().to_string();
        assert!(refused.starts_with("the file of calls `"), "{refused}");
    }
}
