//! The events of a job. A slow reader misses some of them, but never the last.

use axum::Error;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::job::Job;

/// A reader of a job's events.
struct Follower {
    job: watch::Receiver<Job>,
    /// True if it has received the state at its start.
    has_begun: bool,
    /// True if it has received the last event.
    is_over: bool,
    _permit: OwnedSemaphorePermit,
}

/// The events of a job, from its current state to its end.
pub(super) fn events(job: watch::Receiver<Job>, permit: OwnedSemaphorePermit) -> impl IntoResponse {
    let follower = Follower { job, has_begun: false, is_over: false, _permit: permit };
    Sse::new(stream::unfold(follower, next)).keep_alive(KeepAlive::default())
}

/// The next event; none after the end of the job, or if the job is forgotten.
async fn next(mut follower: Follower) -> Option<(Result<Event, Error>, Follower)> {
    if follower.is_over {
        return None;
    }
    if follower.has_begun {
        follower.job.changed().await.ok()?;
    }
    let job = follower.job.borrow_and_update().clone();
    follower.has_begun = true;
    follower.is_over = job.state.is_end();
    Some((Event::default().event("job").json_data(&job), follower))
}
