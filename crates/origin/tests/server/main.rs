//! The origin over real sockets.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calling;

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hoptax_origin::{Origin, OriginError, OriginOptions, OriginReport};
use hoptax_wire::grpc::framed;
use hoptax_wire::http2::{Http2, Settings};
use hoptax_wire::{Encoded, Event, ExpectedHeader};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<OriginReport, OriginError>>>,
}

impl Running {
    fn end(mut self) -> OriginReport {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap().unwrap()
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }

    /// Sends `request` on a new connection and reads until the server closes it.
    fn exchange(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        String::from_utf8(response).unwrap()
    }

    fn get(&self, target: &str) -> String {
        self.exchange(format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").as_bytes())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn start(options: &OriginOptions) -> Running {
    serve(Origin::bind(options).unwrap())
}

fn serve(origin: Origin) -> Running {
    run_at(origin.local_address(), |stop| origin.run(stop))
}

fn run_at(
    address: SocketAddr,
    run: impl FnOnce(&AtomicBool) -> Result<OriginReport, OriginError> + Send + 'static,
) -> Running {
    let stop = Arc::new(AtomicBool::new(false));
    let thread = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || run(&stop)
    });
    Running { address, stop, thread: Some(thread) }
}

fn body(response: &str) -> &str {
    response.split_once("\r\n\r\n").unwrap().1
}

/// Reads one response with `content-length` from a persistent connection.
fn read_response(stream: &mut TcpStream) -> String {
    let mut response = Vec::new();
    let mut byte = [0];
    while !response.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        response.push(byte[0]);
    }
    let head = String::from_utf8(response).unwrap();
    let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

#[test]
fn parameters_determine_the_response() {
    let origin = start(&OriginOptions::default());
    let plain = origin.get("/anything");
    assert!(plain.starts_with("HTTP/1.1 200 OK\r\n") && body(&plain).len() == 64, "{plain}");
    assert!(origin.get("/?status=503").starts_with("HTTP/1.1 503 "));
    assert!(origin.get("/?error=1").starts_with("HTTP/1.1 500 "));
    assert_eq!(body(&origin.get("/?size=0")), "");
    assert_eq!(body(&origin.get("/?size=100000")).len(), 100_000);
    assert!(origin.get("/?header=X-One:two").contains("\r\nX-One: two\r\n"));
    let by_header = "GET /?status=404 HTTP/1.1\r\nX-Hoptax-Status: 418\r\nConnection: close\r\n\r\n";
    assert!(origin.exchange(by_header.as_bytes()).starts_with("HTTP/1.1 418 "), "headers take precedence");
}

#[test]
fn an_invalid_parameter_is_answered_with_status_400_and_the_reason() {
    let origin = start(&OriginOptions::default());
    let response = origin.get("/?delay=soon");
    assert!(
        response.starts_with("HTTP/1.1 400 ")
            && body(&response).contains("invalid value `soon` for parameter `delay`"),
        "{response}"
    );
    // A request cannot make the origin read a file.
    assert!(origin.get("/?delay=table:/etc/hostname").starts_with("HTTP/1.1 400 "));
}

#[test]
fn a_delay_is_never_early_and_does_not_block_other_connections() {
    let origin = start(&OriginOptions::default());
    let mut slow = origin.connect();
    let began = Instant::now();
    slow.write_all(b"GET /?delay=300ms HTTP/1.1\r\n\r\n").unwrap();
    for _ in 0..20 {
        origin.get("/");
    }
    assert!(read_response(&mut slow).starts_with("HTTP/1.1 200 "));
    assert!(began.elapsed() >= Duration::from_millis(300));
}

#[test]
fn a_delay_is_sampled_from_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("delays");
    std::fs::write(&path, "20ms\n30ms\n").unwrap();
    let origin = start(&OriginOptions { tables: vec![path], ..OriginOptions::default() });
    let began = Instant::now();
    assert!(origin.get("/?delay=table:delays").starts_with("HTTP/1.1 200 "));
    assert!(began.elapsed() >= Duration::from_millis(20));
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let origin = start(&OriginOptions::default());
    let mut stream = origin.connect();
    // In one write: a delayed request first, then a chunked body, then HEAD.
    stream
        .write_all(
            b"GET /?size=1&delay=20ms HTTP/1.1\r\n\r\n\
              POST /?size=2 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\
              GET /?size=3 HTTP/1.1\r\n\r\nHEAD /?size=4 HTTP/1.1\r\nConnection: close\r\n\r\n",
        )
        .unwrap();
    for size in 1..=3 {
        assert_eq!(body(&read_response(&mut stream)).len(), size);
    }
    let mut last = String::new();
    stream.read_to_string(&mut last).unwrap();
    assert!(last.contains("content-length: 4\r\n") && body(&last).is_empty(), "{last}");
}

#[test]
fn a_request_may_arrive_in_single_bytes() {
    let origin = start(&OriginOptions::default());
    let mut stream = origin.connect();
    stream.set_nodelay(true).unwrap();
    for byte in b"POST /?size=5 HTTP/1.1\r\nContent-Length: 2\r\n\r\nab" {
        stream.write_all(&[*byte]).unwrap();
    }
    assert_eq!(body(&read_response(&mut stream)).len(), 5);
}

#[test]
fn close_is_announced_and_closes_the_connection() {
    let origin = start(&OriginOptions::default());
    let response = origin.exchange(b"GET /?close=true HTTP/1.1\r\n\r\n");
    assert!(response.contains("\r\nconnection: close\r\n"), "{response}");
    assert!(origin.exchange(b"GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200 "));
}

#[test]
fn malformed_and_oversized_requests_get_an_error_and_the_connection_closes() {
    let origin = start(&OriginOptions::default());
    assert!(origin.exchange(b"\x16\x03\x01 hello\r\n\r\n").starts_with("HTTP/1.1 400 "));
    let large = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "b".repeat(70_000));
    assert!(origin.exchange(large.as_bytes()).starts_with("HTTP/1.1 431 "));
}

#[test]
fn a_slow_reader_gets_the_whole_response_and_does_not_block_others() {
    let origin = start(&OriginOptions::default());
    let mut slow = origin.connect();
    slow.write_all(b"GET /?size=20000000 HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    for _ in 0..20 {
        assert!(origin.get("/").starts_with("HTTP/1.1 200 "));
    }
    let mut response = String::new();
    slow.read_to_string(&mut response).unwrap();
    assert_eq!(body(&response).len(), 20_000_000);
}

#[test]
fn shutdown_finishes_responses_in_flight_and_closes_idle_connections() {
    let origin = start(&OriginOptions::default());
    let (mut idle, mut busy) = (origin.connect(), origin.connect());
    busy.write_all(b"GET /?delay=200ms HTTP/1.1\r\n\r\n").unwrap();
    // A response on a third connection shows that the worker has accepted the first two.
    origin.get("/");
    let report = origin.end();
    assert_eq!(report.answered, 2);
    assert!(read_response(&mut busy).contains("connection: close"));
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
}

#[test]
fn several_workers_share_a_port_and_two_origins_do_not() {
    let origin = start(&OriginOptions { workers: 2, ..OriginOptions::default() });
    for _ in 0..50 {
        assert!(origin.get("/").starts_with("HTTP/1.1 200 "));
    }
    let first = start(&OriginOptions::default());
    let taken = Origin::bind(&OriginOptions { listen: first.address, ..OriginOptions::default() })
        .unwrap_err()
        .to_string();
    assert!(taken.contains("another process listens there"), "{taken}");
    assert_eq!(origin.end().connections, 50);
}

#[test]
fn an_origin_without_file_descriptors_sleeps_and_accepts_when_it_has_one() {
    // In a process of its own, as concurrent tests need descriptors.
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["origins_in_a_process_without_file_descriptors", "--exact", "--ignored"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "run by the test above"]
fn origins_in_a_process_without_file_descriptors() {
    let few = Rlimit { current: Some(64), maximum: getrlimit(Resource::Nofile).maximum };
    setrlimit(Resource::Nofile, few).unwrap();
    for origin in [start(&OriginOptions::default()), calling::calling("", Vec::new())] {
        assert!(origin.get("/").starts_with("HTTP/1.1 200 "));
        let open = || File::open("/dev/null");
        let mut held: Vec<File> = std::iter::from_fn(|| open().ok()).collect();
        held.pop();
        // The client gets the last descriptor, and the origin none for its end.
        let mut client = origin.connect();
        assert!(open().is_err());
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let (began, used_before) = (Instant::now(), cpu_time());
        std::thread::sleep(Duration::from_millis(200));
        let (used, took) = (cpu_time().saturating_sub(used_before), began.elapsed());
        assert!(used < took / 2, "{used:?} of {took:?}");
        drop(held);
        let mut response = String::new();
        client.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
        let report = origin.end();
        assert_eq!((report.connections, report.answered, report.broken), (2, 2, 0));
    }
}

/// CPU time of this process.
fn cpu_time() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}

#[test]
fn defaults_apply_to_requests_without_parameters() {
    let origin =
        start(&OriginOptions { default_query: "size=7&status=404".to_owned(), ..OriginOptions::default() });
    let response = origin.get("/");
    assert!(response.starts_with("HTTP/1.1 404 ") && body(&response).len() == 7, "{response}");
    let bad = Origin::bind(&OriginOptions { default_query: "size=x".to_owned(), ..OriginOptions::default() });
    assert!(matches!(bad, Err(OriginError::Default(_))));
    let missing = Origin::bind(&OriginOptions {
        tables: vec![PathBuf::from("/nonexistent")],
        ..OriginOptions::default()
    });
    assert!(matches!(missing, Err(OriginError::Table(_))));
}

#[test]
fn replaced_defaults_apply_to_later_requests_of_open_connections() {
    let origin = Origin::bind(&OriginOptions::default()).unwrap();
    let defaults = origin.defaults();
    let origin = serve(origin);
    let mut stream = origin.connect();
    let mut status = || {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        read_response(&mut stream).split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status(), "200");
    defaults.replace("status=503").unwrap();
    assert_eq!(status(), "503");
    assert!(defaults.replace("status=5").unwrap_err().to_string().contains("`status`"));
    assert_eq!(status(), "503", "an invalid replacement changes nothing");
    defaults.replace("").unwrap();
    assert_eq!(status(), "200");
}

#[test]
fn a_connection_that_is_idle_for_too_long_is_closed() {
    let origin = start(&OriginOptions { default_query: "idle=100ms".to_owned(), ..OriginOptions::default() });
    let mut stream = origin.connect();
    let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let began = Instant::now();
    stream.write_all(request).unwrap();
    read_response(&mut stream);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the connection is closed");
    assert!(began.elapsed() >= Duration::from_millis(100), "{:?}", began.elapsed());
    // Without the parameter, and for a request that states a longer time, it stays open.
    let mut stream = origin.connect();
    stream.write_all(b"GET /?idle=1h HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    read_response(&mut stream);
    std::thread::sleep(Duration::from_millis(150));
    stream.write_all(request).unwrap();
    assert!(read_response(&mut stream).starts_with("HTTP/1.1 200"));
}

#[test]
fn keep_alive_of_an_http_1_0_client_is_confirmed() {
    let origin = start(&OriginOptions::default());
    let mut stream = origin.connect();
    for _ in 0..2 {
        stream.write_all(b"GET /?size=3 HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").unwrap();
        assert!(read_response(&mut stream).contains("connection: keep-alive\r\n"));
    }
    assert!(origin.exchange(b"GET / HTTP/1.0\r\n\r\n").contains("connection: close"));
}

#[test]
fn headers_larger_than_a_frame_arrive_over_http_2() {
    let value = "a".repeat(40_000);
    let origin = start(&OriginOptions {
        default_query: format!("size=7&header=x-long:{value}"),
        ..OriginOptions::default()
    });
    let expected = ExpectedHeader { name: "x-long".to_owned(), value: Some(value) };
    let mut client = Http2::new(Settings::with_streams(1), Some(vec![expected].into()));
    let fields = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")];
    let request = Encoded::http2(&fields, b"");
    let (mut socket, mut output, mut events) = (origin.connect(), Vec::new(), Vec::new());
    client.open(&mut output);
    client.send(0, &request, &request.bytes, &mut output);
    let response = loop {
        socket.write_all(&output).unwrap();
        output.clear();
        let mut buffer = [0; 4096];
        let count = socket.read(&mut buffer).unwrap();
        client.feed(&buffer[..count], &mut output, &mut events).unwrap();
        if let Some(Event::Answered { response, .. }) = events.last() {
            break *response;
        }
    };
    assert!(response.status == 200 && response.body_bytes == 7 && response.is_as_expected, "{response:?}");
}

#[test]
fn the_record_holds_streaming_calls_beside_requests() {
    let origin = Origin::bind(&OriginOptions::default()).unwrap();
    let (address, stop) = (origin.local_address(), Arc::new(AtomicBool::new(false)));
    let served = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || origin.run_recorded(&stop)
    });
    let mut socket = TcpStream::connect(address).unwrap();
    let mut client = Http2::new(Settings::with_streams(1), None);
    let mut output = Vec::new();
    client.open(&mut output);
    for (path, body) in [
        ("/", Vec::new()),
        ("/hoptax.echo.v1.Echo/Bidirectional?delay=2ms", [framed(b"a"), framed(b"b")].concat()),
    ] {
        let fields = [
            (":method", "POST"),
            (":scheme", "http"),
            (":authority", "a"),
            (":path", path),
            ("content-type", "application/grpc"),
        ];
        let fields = if body.is_empty() { &fields[..4] } else { &fields[..] };
        let request = Encoded::http2(fields, &body);
        client.send(0, &request, &request.bytes, &mut output);
        let (mut buffer, mut events) = ([0; 4096], Vec::new());
        while !events.iter().any(|event| matches!(event, Event::Answered { .. })) {
            socket.write_all(&output).unwrap();
            output.clear();
            let count = socket.read(&mut buffer).unwrap();
            client.feed(&buffer[..count], &mut output, &mut events).unwrap();
        }
    }
    stop.store(true, Ordering::Relaxed);
    let (report, served) = served.join().unwrap().unwrap();
    assert_eq!((report.answered, served.len()), (2, 2));
    let [plain, call] = [0, 1].map(|index| served[index]);
    assert!(plain.written_ns <= call.arrived_ns, "{plain:?} {call:?}");
    // Each of its messages has its own delay.
    assert!(call.written_ns - call.arrived_ns >= 4_000_000, "{call:?}");
    assert!(call.departs_ns >= call.arrived_ns + 4_000_000 && call.departs_ns <= call.written_ns, "{call:?}");
}
