//! Limits of this process: on open files, which bounds the number of connections, and on the memory and time of work on damaged input.

use std::{fs, io};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files that callers do not count: standard streams, logs, the files that a measurement reads for a moment.
const OTHER_FILES: u64 = 64;
/// Open files beside those that callers count, in the limit that a user is advised to set: enough for the proxies and the shell.
const ADVISED_OTHER_FILES: u64 = 1_024;

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

/// How to raise the limit on open files for this number, for a user whose hard limit is too low: only root may raise that.
pub fn raising_for_files(files: u64) -> String {
    let most = fs::read_to_string("/proc/sys/fs/nr_open").ok().and_then(|text| text.trim().parse().ok());
    raising(files.saturating_add(ADVISED_OTHER_FILES), most)
}

/// The same for a limit, where the kernel allows no limit above `most`.
fn raising(limit: u64, most: Option<u64>) -> String {
    let first = match most {
        Some(most) if most < limit => format!("`sudo sysctl fs.nr_open={limit}`, and then with "),
        _ => String::new(),
    };
    format!(
        "raise it with {first}`ulimit -n {limit}` in a shell of root, or with `sudo prlimit --pid $$ --nofile={limit}` in yours"
    )
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

    #[test]
    fn a_limit_is_raised_by_root_and_above_that_of_the_kernel_after_it() {
        let ways =
            "`ulimit -n 2024` in a shell of root, or with `sudo prlimit --pid $$ --nofile=2024` in yours";
        for most in [None, Some(2_024)] {
            assert_eq!(raising(2_024, most), format!("raise it with {ways}"));
        }
        let first = "`sudo sysctl fs.nr_open=2024`";
        assert_eq!(raising(2_024, Some(2_023)), format!("raise it with {first}, and then with {ways}"));
        assert!(raising_for_files(1_000).ends_with(ways), "{}", raising_for_files(1_000));
    }
}
