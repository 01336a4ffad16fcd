//! Fortio with its jitter: a tenth of the gap either way.

use super::fortio;
use crate::Peer;

pub(super) const PEER: Peer = Peer {
    name: "fortio-jitter",
    command: |offer| {
        let mut line = (fortio::PEER.command)(offer)?;
        if offer.rate.is_none() {
            return Err("jitter needs a rate");
        }
        // Before the URL, which comes last.
        line.insert(line.len().saturating_sub(1), "-jitter".to_owned());
        Ok(line)
    },
    ..fortio::PEER
};
