//! The reader of package indexes: an HTML page gives the addresses that it was written with, and any page gives files or an error.
#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_subject::envoy::release::index::{addresses, files};

/// A quoted value with HTML escapes.
fn escaped(value: &str) -> String {
    value.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

fuzz_target!(|input: (Vec<String>, String)| {
    let (written, page) = input;
    let anchor =
        |address: &String| format!("<!-- > --><a class=x href=\"{}\">a &lt; b</a>\n", escaped(address));
    let html: String = written.iter().map(anchor).collect();
    assert_eq!(addresses(&html), written);
    for media_type in ["text/html", "application/vnd.pypi.simple.v1+json"] {
        for file in files(media_type, &page).into_iter().flatten() {
            assert!(!file.address.contains('#'));
            assert!(file.sha256.is_none_or(|digits| digits.len() == 64));
        }
    }
});
