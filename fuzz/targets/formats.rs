//! The readers of result formats that belong to no single tool, with arbitrary text.

#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_tools::FORMATS;

fuzz_target!(|bytes: &[u8]| {
    let Some((which, text)) = bytes.split_first() else { return };
    // A separate process reads a Parquet file and returns the text of a table.
    let format = FORMATS[usize::from(*which) % FORMATS.len()];
    let text = String::from_utf8_lossy(text);
    for statistic in [None, Some("a")] {
        if let Ok(result) = (format.read)(&text, statistic) {
            // The result survives a round trip through JSON.
            let json = serde_json::to_string(&result).expect("a result is JSON");
            assert!(serde_json::from_str::<hoptax_result::LoadResult>(&json).is_ok(), "{json}");
        }
    }
});
