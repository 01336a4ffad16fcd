//! Ctrl-C: the first asks for a clean end, the second ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::{Code, Failure};

/// Whether the user, or whoever started hoptax, asked it to stop.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for SIGINT and SIGTERM from now on.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag unset and sets it, the second finds it set.
            flag::register_conditional_shutdown(signal, Code::Interrupted as i32, Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .map_err(|error| Failure::environment(format!("cannot listen for signals: {error}")))?;
        }
        Ok(Self(asked))
    }

    /// The flag that is set when it was asked.
    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }

    /// Whether it was asked.
    pub(crate) fn was_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
