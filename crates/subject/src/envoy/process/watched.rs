//! Files that Envoy reloads: replacing them removes a function from a live proxy.

use std::fs;
use std::io;
use std::time::Instant;

use super::{POLL, Proxy, ProxyError, ProxySpec, START_TIMEOUT};
use crate::envoy::bootstrap::{self, ProxyPlan};

/// A file that Envoy reloads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Watched {
    Listeners,
    Clusters,
}

impl Watched {
    /// The prefix of Envoy's statistics about updates of this file.
    fn statistic(self) -> &'static str {
        match self {
            Self::Listeners => "listener_manager.lds",
            Self::Clusters => "cluster_manager.cds",
        }
    }
}

impl ProxySpec {
    /// Writes the files that Envoy reloads, if the plan has them. Each is replaced atomically, because the replacement triggers the reload.
    pub(super) fn write_watched(
        &self,
        plan: &ProxyPlan,
        which: impl IntoIterator<Item = Watched>,
    ) -> Result<(), ProxyError> {
        let Some(files) = &plan.watched else { return Ok(()) };
        let contents = bootstrap::watched_contents(plan)?;
        for one in which {
            let (path, content) = match one {
                Watched::Listeners => (&files.listeners, &contents.listeners),
                Watched::Clusters => (&files.clusters, &contents.clusters),
            };
            let unfinished = path.with_extension("unfinished");
            let write = || -> io::Result<()> {
                fs::create_dir_all(&self.directory)?;
                fs::write(&unfinished, serde_json::to_string_pretty(content)?)?;
                fs::rename(&unfinished, path)
            };
            write().map_err(|source| ProxyError::File { path: path.clone(), source })?;
        }
        Ok(())
    }

    /// Removes the function from a proxy with watched files, and waits until Envoy has reloaded: first the listener, so that nothing refers
    /// to the function's clusters any more, then the clusters. Existing connections keep the function. Settings that Envoy reads only at
    /// start remain: see `Function::obstacle_to_unloading`.
    ///
    /// # Errors
    /// When a file cannot be written, or Envoy does not accept it.
    pub fn unload(&self, proxy: &Proxy) -> Result<(), ProxyError> {
        // A given configuration has no watched files.
        let Some(plan) = self.source.plan() else { return Ok(()) };
        let plain = plan.without_function();
        for one in [Watched::Listeners, Watched::Clusters] {
            let names = [
                format!("{}.update_success", one.statistic()),
                format!("{}.update_rejected", one.statistic()),
            ];
            let before = proxy.statistics(&names)?;
            self.write_watched(&plain, [one])?;
            let began = Instant::now();
            loop {
                let (now, before) = (proxy.statistics(&names)?, before.as_deref());
                let [accepted, rejected] = [0, 1].map(|name| {
                    now.as_deref().and_then(|now| now.get(name)) != before.and_then(|before| before.get(name))
                });
                if accepted {
                    break;
                }
                if rejected || began.elapsed() > START_TIMEOUT {
                    let problem = "Envoy does not accept the configuration without the function";
                    return Err(proxy.stuck(problem.to_owned()));
                }
                std::thread::sleep(POLL);
            }
        }
        Ok(())
    }
}
