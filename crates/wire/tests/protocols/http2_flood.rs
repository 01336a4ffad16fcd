//! The HTTP/2 server and a client that sends much more than it reads.

use hoptax_wire::http2::{PREFACE, Server, ServerEvent};

use super::http2::frame;

/// A call to a server that answers each part of the request with the same bytes. The client gives the answer `window_bytes`, and
/// sends as much as flow control lets it.
struct Flood {
    server: Server,
    output: Vec<u8>,
    /// Bytes that flow control permits the client to send on the stream, and on the connection.
    permitted_bytes: (u64, u64),
    sent_bytes: u64,
    echoed_bytes: u64,
}

impl Flood {
    fn new(window_bytes: u32) -> Self {
        let server = Server::streaming(|_| true);
        let mut output = Vec::new();
        server.open(&mut output);
        let mut settings = vec![0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4];
        settings.extend_from_slice(&window_bytes.to_be_bytes());
        let head = frame(1, 4, 1, &[0x83, 0x84]);
        let mut flood =
            Self { server, output, permitted_bytes: (65_535, 65_535), sent_bytes: 0, echoed_bytes: 0 };
        flood.feed(&[PREFACE, &settings, &head].concat());
        flood
    }

    fn feed(&mut self, bytes: &[u8]) {
        let mut events = Vec::new();
        self.server.feed(bytes, &mut self.output, &mut events).unwrap();
        for event in events {
            match event {
                ServerEvent::Opened { stream, .. } => {
                    self.server.begin(stream, &[(":status", "200")], &mut self.output);
                }
                ServerEvent::Data { stream, data } => {
                    self.server.push(stream, &data, &mut self.output);
                    self.server.release(stream, data.len(), &mut self.output);
                }
                _ => {}
            }
        }
        self.read();
    }

    /// Reads the server's frames.
    fn read(&mut self) {
        let output = std::mem::take(&mut self.output);
        let mut rest = output.as_slice();
        while let Some((head, behind)) = rest.split_at_checked(9) {
            let (payload, behind) =
                behind.split_at(u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize);
            let grown_bytes = || u64::from(u32::from_be_bytes(payload[..4].try_into().unwrap()));
            match (head[3], head[8]) {
                (0, _) => self.echoed_bytes += payload.len() as u64,
                // INITIAL_WINDOW_SIZE in the settings of the server.
                (4, _) if !payload.is_empty() => {
                    let window = payload.chunks(6).find(|setting| setting[1] == 4).unwrap();
                    self.permitted_bytes.0 = u64::from(u32::from_be_bytes(window[2..].try_into().unwrap()));
                }
                (8, 0) => self.permitted_bytes.1 += grown_bytes(),
                (8, _) => self.permitted_bytes.0 += grown_bytes(),
                _ => {}
            }
            rest = behind;
        }
        assert!(rest.is_empty());
    }

    /// Sends until flow control forbids it, at most `most_bytes` in all.
    fn send(&mut self, most_bytes: u64) {
        let data = [7; 16_384];
        loop {
            let (stream, connection) = self.permitted_bytes;
            let room = (stream.min(connection).min(most_bytes) - self.sent_bytes).min(data.len() as u64);
            if room == 0 {
                return;
            }
            self.sent_bytes += room;
            self.feed(&frame(0, 0, 1, &data[..room as usize]));
            self.server.pump(&mut self.output);
            self.read();
        }
    }
}

#[test]
fn a_client_that_does_not_read_its_answers_cannot_make_the_server_keep_more_than_a_window() {
    const WINDOW_BYTES: u64 = 16 << 20;
    let mut flood = Flood::new(1000);
    flood.send(100 << 20);
    assert_eq!((flood.sent_bytes, flood.echoed_bytes), (WINDOW_BYTES, 1000));
    assert_eq!(flood.server.unsent_bytes(), WINDOW_BYTES - 1000);
    // The stream goes on as soon as the client reads.
    let grown = (64_u32 << 20).to_be_bytes();
    flood.feed(&[frame(8, 0, 1, &grown), frame(8, 0, 0, &grown)].concat());
    flood.send(60 << 20);
    // The output of the server has a limit of its own; each pump sends as much again.
    for _ in 0..400 {
        flood.server.pump(&mut flood.output);
        flood.read();
        flood.send(60 << 20);
    }
    assert_eq!((flood.sent_bytes, flood.echoed_bytes), (60 << 20, 60 << 20));
}

#[test]
fn an_answer_that_ends_before_its_request_refuses_the_rest_of_it() {
    let mut flood = Flood::new(1000);
    flood.send(10);
    flood.server.finish(1, &[("grpc-status", "3")], &mut flood.output);
    // Trailers that end the stream, then RST_STREAM with NO_ERROR.
    assert!(flood.output.ends_with(&frame(3, 0, 1, &[0; 4])), "{:?}", flood.output);
    assert!(flood.server.is_idle());
    flood.read();
    flood.feed(&frame(0, 0, 1, &[7; 100]));
    assert_eq!(flood.echoed_bytes, 10);
}
