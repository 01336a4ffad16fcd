//! Tells systemd about the state of the service: `sd_notify(3)`. Without systemd nobody is told.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::time::{ClockId, clock_gettime};

/// The variable with the socket of systemd.
const SOCKET: &str = "NOTIFY_SOCKET";
/// The longest status, bytes. A datagram of systemd has 4 KiB.
const LONGEST: usize = 1024;

/// The state of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It serves, and no restart is under way.
    Ready,
    /// The file is read again, and Envoy may be restarted.
    Reloading,
    /// It ends.
    Stopping,
}

/// Where systemd listens, if it does.
#[derive(Debug)]
pub(crate) struct Notifier {
    socket: Option<OsString>,
}

impl Notifier {
    /// The one of the environment.
    pub(crate) fn of_environment() -> Self {
        Self { socket: env::var_os(SOCKET).filter(|socket| !socket.is_empty()) }
    }

    /// Tells a state, with a line for people. What cannot be told is lost: nobody can be told so.
    pub(crate) fn tell(&self, state: State, status: &str) {
        let Some(socket) = &self.socket else { return };
        let send = || -> io::Result<()> {
            let bytes = socket.as_bytes();
            let address = match bytes.strip_prefix(b"@") {
                Some(name) => SocketAddr::from_abstract_name(name)?,
                None => SocketAddr::from_pathname(socket)?,
            };
            let own = UnixDatagram::unbound()?;
            own.send_to_addr(message(state, status, now_us()).as_bytes(), &address).map(drop)
        };
        let _ = send();
    }
}

/// The time of the clock that systemd compares with.
fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000
}

fn message(state: State, status: &str, now_us: u64) -> String {
    let line = status.lines().next().unwrap_or_default();
    let end = (0..=LONGEST.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or_default();
    let line = line.get(..end).unwrap_or_default();
    let state = match state {
        State::Ready => "READY=1".to_owned(),
        // `Type=notify-reload` needs the time.
        State::Reloading => format!("RELOADING=1\nMONOTONIC_USEC={now_us}"),
        State::Stopping => "STOPPING=1".to_owned(),
    };
    format!("{state}\nSTATUS={line}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_a_line_for_each_variable() {
        assert_eq!(message(State::Ready, "serves\nmore", 5), "READY=1\nSTATUS=serves\n");
        assert_eq!(message(State::Reloading, "", 5), "RELOADING=1\nMONOTONIC_USEC=5\nSTATUS=\n");
        assert_eq!(message(State::Stopping, &"é".repeat(LONGEST), 5).matches('é').count(), LONGEST / 2);
    }

    #[test]
    fn systemd_is_told_at_a_path_and_at_an_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let name = format!("hoptax-test-{}", std::process::id());
        let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
        let sockets = [
            (UnixDatagram::bind(&path).unwrap(), path.into_os_string()),
            (UnixDatagram::bind_addr(&abstract_name).unwrap(), format!("@{name}").into()),
        ];
        for (socket, name) in sockets {
            Notifier { socket: Some(name) }.tell(State::Ready, "serves");
            let mut bytes = [0; 100];
            let count = socket.recv(&mut bytes).unwrap();
            assert_eq!(bytes.get(..count), Some(b"READY=1\nSTATUS=serves\n".as_slice()));
        }
        // Nobody listens: nothing happens.
        Notifier { socket: Some("/nonexistent".into()) }.tell(State::Ready, "");
        Notifier { socket: None }.tell(State::Ready, "");
    }
}
