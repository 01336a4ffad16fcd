use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use super::*;
use crate::{Origin, OriginOptions};

/// A server on a thread of its own; ended when dropped.
struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<OriginReport>>,
}

impl Running {
    fn start(
        address: SocketAddr,
        run: impl FnOnce(&AtomicBool) -> Result<OriginReport, OriginError> + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        Self { address, stop, thread: Some(thread::spawn(move || run(&seen).unwrap())) }
    }

    fn leaf(default_query: &str) -> Self {
        let options = OriginOptions { default_query: default_query.to_owned(), ..OriginOptions::default() };
        let origin = Origin::bind(&options).unwrap();
        Self::start(origin.local_address(), |stop| origin.run(stop))
    }

    fn calling(default_query: &str, steps: Vec<Vec<Call>>) -> Self {
        let origin = CallingOrigin::bind(&CallingOptions {
            listen: ([127, 0, 0, 1], 0).into(),
            default_query: default_query.to_owned(),
            calls: Calls { steps },
            seed: 1,
        })
        .unwrap();
        Self::start(origin.local_address(), |stop| origin.run(stop))
    }

    /// Stops the origin. Returns its report once it has ended.
    fn end(mut self) -> OriginReport {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }

    /// Sends requests on one connection, and returns the head of each response.
    fn get(&self, count: usize) -> Vec<String> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        (0..count)
            .map(|_| {
                stream.write_all(b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc").unwrap();
                let (mut response, mut bytes) = (Vec::new(), [0; 4096]);
                loop {
                    let received = stream.read(&mut bytes).unwrap();
                    response.extend_from_slice(&bytes[..received]);
                    let text = String::from_utf8_lossy(&response).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                    let length = head.split("content-length: ").nth(1).unwrap();
                    let length: usize = length.lines().next().unwrap().parse().unwrap();
                    if body.len() == length {
                        return head.to_owned();
                    }
                }
            })
            .collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn call(to: &Running, factor: f64) -> Call {
    Call {
        address: to.address,
        factor,
        method: "POST".to_owned(),
        target: "/hoptax".to_owned(),
        headers: vec![("x-a".to_owned(), "b".to_owned())],
        body: "{}".to_owned(),
    }
}

#[test]
fn each_request_makes_its_calls_over_connections_that_stay_open() {
    let (often, sometimes, leaf) = (Running::leaf(""), Running::leaf("size=70000"), Running::leaf(""));
    let between = Running::calling("", vec![vec![call(&leaf, 1.0)]]);
    let steps = vec![vec![call(&often, 3.0), call(&sometimes, 0.25)], vec![call(&between, 1.0)]];
    let entry = Running::calling("size=100", steps);
    let heads = entry.get(8);
    assert!(heads.iter().all(|head| head.starts_with("HTTP/1.1 200 OK")), "{heads:?}");
    assert!(heads.iter().all(|head| head.contains("content-length: 100")), "{heads:?}");
    assert_eq!(entry.end().answered, 8);
    for (server, answered) in [(often, 24), (sometimes, 2), (between, 8), (leaf, 8)] {
        let report = server.end();
        assert_eq!((report.answered, report.connections, report.broken), (answered, 1, 0));
    }
}

#[test]
fn calls_of_a_step_are_in_flight_together_and_steps_follow_each_other() {
    let slow = || Running::leaf("delay=120ms");
    let took = |steps: Vec<Vec<Call>>| {
        let entry = Running::calling("", steps);
        let began = std::time::Instant::now();
        entry.get(1);
        began.elapsed()
    };
    let (one, two) = (slow(), slow());
    let after = took(vec![vec![call(&one, 1.0)], vec![call(&two, 1.0)]]);
    let repeated = took(vec![vec![call(&one, 2.0)]]);
    let both = Duration::from_millis(240);
    // No less is possible, however fast the machine is.
    assert!(after >= both && repeated >= both, "{after:?} {repeated:?}");
    // Less is only possible together, and on a busy machine not always.
    let mut tries = (0..20).map(|_| took(vec![vec![call(&one, 1.0), call(&two, 1.0)]]));
    assert!(tries.any(|together| together < both));
}

#[test]
fn its_own_time_comes_before_the_calls_and_counts() {
    let leaf = Running::leaf("");
    let entry = Running::calling("delay=50ms", vec![vec![call(&leaf, 1.0)]]);
    let began = std::time::Instant::now();
    entry.get(2);
    assert!(began.elapsed() >= Duration::from_millis(100));
}

#[test]
fn a_failed_call_fails_the_request_and_the_next_one_may_succeed() {
    let failing = Running::leaf("status=503");
    let entry = Running::calling("", vec![vec![call(&failing, 1.0)]]);
    let heads = entry.get(2);
    assert!(heads.iter().all(|head| head.starts_with("HTTP/1.1 502 ")), "{heads:?}");
    // A server that nobody listens at.
    let gone = Running::leaf("");
    let to_gone = call(&gone, 1.0);
    gone.end();
    let entry = Running::calling("", vec![vec![to_gone]]);
    assert!(entry.get(1)[0].starts_with("HTTP/1.1 502 "));
    let closing = Running::leaf("close=true");
    let entry = Running::calling("", vec![vec![call(&closing, 2.0)]]);
    assert!(entry.get(3).iter().all(|head| head.starts_with("HTTP/1.1 200 ")));
}

#[test]
fn a_call_that_cannot_be_sent_is_an_error_at_the_start() {
    let leaf = Running::leaf("");
    let wrong = Call { target: "/a b".to_owned(), ..call(&leaf, 1.0) };
    let options = CallingOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        default_query: String::new(),
        calls: Calls { steps: vec![vec![wrong]] },
        seed: 1,
    };
    let error = CallingOrigin::bind(&options).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("percent-encode"), "{error}");
}
