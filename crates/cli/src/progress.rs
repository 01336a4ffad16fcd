//! Progress on stderr: a view on a terminal, plain lines elsewhere, nothing with `--quiet`.

use hoptax_session::Say;
pub(crate) use hoptax_session::progress::LoadProgress;
use hoptax_session::progress::{self, Console};

use crate::print;

/// The console of this program.
fn console() -> Console {
    Console { is_quiet: print::is_quiet(), room: print::room, terminal: print::stderr, say: print::say }
}

/// Runs `measure`, and shows the progress of its studies or its search.
pub(crate) fn shown<T>(measure: impl FnOnce(Say<'_>) -> T) -> T {
    progress::shown(console(), measure)
}

/// Runs work of unknown length, and shows its steps on a terminal.
pub(crate) fn stepwise<T>(work: impl FnOnce(&mut dyn FnMut(&str), Say<'_>) -> T) -> T {
    progress::stepwise(console(), work)
}

/// The progress of a load; nothing is shown if that is not wanted.
pub(crate) fn of_load(is_wanted: bool) -> LoadProgress {
    LoadProgress::of_load(console(), is_wanted)
}

/// The progress of a load of agents.
pub(crate) fn of_agents() -> LoadProgress {
    LoadProgress::of_agents(console())
}
