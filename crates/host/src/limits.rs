//! Limits of this process: on open files, which bounds the number of connections, and on the memory and time of work on damaged input.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files that callers do not count: standard streams, logs, the files that a measurement reads for a moment.
const OTHER_FILES: u64 = 64;

/// Raises the limit on open files so that `files` of them, most of which are sockets, can be open: the soft limit up to the hard limit and,
/// with `CAP_SYS_RESOURCE`, the hard limit as far as needed.
///
/// # Errors
/// Returns the hard limit if it is too low and cannot be raised.
pub fn allow_files(files: u64) -> Result<(), u64> {
    let limit = getrlimit(Resource::Nofile);
    let needed = files.saturating_add(OTHER_FILES);
    let suffices = |limit: Option<u64>| limit.is_none_or(|limit| limit >= needed);
    if suffices(limit.current) {
        return Ok(());
    }
    let maximum = if suffices(limit.maximum) { limit.maximum } else { Some(needed) };
    if setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok() {
        return Ok(());
    }
    Err(limit.maximum.unwrap_or(u64::MAX))
}

/// Raises the limit on open files for `wanted` sockets, or as far as it can be raised. Returns the number of sockets that it then allows,
/// at most `wanted`.
pub fn most_connections(wanted: u64) -> u64 {
    if allow_files(wanted).is_ok() {
        return wanted;
    }
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let is_raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    let limit = if is_raised { maximum } else { current };
    limit.map_or(wanted, |limit| limit.saturating_sub(OTHER_FILES).min(wanted))
}

/// Limits the address space and the CPU time of this process and disables its core file, for work on input that may be damaged. An
/// allocation above the limit of memory fails; above the limit of time, the kernel kills the process.
///
/// # Errors
/// When the kernel refuses a limit.
pub fn confine(memory_bytes: u64, processor_s: u64) -> io::Result<()> {
    let limits = [(Resource::As, memory_bytes), (Resource::Cpu, processor_s), (Resource::Core, 0)];
    for (resource, most) in limits {
        setrlimit(resource, at_most(resource, most))?;
    }
    Ok(())
}

/// A soft and hard limit of `most`, or of the hard limit of this process if that is lower, since it may not be raised.
pub(crate) fn at_most(resource: Resource, most: u64) -> Rlimit {
    let maximum = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
    Rlimit { current: Some(maximum), maximum: Some(maximum) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_connections_are_allowed_and_impossible_numbers_are_not() {
        assert_eq!(allow_files(10), Ok(()));
        assert!(allow_files(u64::MAX).is_err());
        assert_eq!(most_connections(10), 10);
        let most = most_connections(u64::MAX);
        assert!((10..u64::MAX).contains(&most), "{most}");
        assert_eq!(getrlimit(Resource::Nofile).current, Some(most + OTHER_FILES));
    }
}
