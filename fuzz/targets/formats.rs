//! The readers of results in formats that are not those of one tool, with arbitrary text.

#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_tools::FORMATS;

fuzz_target!(|bytes: &[u8]| {
    let Some((which, text)) = bytes.split_first() else { return };
    // A Parquet file is read in a process of its own; what comes out of it is the text of a table.
    let format = FORMATS[usize::from(*which) % FORMATS.len()];
    let text = String::from_utf8_lossy(text);
    for statistic in [None, Some("a")] {
        if let Ok(result) = (format.read)(&text, statistic) {
            // It can be written as JSON and read again.
            let json = serde_json::to_string(&result).expect("a result is JSON");
            assert!(serde_json::from_str::<hoptax_result::LoadResult>(&json).is_ok(), "{json}");
        }
    }
});
