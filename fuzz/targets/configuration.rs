//! Untrusted Envoy configurations and dumps: reads them, adapts them to a lab, splits them into parts, derives a request, and reads Envoy's
//! error messages.

#![cfg_attr(feature = "run", no_main)]

use std::net::{Ipv4Addr, SocketAddr};

use hoptax_bootstrap::parts::parts;
use hoptax_bootstrap::request::derive;
use hoptax_bootstrap::{Lab, Loaded, read};
use hoptax_fuzz::fuzz_target;

fuzz_target!(|input: (&str, &str, &str)| {
    let (text, other, message) = input;
    let load = |path: &str| match path.len() % 2 {
        0 => Ok(Loaded { name: path.to_owned(), text: other.to_owned() }),
        _ => Err("it does not exist".to_owned()),
    };
    let _ = read("envoy.yaml", text, Some(message), &load);
    let Ok(configuration) = read("envoy.yaml", text, None, &load) else { return };
    let server = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let lab = Lab {
        admin_port: 0,
        listener_ports: vec![10_000],
        origin: server(9001),
        companion: server(9002),
        folder: "/lab".into(),
    };
    let Ok(adapted) = configuration.adapt(&lab, &|_| Some(other.as_bytes().to_vec())) else { return };
    let _ = adapted.check_extensions();
    let _ = adapted.refusal(message, []).to_string();
    for listener in &adapted.listeners {
        let Ok(request) = derive(&adapted, listener) else { continue };
        for part in parts(&adapted, listener, &request) {
            for pointer in &part.pointers {
                let _ = adapted.place(pointer);
            }
            let _ = adapted.without(&part.pointers);
        }
    }
});
