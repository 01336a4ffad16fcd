//! Rules that find and select the addresses of a host.

use std::io;
use std::net::SocketAddr;
use std::str::FromStr;

use hoptax_host::scoped::{InvalidAddress, ScopedAddress};
use thiserror::Error;

use crate::addresses::Addresses;

/// IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    fn has(self, address: ScopedAddress) -> bool {
        (self == Self::V4) == address.ip().is_ipv4()
    }

    fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }
}

/// A fixed address for a host and port, instead of a lookup: `HOST:PORT:ADDRESS`, as in curl's `--resolve`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticAddress {
    host: String,
    port: u16,
    address: ScopedAddress,
}

impl StaticAddress {
    /// This address for a host, a name or an address, and a port.
    pub fn new(host: &str, port: u16, address: impl Into<ScopedAddress>) -> Self {
        Self { host: host.to_ascii_lowercase(), port, address: address.into() }
    }
}

impl FromStr for StaticAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid =
            || format!("`{text}` is not `HOST:PORT:ADDRESS`, for example `shop.test:443:127.0.0.1`");
        let (host, rest) = text.split_once(':').ok_or_else(invalid)?;
        let (port, address) = rest.split_once(':').ok_or_else(invalid)?;
        let address = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(address);
        if host.is_empty() {
            return Err(invalid());
        }
        Ok(Self {
            host: host.to_ascii_lowercase(),
            port: port.parse().map_err(|_| invalid())?,
            address: address.parse().map_err(|error| match error {
                InvalidAddress::Address(_) => invalid(),
                error => format!("`{text}`: {error}"),
            })?,
        })
    }
}

/// Reason why a host has no address.
#[derive(Debug, Error)]
pub enum ResolveError {
    /// The lookup failed.
    #[error("cannot resolve `{host}`: {source}; check the name, or use an address")]
    Lookup {
        /// The host.
        host: String,
        /// The resolver's error.
        source: io::Error,
    },
    /// The host is an address whose zone is not valid here.
    #[error("`{host}`: {source}")]
    Zone {
        /// The host.
        host: String,
        /// Invalid part of the address.
        source: InvalidAddress,
    },
    /// The host has no address of the required IP version.
    #[error("`{host}` has no {}address; check the name, or use an address", family_text(*.family))]
    NoAddress {
        /// The host.
        host: String,
        /// The required IP version.
        family: Option<Family>,
    },
}

fn family_text(family: Option<Family>) -> String {
    family.map_or_else(String::new, |family| format!("{} ", family.name()))
}

/// Which addresses of a host are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uses {
    /// The first one.
    First,
    /// All of them.
    All,
    /// A placeholder; nothing is resolved.
    None,
}

/// Looks up the addresses of a host name.
pub type Lookup = fn(&str) -> io::Result<Vec<ScopedAddress>>;

/// Rules that find and select the addresses of a host.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) fixed: Vec<StaticAddress>,
    pub(crate) family: Option<Family>,
    pub(crate) uses: Uses,
    pub(crate) lookup: Lookup,
}

impl Rules {
    /// The addresses of a host that needs no lookup; None for one that does.
    ///
    /// # Errors
    /// When the host is an address with a zone that is not valid here.
    pub(crate) fn known(&self, host: &str, port: u16) -> Result<Option<Vec<ScopedAddress>>, ResolveError> {
        let fixed =
            self.fixed.iter().filter(|fixed| fixed.port == port && fixed.host.eq_ignore_ascii_case(host));
        let fixed: Vec<ScopedAddress> = fixed.map(|fixed| fixed.address).collect();
        if !fixed.is_empty() {
            return Ok(Some(fixed));
        }
        match host.parse() {
            Ok(address) => Ok(Some(vec![address])),
            Err(InvalidAddress::Address(_)) => Ok(None),
            Err(source) => Err(ResolveError::Zone { host: host.to_owned(), source }),
        }
    }

    /// Looks up a name.
    ///
    /// # Errors
    /// When the lookup fails.
    pub(crate) fn lookup(&self, host: &str) -> Result<Vec<ScopedAddress>, ResolveError> {
        (self.lookup)(host).map_err(|source| ResolveError::Lookup { host: host.to_owned(), source })
    }

    /// Selects among the addresses of a host. If only one is used, the first IPv4 address is preferred, because servers on loopback often
    /// listen on IPv4 only.
    ///
    /// # Errors
    /// When none has the required IP version.
    pub(crate) fn select(
        &self,
        host: &str,
        port: u16,
        addresses: &[ScopedAddress],
    ) -> Result<Addresses, ResolveError> {
        let fits = |address: &&ScopedAddress| self.family.is_none_or(|family| family.has(**address));
        let mut fitting: Vec<SocketAddr> = Vec::new();
        for address in addresses.iter().filter(fits).map(|address| address.with_port(port)) {
            if !fitting.contains(&address) {
                fitting.push(address);
            }
        }
        let first = fitting.iter().find(|address| address.is_ipv4()).or(fitting.first()).copied();
        match (first, self.uses) {
            (None, _) => Err(ResolveError::NoAddress { host: host.to_owned(), family: self.family }),
            (Some(first), Uses::First) => Ok(Addresses::some(vec![first], fitting)),
            (Some(_), Uses::All | Uses::None) => Ok(Addresses::new(fitting)),
        }
    }
}
