//! The accounts of requests, and how they are written: a count that another tool does not state is null, and never 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The exact accounts: `planned = sent + unsent`; `sent = answered + failed + timed_out + unfinished`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenBook", into = "WrittenBook")]
pub struct Book {
    /// Requests whose intended start was in the recorded time.
    pub planned: u64,
    /// Planned requests that were assigned to a connection.
    pub sent: u64,
    /// Planned requests that were never assigned to a connection, because none was free before the end.
    pub unsent: u64,
    /// Sent requests that were delayed because every connection was busy.
    pub blocked: u64,
    /// Sent requests that were answered in full and as expected: with a status below 400, or as `--expect` states; with gRPC also with
    /// `grpc-status` 0.
    pub answered: u64,
    /// Sent requests that failed; `failures` lists them by kind.
    pub failed: u64,
    /// Sent requests that were not answered within the timeout.
    pub timed_out: u64,
    /// Sent requests that were still in flight after the final drain.
    pub unfinished: u64,
    /// Number of times that requests were sent again, because the server handed them back unprocessed: by GOAWAY or `REFUSED_STREAM` of
    /// HTTP/2, or their like of HTTP/3. Each request counts once in all other counts, however often it was sent.
    pub sent_again: u64,
    /// State of these counts. Unknown counts are 0 here, and null where a book is written.
    pub stated: Stated,
}

impl Book {
    /// True if every planned request was sent or unsent, and every sent one answered, failed, timed out or unfinished.
    pub fn balances(&self) -> bool {
        self.planned == self.sent + self.unsent
            && self.sent == self.answered + self.failed + self.timed_out + self.unfinished
    }

    /// True if no request was measured: a trial was interrupted before its first one, for example. The book of another tool never is, since
    /// it may leave counts out.
    pub fn is_empty(&self) -> bool {
        self.stated == Stated::All && self.planned == 0 && self.sent == 0
    }

    /// Share of the sent requests that were not answered, 0 to 1; 0 when none was sent.
    pub fn error_share(&self) -> f64 {
        if self.sent == 0 {
            0.0
        } else {
            (self.sent - self.answered.min(self.sent)) as f64 / self.sent as f64
        }
    }

    /// Adds the counts of another book.
    pub fn add(&mut self, other: &Self) {
        self.planned += other.planned;
        self.sent += other.sent;
        self.unsent += other.unsent;
        self.blocked += other.blocked;
        self.answered += other.answered;
        self.failed += other.failed;
        self.timed_out += other.timed_out;
        self.unfinished += other.unfinished;
        self.sent_again += other.sent_again;
    }
}

/// Counts of a book that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stated {
    /// All of them: the book is that of a trial.
    #[default]
    All,
    /// At most these two: the book is that of an imported result.
    Imported {
        /// Requests answered.
        answered: bool,
        /// Requests failed.
        failed: bool,
    },
}

/// The exact accounts: `planned = sent + unsent`; `sent = answered + failed + timed_out + unfinished`. A count that another tool does
/// not state is null.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Book")]
#[serde(deny_unknown_fields)]
struct WrittenBook {
    /// Requests whose intended start was in the recorded time.
    planned: Option<u64>,
    /// Planned requests that were assigned to a connection.
    sent: Option<u64>,
    /// Planned requests that were never assigned to a connection, because none was free before the end.
    unsent: Option<u64>,
    /// Sent requests that were delayed because every connection was busy.
    blocked: Option<u64>,
    /// Sent requests that were answered in full and as expected: with a status below 400, or as `--expect` states; with gRPC also with
    /// `grpc-status` 0.
    answered: Option<u64>,
    /// Sent requests that failed; `failures` lists them by kind.
    failed: Option<u64>,
    /// Sent requests that were not answered within the timeout.
    timed_out: Option<u64>,
    /// Sent requests that were still in flight after the final drain.
    unfinished: Option<u64>,
    /// Number of times that requests were sent again, because the server handed them back unprocessed: by GOAWAY or `REFUSED_STREAM` of
    /// HTTP/2, or their like of HTTP/3. Each request counts once in all other counts, however often it was sent.
    sent_again: Option<u64>,
}

impl From<Book> for WrittenBook {
    fn from(book: Book) -> Self {
        let (has_answered, has_failed, has_others) = match book.stated {
            Stated::All => (true, true, true),
            Stated::Imported { answered, failed } => (answered, failed, false),
        };
        let other = |count: u64| has_others.then_some(count);
        Self {
            planned: other(book.planned),
            sent: other(book.sent),
            unsent: other(book.unsent),
            blocked: other(book.blocked),
            answered: has_answered.then_some(book.answered),
            failed: has_failed.then_some(book.failed),
            timed_out: other(book.timed_out),
            unfinished: other(book.unfinished),
            sent_again: other(book.sent_again),
        }
    }
}

impl From<WrittenBook> for Book {
    fn from(written: WrittenBook) -> Self {
        let stated = if written.planned.is_some() {
            Stated::All
        } else {
            Stated::Imported { answered: written.answered.is_some(), failed: written.failed.is_some() }
        };
        Self {
            planned: written.planned.unwrap_or_default(),
            sent: written.sent.unwrap_or_default(),
            unsent: written.unsent.unwrap_or_default(),
            blocked: written.blocked.unwrap_or_default(),
            answered: written.answered.unwrap_or_default(),
            failed: written.failed.unwrap_or_default(),
            timed_out: written.timed_out.unwrap_or_default(),
            unfinished: written.unfinished.unwrap_or_default(),
            sent_again: written.sent_again.unwrap_or_default(),
            stated,
        }
    }
}
