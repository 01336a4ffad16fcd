//! Connections with TLS that the server closes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use hoptax_certs::{Authority, KeyKind, Request};
use hoptax_load::trial::TrialSpec;
use hoptax_load::{Protocol, RequestSpec, Target};
use hoptax_wire::tls::{
    ClientSecurity, Identity, ServerConfig, ServerSecurity, Tls, client_config, server_config,
};

use crate::support;
use crate::support::http2::PREFACE;
use crate::support::{OK, numbered, run, server};

pub(crate) fn server_tls(alpn: Vec<Vec<u8>>) -> Arc<ServerConfig> {
    let authority = Authority::new("test", 3_600).unwrap();
    let names = vec!["localhost".to_owned()];
    let request = Request { names, spiffe: Vec::new(), key: KeyKind::P256, seconds: 3_600 };
    let signed = authority.sign(&request).unwrap();
    let identity = Identity::from_pem(signed.certificate.as_bytes(), signed.key.as_bytes()).unwrap();
    server_config(ServerSecurity { alpn, ..ServerSecurity::new(identity) }).unwrap()
}

/// A trial with TLS.
fn spec(address: SocketAddr, protocol: Protocol) -> TrialSpec {
    let url = format!("https://{address}/");
    spec_of(address, &RequestSpec { url: &url, protocol: Some(protocol), ..RequestSpec::default() })
}

/// A trial with a request over TLS.
pub(crate) fn spec_of(address: SocketAddr, asked: &RequestSpec<'_>) -> TrialSpec {
    let mut spec = support::spec(address);
    spec.traffic = Target::from_spec(asked).unwrap().into();
    let client = ClientSecurity {
        trusts_all: true,
        alpn: spec.traffic.alpn().map(<[u8]>::to_vec),
        ..ClientSecurity::default()
    };
    spec.traffic.set_tls(&client_config(client).unwrap());
    spec
}

/// The server side of a connection.
pub(crate) struct Peer {
    stream: TcpStream,
    tls: Tls,
    plain: Vec<u8>,
}

impl Peer {
    pub(crate) fn new(stream: TcpStream, config: &Arc<ServerConfig>) -> Self {
        Self { stream, tls: Tls::server(config).unwrap(), plain: Vec::new() }
    }

    /// Reads until `is_enough` accepts the received bytes; None at the end of the connection.
    pub(crate) fn read(&mut self, is_enough: impl Fn(&[u8]) -> bool) -> Option<()> {
        let (mut buffer, mut output) = ([0; 4096], Vec::new());
        while !is_enough(&self.plain) {
            let count = self.stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
            let is_end = self.tls.receive(&buffer[..count], &mut self.plain, &mut output).ok()?;
            self.stream.write_all(&output).ok()?;
            output.clear();
            (!is_end).then_some(())?;
        }
        Some(())
    }

    fn send(&mut self, bytes: &[u8]) {
        let mut output = Vec::new();
        self.tls.send(bytes, &mut output).unwrap();
        // The client may have gone.
        let _ = self.stream.write_all(&output);
    }

    /// Sends `last` and closes, with bytes unread below TLS.
    pub(crate) fn abandon(mut self, last: &[u8]) {
        let mut output = Vec::new();
        self.tls.send(last, &mut output).unwrap();
        let _ = self.stream.write_all(&output);
    }

    /// Sends `last` and `close_notify` in one write. Below TLS, the connection stays open until the client closes it.
    pub(crate) fn close(mut self, last: &[u8]) {
        let mut output = Vec::new();
        self.tls.send(last, &mut output).unwrap();
        self.tls.close(&mut output).unwrap();
        if self.stream.write_all(&output).is_ok() {
            let _ = self.stream.read_to_end(&mut Vec::new());
        }
    }
}

#[test]
fn a_server_that_closes_with_each_response_causes_no_failures() {
    let tls = server_tls(Vec::new());
    let address = server(move |stream| {
        let mut peer = Peer::new(stream, &tls);
        if peer.read(|request| request.ends_with(b"\r\n\r\n")).is_some() {
            peer.close(OK);
        }
    });
    let mut spec = spec(address, Protocol::Http1);
    spec.requests = Some(20);
    let result = run(&spec);
    assert_eq!(result.book.answered, result.book.planned, "{:?}", result.failures);
    assert!(result.book.answered > 4, "{:?}", result.book);
}

#[test]
fn a_body_that_ends_with_the_connection_needs_its_end_announced_by_tls() {
    const UNTIL_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nbody";
    const UNTIL_LENGTH: &[u8] = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 4\r\n\r\nbody";
    for (response, announces, is_named) in
        [(UNTIL_CLOSE, false, true), (UNTIL_CLOSE, true, false), (UNTIL_LENGTH, false, false)]
    {
        let tls = server_tls(Vec::new());
        let address = server(move |stream| {
            let mut peer = Peer::new(stream, &tls);
            if peer.read(|request| request.ends_with(b"\r\n\r\n")).is_none() {
                return;
            }
            if announces { peer.close(response) } else { peer.abandon(response) }
        });
        let mut spec = spec(address, Protocol::Http1);
        (spec.requests, spec.duration) = (Some(20), std::time::Duration::from_mins(1));
        let result = run(&spec);
        assert_eq!(result.book.answered, 20, "{:?}", result.failures);
        let what = "a body that ends with the connection, without the close_notify of TLS".to_owned();
        let expected = if is_named { [(what, 20)].into() } else { std::collections::BTreeMap::new() };
        assert_eq!(result.deviations, expected);
        assert_eq!(result.closed.keys().collect::<Vec<_>>(), ["server"]);
    }
}

#[test]
fn a_connection_that_the_server_closes_when_it_is_ready_loses_no_request() {
    let tls = server_tls(vec![b"h2".to_vec()]);
    // SETTINGS without any.
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let (address, _) = numbered(move |number, stream| {
        let mut peer = Peer::new(stream, &tls);
        if number == 0 {
            // The client waits for the settings, as no request is due.
            if peer.read(|received| received.starts_with(PREFACE)).is_some() {
                peer.close(&settings);
            }
        } else if peer.read(|received| received.starts_with(PREFACE)).is_some() {
            peer.send(&settings);
            if peer.read(has_request).is_some() {
                // HEADERS with `:status: 200` on stream 1.
                peer.close(&[0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88]);
            }
        }
    });
    let mut spec = spec(address, Protocol::Http2);
    (spec.connections, spec.requests) = (1, Some(10));
    let result = run(&spec);
    assert_eq!(result.book.answered, result.book.planned, "{:?}", result.failures);
    assert!(result.book.answered > 0, "{:?}", result.book);
}

/// True if the preface of HTTP/2 and a HEADERS frame have arrived.
fn has_request(received: &[u8]) -> bool {
    let mut rest = received.get(PREFACE.len()..).unwrap_or_default();
    while let Some((head, behind)) = rest.split_at_checked(9) {
        if head[3] == 1 {
            return true;
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        rest = behind.get(length..).unwrap_or_default();
    }
    false
}
