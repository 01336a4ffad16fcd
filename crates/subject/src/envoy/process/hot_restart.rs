//! Restarts of an Envoy. In a hot restart, a successor takes over its sockets, and the old process finishes its requests and ends. In a
//! cold restart, it ends before it is started again.
//!
//! The generations share a region of memory in `/dev/shm`, which Envoy does not remove when it ends. The name of the region is derived from
//! their base id. The base id is written to the folder of the proxy before Envoy starts, so the remains of a killed run can always be
//! found.
//!
//! Before a successor sets up listeners, it asks its predecessor to close its admin interface. The predecessor then ends its own
//! predecessor at once, even with requests in flight.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::reserved_port::ReservedPort;

use super::generation::Generation;
use super::{POLL, Proxy, ProxyError, ProxySpec, START_TIMEOUT, Source, check};
use crate::envoy::shared_memory::BaseId;

/// The file in the folder of a proxy with the base id of its generations.
pub const BASE_ID: &str = "base-id";
/// Time for which an Envoy asks its callers to reconnect after a successor has taken over.
const DRAIN_S: u32 = 2;
/// Time after which the old Envoy ends.
pub const PARENT_SHUTDOWN: Duration = Duration::from_secs(3);

impl ProxySpec {
    /// The flags for its generation, or the flag that disables hot restart if it has no generation.
    ///
    /// # Errors
    /// When the base id of a first generation cannot be written.
    pub(super) fn generation_arguments(&self) -> Result<Vec<OsString>, ProxyError> {
        let (base_id, epoch) = match self.generation {
            // Many Envoys run side by side; with hot restart they would share one region of memory.
            None => return Ok(vec!["--disable-hot-restart".into()]),
            Some(Generation::First) => (self.choose_base_id()?, 0),
            Some(Generation::Successor { base_id, epoch }) => (base_id, epoch),
        };
        let flags = [
            ("--base-id", u64::from(base_id)),
            ("--restart-epoch", u64::from(epoch)),
            ("--drain-time-s", u64::from(DRAIN_S)),
            ("--parent-shutdown-time-s", PARENT_SHUTDOWN.as_secs()),
        ];
        Ok(flags.into_iter().flat_map(|(flag, value)| [flag.into(), value.to_string().into()]).collect())
    }

    /// Chooses a base id that no other Envoy on this machine uses, and writes it into the folder.
    fn choose_base_id(&self) -> Result<u32, ProxyError> {
        let base_id = BaseId::unused().number();
        let path = self.directory.join(BASE_ID);
        match fs::write(&path, base_id.to_string()) {
            Ok(()) => Ok(base_id),
            Err(source) => Err(ProxyError::File { path, source }),
        }
    }

    /// The specification of the successor number `epoch` of a live proxy that was started with this specification. It
    /// listens at the same address.
    ///
    /// # Errors
    /// When its folder has no base id: its generation was not [`Generation::First`].
    pub fn successor(&self, live: &Proxy, epoch: u32) -> Result<Self, ProxyError> {
        let path = self.directory.join(BASE_ID);
        let base_id = BaseId::read(&path).map_err(|source| ProxyError::File { path, source })?.number();
        Ok(Self { generation: Some(Generation::Successor { base_id, epoch }), ..self.at_address_of(live) })
    }

    /// Ends a live proxy that was started with this specification, with its connections, and starts it again at the same address.
    /// Waits until it is live. Earlier generations must have ended.
    ///
    /// # Errors
    /// When it cannot be started again, or does not become live.
    pub fn restart_cold(&self, live: Proxy) -> Result<Proxy, ProxyError> {
        let again = self.at_address_of(&live);
        // Keeps other processes off the port meanwhile. It cannot be reserved if the proxy opened it without `SO_REUSEPORT`.
        let _port = ReservedPort::bind(live.address).ok();
        live.end()?;
        if let Some(path) = shared_memory(&self.directory) {
            // The first generation of a proxy has a new base id.
            fs::remove_file(&path).map_err(|source| ProxyError::File { path, source })?;
        }
        again.configure()?;
        again.start()?.wait()
    }

    /// The same specification with the address of a live proxy.
    fn at_address_of(&self, live: &Proxy) -> Self {
        let mut same = self.clone();
        if let Source::Plan(plan) = &mut same.source {
            plan.listen = live.address;
        }
        same
    }

    /// Starts this successor with a configuration that Envoy rejects, and waits until it has ended.
    ///
    /// # Errors
    /// When it cannot be started, or becomes live.
    pub fn start_broken(&self) -> Result<(), ProxyError> {
        let broken = Self { directory: self.directory.join("broken"), ..self.clone() };
        let path = broken.config();
        // A listener without an address.
        let text = r#"{"static_resources": {"listeners": [{"name": "broken"}]}}"#;
        fs::create_dir_all(&broken.directory)
            .and_then(|()| fs::write(&path, text))
            .map_err(|source| ProxyError::File { path: path.clone(), source })?;
        match broken.start()?.wait() {
            Err(ProxyError::Ended { .. }) => Ok(()),
            Err(other) => Err(other),
            Ok(mut live) => {
                check(&mut live.child)?;
                Err(ProxyError::Unbroken { config: path })
            }
        }
    }
}

impl Proxy {
    /// Waits until it has ended because its successor is live.
    ///
    /// # Errors
    /// When it still runs after two minutes.
    pub fn wait_for_end(mut self) -> Result<(), ProxyError> {
        let began = Instant::now();
        let path = self.child.log().to_owned();
        loop {
            match self.child.ended() {
                Ok(Some(_)) => return Ok(()),
                Ok(None) if began.elapsed() > START_TIMEOUT => {
                    let seconds = START_TIMEOUT.as_secs();
                    let problem = format!("the proxy still runs {seconds} s after its successor took over");
                    return Err(self.stuck(problem));
                }
                Ok(None) => thread::sleep(POLL),
                Err(source) => return Err(ProxyError::File { path, source }),
            }
        }
    }
}

/// The shared memory of the generations of a proxy in `folder`; none if it had no generations, or if it was removed.
pub fn shared_memory(folder: &Path) -> Option<PathBuf> {
    let path = BaseId::read(&folder.join(BASE_ID)).ok()?.memory();
    path.exists().then_some(path)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};

    use serde_json::json;

    use super::super::tests::scripted;
    use super::*;
    use crate::envoy::bootstrap::INGRESS;

    /// The admin interface of an Envoy that is live.
    fn live_admin() -> SocketAddr {
        let admin = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = admin.local_addr().unwrap();
        thread::spawn(move || {
            let listens = json!({"socket_address": {"address": "127.0.0.1", "port_value": 1}});
            let listeners = json!({"listener_statuses": [{"name": INGRESS, "local_address": listens}]});
            for mut stream in admin.incoming().flatten() {
                let mut request = [0; 4_096];
                let length = stream.read(&mut request).unwrap();
                let is_ready = request[..length].starts_with(b"GET /ready ");
                let body = if is_ready { "LIVE".to_owned() } else { listeners.to_string() };
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close", body.len());
                stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
            }
        });
        address
    }

    #[test]
    fn an_envoy_that_accepts_a_broken_configuration_is_a_bug_and_one_that_ends_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let started = |script: &str| {
            let environment = [("ADMIN".to_owned(), live_admin().to_string())].into();
            ProxySpec { environment, ..scripted(folder.path(), script) }.start_broken()
        };
        started("exit 1").unwrap();
        let is_live =
            "while [ $1 != --admin-address-path ]; do shift; done; echo $ADMIN > \"$2\"; exec sleep 1000";
        let error = started(is_live).unwrap_err();
        assert!(matches!(error, ProxyError::Unbroken { .. }), "{error}");
        let text = error.to_string();
        assert!(text.ends_with("which is invalid on purpose; this is a bug in hoptax"), "{text}");
    }

    #[test]
    fn a_folder_without_a_base_id_has_no_shared_memory() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(shared_memory(folder.path()), None);
        fs::write(folder.path().join(BASE_ID), "not a number").unwrap();
        assert_eq!(shared_memory(folder.path()), None);
        assert!(
            BaseId::read(&folder.path().join(BASE_ID)).unwrap_err().to_string().contains("`not a number`")
        );
    }
}
