//! Divides the processors of this machine between the proxies, and the generator and servers.

use hoptax_host::processors::{self, Placement};

use crate::failure::Failure;

/// The processors of one proxy with one worker, and of the others.
///
/// # Errors
/// When the allowed processors cannot be read.
pub(crate) fn placement() -> Result<Placement, Failure> {
    for_workers(1)
}

/// The processors of proxies with this many workers, and of the others: a processor for each worker if at least half of all are left.
///
/// # Errors
/// When the allowed processors cannot be read.
pub(crate) fn for_workers(workers: usize) -> Result<Placement, Failure> {
    let allowed = processors::allowed()
        .map_err(|error| Failure::environment(format!("cannot read the allowed processors: {error}")))?;
    Ok(Placement::split(&allowed, workers.min((allowed.len() / 2).max(1))))
}
