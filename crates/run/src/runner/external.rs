//! Servers that already run: their addresses and their processes.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;

use hoptax_host::running::Running;
use hoptax_load::Target;
use hoptax_plan::plan::Arm;

use super::ArmError;

/// The address of the server of an arm; none if it is brought up.
pub(super) fn address(arm: &Arm) -> Result<Option<SocketAddr>, ArmError> {
    let Some(external) = &arm.external else { return Ok(None) };
    Ok(Some(Target::new(&external.url, "GET", Vec::new(), Vec::new())?.address))
}

/// The processes of the server of an arm that run now; none if it is brought up or not accounted for.
pub(super) fn account(arm: &Arm) -> io::Result<Option<BTreeSet<u32>>> {
    let account = arm.external.as_ref().and_then(|external| external.account.as_ref());
    account.map(Running::processes).transpose()
}
