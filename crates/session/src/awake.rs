//! Keeps idle processors from halting during a measurement.

use std::any::Any;
use std::io;
use std::net::{IpAddr, UdpSocket};

use hoptax_host::awake::Awake;
use hoptax_host::machine::judgement::{advice, should_never_halt};
use hoptax_host::processors::Placement;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::placement::placement;
use crate::probe::probe;
use crate::update::{Say, Update};

/// When idle processors are kept from halting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum NeverHalt {
    /// As root, if a probe finds that wake-ups are slow, that it helps, and that the host does not take time from the processors.
    #[default]
    Auto,
    /// Regardless of the probe; for users other than root with a spinning thread, beside which other tasks may wait for seconds.
    Always,
    /// Not at all.
    Never,
}

/// Keeps the processors of a placement from halting.
///
/// # Errors
/// When the kernel allows neither way.
pub(crate) fn start(placement: &Placement) -> Result<Awake, Failure> {
    Awake::start(&placement.all()).map_err(|error| {
        Failure::environment(format!(
            "cannot keep the processors from halting: {error}; `--never-halt never` disables it"
        ))
    })
}

/// Keeps the processors of a placement from halting, if `when` asks for it. `Auto` probes the machine for half a second, and decides by
/// the result; if it keeps them from halting, a note states the advice of the probe.
///
/// # Errors
/// When the machine cannot be probed, or the kernel allows no way to keep processors from halting.
pub fn on(placement: &Placement, when: NeverHalt, say: Say<'_>) -> Result<Option<Awake>, Failure> {
    let wanted = match when {
        NeverHalt::Always => true,
        NeverHalt::Never => false,
        NeverHalt::Auto => {
            let machine = probe(placement, true)?;
            let wanted = should_never_halt(&machine);
            if wanted {
                say_of_machine(advice(&machine), say);
            }
            wanted
        }
    };
    wanted.then(|| start(placement)).transpose()
}

/// Says each of these facts about the machine in a line of its own.
pub(crate) fn say_of_machine(facts: impl IntoIterator<Item = String>, say: Say<'_>) {
    facts.into_iter().for_each(|fact| say(Update::Note(&format!("this machine: {fact}"))));
}

/// Like [`on`], for a load on these servers. If one of them is on this machine, `Auto` lets the processors halt: keeping them awake would
/// measure the server under a setting that it does not have in production.
///
/// # Errors
/// As [`on`], and when the allowed processors cannot be read.
pub(crate) fn for_servers(
    servers: impl IntoIterator<Item = IpAddr>,
    when: NeverHalt,
    say: Say<'_>,
) -> Result<Option<Awake>, Failure> {
    let when = match when {
        NeverHalt::Auto if servers.into_iter().any(is_local) => NeverHalt::Never,
        when => when,
    };
    if when == NeverHalt::Never {
        return Ok(None);
    }
    on(&placement()?, when, say)
}

/// True if an address belongs to this machine: the kernel binds sockets to no other.
fn is_local(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// Keeps processors from halting until the returned value is dropped. A calibration calls this.
///
/// # Errors
/// When the kernel allows neither way.
pub(crate) fn keep_awake(processors: &[u32]) -> io::Result<Box<dyn Any>> {
    Ok(Box::new(Awake::start(processors)?))
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
        let awake = |address: [u8; 4], when: NeverHalt| for_servers([address.into()], when, &|_| ()).unwrap();
        assert!(awake([127, 0, 0, 1], NeverHalt::Auto).is_none());
        assert!(awake([192, 0, 2, 1], NeverHalt::Never).is_none());
        assert!(awake([127, 0, 0, 1], NeverHalt::Always).is_some());
    }
}
