//! The checks of bodies, with arbitrary bodies of servers.

#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_wire::{ExpectedBody, ExpectedJson};

fuzz_target!(|input: (&[u8], &str)| {
    let (body, pointer) = input;
    let json = vec![ExpectedJson { pointer: pointer.to_owned(), value: None }];
    let is_there = ExpectedBody { json, ..ExpectedBody::default() }.is(body);
    let expected = serde_json::from_slice::<serde_json::Value>(body).ok();
    assert_eq!(is_there, expected.is_some_and(|value| value.pointer(pointer).is_some()));
    let contains = vec![pointer.to_owned()];
    let found = body.windows(pointer.len().max(1)).any(|part| part == pointer.as_bytes());
    assert_eq!(ExpectedBody { contains, ..ExpectedBody::default() }.is(body), found || pointer.is_empty());
});
