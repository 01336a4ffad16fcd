//! The two ends of a link, and where what stands at each listens.

use std::net::{IpAddr, Ipv4Addr};

use hoptax_host::link::{FAR, Link, LinkError};

use super::RunError;

/// Where everything listens without a link.
pub(super) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Where what stands at the far end listens.
pub(super) fn far_address(link: Option<&Link>) -> IpAddr {
    link.map_or(LOOPBACK, |_| FAR.into())
}

/// Does `work` at the end of the link that it belongs to; this thread is at the near one.
pub(super) fn at<T>(link: Option<&Link>, is_near: bool, work: impl FnOnce() -> T) -> Result<T, RunError> {
    match link.filter(|_| !is_near) {
        Some(link) => Ok(link.far.within(work).map_err(LinkError::from)?),
        None => Ok(work()),
    }
}
