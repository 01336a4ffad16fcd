//! The search for secrets in untrusted texts: the masked ranges are within the text.

#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_text::secrets::{has_private_key, is_name, users_of_urls, without_signatures};

fuzz_target!(|text: &str| {
    let mut end = 0;
    for range in users_of_urls(text) {
        assert!(range.start >= end && text.get(range.clone()).is_some(), "{range:?}");
        end = range.end;
    }
    let _ = (is_name(text), has_private_key(text));
    assert!(without_signatures(text).len() <= text.len());
});
