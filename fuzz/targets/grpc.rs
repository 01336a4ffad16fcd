//! The origin parses the messages of gRPC callers, and the generator the reflection data of servers.
#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_wire::grpc::{framed, messages};
use hoptax_wire::proto::Reflection;

fuzz_target!(|responses: Vec<Vec<u8>>| {
    let mut reflection = Reflection::new("server", ["/a.B/C"]);
    for response in &responses {
        if let Some(messages) = messages(response) {
            let again: Vec<u8> = messages.into_iter().flat_map(framed).collect();
            assert_eq!(&again, response);
        }
        if reflection.next_request().is_none() || reflection.take(response).is_err() {
            return;
        }
    }
    if let Ok(services) = reflection.services() {
        let _ = services.call("/a.B/C").map(|call| call.encode("{}"));
    }
});
