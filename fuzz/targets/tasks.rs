//! The tasks of extensions, with arbitrary bodies and tokens.

#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_tasks::{Key, is_valid_token, rewrite_json};

fuzz_target!(|input: (&[u8], u64)| {
    let (bytes, now_s) = input;
    if let Some(rewritten) = rewrite_json(bytes) {
        assert!(serde_json::from_slice::<serde_json::Value>(&rewritten).is_ok());
    }
    let key = Key::new(b"key");
    assert_eq!(key.claims(key.sign(bytes).as_bytes()).as_deref(), Some(bytes));
    // A valid token needs the key.
    assert!(!is_valid_token(bytes, now_s) && key.claims(bytes).is_none());
});
