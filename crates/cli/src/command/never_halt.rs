//! Keeping the processors from being halted while something is measured, as `--never-halt` says.

use std::net::{IpAddr, UdpSocket};

use hoptax_host::machine::judgement::{advice, should_never_halt};
use hoptax_host::machine::probe_briefly;
use hoptax_host::processors::{self, Placement};
use hoptax_host::spinner::Spinner;

use crate::arguments::NeverHalt;
use crate::exit::Failure;
use crate::print;

/// What keeps the processors from being halted, if anything is to. Where that depends on the machine, it is probed for half a
/// second, and a note says what was found if it leads to something.
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

/// The same for a load on a server elsewhere or here. A server on this machine is likely to belong to another session, with which
/// a spinner would share the processors almost as any task does: `auto` then leaves them to halt.
pub(crate) fn spinner_beside(
    servers: impl IntoIterator<Item = IpAddr>,
    when: NeverHalt,
) -> Result<Option<Spinner>, Failure> {
    let when = match when {
        NeverHalt::Auto if servers.into_iter().any(is_here) => NeverHalt::Never,
        when => when,
    };
    if when == NeverHalt::Never {
        return Ok(None);
    }
    let allowed = processors::allowed()
        .map_err(|error| Failure::environment(format!("cannot ask which processors there are: {error}")))?;
    spinner(&Placement::split(&allowed, 1), when)
}

/// Keeps the processors of a placement from being halted.
pub(crate) fn start(placement: &Placement) -> Result<Spinner, Failure> {
    Spinner::start(&placement.all()).map_err(|error| {
        Failure::environment(format!(
            "cannot keep the processors from being halted: {error}; or give `--never-halt never`"
        ))
    })
}

/// Whether an address is one of this machine: the kernel lets sockets be bound to no other.
fn is_here(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_this_machine_is_told_from_another() {
        assert!(is_here([127, 0, 0, 1].into()));
        // Kept for documentation (RFC 5737): nobody has it.
        assert!(!is_here([192, 0, 2, 1].into()));
    }

    #[test]
    fn a_server_on_this_machine_is_not_made_to_share_its_processors() {
        assert!(spinner_beside([[127, 0, 0, 1].into()], NeverHalt::Auto).unwrap().is_none());
        assert!(spinner_beside([[192, 0, 2, 1].into()], NeverHalt::Never).unwrap().is_none());
        let asked = spinner_beside([[127, 0, 0, 1].into()], NeverHalt::Always).unwrap();
        assert!(!asked.unwrap().cpu_ns().unwrap().is_empty());
    }
}
