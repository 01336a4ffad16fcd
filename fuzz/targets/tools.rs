//! The parsers of other load generators' output, with arbitrary text.

#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_tools::{ALL, import};

fuzz_target!(|bytes: &[u8]| {
    let Some((which, text)) = bytes.split_first() else { return };
    let tool = &ALL[usize::from(*which) % ALL.len()];
    let _ = import(tool, &String::from_utf8_lossy(text), None);
});
