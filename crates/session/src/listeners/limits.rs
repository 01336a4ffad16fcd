//! A rate limit service (`envoy.service.ratelimit.v3`). It refuses requests whose user agent has a certain prefix, and records the
//! questions that it gets.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use hoptax_wire::grpc::{fields, first, framed};
use hoptax_wire::http2::{Body, Server, ServerEvent};

use super::acceptor::Acceptor;

/// Prefix of user agents that are refused.
pub(super) const REFUSED: &str = "hoptax-refused-";
/// The path of its gRPC method.
const PATH: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
/// Field 1 of the response is `overall_code`: 1 is OK, 2 is `OVER_LIMIT`.
const ADMITTED: [u8; 2] = [8, 1];
const OVER_LIMIT: [u8; 2] = [8, 2];

/// A question: a domain, and the entries of all descriptors.
pub(super) type Question = (String, Vec<(String, String)>);

/// The service; it ends when dropped.
#[derive(Debug)]
pub(super) struct Limits {
    acceptor: Acceptor,
    asked: Arc<Asked>,
}

/// Questions that the service received.
type Asked = Mutex<Vec<Question>>;

impl Limits {
    pub(super) fn start() -> io::Result<Self> {
        let asked: Arc<Asked> = Arc::default();
        let all = Arc::clone(&asked);
        let acceptor = Acceptor::start(move |stream| {
            // A failed connection leaves a question without an answer, which the judgement of the promise covers.
            let _ = serve(stream, &all);
        })?;
        Ok(Self { acceptor, asked })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.acceptor.address
    }

    /// Removes and returns the first question with this value.
    pub(super) fn asked(&self, value: &str) -> Option<Question> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |(_, entries): &Question| entries.iter().any(|(_, one)| one == value);
        let index = asked.iter().position(has)?;
        Some(asked.swap_remove(index))
    }
}

fn serve(mut socket: &TcpStream, asked: &Asked) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut server = Server::default();
    let (mut output, mut events) = (Vec::new(), Vec::new());
    server.open(&mut output);
    let mut bytes = [0; 4096];
    loop {
        socket.write_all(&output)?;
        output.clear();
        let count = socket.read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        let read = bytes.get(..count).unwrap_or_default();
        server.feed(read, &mut output, &mut events).map_err(io::Error::other)?;
        for event in events.drain(..) {
            let ServerEvent::Request { stream, head, body } = event else { continue };
            let head_fields = [(":status", "200"), ("content-type", "application/grpc")];
            let question = first(&body).filter(|_| head.path == PATH).map(|(message, _)| question(message));
            let Some(question) = question else {
                // gRPC status 12, unimplemented.
                server.respond(
                    stream,
                    &head_fields,
                    Body::Bytes(Vec::new()),
                    &[("grpc-status", "12")],
                    &mut output,
                );
                continue;
            };
            let is_refused = question.1.iter().any(|(_, value)| value.starts_with(REFUSED));
            let reply = framed(if is_refused { &OVER_LIMIT } else { &ADMITTED });
            asked.lock().unwrap_or_else(PoisonError::into_inner).push(question);
            server.respond(stream, &head_fields, Body::Bytes(reply), &[("grpc-status", "0")], &mut output);
        }
        server.pump(&mut output);
    }
}

/// Field 1 of a question is its domain, field 2 a descriptor, whose field 1 is an entry of key (1) and value (2).
fn question(message: &[u8]) -> Question {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let field = |message: &[u8], wanted: u64| {
        fields(message)
            .find(|(number, _)| *number == wanted)
            .map(|(_, bytes)| text(bytes))
            .unwrap_or_default()
    };
    let descriptors = fields(message).filter(|(number, _)| *number == 2);
    let entries =
        descriptors.flat_map(|(_, descriptor)| fields(descriptor)).filter(|(number, _)| *number == 1);
    (field(message, 1), entries.map(|(_, entry)| (field(entry, 1), field(entry, 2))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_a_domain_and_the_entries_of_all_descriptors() {
        let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len() as u8], bytes].concat();
        let entry = |key: &[u8], value: &[u8]| field(1, &[field(1, key), field(2, value)].concat());
        let message = [field(1, b"api"), field(2, &entry(b"a", b"1")), field(2, &entry(b"b", b"2"))].concat();
        let entries = [("a", "1"), ("b", "2")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(question(&message), ("api".to_owned(), entries.to_vec()));
        assert_eq!(question(b""), (String::new(), Vec::new()));
    }
}
