//! Servers that stand for the upstreams of a listeners file. Each records the requests that arrive, and answers them as the trial demands.
//!
//! They are threads of this process, not an origin process, because their observations are the evidence: the Host header, the server name
//! in the TLS handshake, how many times a request arrives, and when a connection ends.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hoptax_listeners::check::{Answer, Arrival, MARK};
use hoptax_wire::tls::ServerConfig;
use rustls::{ServerConnection, StreamOwned};

use super::acceptor::Acceptor;

/// Maximum size of the head of a request, bytes.
const MOST_HEAD_BYTES: usize = 1 << 16;
/// Time limit for a handshake and the head of a request.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Interval at which a server with an idle connection checks if a caller still waits for the connection to end.
const POLL: Duration = Duration::from_millis(50);

/// The TLS of a server.
#[derive(Clone, Debug)]
pub(super) struct Security {
    /// TLS with a certificate for the name in the file.
    pub(super) right: Arc<ServerConfig>,
    /// TLS with a certificate for another name.
    pub(super) wrong: Arc<ServerConfig>,
}

/// All servers; they end when dropped.
#[derive(Debug)]
pub(super) struct Servers {
    shared: Arc<Shared>,
    by_cluster: BTreeMap<String, (Arc<Server>, Acceptor)>,
}

#[derive(Debug)]
struct Server {
    cluster: String,
    security: Option<Security>,
    is_wrong: AtomicBool,
    wrong_names: AtomicU64,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// For each mark, the answer to its requests and the requests that arrived.
    marks: Mutex<BTreeMap<String, Marked>>,
}

#[derive(Debug, Default)]
struct Marked {
    answer: Answer,
    /// The only cluster whose server gives this answer; all others answer with success. None if all servers give it.
    cluster: Option<String>,
    arrivals: Vec<Arrival>,
    /// The position of each arrival among the requests of its connection, from 1.
    places: Vec<u32>,
    /// Time that a connection was idle until the client ended it.
    idle: Option<Duration>,
}

impl Marked {
    fn is_for(&self, cluster: &str) -> bool {
        self.cluster.as_ref().is_none_or(|own| own == cluster)
    }
}

impl Servers {
    /// Starts a server for each cluster.
    pub(super) fn start(clusters: impl IntoIterator<Item = (String, Option<Security>)>) -> io::Result<Self> {
        let mut all = Self { shared: Arc::default(), by_cluster: BTreeMap::new() };
        for (cluster, security) in clusters {
            let server = Arc::new(Server {
                cluster: cluster.clone(),
                security,
                is_wrong: AtomicBool::new(false),
                wrong_names: AtomicU64::new(0),
            });
            let (own, shared) = (Arc::clone(&server), Arc::clone(&all.shared));
            let acceptor = Acceptor::start(move |stream| {
                // On a failed connection nothing arrives, which the judgement of the promise covers.
                let _ = serve(stream, &own, &shared);
            })?;
            all.by_cluster.insert(cluster, (server, acceptor));
        }
        Ok(all)
    }

    /// The addresses, by cluster.
    pub(super) fn addresses(&self) -> BTreeMap<String, SocketAddr> {
        let all = self.by_cluster.iter();
        all.map(|(cluster, (_, acceptor))| (cluster.clone(), acceptor.address)).collect()
    }

    /// Sets the answer of the server of a cluster, or of every server, to requests with this mark.
    pub(super) fn expect(&self, mark: &str, cluster: Option<&str>, answer: Answer) {
        let marked = Marked { answer, cluster: cluster.map(str::to_owned), ..Marked::default() };
        self.shared.marks().insert(mark.to_owned(), marked);
    }

    /// Returns the requests with this mark that arrived, and forgets the mark.
    pub(super) fn arrived(&self, mark: &str) -> Vec<Arrival> {
        self.arrived_in_places(mark).0
    }

    /// Like [`Self::arrived`], with the position of each request among those of its connection.
    pub(super) fn arrived_in_places(&self, mark: &str) -> (Vec<Arrival>, Vec<u32>) {
        let marked = self.shared.marks().remove(mark).unwrap_or_default();
        (marked.arrivals, marked.places)
    }

    /// Returns the number of requests with this mark that have arrived at the mark's cluster.
    pub(super) fn arrived_so_far(&self, mark: &str) -> usize {
        let marks = self.shared.marks();
        let Some(marked) = marks.get(mark) else { return 0 };
        marked.arrivals.iter().filter(|arrival| marked.is_for(&arrival.cluster)).count()
    }

    /// Returns the time that the connection of a request with this mark was idle until the proxy ended it; None while it is open.
    pub(super) fn idle(&self, mark: &str) -> Option<Duration> {
        self.shared.marks().get(mark)?.idle
    }

    /// Makes the server of a cluster present a certificate with another name if `is_wrong`, and its own certificate otherwise.
    pub(super) fn set_wrong(&self, cluster: &str, is_wrong: bool) {
        if let Some((server, _)) = self.by_cluster.get(cluster) {
            server.is_wrong.store(is_wrong, Ordering::SeqCst);
        }
    }

    /// Number of handshakes in which the server of a cluster presented a certificate with another name.
    pub(super) fn wrong_names(&self, cluster: &str) -> u64 {
        self.by_cluster.get(cluster).map_or(0, |(server, _)| server.wrong_names.load(Ordering::SeqCst))
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
    }
}

impl Shared {
    fn marks(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Marked>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// True if a caller waits for requests with this mark.
    fn is_known(&self, mark: &str) -> bool {
        !self.is_stopped() && self.marks().contains_key(mark)
    }

    /// Records how long a connection was idle.
    fn note_idle(&self, mark: &str, idle: Duration) {
        if let Some(marked) = self.marks().get_mut(mark) {
            marked.idle = Some(idle);
        }
    }

    /// Records an arrival, and returns the answer to it.
    fn note(&self, mark: &str, arrival: Arrival, place: u32) -> Answer {
        let mut marks = self.marks();
        let Some(marked) = marks.get_mut(mark) else { return Answer::Success };
        let answer = match &marked.answer {
            _ if !marked.is_for(&arrival.cluster) => Answer::Success,
            Answer::Once(first) if marked.arrivals.iter().all(|one| !marked.is_for(&one.cluster)) => {
                Answer::clone(first)
            }
            Answer::Once(_) => Answer::Silence,
            answer => answer.clone(),
        };
        marked.arrivals.push(arrival);
        marked.places.push(place);
        answer
    }
}

fn serve(socket: &TcpStream, server: &Server, shared: &Shared) -> io::Result<()> {
    socket.set_read_timeout(Some(TIMEOUT))?;
    socket.set_nodelay(true)?;
    let Some(security) = &server.security else { return converse(socket, socket, None, server, shared) };
    let is_wrong = server.is_wrong.load(Ordering::SeqCst);
    let config = if is_wrong { &security.wrong } else { &security.right };
    let connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, socket);
    while !stream.conn.wants_write() {
        if stream.conn.read_tls(&mut stream.sock)? == 0 {
            return Ok(());
        }
        stream.conn.process_new_packets().map_err(io::Error::other)?;
    }
    // Count the handshake before sending, so that it is counted by the time the proxy's answer arrives.
    if is_wrong {
        server.wrong_names.fetch_add(1, Ordering::SeqCst);
    }
    stream.conn.complete_io(&mut stream.sock)?;
    let name = stream.conn.server_name().map(str::to_owned);
    converse(stream, socket, name.as_deref(), server, shared)
}

/// Reads requests, and answers each as the trial demands. By default, it closes the connection after the first request, so that each try
/// has its own handshake.
fn converse(
    mut stream: impl Read + Write,
    socket: &TcpStream,
    server_name: Option<&str>,
    server: &Server,
    shared: &Shared,
) -> io::Result<()> {
    let mut idle = None;
    let mut place = 0;
    while let Some(head) = head(&mut stream, idle.as_ref(), shared)? {
        let head = String::from_utf8_lossy(&head);
        let header = |name: &str| {
            let value = head.lines().skip(1).find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            });
            value.unwrap_or_default()
        };
        let mark = header(MARK);
        let arrival = Arrival {
            cluster: server.cluster.clone(),
            host: header("host"),
            server_name: server_name.map(str::to_owned),
            scheme: header("x-forwarded-proto"),
        };
        place += 1;
        let answer = shared.note(&mark, arrival, place);
        let (status, more) = match answer {
            Answer::Success | Answer::Kept => (200, None),
            Answer::Failure(status, header) => (status, header),
            Answer::Close => return Ok(()),
            Answer::Silence | Answer::Once(_) => return wait_for_end(socket),
        };
        let is_kept = answer == Answer::Kept;
        let more = more.map_or_else(String::new, |(name, value)| format!("{name}: {value}\r\n"));
        let end = if is_kept { "" } else { "connection: close\r\n" };
        // Taken before the write: on a busy machine, the proxy's clock may start before the write returns here.
        let written = Instant::now();
        // A single write: several would send the head in several packets.
        stream
            .write_all(format!("HTTP/1.1 {status} Lab\r\n{more}content-length: 0\r\n{end}\r\n").as_bytes())?;
        stream.flush()?;
        if !is_kept {
            return Ok(());
        }
        socket.set_read_timeout(Some(POLL))?;
        idle = Some(Idle { mark, since: written });
    }
    Ok(())
}

/// A connection that stays open after a request.
struct Idle {
    /// The mark of the request.
    mark: String,
    /// When its response was written.
    since: Instant,
}

/// The head of the next request. None at the end of the connection, whose idle time is then recorded, and when nobody waits for it any
/// more.
fn head(stream: &mut impl Read, idle: Option<&Idle>, shared: &Shared) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    let mut bytes = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = match (stream.read(&mut bytes), idle) {
            (Ok(count), _) => count,
            (Err(error), Some(idle)) if is_timeout(&error) && shared.is_known(&idle.mark) => continue,
            // TLS may end without a close_notify alert.
            (Err(error), Some(_)) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            (Err(error), _) => return Err(error),
        };
        if count == 0 {
            if let Some(Idle { mark, since }) = idle {
                shared.note_idle(mark, since.elapsed());
            }
            return Ok(None);
        }
        if head.len() > MOST_HEAD_BYTES {
            return Ok(None);
        }
        head.extend_from_slice(bytes.get(..count).unwrap_or_default());
    }
    Ok(Some(head))
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Waits until the client closes the connection. At the latest, it closes when the proxy ends.
fn wait_for_end(socket: &TcpStream) -> io::Result<()> {
    socket.set_read_timeout(None)?;
    // Either the end of the connection, or bytes of TLS before it.
    socket.peek(&mut [0]).map(|_| ())
}
