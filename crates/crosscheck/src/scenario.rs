//! The servers that tools are held against.

use std::net::SocketAddr;
use std::time::Duration;

use hoptax_origin::Freeze;

/// A server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub summary: String,
    /// What it is made of.
    pub kind: Kind,
}

/// What a server is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// The origin, with what it does to every request, and when it stands still.
    Origin {
        /// What every request asks of it.
        query: String,
        /// When it stands still, as the query asks.
        freeze: Option<Freeze>,
    },
    /// Another server, behind the relay.
    Other {
        /// Its address.
        address: SocketAddr,
        /// The path that is requested.
        path: String,
    },
}

/// Names of the scenarios of the origin.
pub const SCENARIOS: [&str; 3] = ["delay", "freeze", "plain"];

/// A scenario by its name, for runs of so many seconds.
pub fn scenario(name: &str, seconds: u32) -> Option<Server> {
    let server = |summary: &str, query: String, freeze| Server {
        name: name.to_owned(),
        summary: summary.to_owned(),
        kind: Kind::Origin { query, freeze },
    };
    match name {
        "plain" => Some(server("an origin that answers at once", "size=64".to_owned(), None)),
        "delay" => Some(server(
            "delays of 1, 5 and 50 ms for 90, 8 and 2 % of the requests",
            "delay=1ms:90,5ms:8,50ms:2".to_owned(),
            None,
        )),
        "freeze" => {
            // A tenth of the time, a third into it.
            let length = Duration::from_secs(seconds.into()) / 10;
            let after = Duration::from_secs(seconds.into()) / 3;
            let freeze = Freeze { after_ns: after.as_nanos() as u64, length_ns: length.as_nanos() as u64 };
            let query = format!("service=400us&freeze={}ms@{}ms", length.as_millis(), after.as_millis());
            Some(server(
                "one server of 0.4 ms that stands still for a tenth of the time",
                query,
                Some(freeze),
            ))
        }
        _ => None,
    }
}

impl Server {
    /// A server of the user's.
    pub fn other(url: &str, address: SocketAddr, path: &str) -> Self {
        Self {
            name: url.to_owned(),
            summary: "seen through a relay on this machine".to_owned(),
            kind: Kind::Other { address, path: path.to_owned() },
        }
    }
}
