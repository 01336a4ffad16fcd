//! Keeps idle processors from halting during a measurement, as `--never-halt` selects.

use std::net::{IpAddr, UdpSocket};

use hoptax_host::awake::Awake;
use hoptax_host::machine::judgement::{advice, should_never_halt};
use hoptax_host::machine::probe_briefly;
use hoptax_host::processors::{self, Placement};
use hoptax_session::awake::start;

use crate::arguments::NeverHalt;
use crate::exit::Failure;
use crate::print;

/// Keeps the processors of a placement from halting if `when` selects it. `auto` probes the machine for half a second, and
/// prints the probe's advice if it selects it.
pub(crate) fn awake(placement: &Placement, when: NeverHalt) -> Result<Option<Awake>, Failure> {
    let wanted = match when {
        NeverHalt::Always => true,
        NeverHalt::Never => false,
        NeverHalt::Auto => {
            let machine = probe_briefly(placement)
                .map_err(|error| Failure::environment(format!("cannot probe the machine: {error}")))?;
            let wanted = should_never_halt(&machine);
            for advice in advice(&machine).iter().filter(|_| wanted) {
                print::note(&format!("this machine: {advice}"));
            }
            wanted
        }
    };
    wanted.then(|| start(placement)).transpose()
}

/// Like [`awake`], for a load on these servers. A server on this machine would be measured under a setting that it does not have
/// in use: `auto` then lets the processors halt.
pub(crate) fn awake_for_servers(
    servers: impl IntoIterator<Item = IpAddr>,
    when: NeverHalt,
) -> Result<Option<Awake>, Failure> {
    let when = match when {
        NeverHalt::Auto if servers.into_iter().any(is_local) => NeverHalt::Never,
        when => when,
    };
    if when == NeverHalt::Never {
        return Ok(None);
    }
    let allowed = processors::allowed()
        .map_err(|error| Failure::environment(format!("cannot read the allowed processors: {error}")))?;
    awake(&Placement::split(&allowed, 1), when)
}

/// Whether an address belongs to this machine: the kernel binds sockets to no other.
fn is_local(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_address_is_distinguished_from_a_remote_one() {
        assert!(is_local([127, 0, 0, 1].into()));
        // Reserved for documentation (RFC 5737).
        assert!(!is_local([192, 0, 2, 1].into()));
    }

    #[test]
    fn auto_lets_processors_halt_beside_a_local_server() {
        assert!(awake_for_servers([[127, 0, 0, 1].into()], NeverHalt::Auto).unwrap().is_none());
        assert!(awake_for_servers([[192, 0, 2, 1].into()], NeverHalt::Never).unwrap().is_none());
        assert!(awake_for_servers([[127, 0, 0, 1].into()], NeverHalt::Always).unwrap().is_some());
    }
}
