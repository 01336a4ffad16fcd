//! Surroundings of an Envoy of an arm: its folder, its processors, and the processes that it connects to.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use hoptax_subject::lab::Lab;

use super::Setting;

/// Surroundings of an Envoy of an arm.
pub(super) struct Surroundings<'a> {
    /// Inputs of the run.
    pub(super) setting: &'a Setting<'a>,
    /// The folder of the proxy.
    pub(super) directory: PathBuf,
    /// The address that it listens at.
    pub(super) listen: IpAddr,
    /// The processors that it may use.
    pub(super) processors: &'a [u32],
    /// The addresses of the next hop.
    pub(super) next: Vec<SocketAddr>,
    /// The address of the companion, if one was started.
    pub(super) companion: Option<SocketAddr>,
    /// The certificates of the round; none if no connection uses TLS.
    pub(super) lab: Option<&'a Lab>,
}
