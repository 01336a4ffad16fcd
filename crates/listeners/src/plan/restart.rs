//! The times of a hot restart.

use super::Resolver;
use crate::file::{Duration, RestartSection};

/// The times of a hot restart, as Envoy's command line takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// The time during which the predecessor asks its clients to reconnect, seconds.
    pub drain_s: u32,
    /// The time after which the predecessor ends, seconds.
    pub shutdown_s: u32,
}

impl Resolver<'_> {
    /// The times in a file. Both are above zero.
    pub(super) fn restart(&mut self, section: &RestartSection) -> Restart {
        let drain_s = self.whole_seconds("/restart/drain", section.drain);
        let shutdown_s = match section.shutdown {
            Some(shutdown) => self.whole_seconds("/restart/shutdown", shutdown),
            None => drain_s + drain_s.div_ceil(2),
        };
        if shutdown_s < drain_s {
            self.add(
                "/restart/shutdown",
                format!("is below `drain`, {drain_s} s: Envoy would end before its clients have moved to the next one"),
            );
        }
        Restart { drain_s, shutdown_s }
    }

    fn whole_seconds(&mut self, path: &str, time: Duration) -> u32 {
        const SECOND_US: u64 = 1_000_000;
        if !time.us.is_multiple_of(SECOND_US) {
            let up = time.us.div_ceil(SECOND_US);
            self.add(path, format!("Envoy takes whole seconds here: write `{up}s`"));
        }
        (time.us / SECOND_US) as u32
    }
}
