//! Runs a request in another thread, because a signal does not interrupt the wait for a silent server.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::error::FetchError;

/// Polling interval for the end of the task and for `stop`.
const PAUSE: Duration = Duration::from_millis(10);

/// Runs a task and returns its value. Once `stop` is set, this function returns at once. It then also sets the task's own flag, and the
/// task ends with the next piece that it reads, or at its time limit.
///
/// # Errors
/// When the task fails, and when `stop` is set before it returns.
pub(super) fn interruptible<T: Send + 'static>(
    stop: &AtomicBool,
    task: impl FnOnce(&AtomicBool) -> Result<T, FetchError> + Send + 'static,
) -> Result<T, FetchError> {
    let is_abandoned = Arc::new(AtomicBool::new(false));
    let of_task = Arc::clone(&is_abandoned);
    let thread = thread::spawn(move || task(&of_task));
    while !thread.is_finished() && !stop.load(Ordering::Relaxed) {
        thread::sleep(PAUSE);
    }
    // An error after a signal is a consequence of the signal.
    if stop.load(Ordering::Relaxed) {
        is_abandoned.store(true, Ordering::Relaxed);
        return Err(FetchError::Interrupted);
    }
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_task_that_waits_is_left_and_told_so() {
        let stop = Arc::new(AtomicBool::new(false));
        let (ends, end) = mpsc::channel::<()>();
        let (told, is_told) = mpsc::channel();
        let of_task = Arc::clone(&stop);
        let left = interruptible(&stop, move |is_abandoned| {
            of_task.store(true, Ordering::Relaxed);
            // Waits until the test has seen that the caller returned.
            let _ = end.recv();
            told.send(is_abandoned.load(Ordering::Relaxed)).unwrap();
            Ok(())
        });
        assert!(matches!(left, Err(FetchError::Interrupted)), "{left:?}");
        drop(ends);
        assert!(is_told.recv().unwrap());
    }

    #[test]
    fn a_task_that_ends_is_waited_for() {
        let of = |result: Result<u8, FetchError>| interruptible(&AtomicBool::new(false), move |_| result);
        assert_eq!(of(Ok(7)).unwrap(), 7);
        assert!(matches!(of(Err(FetchError::Index(String::new()))), Err(FetchError::Index(_))));
    }
}
