//! Plain progress lines of a study: one at the start of each round, and one after each long silence.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hoptax_session::progress::Progress;

use super::lock;
use crate::print;

/// Longest silence. A line every 30 s distinguishes a slow job from a hung one, and wakes the printing thread in too few slices
/// to affect results.
const SILENCE: Duration = Duration::from_secs(30);

/// Prints lines from its own thread, so that they also appear while the study waits or measures.
pub(super) struct PlainLines {
    progress: Arc<Mutex<Progress>>,
    /// Requests a line immediately; dropping it ends the thread.
    request: Sender<()>,
    printer: Option<JoinHandle<()>>,
}

impl PlainLines {
    /// Starts to print lines.
    pub(super) fn begin(progress: Progress) -> Self {
        let progress = Arc::new(Mutex::new(progress));
        let (request, requests) = mpsc::channel();
        let seen = Arc::clone(&progress);
        let printer = thread::Builder::new().spawn(move || {
            while requests.recv_timeout(SILENCE) != Err(RecvTimeoutError::Disconnected) {
                let line = lock(&seen).line(Instant::now());
                print::note(&line);
            }
        });
        // If the thread cannot start, the study runs without progress lines.
        Self { progress, request, printer: printer.ok() }
    }

    /// Has later lines state this progress; a line is printed now if it `is_urgent`.
    pub(super) fn show(&self, progress: Progress, is_urgent: bool) {
        *lock(&self.progress) = progress;
        if is_urgent {
            let _ = self.request.send(());
        }
    }

    /// Stops the thread after it has printed all requested lines.
    pub(super) fn finish(self) {
        drop(self.request);
        let _ = self.printer.map(JoinHandle::join);
    }
}
