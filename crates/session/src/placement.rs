//! Divides the processors of this machine between the proxies on one side, and the generator and the servers on the other.

use hoptax_host::processors::{self, Placement};

use crate::failure::Failure;

/// The processors of a proxy with one worker, and the remaining processors.
///
/// # Errors
/// When the allowed processors cannot be read.
pub(crate) fn placement() -> Result<Placement, Failure> {
    for_workers(1)
}

/// The processors of proxies with this many workers, and the remaining processors. Each worker gets one if at least half of all remain.
///
/// # Errors
/// When the allowed processors cannot be read.
pub(crate) fn for_workers(workers: usize) -> Result<Placement, Failure> {
    let allowed = processors::allowed()
        .map_err(|error| Failure::environment(format!("cannot read the allowed processors: {error}")))?;
    Ok(Placement::split(&allowed, workers.min((allowed.len() / 2).max(1))))
}
