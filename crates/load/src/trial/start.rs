//! A start that others decide, such as a controller that starts several generators at the same instant.

use std::fmt;
use std::sync::Arc;

/// Time that a trial needs between the decision about its start and its first request, nanoseconds, until every worker is ready.
pub const SETTLE_NS: u64 = 20_000_000;

/// Decides when a trial starts. It is called on the thread of the trial once all connections are open, and may block.
#[derive(Clone)]
pub struct Start(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Start {
    /// A start at the time that the function returns, on the clock of [`now_ns`](hoptax_host::clock::now_ns). The time should be
    /// [`SETTLE_NS`] ahead: requests that are due before the workers are ready are sent late.
    pub fn new(at_ns: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(at_ns))
    }

    /// Waits for the decision.
    pub(super) fn at_ns(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Start")
    }
}
