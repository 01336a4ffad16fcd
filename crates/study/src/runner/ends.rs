//! The two ends of a link and their addresses.

use std::net::{IpAddr, Ipv4Addr};

use hoptax_host::link::{FAR, Link, LinkError};

use super::RunError;

/// The listening address without a link.
pub(super) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The listening address of processes at the far end.
pub(super) fn far_address(link: Option<&Link>) -> IpAddr {
    link.map_or(LOOPBACK, |_| FAR.into())
}

/// Runs `work` at the near or the far end of the link; this thread is at the near one.
pub(super) fn at<T>(link: Option<&Link>, is_near: bool, work: impl FnOnce() -> T) -> Result<T, RunError> {
    match link.filter(|_| !is_near) {
        Some(link) => Ok(link.far.within(work).map_err(LinkError::from)?),
        None => Ok(work()),
    }
}
