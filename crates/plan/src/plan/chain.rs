//! The proxies of an arm, from the caller to the origin, and TLS of the connections between them.

use std::collections::BTreeMap;
use std::fmt;

use hoptax_functions::{Composition, Secured, Tls};
use hoptax_result::HopProcessors;

use super::given::GivenConfig;
use crate::file::{Position, ProxyWord, SubjectSection, TlsWord};

/// The name of a proxy at the callers' end of a link.
const NEAR: &str = "client";
/// The name of the only proxy of an arm.
pub(super) const GATEWAY: &str = "gateway";

/// The proxies of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// Proxies in the order in which a request passes them; empty without one.
    pub hops: Vec<Hop>,
    /// TLS that the study file sets, of each connection; one more than `hops`. None where it leaves TLS to functions.
    tls: Vec<Option<TlsWord>>,
}

/// One proxy of an arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hop {
    /// Its name, unique in the chain.
    pub name: String,
    /// Its software.
    pub proxy: ProxyWord,
    /// The configuration of the user that it runs; none if its configuration is generated.
    pub given: Option<GivenConfig>,
    /// The functions that it enables.
    pub functions: Composition,
    /// Its worker threads, if the study file sets them.
    pub workers: Option<u64>,
    /// Its own Envoy, as in a study file.
    pub envoy: Option<String>,
    /// Flags of Envoy, in addition to those of hoptax.
    pub flags: Vec<String>,
    /// Environment variables of Envoy, in addition to those of hoptax and of the conditions.
    pub environment: BTreeMap<String, String>,
    /// True if it is a clone of the proxy before it in the list: it runs beside that proxy instead of behind it.
    pub is_clone: bool,
    /// The processors that it may use; none for those of the proxies.
    pub processors: Option<HopProcessors>,
}

/// A proxy of an arm with its place in the chain.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Its index in the order in which a request passes the proxies. The connection before it has the same index.
    pub number: usize,
    /// The proxy.
    pub hop: &'a Hop,
}

impl Hop {
    /// A plain Envoy.
    pub fn plain(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Its worker threads, if they are set for this proxy.
    pub fn own_workers(&self) -> Option<u64> {
        self.workers.or(self.functions.workers().map(u64::from))
    }

    /// Returns true if it is at the callers' end of a link.
    pub fn is_near(&self) -> bool {
        self.name == NEAR
    }

    /// TLS of the connections on both sides that its functions or its given configuration set up.
    fn secured(&self) -> Secured {
        match &self.given {
            Some(given) => Secured { downstream: given.downstream, upstream: None },
            None => self.functions.secured(),
        }
    }

    /// Returns true if the other one is the same proxy: see [`Composition::is_same`].
    fn is_same(&self, other: &Self) -> bool {
        let without_functions = |hop: &Self| Self { functions: Composition::default(), ..hop.clone() };
        // Most arms differ in their functions, which are large to copy.
        self.functions.is_same(&other.functions) && without_functions(self) == without_functions(other)
    }
}

impl Chain {
    /// No proxy.
    pub fn none() -> Self {
        Self { hops: Vec::new(), tls: vec![None] }
    }

    /// One Envoy with functions.
    pub fn of_functions(functions: Composition) -> Self {
        Self::new(vec![Hop { functions, ..Hop::plain(GATEWAY) }], vec![None; 2])
    }

    /// Proxies, with TLS of each connection: one more than proxies.
    pub(super) fn new(hops: Vec<Hop>, tls: Vec<Option<TlsWord>>) -> Self {
        debug_assert_eq!(tls.len(), hops.len() + 1);
        Self { hops, tls }
    }

    /// The proxies of a position, with TLS on the connections that would cross a network.
    pub(super) fn of_position(subject: SubjectSection) -> Self {
        let hop = |name: &&str| Hop { proxy: subject.proxy, ..Hop::plain(name) };
        let word = match (subject.mtls, subject.tls) {
            (true, _) => Some(TlsWord::Mtls),
            (false, true) => Some(TlsWord::Tls),
            (false, false) => None,
        };
        let tls = subject.position.links().iter().map(|crosses| word.filter(|_| *crosses));
        Self::new(subject.position.hops().iter().map(hop).collect(), tls.collect())
    }

    /// Returns true if the other chain consists of the same proxies.
    pub fn is_same(&self, other: &Self) -> bool {
        self.tls == other.tls
            && self.hops.len() == other.hops.len()
            && self.hops.iter().zip(&other.hops).all(|(own, other)| own.is_same(other))
    }

    /// TLS of each connection, set by the study file or by functions at its ends; one more than proxies.
    pub fn tls(&self) -> Vec<Option<Tls>> {
        let secured = |hop: Option<&Hop>| hop.map(Hop::secured);
        let connection = |(number, stated): (usize, &Option<TlsWord>)| {
            let of_functions = || {
                let behind = secured(self.hops.get(number)).and_then(|secured| secured.downstream);
                let before = number.checked_sub(1).and_then(|hop| secured(self.hops.get(hop)));
                behind.or(before.and_then(|secured| secured.upstream))
            };
            stated.map_or_else(of_functions, TlsWord::security)
        };
        self.tls.iter().enumerate().map(connection).collect()
    }

    /// Its proxies, each with its place, in the order in which a request passes them.
    pub fn places(&self) -> impl Iterator<Item = Place<'_>> {
        self.hops.iter().enumerate().map(|(number, hop)| Place { number, hop })
    }

    /// Its proxies by stage, in the order in which a request passes them: a request passes one proxy of each stage. Clones share a
    /// stage.
    pub fn stages(&self) -> Vec<Vec<Place<'_>>> {
        let mut stages: Vec<Vec<Place<'_>>> = Vec::new();
        for place in self.places() {
            match stages.last_mut().filter(|_| place.hop.is_clone) {
                Some(stage) => stage.push(place),
                None => stages.push(vec![place]),
            }
        }
        stages
    }

    /// The proxy with this name, or the first one; none if there is no such proxy.
    pub fn place_of(&self, name: Option<&str>) -> Option<Place<'_>> {
        self.places().find(|place| name.is_none_or(|name| place.hop.name == name))
    }

    /// Returns true if one of its proxies has a given configuration.
    pub fn is_given(&self) -> bool {
        self.hops.iter().any(|hop| hop.given.is_some())
    }
}

/// Displays a position by its name, and other chains by the names of their proxies.
impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |stage: &Vec<Place<'_>>| match stage.as_slice() {
            [] => String::new(),
            [place] => place.hop.name.clone(),
            [first, ..] => format!("{} clones of {}", stage.len(), first.hop.name),
        };
        let names: Vec<String> = self.stages().iter().map(name).collect();
        match Position::ALL.into_iter().find(|position| position.hops() == names) {
            Some(position) => f.write_str(position.as_str()),
            None => f.write_str(&names.join(" -> ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_a_chain_with_one_connection_more_than_proxies() {
        for position in Position::ALL {
            let chain =
                Chain::of_position(SubjectSection { position, mtls: true, ..SubjectSection::default() });
            let names: Vec<&str> = chain.hops.iter().map(|hop| hop.name.as_str()).collect();
            assert_eq!(names, position.hops());
            assert_eq!(chain.to_string(), position.as_str());
            let secured: Vec<bool> = chain.tls().iter().map(|tls| *tls == Some(Tls::Mtls)).collect();
            assert_eq!(secured, position.links());
        }
    }
}
