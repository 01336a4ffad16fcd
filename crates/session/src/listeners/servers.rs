//! Servers that stand for the upstreams of a listeners file: each notes what arrives, and answers as it was told for that request.
//!
//! They are threads and not an origin of their own process, because what they see is the evidence: the Host header, the name in the
//! handshake, and how many times a request comes.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hoptax_listeners::check::{Answer, Arrival, MARK};
use hoptax_wire::tls::ServerConfig;
use rustls::{ServerConnection, StreamOwned};

/// The most bytes of the head of a request.
const MOST_HEAD_BYTES: usize = 1 << 16;
/// Time limit for a handshake and the head of a request.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How often a silent server looks whether its client is gone.
const POLL: Duration = Duration::from_millis(50);

/// The TLS of a server.
#[derive(Clone, Debug)]
pub(super) struct Security {
    /// With the name that the file says.
    pub(super) right: Arc<ServerConfig>,
    /// With another name.
    pub(super) wrong: Arc<ServerConfig>,
}

/// All servers; they end when dropped.
#[derive(Debug)]
pub(super) struct Servers {
    shared: Arc<Shared>,
    by_cluster: BTreeMap<String, Arc<Server>>,
    accepting: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Server {
    cluster: String,
    address: SocketAddr,
    security: Option<Security>,
    is_wrong: AtomicBool,
    wrong_names: AtomicU64,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// What is done with the requests of each mark, and what arrived.
    marks: Mutex<BTreeMap<String, Marked>>,
}

#[derive(Debug, Default)]
struct Marked {
    answer: Answer,
    /// The cluster at which it is answered so; elsewhere with success.
    cluster: String,
    arrivals: Vec<Arrival>,
}

impl Servers {
    /// Starts a server for each cluster.
    pub(super) fn start(clusters: impl IntoIterator<Item = (String, Option<Security>)>) -> io::Result<Self> {
        let mut all = Self { shared: Arc::default(), by_cluster: BTreeMap::new(), accepting: Vec::new() };
        for (cluster, security) in clusters {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let server = Arc::new(Server {
                cluster: cluster.clone(),
                address: listener.local_addr()?,
                security,
                is_wrong: AtomicBool::new(false),
                wrong_names: AtomicU64::new(0),
            });
            all.by_cluster.insert(cluster, Arc::clone(&server));
            let shared = Arc::clone(&all.shared);
            all.accepting.push(thread::spawn(move || accept(&listener, &server, &shared)));
        }
        Ok(all)
    }

    /// The addresses, by cluster.
    pub(super) fn addresses(&self) -> BTreeMap<String, SocketAddr> {
        self.by_cluster.iter().map(|(cluster, server)| (cluster.clone(), server.address)).collect()
    }

    /// Says what the server of a cluster does with requests of this mark.
    pub(super) fn expect(&self, mark: &str, cluster: &str, answer: Answer) {
        let marked = Marked { answer, cluster: cluster.to_owned(), arrivals: Vec::new() };
        self.shared.marks().insert(mark.to_owned(), marked);
    }

    /// What arrived with this mark, which is then forgotten.
    pub(super) fn arrived(&self, mark: &str) -> Vec<Arrival> {
        self.shared.marks().remove(mark).map(|marked| marked.arrivals).unwrap_or_default()
    }

    /// Has the server of a cluster show a certificate with another name from now on, or no longer.
    pub(super) fn set_wrong(&self, cluster: &str, is_wrong: bool) {
        if let Some(server) = self.by_cluster.get(cluster) {
            server.is_wrong.store(is_wrong, Ordering::SeqCst);
        }
    }

    /// The handshakes in which the server of a cluster showed a certificate with another name.
    pub(super) fn wrong_names(&self, cluster: &str) -> u64 {
        self.by_cluster.get(cluster).map_or(0, |server| server.wrong_names.load(Ordering::SeqCst))
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        for server in self.by_cluster.values() {
            // Wakes it; if it cannot be reached it does not wait either.
            let _ = TcpStream::connect(server.address);
        }
        for accepting in self.accepting.drain(..) {
            // A thread that panicked has ended, too.
            let _ = accepting.join();
        }
    }
}

impl Shared {
    fn marks(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Marked>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Notes an arrival, and returns what is done with it.
    fn note(&self, mark: &str, arrival: Arrival) -> Answer {
        let mut marks = self.marks();
        let Some(marked) = marks.get_mut(mark) else { return Answer::Success };
        let answer = if marked.cluster == arrival.cluster { marked.answer.clone() } else { Answer::Success };
        marked.arrivals.push(arrival);
        answer
    }
}

fn accept(listener: &TcpListener, server: &Arc<Server>, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.is_stopped() {
            return;
        }
        let Ok((stream, _)) = accepted else { continue };
        let (server, shared) = (Arc::clone(server), Arc::clone(shared));
        thread::spawn(move || {
            // A connection that fails is one on which nothing arrives, which is judged.
            let _ = serve(stream, &server, &shared);
        });
    }
}

fn serve(stream: TcpStream, server: &Server, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_nodelay(true)?;
    let socket = stream.try_clone()?;
    let Some(security) = &server.security else { return converse(stream, &socket, None, server, shared) };
    let is_wrong = server.is_wrong.load(Ordering::SeqCst);
    let config = if is_wrong { &security.wrong } else { &security.right };
    let connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    while !stream.conn.wants_write() {
        if stream.conn.read_tls(&mut stream.sock)? == 0 {
            return Ok(());
        }
        stream.conn.process_new_packets().map_err(io::Error::other)?;
    }
    // It is counted before it is sent, so that whoever has the answer of the proxy finds it counted.
    if is_wrong {
        server.wrong_names.fetch_add(1, Ordering::SeqCst);
    }
    stream.conn.complete_io(&mut stream.sock)?;
    let name = stream.conn.server_name().map(str::to_owned);
    converse(stream, &socket, name, server, shared)
}

/// Reads one request, answers it, and closes the connection: each try has a handshake of its own.
fn converse(
    mut stream: impl Read + Write,
    socket: &TcpStream,
    server_name: Option<String>,
    server: &Server,
    shared: &Shared,
) -> io::Result<()> {
    let mut head = Vec::new();
    let mut bytes = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut bytes)?;
        if count == 0 || head.len() > MOST_HEAD_BYTES {
            return Ok(());
        }
        head.extend_from_slice(bytes.get(..count).unwrap_or_default());
    }
    let head = String::from_utf8_lossy(&head);
    let header = |name: &str| {
        let value = head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        });
        value.unwrap_or_default()
    };
    let arrival = Arrival {
        cluster: server.cluster.clone(),
        host: header("host"),
        server_name,
        scheme: header("x-forwarded-proto"),
    };
    let (status, more) = match shared.note(&header(MARK), arrival) {
        Answer::Success => (200, None),
        Answer::Failure(status, header) => (status, header),
        Answer::Close => return Ok(()),
        Answer::Silence => {
            wait_for_end(socket, shared)?;
            return Ok(());
        }
    };
    let more = more.map_or_else(String::new, |(name, value)| format!("{name}: {value}\r\n"));
    write!(stream, "HTTP/1.1 {status} Lab\r\n{more}content-length: 0\r\nconnection: close\r\n\r\n")?;
    stream.flush()
}

/// Waits until the client closes the connection.
fn wait_for_end(socket: &TcpStream, shared: &Shared) -> io::Result<()> {
    socket.set_read_timeout(Some(POLL))?;
    while !shared.is_stopped() {
        match socket.peek(&mut [0]) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            // The end, or what TLS says before it.
            _ => return Ok(()),
        }
    }
    Ok(())
}
