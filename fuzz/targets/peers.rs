//! Output of other load generators, as `hoptax import` reads it from strangers.

#![no_main]

use hoptax_peers::{ALL, import};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((which, text)) = bytes.split_first() else { return };
    let peer = &ALL[usize::from(*which) % ALL.len()];
    let _ = import(peer, &String::from_utf8_lossy(text));
});
