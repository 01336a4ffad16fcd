//! Where the processes of an arm and its callers run: at the two ends of the study's link, in the network of the arm, or all on the
//! loopback interface of this machine.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use hoptax_host::link::{FAR, Link, LinkError};
use hoptax_host::network::{Network, NetworkSpec};
use hoptax_plan::plan::{Arm, Plan};

use super::{ArmError, RunError};

/// The listening address without a link and a network.
pub(super) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The networks of a round, by the index of their arm. Copies of an arm share one.
pub(super) type Networks = BTreeMap<usize, Rc<Network>>;

/// The ends of the connections of an arm.
#[derive(Clone, Copy, Default)]
pub(super) struct Ends<'a> {
    /// The link of the study; this thread is at its near end.
    pub(super) link: Option<&'a Link>,
    /// The network of the arm, which has none if the study has a link.
    pub(super) network: Option<&'a Network>,
}

/// Creates the networks of all arms that have one.
pub(super) fn networks(plan: &Plan) -> Result<Networks, RunError> {
    let specs = plan.arms.iter().enumerate().filter_map(|(number, arm)| Some((number, arm, arm.network?)));
    let create = |(number, arm, spec): (usize, &Arm, NetworkSpec)| -> Result<_, RunError> {
        let failed = |cause| RunError::Arm { arm: arm.id.clone(), cause: ArmError::Network(cause) };
        Ok((number, Rc::new(Network::create(&spec).map_err(failed)?)))
    };
    specs.map(create).collect()
}

impl<'a> Ends<'a> {
    /// The ends of an arm.
    pub(super) fn around_arm(link: Option<&'a Link>, networks: &'a Networks, arm: usize) -> Self {
        Self { link, network: networks.get(&arm).map(Rc::as_ref) }
    }

    /// The listening address of processes at the far end, or of a proxy beside its callers.
    pub(super) fn listening(self, is_near: bool) -> IpAddr {
        match (self.network, self.link) {
            (Some(network), _) => network.listening(),
            (None, Some(_)) if !is_near => FAR.into(),
            (None, _) => LOOPBACK,
        }
    }

    /// The listening address of an origin: servers in a network reach it without crossing the network.
    pub(super) fn listening_origin(self) -> IpAddr {
        if self.network.is_some() { LOOPBACK } else { self.listening(false) }
    }

    /// The address at which callers reach a server.
    pub(super) fn reached_at(self, server: SocketAddr) -> SocketAddr {
        self.network.map_or(server, |network| SocketAddr::new(network.reached_at(), server.port()))
    }

    /// Runs `work` where servers run, or beside the callers if `is_near`.
    pub(super) fn at_servers<T>(self, is_near: bool, work: impl FnOnce() -> T) -> Result<T, RunError> {
        match (self.network, self.link.filter(|_| !is_near)) {
            (Some(network), _) => Ok(network.servers().within(work).map_err(LinkError::from)?),
            (None, Some(link)) => Ok(link.far.within(work).map_err(LinkError::from)?),
            (None, None) => Ok(work()),
        }
    }

    /// Runs `work` where callers run.
    pub(super) fn at_callers<T>(self, work: impl FnOnce() -> T) -> Result<T, RunError> {
        match self.network {
            Some(network) => Ok(network.callers().within(work).map_err(LinkError::from)?),
            None => Ok(work()),
        }
    }
}
