//! The limit of open files, which bounds connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are open beside connections: standard streams, epoll instances, logs.
const OTHER_FILES: u64 = 64;

/// Lets this process open `connections` sockets, up to what the machine allows it: the soft limit is raised to the hard one,
/// and with the right to do so (`CAP_SYS_RESOURCE`) the hard one to what is needed.
///
/// # Errors
/// The limit, when that is not enough.
pub fn allow_connections(connections: u64) -> Result<(), u64> {
    let limit = getrlimit(Resource::Nofile);
    let needed = connections.saturating_add(OTHER_FILES);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_connections_are_allowed_and_more_than_there_can_be_are_not() {
        assert_eq!(allow_connections(10), Ok(()));
        assert!(allow_connections(u64::MAX).is_err());
    }
}
