//! `hoptax lab origin`: runs the origin.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use hoptax_session::origin::{LabOrigin, LabOriginSettings};
use hoptax_session::tls::{Alpn, IdentityFiles, ServerTls};
use signal_hook::consts::SIGHUP;

use crate::arguments::shared::{SeedArguments, WorkersArguments};
use crate::arguments::values;
use crate::exit::{Code, Failure};
use crate::{interrupt, print};

#[derive(Debug, Args)]
#[command(after_help = "\
A request selects its response in the query string or in headers `x-hoptax-NAME`:
  delay=5ms         a fixed delay; exp:2ms is exponential, table:FILE is drawn from a --table
  size=4096         body size, bytes
  status=503        status
  error=0.01        probability of status 500
  close=0.5         probability that the connection is closed after the response
  idle=5s           the connection is closed after this time without a further request
  service=exp:2ms   service time of a server at which the requests of a worker queue
  freeze=1s@20s     the server of `service` pauses for 1 s, 20 s after the worker's first request
  crowded=8:50ms    50 ms more delay while 8 or more requests are in flight at the worker
  poll=200ms        the worker busy-polls for this long, so that the next request need not wake it
  header=Name:value a response header; may be repeated

Examples:
  hoptax lab origin --listen 127.0.0.1:9000 --workers 2
  hoptax lab origin --cert lab/server.pem --key lab/server.key
  hoptax lab origin --cert lab/server.pem --key lab/server.key --alpn h2,http/1.1    no HTTP/3
  curl 'http://127.0.0.1:8080/?delay=5ms&size=100'

Each connection may speak HTTP/1.1, HTTP/2, WebSocket (messages are echoed) or gRPC
(/hoptax.echo.v1.Echo: Unary, ClientStream, ServerStream, Bidirectional). With --cert, each may
begin with TLS, and HTTP/3 (also with gRPC) is served on the UDP port of the same number.
Bidirectional answers each message as it arrives, and each message has its own delay.")]
pub(crate) struct OriginArguments {
    /// Listen address; port 0 selects a free port. A link-local address needs its interface: `[fe80::1%eth0]:8080`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = hoptax_host::scoped::socket_address)]
    listen: SocketAddr,
    #[command(flatten)]
    workers: WorkersArguments,
    /// File of delays, one per line, for requests with `delay=table:FILE`; repeatable
    #[arg(long = "table", value_name = "FILE", value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    /// Default response, in query syntax: `delay=1ms&size=100`
    #[arg(long, value_name = "QUERY", default_value = "")]
    default: String,
    /// File with the default response; SIGHUP makes the origin read it again
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "default")]
    default_file: Option<PathBuf>,
    #[command(flatten)]
    seed: SeedArguments,
    /// Server certificate, PEM; connections that begin with TLS are then accepted too, and HTTP/3 is served on UDP
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "key")]
    cert: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert")]
    key: Option<PathBuf>,
    /// Require client certificates of the authorities in this PEM file on TLS connections
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert")]
    client_ca: Option<PathBuf>,
    /// Accept clients without a certificate, too; for given configurations only
    #[arg(long, hide = true, requires = "client_ca")]
    accept_anonymous_clients: bool,
    /// Protocols that TLS negotiates (ALPN), the preferred one first, separated by commas; `h3` serves HTTP/3 on the UDP port
    /// with the number of the TCP port; `none` disables ALPN
    #[arg(long, value_name = "PROTOCOLS", value_enum, value_delimiter = ',', default_values = ["h2", "http/1.1", "h3"], requires = "cert")]
    alpn: Vec<Alpn>,
    /// Serve plain TCP only, with a response of the default size for each BYTES received
    #[arg(long, value_name = "BYTES", value_parser = values::whole::<u64>(1..=67_108_864))]
    tcp_request_size: Option<u64>,
    /// Folder whose certificates and keys proxies may fetch by name; for `hoptax study` only
    #[arg(long, hide = true, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    secrets: Option<PathBuf>,
    /// JSON file of the calls that are made for each request; for `hoptax lab graph run`, over HTTP/1.1 only
    #[arg(long, hide = true, value_name = "FILE", conflicts_with_all = ["tables", "default_file", "cert", "tcp_request_size"])]
    calls: Option<PathBuf>,
}

impl OriginArguments {
    fn settings(&self) -> LabOriginSettings {
        let identity = self.cert.clone().zip(self.key.clone());
        let tls = |(certificate, key)| ServerTls {
            identity: IdentityFiles { certificate, key },
            client_authorities: self.client_ca.clone(),
            accepts_anonymous_clients: self.accept_anonymous_clients,
            protocols: self.alpn.clone(),
        };
        LabOriginSettings {
            listen: self.listen,
            workers: self.workers.number,
            tables: self.tables.clone(),
            default: self.default.clone(),
            default_file: self.default_file.clone(),
            seed: self.seed.number(),
            tls: identity.map(tls),
            tcp_request_bytes: self.tcp_request_size,
            secrets: self.secrets.clone(),
            calls: self.calls.clone(),
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &OriginArguments) -> Result<Code, Failure> {
    if arguments.alpn.len() > 1 && arguments.alpn.contains(&Alpn::None) {
        return Err(Failure::bad_input("`--alpn none` disables ALPN: give it alone, or leave out `none`"));
    }
    // With a file, SIGHUP makes the origin reload it.
    let interrupt = match &arguments.default_file {
        Some(_) => interrupt::listen_without_hangup()?,
        None => interrupt::listen()?,
    };
    let origin = LabOrigin::bind(&arguments.settings())?;
    if let Some(read_again) = origin.reading_again() {
        interrupt::on_each(&[SIGHUP], "hangup", move |_| {
            if let Err(error) = read_again() {
                print::error(&error);
            }
        })?;
    }
    print::result(&origin.line())?;
    if let Some(note) = origin.note() {
        print::note(&note);
    }
    print::note(&origin.run(&interrupt)?);
    Ok(Code::Success)
}
