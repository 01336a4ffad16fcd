//! A task that ends with whoever started it, also if that is cancelled.

use tokio::task::JoinHandle;

/// Aborts a task when it is dropped. A reader would otherwise keep its stream open.
#[derive(Debug)]
pub(crate) struct Ending(JoinHandle<()>);

impl Ending {
    /// Starts a task.
    pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(task))
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abort();
    }
}
