//! The parsers of other load generators' output, with arbitrary text.

#![no_main]

use hoptax_tools::{ALL, import};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((which, text)) = bytes.split_first() else { return };
    let tool = &ALL[usize::from(*which) % ALL.len()];
    let _ = import(tool, &String::from_utf8_lossy(text), None);
});
