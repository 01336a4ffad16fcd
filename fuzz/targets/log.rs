//! The parser of raw logs: arbitrary bytes give entries or an error, and entries survive a round trip.
#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_load::log::{ENTRY_BYTES, LogError, MAGIC, read_log};

fuzz_target!(|bytes: &[u8]| {
    let log = [MAGIC.as_slice(), bytes].concat();
    let mut at = MAGIC.len();
    let _ = read_log(log.as_slice(), |entry| {
        let read = &log[at..at + ENTRY_BYTES];
        // `blocked` is 1 or anything else.
        assert_eq!(entry.to_bytes()[..ENTRY_BYTES - 1], read[..ENTRY_BYTES - 1]);
        at += ENTRY_BYTES;
        Ok::<(), LogError>(())
    });
});
