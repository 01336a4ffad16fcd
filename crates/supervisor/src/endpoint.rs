//! Serves the status over HTTP: `/` is the page, or the text for clients that do not accept HTML, `/status.json` the JSON, `/metrics` the
//! metrics. Everything else in a request is ignored.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::environment::now;

use crate::status::Status;
use crate::timed::Timed;

/// Time limit for a request and its response.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a request, bytes.
const LONGEST: u64 = 16 * 1024;
/// Maximum number of connections. A further one closes the oldest, so that idle connections cannot block other clients.
const MOST: usize = 16;

/// The connections without a response so far, the oldest first.
type Open = Mutex<VecDeque<Arc<TcpStream>>>;

/// The shown status, which the supervisor replaces.
pub(crate) type SharedStatus = Arc<Mutex<Status>>;

/// Serves the status on a thread that lasts as long as the process.
///
/// # Errors
/// When the thread cannot be started.
pub(crate) fn serve(listener: TcpListener, shown: SharedStatus) -> io::Result<()> {
    serve_within(TIMEOUT, listener, shown)
}

fn serve_within(timeout: Duration, listener: TcpListener, shown: SharedStatus) -> io::Result<()> {
    let open = Arc::new(Open::default());
    let accept = move || {
        loop {
            let Ok((stream, _)) = listener.accept() else {
                // Out of file descriptors, for example.
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            let (stream, until) = (Arc::new(stream), Instant::now() + timeout);
            {
                let mut open = lock(&open);
                if open.len() >= MOST
                    && let Some(oldest) = open.pop_front()
                {
                    // Shutting it down wakes its thread.
                    let _ = oldest.shutdown(Shutdown::Both);
                }
                open.push_back(Arc::clone(&stream));
            }
            let (shown, of_thread, own) = (Arc::clone(&shown), Arc::clone(&open), Arc::clone(&stream));
            let serve = move || {
                // The client is gone or was too slow.
                let _ = answer(Timed { stream: &own, until }, &shown);
                lock(&of_thread).retain(|one| !Arc::ptr_eq(one, &own));
            };
            if thread::Builder::new().name("status".to_owned()).spawn(serve).is_err() {
                lock(&open).retain(|one| !Arc::ptr_eq(one, &stream));
            }
        }
    };
    thread::Builder::new().name("status".to_owned()).spawn(accept).map(drop)
}

fn lock(open: &Open) -> MutexGuard<'_, VecDeque<Arc<TcpStream>>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(mut stream: Timed<'_>, shown: &SharedStatus) -> io::Result<()> {
    let mut request = BufReader::new((&mut stream).take(LONGEST));
    let mut first = Vec::new();
    request.read_until(b'\n', &mut first)?;
    // Read the rest: closing a connection with unread bytes would reset it.
    let mut line = Vec::new();
    let mut takes_html = false;
    while request.read_until(b'\n', &mut line)? > 2 {
        takes_html |= accepts_html(&line);
        line.clear();
    }
    let status = || shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (code, kind, body) = match path_of(&String::from_utf8_lossy(&first)) {
        Some("/") if takes_html => ("200 OK", "text/html; charset=utf-8", status().html(&now())),
        Some("/") => ("200 OK", "text/plain; charset=utf-8", status().to_string()),
        Some("/status.json") => {
            let text = serde_json::to_string_pretty(&status()).map_err(io::Error::other)?;
            ("200 OK", "application/json", text + "\n")
        }
        Some("/metrics") => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", status().metrics()),
        Some(_) => ("404 Not Found", "text/plain", "/ /status.json /metrics\n".to_owned()),
        None => ("400 Bad Request", "text/plain", "GET / HTTP/1.1\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {code}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\ncache-control: no-store\r\nvary: accept\r\n\
         content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// The path of a GET request; None for other requests.
fn path_of(line: &str) -> Option<&str> {
    let (target, version) = line.trim_end().strip_prefix("GET ")?.rsplit_once(' ')?;
    let path = target.split('?').next()?;
    (version.starts_with("HTTP/1.") && path.starts_with('/')).then_some(path)
}

/// True for a request header that accepts HTML, as browsers send it.
fn accepts_html(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line).to_ascii_lowercase();
    line.strip_prefix("accept:").is_some_and(|kinds| kinds.contains("text/html"))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::net::{Ipv4Addr, SocketAddr};
    use std::process::Command;

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use rustix::time::{ClockId, clock_gettime};

    use super::*;
    use crate::status::{ask, sample};

    /// Serves the status, with a time limit; where.
    fn served(timeout: Duration) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        serve_within(timeout, listener, Arc::new(Mutex::new(sample()))).unwrap();
        address
    }

    /// Sends bytes to the endpoint. Returns its response.
    fn answered(bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(served(TIMEOUT)).unwrap();
        stream.write_all(bytes).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn who_sends_a_byte_now_and_then_gets_no_more_time_than_others() {
        let mut stream = TcpStream::connect(served(Duration::from_millis(100))).unwrap();
        // It fails when the other side has closed. A whole request of this length takes a minute.
        let sent = (0..LONGEST).take_while(|_| {
            thread::sleep(Duration::from_millis(4));
            stream.write_all(b"x").is_ok()
        });
        assert!(sent.count() < LONGEST as usize);
    }

    #[test]
    fn who_says_nothing_keeps_nobody_out() {
        let address = served(Duration::from_hours(1));
        let silent: Vec<TcpStream> = (0..2 * MOST).map(|_| TcpStream::connect(address).unwrap()).collect();
        for _ in 0..2 * MOST {
            assert_eq!(ask(address).unwrap().file, "listeners.yaml");
        }
        // The oldest was closed for it.
        assert_eq!((&silent[0]).read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn without_file_descriptors_it_sleeps_and_answers_when_it_has_one() {
        // In a process of its own, as concurrent tests need descriptors.
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["endpoint::tests::a_process_without_file_descriptors", "--exact", "--ignored"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }

    #[test]
    #[ignore = "run by the test above"]
    fn a_process_without_file_descriptors() {
        let few = Rlimit { current: Some(64), maximum: getrlimit(Resource::Nofile).maximum };
        setrlimit(Resource::Nofile, few).unwrap();
        let address = served(Duration::from_hours(1));
        let opened = || fs::read_dir("/proc/self/fd").unwrap().count();
        let before = opened();
        assert_eq!(ask(address).unwrap().file, "listeners.yaml");
        // The other side may not have closed it yet.
        while opened() != before {
            thread::sleep(Duration::from_millis(1));
        }
        let open = || File::open("/dev/null");
        let mut held: Vec<File> = std::iter::from_fn(|| open().ok()).collect();
        held.pop();
        // The client gets the last descriptor, and the other side none for its end.
        let mut client = TcpStream::connect(address).unwrap();
        assert!(open().is_err());
        client.write_all(b"GET /status.json HTTP/1.1\r\n\r\n").unwrap();
        let (began, used_before) = (Instant::now(), cpu_time());
        thread::sleep(Duration::from_millis(500));
        let (used, took) = (cpu_time().saturating_sub(used_before), began.elapsed());
        assert!(used < took / 4, "{used:?} of {took:?}");
        assert!(open().is_err(), "it had a descriptor");
        drop(held);
        let mut response = String::new();
        client.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    }

    /// CPU time of this process.
    fn cpu_time() -> Duration {
        let used = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
    }

    #[test]
    fn a_browser_gets_a_page_and_others_a_text() {
        let get = |accepted: &str| answered(format!("GET / HTTP/1.1\r\n{accepted}\r\n").as_bytes());
        for accepted in ["accept: text/html\r\n", "Accept: application/xhtml+xml,text/html;q=0.9\r\n"] {
            assert!(get(accepted).contains("\r\n\r\n<!doctype html>"), "{}", get(accepted));
        }
        for accepted in ["", "accept: */*\r\n", "x-accept: text/html\r\n"] {
            assert!(get(accepted).contains("\r\n\r\nEnvoy 1.40.0 serves"), "{}", get(accepted));
        }
    }

    #[test]
    fn each_form_of_the_status_has_a_path() {
        let get = |path: &str| answered(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes());
        assert!(get("/").contains("\r\n\r\nEnvoy 1.40.0 serves"), "{}", get("/"));
        assert!(get("/status.json?now").contains("\"format\": \"hoptax.listeners-status/1\""));
        assert!(get("/metrics").contains("\nhoptax_listeners_file_refused 1\n"));
        assert!(get("/other").starts_with("HTTP/1.1 404"));
    }

    #[test]
    fn a_status_is_asked_for_and_something_else_is_none() {
        assert_eq!(ask(served(TIMEOUT)).unwrap().file, "listeners.yaml");
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = other.local_addr().unwrap();
        let serving = thread::spawn(move || {
            let (mut stream, _) = other.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n<html>").unwrap();
        });
        assert!(ask(address).unwrap_err().contains("not a status"));
        serving.join().unwrap();
        assert!(ask(address).is_err(), "nothing listens any more");
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let others: [&[u8]; 5] = [
            b"POST / HTTP/1.1\r\n\r\n",
            b"GET /\r\n\r\n",
            b"GET x HTTP/1.1\r\n\r\n",
            b"\r\n\r\n",
            b"\xff\n\n",
        ];
        for bytes in others {
            assert!(answered(bytes).starts_with("HTTP/1.1 400"), "{bytes:?}");
        }
    }
}
