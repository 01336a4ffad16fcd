//! Hot restart: a successor takes over the sockets of an Envoy, which finishes its requests and ends.
//!
//! The generations share a region of memory in `/dev/shm`, which Envoy does not remove when it ends. Its name follows from the
//! base id that Envoy chooses and writes into its folder, so what a killed run left behind can be found from there.
//!
//! A successor asks its predecessor to close its admin interface before it sets up listeners. The predecessor then ends its own
//! predecessor at once, even if that has requests in flight.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::{POLL, Proxy, ProxyError, ProxySpec, START_TIMEOUT, Source, check};

/// The file in the folder of a proxy with the base id of its generations.
pub const BASE_ID: &str = "base-id";
/// Time for which an Envoy asks its callers to reconnect after a successor has taken over.
const DRAIN_S: u32 = 2;
/// Time after which it ends.
pub const PARENT_SHUTDOWN: Duration = Duration::from_secs(3);
/// Factor between a base id and the number in the name of its memory.
const MEMORY_PER_BASE_ID: u64 = 10;

/// A generation of an Envoy that can be replaced by hot restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// It chooses the base id.
    First,
    /// It takes over from the generation before.
    Successor {
        /// The base id of all generations.
        base_id: u32,
        /// Number of earlier generations.
        epoch: u32,
    },
}

impl ProxySpec {
    /// The flags of its generation; those that disable hot restart if it has none.
    pub(super) fn generation_arguments(&self) -> Vec<OsString> {
        let Some(generation) = self.generation else {
            // Many Envoys run side by side; with hot restart they would share one region of memory.
            return vec!["--disable-hot-restart".into()];
        };
        let (drain_s, shutdown_s) = (DRAIN_S.to_string(), PARENT_SHUTDOWN.as_secs().to_string());
        let times = ["--drain-time-s", &drain_s, "--parent-shutdown-time-s", &shutdown_s].map(OsString::from);
        let own = match generation {
            Generation::First => vec![
                "--use-dynamic-base-id".into(),
                "--base-id-path".into(),
                self.directory.join(BASE_ID).into(),
            ],
            Generation::Successor { base_id, epoch } => {
                ["--base-id", &base_id.to_string(), "--restart-epoch", &epoch.to_string()]
                    .map(OsString::from)
                    .to_vec()
            }
        };
        own.into_iter().chain(times).collect()
    }

    /// The specification of the successor number `epoch` of a live proxy that was started with this specification. It
    /// listens at the same address.
    ///
    /// # Errors
    /// When the proxy has not written its base id, which it does if its generation is [`Generation::First`].
    pub fn successor(&self, live: &Proxy, epoch: u32) -> Result<Self, ProxyError> {
        let path = self.directory.join(BASE_ID);
        let base_id = base_id(&path).map_err(|source| ProxyError::File { path, source })?;
        let source = match &self.source {
            Source::Plan(plan) => {
                let mut plan = plan.clone();
                plan.listen = live.address;
                Source::Plan(plan)
            }
            given @ Source::Given { .. } => given.clone(),
        };
        Ok(Self { source, generation: Some(Generation::Successor { base_id, epoch }), ..self.clone() })
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
    /// When it still runs after 30 s.
    pub fn wait_for_end(mut self) -> Result<(), ProxyError> {
        let began = Instant::now();
        let path = self.child.log().to_owned();
        loop {
            match self.child.ended() {
                Ok(Some(_)) => return Ok(()),
                Ok(None) if began.elapsed() > START_TIMEOUT => {
                    return Err(ProxyError::NotEnded { seconds: START_TIMEOUT.as_secs(), log: path });
                }
                Ok(None) => thread::sleep(POLL),
                Err(source) => return Err(ProxyError::File { path, source }),
            }
        }
    }
}

fn base_id(path: &Path) -> io::Result<u32> {
    let text = fs::read_to_string(path)?;
    text.trim().parse().map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidData, format!("`{}` is not a base id", text.trim()))
    })
}

/// The shared memory of the generations of a proxy in `folder`; none if it had no generations, or if it was removed.
pub fn shared_memory(folder: &Path) -> Option<PathBuf> {
    let base_id = u64::from(base_id(&folder.join(BASE_ID)).ok()?);
    let path = PathBuf::from(format!("/dev/shm/envoy_shared_memory_{}", base_id * MEMORY_PER_BASE_ID));
    path.exists().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_base_id_has_no_shared_memory() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(shared_memory(folder.path()), None);
        fs::write(folder.path().join(BASE_ID), "not a number").unwrap();
        assert_eq!(shared_memory(folder.path()), None);
        assert!(base_id(&folder.path().join(BASE_ID)).unwrap_err().to_string().contains("`not a number`"));
    }
}
