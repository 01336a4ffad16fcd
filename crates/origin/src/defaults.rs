//! The default parameters of responses, which may be replaced while the origin serves.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::behaviour::{BadParameter, Behaviour};
use crate::small_file::read_small_file;
use crate::table::Tables;

/// The default parameters of an origin. Requests that arrive after a replacement get the new ones.
#[derive(Debug, Default)]
pub struct Defaults {
    behaviour: RwLock<Behaviour>,
    /// Number of replacements.
    version: AtomicU64,
    tables: Arc<Tables>,
}

impl Defaults {
    pub(crate) fn new(query: &str, tables: Arc<Tables>) -> Result<Self, BadParameter> {
        let mut behaviour = Behaviour::default();
        behaviour.apply_default(query, &tables)?;
        Ok(Self { behaviour: RwLock::new(behaviour), version: AtomicU64::new(0), tables })
    }

    /// Replaces all default parameters by those of a query, such as `delay=1ms&size=100`. Parameters that it lacks get their
    /// usual values.
    ///
    /// # Errors
    /// At the first unknown parameter or invalid value, or if one needs another. The parameters then stay as they were.
    pub fn replace(&self, query: &str) -> Result<(), BadParameter> {
        let mut behaviour = Behaviour::default();
        behaviour.apply_default(query, &self.tables)?;
        *self.behaviour.write().unwrap_or_else(PoisonError::into_inner) = behaviour;
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// The default parameters in a file.
    ///
    /// # Errors
    /// When it cannot be read, or has more than 16 MiB.
    pub fn read(file: &Path) -> Result<String, String> {
        let text = read_small_file(file)
            .map_err(|error| format!("cannot read the default response `{}`: {error}", file.display()))?;
        Ok(text.trim().to_owned())
    }

    /// Replaces all default parameters by those in a file.
    ///
    /// # Errors
    /// When it cannot be read, or is invalid. The parameters then stay as they were, since requests are being served.
    pub fn replace_by(&self, file: &Path) -> Result<(), String> {
        let replaced =
            Self::read(file).and_then(|query| self.replace(&query).map_err(|error| error.to_string()));
        replaced.map_err(|error| format!("the default response is unchanged: {error}"))
    }

    fn current(&self) -> Behaviour {
        self.behaviour.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A worker's copy of the default parameters.
#[derive(Debug)]
pub(crate) struct DefaultsCopy {
    shared: Arc<Defaults>,
    version: u64,
    pub(crate) behaviour: Behaviour,
}

impl DefaultsCopy {
    pub(crate) fn new(shared: &Arc<Defaults>) -> Self {
        let version = shared.version.load(Ordering::Acquire);
        Self { shared: Arc::clone(shared), version, behaviour: shared.current() }
    }

    /// Copies the parameters again if they were replaced.
    pub(crate) fn refresh(&mut self) {
        let version = self.shared.version.load(Ordering::Acquire);
        if version != self.version {
            self.version = version;
            self.behaviour = self.shared.current();
        }
    }
}
