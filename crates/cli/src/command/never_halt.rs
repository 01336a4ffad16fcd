//! Keeps idle processors from halting during a measurement, as `--never-halt` selects.

use std::net::{IpAddr, UdpSocket};

use hoptax_host::machine::judgement::{advice, should_never_halt};
use hoptax_host::machine::probe_briefly;
use hoptax_host::processors::{self, Placement};
use hoptax_host::spinner::Spinner;

use crate::arguments::NeverHalt;
use crate::exit::Failure;
use crate::print;

/// Starts a spinner if `when` selects one. `auto` probes the machine for half a second, and prints the probe's advice if it
/// starts a spinner.
pub(crate) fn spinner(placement: &Placement, when: NeverHalt) -> Result<Option<Spinner>, Failure> {
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

/// Like [`spinner`], for a load on these servers. A server on this machine probably belongs to another session, with which the
/// spinner would share the processors almost like any other task: `auto` then starts none.
pub(crate) fn spinner_for_servers(
    servers: impl IntoIterator<Item = IpAddr>,
    when: NeverHalt,
) -> Result<Option<Spinner>, Failure> {
    let when = match when {
        NeverHalt::Auto if servers.into_iter().any(is_local) => NeverHalt::Never,
        when => when,
    };
    if when == NeverHalt::Never {
        return Ok(None);
    }
    let allowed = processors::allowed()
        .map_err(|error| Failure::environment(format!("cannot read the allowed processors: {error}")))?;
    spinner(&Placement::split(&allowed, 1), when)
}

/// Starts a spinner on the processors of a placement.
pub(crate) fn start(placement: &Placement) -> Result<Spinner, Failure> {
    Spinner::start(&placement.all()).map_err(|error| {
        Failure::environment(format!(
            "cannot keep the processors from halting: {error}; `--never-halt never` disables it"
        ))
    })
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
    fn auto_starts_no_spinner_beside_a_local_server() {
        assert!(spinner_for_servers([[127, 0, 0, 1].into()], NeverHalt::Auto).unwrap().is_none());
        assert!(spinner_for_servers([[192, 0, 2, 1].into()], NeverHalt::Never).unwrap().is_none());
        let spinner = spinner_for_servers([[127, 0, 0, 1].into()], NeverHalt::Always).unwrap();
        assert!(!spinner.unwrap().cpu_ns().unwrap().is_empty());
    }
}
