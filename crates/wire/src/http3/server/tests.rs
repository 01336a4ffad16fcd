//! Actions of a server on the requests of a connection, against the client, with all datagrams in memory: limits on concurrent requests,
//! GOAWAY, rejection, and calls.

mod calls;

use std::time::Duration;

use quinn_proto::{Dir, Side, TransportConfig, VarInt};

use super::*;
use crate::encoded::Encoded;
use crate::http3::frame::{kind, put_head};
use crate::http3::{ALPN, Http3, Setup};
use crate::response::{Event, Loss};
use crate::tls::tests::localhost;
use crate::tls::{ClientSecurity, ServerName, Versions, certificates_from_pem, client_config};

struct Pair {
    client: Http3,
    server: Server,
    events: Vec<Event>,
}

impl Pair {
    /// A server, whose calls of `/echo` are streams, and a client with five places for requests.
    fn new() -> Self {
        let (tls, authority) = localhost();
        Self::with(Server::new(&tls, |head| head.path == "/echo").unwrap(), &authority)
    }

    /// The same with a server that allows `allowed` concurrent requests.
    fn allowing(allowed: u32) -> Self {
        let (tls, authority) = localhost();
        let mut server = Server::new(&tls, |_| false).unwrap();
        let mut tls = tls::ServerConfig::clone(&tls);
        tls.alpn_protocols = vec![ALPN.to_vec()];
        let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
        let mut transport = TransportConfig::default();
        transport.max_concurrent_bidi_streams(VarInt::from_u32(allowed));
        config.transport_config(Arc::new(transport));
        server.endpoint = quic::endpoint(Some(Arc::new(config)));
        Self::with(server, &authority)
    }

    fn with(server: Server, authority: &str) -> Self {
        let client = client_config(ClientSecurity {
            authorities: certificates_from_pem(authority.as_bytes()).unwrap(),
            versions: Versions::Only13,
            alpn: Some(ALPN.to_vec()),
            ..ClientSecurity::default()
        });
        let setup = Setup {
            streams: 5,
            address: SocketAddr::from(([127, 0, 0, 1], 1)),
            security: Some((client.unwrap(), ServerName::try_from("localhost").unwrap())),
        };
        let mut pair = Self { client: Http3::new(&setup, None), server, events: Vec::new() };
        while !pair.client.is_open() {
            pair.exchange();
        }
        pair
    }

    /// Carries the datagrams of both sides. Returns the events of the server.
    fn exchange(&mut self) -> Vec<ServerEvent<RequestId>> {
        let (mut datagram, mut events, mut is_idle) = (Vec::new(), Vec::new(), true);
        while self.client.next_datagram(&mut datagram) {
            self.server.feed(SocketAddr::from(([127, 0, 0, 1], 2)), &datagram, &mut events);
            is_idle = false;
        }
        self.server.tick(&mut events);
        while self.server.next_datagram(&mut datagram).is_some() {
            self.client.feed(&datagram, &mut self.events).unwrap();
            is_idle = false;
        }
        self.client.tick(&mut self.events).unwrap();
        if is_idle {
            // QUIC delays acknowledgements, and spreads its packets over time.
            std::thread::sleep(Duration::from_millis(1));
        }
        events
    }

    /// The same. Returns the requests that arrived.
    fn arrived(&mut self) -> Vec<RequestId> {
        let request = |event| match event {
            ServerEvent::Request { stream, .. } => Some(stream),
            _ => None,
        };
        self.exchange().into_iter().filter_map(request).collect()
    }

    fn send(&mut self, place: u32) {
        let fields = [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", "/")];
        let request = Encoded::http3(&fields, b"", false);
        self.client.send(place, &request, &request.bytes);
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.server.peers.values_mut().next().unwrap().connection
    }
}

#[test]
fn a_client_that_keeps_to_the_limit_never_has_more_requests_and_all_are_answered() {
    let mut pair = Pair::allowing(2);
    assert_eq!(pair.client.max_streams(), 2);
    let (mut in_flight, mut sent, mut answered) = (Vec::new(), 0, 0);
    let mut open: Vec<RequestId> = Vec::new();
    while answered < 12 {
        while sent < 12 && (in_flight.len() as u32) < pair.client.max_streams() {
            let place = (0..5).find(|place| !in_flight.contains(place)).unwrap();
            in_flight.push(place);
            pair.send(place);
            assert!(pair.client.is_sent(place), "it waits at the client, where nobody sees it");
            sent += 1;
        }
        open.extend(pair.arrived());
        assert!(open.len() <= 2, "{open:?}");
        if !open.is_empty() {
            pair.server.respond(open.remove(0), &[(":status", "200")], Body::Bytes(Vec::new()), &[]);
        }
        for event in std::mem::take(&mut pair.events) {
            if let Event::Answered { stream, .. } = event {
                in_flight.retain(|place| *place != stream);
                answered += 1;
            }
        }
    }
}

#[test]
fn a_limit_of_zero_that_rises_is_reported() {
    let mut pair = Pair::allowing(0);
    assert_eq!((pair.client.is_open(), pair.client.max_streams()), (true, 0));
    pair.connection().set_max_concurrent_streams(Dir::Bi, VarInt::from_u32(3));
    while pair.client.max_streams() == 0 {
        pair.exchange();
    }
    assert_eq!((pair.client.max_streams(), pair.events.pop()), (3, Some(Event::Limit { streams: 3 })));
}

#[test]
fn requests_that_a_server_rejects_or_excludes_are_handed_back() {
    let mut pair = Pair::allowing(1);
    pair.send(0);
    // It has no stream yet: the server will never see it.
    pair.send(1);
    while pair.arrived().is_empty() {}
    // H3_REQUEST_REJECTED (RFC 9114, section 8.1).
    let first = StreamId::new(Side::Client, Dir::Bi, 0);
    pair.connection().send_stream(first).reset(VarInt::from_u32(0x10b)).unwrap();
    while !pair.events.iter().any(|event| matches!(event, Event::Lost { .. })) {
        pair.exchange();
    }
    let lost = |events: &[Event]| -> Vec<(u32, Loss)> {
        let lost = events.iter().filter_map(|event| match event {
            Event::Lost { stream, loss } => Some((*stream, *loss)),
            _ => None,
        });
        lost.collect()
    };
    assert_eq!(lost(&pair.events), [(0, Loss::Reset { code: 7, stated: 0x10b })]);
    let reset = |code| Loss::Reset { code, stated: 0 };
    assert!(reset(7).is_unprocessed() && !reset(8).is_unprocessed());
    pair.events.clear();
    // A GOAWAY that excludes all requests, on a control stream.
    let mut goaway = vec![0];
    put_head(&mut goaway, kind::GOAWAY, 1);
    goaway.push(0);
    let control = pair.connection().streams().open(Dir::Uni).unwrap();
    quic::write_opening(pair.connection(), control, &goaway).unwrap();
    pair.send(2);
    while !pair.events.iter().any(|event| matches!(event, Event::Draining { .. })) {
        pair.exchange();
    }
    assert_eq!(lost(&pair.events), [(1, Loss::Unprocessed(0)), (2, Loss::Unprocessed(0))]);
}
