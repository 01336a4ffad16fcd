//! The requests of a load: URLs, headers and bodies with placeholders from untrusted files, and traces.

#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_load::{Protocol, RequestSpec, Target, Trace, join_url, without_user};

const PROTOCOLS: [Protocol; 4] = [Protocol::Http1, Protocol::Http2, Protocol::Tcp, Protocol::WebSocket];

/// Protocol, URL, method or trace, headers, and body.
type Input<'a> = (u8, &'a str, &'a str, Vec<(String, String)>, Vec<u8>);

fuzz_target!(|input: Input| {
    let (which, url, method, headers, body) = input;
    // A name would be resolved on this machine.
    let url = format!("http://127.0.0.1:1/{url}");
    let _ = Target::from_spec(&RequestSpec {
        url: &url,
        method,
        headers,
        body,
        protocol: Some(PROTOCOLS[usize::from(which) % PROTOCOLS.len()]),
        ..RequestSpec::default()
    });
    let _ = join_url(&url, method);
    // A slash, a question mark or a number sign ends the authority, so `user` is the host.
    assert!(
        !without_user(&format!("http://user:{method}@127.0.0.1/")).contains("user:")
            || method.contains(['@', '/', '?', '#'])
    );
    if let Ok(trace) = Trace::parse("trace", method) {
        assert!(trace.rate() >= 0.0 && trace.length().as_nanos() < u128::MAX);
    }
});
