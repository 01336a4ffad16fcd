//! Servers that hoptax does not start: their addresses and their processes.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;

use hoptax_host::running::Running;
use hoptax_load::Target;
use hoptax_plan::plan::Arm;

use super::ArmError;

/// The address of the external server of an arm; none if hoptax starts the server.
pub(super) fn address(arm: &Arm) -> Result<Option<SocketAddr>, ArmError> {
    let Some(external) = &arm.external else { return Ok(None) };
    Ok(Some(Target::new(&external.url, "GET", Vec::new(), Vec::new())?.address))
}

/// The current processes of the external server of an arm; none if hoptax starts the server, or if its CPU time is not accounted for.
pub(super) fn account(arm: &Arm) -> io::Result<Option<BTreeSet<u32>>> {
    let account = arm.external.as_ref().and_then(|external| external.account.as_ref());
    account.map(Running::processes).transpose()
}
