//! Plain progress lines of a study: one at the start of each round, and one after each long silence.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Progress;
use crate::update::Update;

/// Longest silence. A line every 30 s distinguishes a slow job from a hung one, and disturbs too few slices to affect results.
pub(super) const SILENCE: Duration = Duration::from_secs(30);

/// Prints lines from its own thread, so that they also appear while the study waits or measures.
#[derive(Debug)]
pub(super) struct PlainLines {
    progress: Arc<Mutex<Progress>>,
    /// Requests a line immediately; dropping it ends the thread.
    request: Sender<()>,
    speaker: Option<JoinHandle<()>>,
}

impl PlainLines {
    /// Starts the thread; `say` prints a line.
    pub(super) fn begin(progress: Progress, say: fn(Update<'_>)) -> Self {
        let progress = Arc::new(Mutex::new(progress));
        let (request, requests) = mpsc::channel();
        let seen = Arc::clone(&progress);
        let speaker = thread::Builder::new().spawn(move || {
            while requests.recv_timeout(SILENCE) != Err(RecvTimeoutError::Disconnected) {
                let line = lock(&seen).line(Instant::now());
                say(Update::Note(&line));
            }
        });
        // If the thread cannot start, the study runs without progress lines.
        Self { progress, request, speaker: speaker.ok() }
    }

    /// Updates the progress that later lines show. Prints a line now if the update `is_urgent`.
    pub(super) fn show(&self, progress: Progress, is_urgent: bool) {
        *lock(&self.progress) = progress;
        if is_urgent {
            let _ = self.request.send(());
        }
    }

    /// Stops the thread after it has printed all requested lines.
    pub(super) fn finish(self) {
        drop(self.request);
        let _ = self.speaker.map(JoinHandle::join);
    }
}

/// Locks, also after a panic of another thread that held it.
pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
