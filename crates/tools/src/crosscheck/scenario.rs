//! The servers of a crosscheck: scenarios of the origin, and other servers.

use std::net::SocketAddr;
use std::time::Duration;

use hoptax_origin::Freeze;

/// A server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// A description in one line.
    pub summary: String,
    /// Its kind.
    pub kind: Kind,
}

/// The kind of a server.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// The origin.
    Origin {
        /// Default parameters of requests.
        query: String,
        /// The freeze in these parameters, if any.
        freeze: Option<Freeze>,
    },
    /// Another server, behind the relay.
    Other {
        /// Its address.
        address: SocketAddr,
        /// The requested path.
        path: String,
    },
}

/// The names of the origin scenarios.
pub const SCENARIOS: [&str; 3] = ["delay", "freeze", "plain"];

/// The scenario `name` for runs of `seconds`; None if there is no such scenario.
pub fn scenario(name: &str, seconds: u32) -> Option<Server> {
    let server = |summary: &str, query: String, freeze| Server {
        name: name.to_owned(),
        summary: summary.to_owned(),
        kind: Kind::Origin { query, freeze },
    };
    match name {
        "plain" => Some(server("an origin that responds immediately", "size=64".to_owned(), None)),
        "delay" => Some(server(
            "delays of 1, 5 and 50 ms for 90, 8 and 2 % of the requests",
            "delay=1ms:90,5ms:8,50ms:2".to_owned(),
            None,
        )),
        "freeze" => {
            // The freeze takes a tenth of the run and begins after a third.
            let length = Duration::from_secs(seconds.into()) / 10;
            let after = Duration::from_secs(seconds.into()) / 3;
            let freeze = Freeze { after_ns: after.as_nanos() as u64, length_ns: length.as_nanos() as u64 };
            let query = format!("service=400us&freeze={}ms@{}ms", length.as_millis(), after.as_millis());
            Some(server(
                "a single server with a service time of 0.4 ms that freezes for a tenth of the run",
                query,
                Some(freeze),
            ))
        }
        _ => None,
    }
}

impl Server {
    /// A server other than the origin.
    pub fn other(url: &str, address: SocketAddr, path: &str) -> Self {
        Self {
            name: url.to_owned(),
            summary: "measured through a relay on this machine".to_owned(),
            kind: Kind::Other { address, path: path.to_owned() },
        }
    }
}
