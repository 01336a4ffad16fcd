//! The raw log: one entry per recorded request. Every reported number can be recomputed from it.
//!
//! A file is [`MAGIC`] and then entries of [`ENTRY_BYTES`] bytes, little-endian, in the order in which requests ended:
//!
//! | bytes | contents |
//! |---|---|
//! | 0..8 | intended start, nanoseconds since the start of the record (`i64`) |
//! | 8..16 | when the worker saw that the request was due, nanoseconds after the intended start; all bits set if never |
//! | 16..24 | when it was assigned to a connection (bytes written, or connect started), likewise |
//! | 24..32 | when the connection opened for it was established, likewise |
//! | 32..40 | first byte written, likewise |
//! | 40..48 | first byte of the response read, likewise |
//! | 48..56 | its end, likewise: last byte read, failure, timeout or end of the run |
//! | 56..60 | connection, counted from 0 over all workers |
//! | 60..62 | gRPC status if the response has one, else HTTP status; 0 without a response |
//! | 62 | outcome, see [`Outcome`] |
//! | 63 | bit 0: it waited for a connection; bit 1: its connection was opened for it |
//!
//! Kernel timestamps are not logged.
//!
//! Workers pass full buffers to a writer through a channel of [`CHANNEL_BUFFERS`] buffers. A worker blocks when the channel is
//! full, which its send lag shows: the log is complete and memory is bounded.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::failure::Failure;
use crate::recording::Unsent;

/// The first bytes of a log.
pub const MAGIC: &[u8; 8] = b"hoptaxL3";
/// Size of an entry.
pub const ENTRY_BYTES: usize = 64;
/// Size of a worker's buffer.
const BUFFER_BYTES: usize = 64 * 1024;
/// Capacity of the channel, in buffers: 64 MiB.
const CHANNEL_BUFFERS: usize = 1024;
/// Encodes a timestamp that was not reached.
const NOT_REACHED: u64 = u64::MAX;

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Answered in full, with every condition met.
    Answered,
    /// Failed.
    Failed(Failure),
    /// Not answered within the timeout.
    TimedOut,
    /// In flight at the end of the drain.
    Unfinished,
    /// Not sent.
    Unsent(Unsent),
}

impl Outcome {
    /// Every outcome, in the order of their codes in the log.
    pub const ALL: [Self; 36] = [
        Self::Answered,
        Self::Failed(Failure::Refused),
        Self::Failed(Failure::Reset),
        Self::Failed(Failure::Closed),
        Self::Failed(Failure::Truncated),
        Self::Failed(Failure::Malformed),
        Self::Failed(Failure::Status4xx),
        Self::Failed(Failure::Status5xx),
        Self::TimedOut,
        Self::Unfinished,
        Self::Unsent(Unsent::Busy),
        Self::Unsent(Unsent::Late),
        Self::Unsent(Unsent::End),
        Self::Failed(Failure::Mismatch),
        Self::Failed(Failure::Tls),
        Self::Failed(Failure::Protocol),
        Self::Failed(Failure::Unprocessed),
        Self::Failed(Failure::GrpcStatus),
        Self::Failed(Failure::StreamReset(0)),
        Self::Failed(Failure::StreamReset(1)),
        Self::Failed(Failure::StreamReset(2)),
        Self::Failed(Failure::StreamReset(3)),
        Self::Failed(Failure::StreamReset(4)),
        Self::Failed(Failure::StreamReset(5)),
        Self::Failed(Failure::StreamReset(6)),
        Self::Failed(Failure::StreamReset(7)),
        Self::Failed(Failure::StreamReset(8)),
        Self::Failed(Failure::StreamReset(9)),
        Self::Failed(Failure::StreamReset(10)),
        Self::Failed(Failure::StreamReset(11)),
        Self::Failed(Failure::StreamReset(12)),
        Self::Failed(Failure::StreamReset(13)),
        Self::Failed(Failure::Unknown),
        Self::Failed(Failure::Generator),
        Self::Failed(Failure::StreamReset(u8::MAX)),
        Self::Failed(Failure::Switched),
    ];

    /// Its name in results.
    pub fn label(self) -> String {
        match self {
            Self::Answered => "answered".to_owned(),
            Self::Failed(failure) => failure.as_str().to_owned(),
            Self::TimedOut => "timed-out".to_owned(),
            Self::Unfinished => "unfinished".to_owned(),
            Self::Unsent(reason) => format!("unsent-{}", reason.as_str()),
        }
    }

    fn code(self) -> u8 {
        Self::ALL.iter().position(|outcome| *outcome == self).unwrap_or_default() as u8
    }
}

/// One request. Timestamps are in nanoseconds after the intended start; None if not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Intended start, nanoseconds since the start of the record.
    pub intended_ns: i64,
    /// The worker saw that the request was due.
    pub offered_ns: Option<u64>,
    /// It was assigned to a connection: its bytes were written, or a connect was started for it.
    pub started_ns: Option<u64>,
    /// The connection that was opened for it was established.
    pub connected_ns: Option<u64>,
    /// First byte written.
    pub written_ns: Option<u64>,
    /// First byte of the response read.
    pub first_byte_ns: Option<u64>,
    /// Last byte read, failure, timeout or end of the run.
    pub ended_ns: Option<u64>,
    /// Its connection, counted from 0 over all workers.
    pub connection: u32,
    /// Status of the response; 0 without one.
    pub status: u16,
    /// The outcome.
    pub outcome: Outcome,
    /// True if it waited for a connection.
    pub blocked: bool,
    /// True if the connection was opened for this request, not for an earlier one.
    pub connected: bool,
}

impl Entry {
    /// Encodes the entry.
    pub fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        let timestamp = |timestamp: Option<u64>| timestamp.unwrap_or(NOT_REACHED).to_le_bytes();
        let fields: [&[u8]; 11] = [
            &self.intended_ns.to_le_bytes(),
            &timestamp(self.offered_ns),
            &timestamp(self.started_ns),
            &timestamp(self.connected_ns),
            &timestamp(self.written_ns),
            &timestamp(self.first_byte_ns),
            &timestamp(self.ended_ns),
            &self.connection.to_le_bytes(),
            &self.status.to_le_bytes(),
            &[self.outcome.code()],
            &[u8::from(self.blocked) | u8::from(self.connected) << 1],
        ];
        for (target, byte) in bytes.iter_mut().zip(fields.into_iter().flatten()) {
            *target = *byte;
        }
        bytes
    }

    /// Decodes an entry; None if its outcome is invalid.
    pub fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Option<Self> {
        let (words, rest) = bytes.split_first_chunk::<56>()?;
        let (words, _) = words.as_chunks::<8>();
        let [planned, offered, started, connected, written, first_byte, ended] =
            *<&[[u8; 8]; 7]>::try_from(words).ok()?;
        let (connection, rest) = rest.split_first_chunk()?;
        let (status, rest) = rest.split_first_chunk()?;
        let [outcome, flags] = *<&[u8; 2]>::try_from(rest).ok()?;
        let timestamp =
            |bytes: [u8; 8]| Some(u64::from_le_bytes(bytes)).filter(|timestamp| *timestamp != NOT_REACHED);
        Some(Self {
            intended_ns: i64::from_le_bytes(planned),
            offered_ns: timestamp(offered),
            started_ns: timestamp(started),
            connected_ns: timestamp(connected),
            written_ns: timestamp(written),
            first_byte_ns: timestamp(first_byte),
            ended_ns: timestamp(ended),
            connection: u32::from_le_bytes(*connection),
            status: u16::from_le_bytes(*status),
            outcome: *Outcome::ALL.get(usize::from(outcome))?,
            blocked: flags & 1 != 0,
            connected: flags & 2 != 0,
        })
    }
}

/// The channel between workers and the writer. Its buffers, in order, follow [`MAGIC`].
pub fn channel() -> (SyncSender<Vec<u8>>, Receiver<Vec<u8>>) {
    sync_channel(CHANNEL_BUFFERS)
}

/// A worker's end of the log.
#[derive(Debug)]
pub struct LogSink {
    sender: SyncSender<Vec<u8>>,
    buffer: Vec<u8>,
    /// Index of the worker's first connection.
    first_connection: u32,
}

impl LogSink {
    /// The sink of a worker whose connections are counted from `first_connection`.
    pub fn new(sender: SyncSender<Vec<u8>>, first_connection: u32) -> Self {
        Self { sender, buffer: Vec::with_capacity(BUFFER_BYTES), first_connection }
    }

    /// Writes an entry. Its connection is an index within the worker.
    pub(crate) fn write(&mut self, mut entry: Entry) {
        entry.connection = entry.connection.saturating_add(self.first_connection);
        self.buffer.extend_from_slice(&entry.to_bytes());
        if self.buffer.len() + ENTRY_BYTES > BUFFER_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(BUFFER_BYTES));
        // A writer that has ended has reported its error.
        let _ = self.sender.send(full);
    }
}

impl Drop for LogSink {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Reason why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// The file is not a log.
    #[error("not a hoptax log: it does not start with `hoptaxL3`")]
    Magic,
    /// The file ends within an entry, or an entry is invalid.
    #[error("the log is corrupt at entry {0}, counted from 1")]
    Entry(u64),
}

/// Reads a log and passes its entries to `take`, in order.
///
/// # Errors
/// When it cannot be read, is not a log, or is corrupt. Entries before the error have been passed on.
pub fn read_log<E: From<LogError>>(
    mut log: impl Read,
    mut take: impl FnMut(&Entry) -> Result<(), E>,
) -> Result<(), E> {
    let mut magic = [0; MAGIC.len()];
    log.read_exact(&mut magic).map_err(|_| LogError::Magic)?;
    if magic != *MAGIC {
        return Err(LogError::Magic.into());
    }
    let mut number = 0;
    let mut bytes = [0; ENTRY_BYTES];
    loop {
        number += 1;
        let mut have = 0;
        while have < ENTRY_BYTES {
            match log.read(bytes.get_mut(have..).unwrap_or_default()).map_err(LogError::Read)? {
                0 if have == 0 => return Ok(()),
                0 => return Err(LogError::Entry(number).into()),
                count => have += count,
            }
        }
        take(&Entry::from_bytes(&bytes).ok_or(LogError::Entry(number))?)?;
    }
}

/// The columns of a log as CSV.
const COLUMNS: &str = "intended_ns,offered_ns,started_ns,connected_ns,written_ns,first_byte_ns,ended_ns,connection,status,outcome,blocked,connected";

/// Writes a log as CSV, a row for each request.
///
/// # Errors
/// When the log cannot be read, is damaged, or the rows cannot be written.
pub fn write_csv(log: impl Read, mut out: impl Write) -> Result<(), LogError> {
    let mut has_head = false;
    // A file that is not a log gets no header either.
    read_log(log, |entry| {
        if !has_head {
            writeln!(out, "{COLUMNS}")?;
            has_head = true;
        }
        Ok::<(), LogError>(writeln!(out, "{}", row(entry))?)
    })?;
    if !has_head {
        writeln!(out, "{COLUMNS}")?;
    }
    Ok(out.flush()?)
}

fn row(entry: &Entry) -> String {
    let moment = |moment: Option<u64>| moment.map_or_else(String::new, |ns| ns.to_string());
    format!(
        "{},{},{},{},{},{},{},{},{},{},{},{}",
        entry.intended_ns,
        moment(entry.offered_ns),
        moment(entry.started_ns),
        moment(entry.connected_ns),
        moment(entry.written_ns),
        moment(entry.first_byte_ns),
        moment(entry.ended_ns),
        entry.connection,
        entry.status,
        entry.outcome.label(),
        entry.blocked,
        entry.connected
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_stream_that_was_reset_with_any_code_is_never_logged_as_answered() {
        for code in [0, 13, 14, 0x20, 255, 0x10c, u32::MAX] {
            assert_ne!(Outcome::Failed(Failure::reset(code)).code(), Outcome::Answered.code(), "{code}");
        }
    }

    fn entries() -> impl Strategy<Value = Entry> {
        let timestamp = || prop::option::of(0..u64::MAX);
        let outcome = prop::sample::select(Outcome::ALL.to_vec());
        let timestamps = (timestamp(), timestamp(), timestamp(), timestamp(), timestamp(), timestamp());
        (any::<i64>(), timestamps, any::<u32>(), any::<u16>(), outcome, any::<bool>(), any::<bool>())
            .prop_map(
                |(
                    intended_ns,
                    (offered_ns, started_ns, connected_ns, written_ns, first_byte_ns, ended_ns),
                    connection,
                    status,
                    outcome,
                    blocked,
                    connected,
                )| Entry {
                    intended_ns,
                    offered_ns,
                    started_ns,
                    connected_ns,
                    written_ns,
                    first_byte_ns,
                    ended_ns,
                    connection,
                    status,
                    outcome,
                    blocked,
                    connected,
                },
            )
    }

    fn read(bytes: &[u8]) -> Result<Vec<Entry>, LogError> {
        let mut all = Vec::new();
        read_log(bytes, |entry| {
            all.push(*entry);
            Ok::<(), LogError>(())
        })?;
        Ok(all)
    }

    proptest! {
        #[test]
        fn entries_survive_encoding_and_decoding(entries in prop::collection::vec(entries(), 0..20)) {
            let mut log = MAGIC.to_vec();
            for entry in &entries {
                log.extend_from_slice(&entry.to_bytes());
            }
            prop_assert_eq!(read(&log).unwrap(), entries);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
            let _ = read(&bytes);
            let _ = read(&[MAGIC.as_slice(), &bytes].concat());
        }
    }

    #[test]
    fn a_corrupt_log_is_reported_with_its_entry() {
        assert!(matches!(read(b"hoptax"), Err(LogError::Magic)));
        assert!(matches!(read(b"something else"), Err(LogError::Magic)));
        let short = [MAGIC.as_slice(), &[0; ENTRY_BYTES], &[0; 7]].concat();
        assert!(matches!(read(&short), Err(LogError::Entry(2))));
        let mut bad = [MAGIC.as_slice(), &[0; ENTRY_BYTES]].concat();
        bad[MAGIC.len() + 62] = 200;
        assert!(matches!(read(&bad), Err(LogError::Entry(1))));
    }

    #[test]
    fn only_a_log_has_columns() {
        let csv = |bytes: &[u8]| {
            let mut text = Vec::new();
            let written = write_csv(bytes, &mut text);
            (written.is_ok(), String::from_utf8(text).unwrap())
        };
        assert_eq!(csv(b"something else"), (false, String::new()));
        assert_eq!(csv(MAGIC.as_slice()), (true, format!("{COLUMNS}\n")));
        // The rows before damage are kept.
        let (is_whole, text) = csv(&[MAGIC.as_slice(), &[0; ENTRY_BYTES], &[0; 7]].concat());
        assert!(!is_whole && text.starts_with(COLUMNS) && text.lines().count() == 2, "{text}");
    }

    #[test]
    fn every_outcome_has_a_unique_name() {
        let words: std::collections::BTreeSet<String> =
            Outcome::ALL.iter().map(|outcome| outcome.label()).collect();
        assert_eq!(words.len(), Outcome::ALL.len());
    }
}
