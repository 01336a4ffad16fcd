//! A server on a port of this machine that serves each connection in its own thread, until it is dropped.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Pause after a failed accept or a failed start of a thread, when this process has too many files or threads.
const PAUSE: Duration = Duration::from_millis(10);

/// A running server; it stops when dropped.
#[derive(Debug)]
pub(super) struct Acceptor {
    pub(super) address: SocketAddr,
    stop: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Acceptor {
    /// Starts a server, which calls `serve` with each connection.
    pub(super) fn start(serve: impl Fn(&TcpStream) + Send + Sync + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (is_stopped, serve) = (Arc::clone(&stop), Arc::new(serve));
        let accept = move || {
            loop {
                let accepted = listener.accept();
                if is_stopped.load(Ordering::SeqCst) {
                    return;
                }
                let served = accepted.and_then(|(stream, _)| {
                    let serve = Arc::clone(&serve);
                    thread::Builder::new().spawn(move || serve(&stream))
                });
                if served.is_err() {
                    thread::sleep(PAUSE);
                }
            }
        };
        let accepting = thread::Builder::new().spawn(accept)?;
        Ok(Self { address, stop, accepting: Some(accepting) })
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // If the thread cannot be woken, do not wait for it; it ends with the program.
        if TcpStream::connect(self.address).is_ok() {
            // A thread that panicked has ended, too.
            let _ = self.accepting.take().map(JoinHandle::join);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn each_connection_is_served_until_the_server_is_dropped() {
        let acceptor = Acceptor::start(|mut stream| stream.write_all(b"served").unwrap()).unwrap();
        let address = acceptor.address;
        let got = || {
            let mut text = String::new();
            TcpStream::connect(address).and_then(|mut stream| stream.read_to_string(&mut text)).map(|_| text)
        };
        assert_eq!((got().unwrap(), got().unwrap()), ("served".to_owned(), "served".to_owned()));
        drop(acceptor);
        assert_eq!(got().unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
