//! Arguments of `hoptax listeners run` and `hoptax listeners status`.

use std::net::SocketAddr;

use clap::Args;

use super::shared::{EnvoyArguments, JsonArguments, ListenersFileArguments};

/// Where the status is served.
const STATUS: &str = "127.0.0.1:9902";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax listeners run listeners.yaml
  hoptax listeners run hiera.yaml --services catalog.yaml --envoy 1.40.0
  kill -HUP PID      restart Envoy, also if the file is as it was, such as after a new certificate

When the file changes, it is rendered, linted, and validated by Envoy; only then another Envoy
takes over by hot restart. A file that is refused, or an Envoy that does not start, leaves the one
before serving, and the log, the status and the metrics say so. The times of a restart are
`restart: {drain: 60s, shutdown: 90s}` of the file; restarts are at least `shutdown` apart, because
Envoy would cut off requests otherwise. All output of Envoy is passed on.

http://127.0.0.1:9902/ is the status, /status.json the same as JSON, /metrics for Prometheus. As the
first process of a container it waits for processes that others left. systemd is told when it
serves, reloads and stops: docs/guide/hoptax-listeners.service. SIGTERM and Ctrl-C drain first, for
`drain` at most, or until no connection is left; a second one does not wait.

Exit codes:
  0  it was asked to end
  2  invalid input: the first file is refused
  3  a requirement is missing, such as Envoy, or Envoy does not start on the first file")]
pub(crate) struct RunListenersArguments {
    #[command(flatten)]
    pub(crate) listeners: ListenersFileArguments,
    #[command(flatten)]
    pub(crate) envoy: EnvoyArguments,
    /// Where the status is served; whoever reaches it can read it
    #[arg(long, value_name = "ADDRESS", default_value = STATUS, value_parser = hoptax_host::scoped::socket_address)]
    pub(crate) status_address: SocketAddr,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax listeners status
  hoptax listeners status 127.0.0.1:9902 --json -

It names each upstream that is slow, and since when: one whose 90th percentile of the time to the
first byte is twice what is usual for it, or five times that of the others if it always was. Times
are from Envoy itself, in microseconds, so neither the client nor the filters are in them.

Exit codes:
  0  the file is served, and no upstream is slow
  1  somebody should look: no Envoy serves, the file is refused, or an upstream is slow
  3  nothing answers at the address")]
pub(crate) struct StatusArguments {
    /// The address of the status of `hoptax listeners run`
    #[arg(value_name = "ADDRESS", default_value = STATUS, value_parser = hoptax_host::scoped::socket_address)]
    pub(crate) address: SocketAddr,
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}
