//! Progress on stderr: a view on a terminal, plain lines elsewhere, nothing with `--quiet`.

use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

pub(crate) use hoptax_session::progress::LoadProgress;
use hoptax_session::progress::{self, Console};
use hoptax_session::{Interrupt, Say, Update};

use crate::exit::Failure;
use crate::{interrupt, print};

/// Open requests that end in this time after an interrupt are not worth a word.
const SOON: Duration = Duration::from_millis(500);

/// The console of this program.
fn console() -> Console {
    Console { is_quiet: print::is_quiet(), room: print::room, terminal: print::stderr, say: print::say }
}

/// Runs `measure`, and shows the progress of its studies or its search.
pub(crate) fn shown<T>(measure: impl FnOnce(Say<'_>) -> T) -> T {
    progress::shown(console(), measure)
}

/// What ends the wait of a thread that tells of an interrupt.
#[derive(Debug)]
enum Awaited {
    Interrupt,
    End,
}

/// Announces the end of a search when it is dropped, also by a panic: the thread that waits for it would never end otherwise.
struct AnnouncesEnd(Sender<Awaited>);

impl Drop for AnnouncesEnd {
    fn drop(&mut self) {
        let _ = self.0.send(Awaited::End);
    }
}

/// Runs a search on a server, and shows its progress. The first interrupt ends it after the responses to its open requests: says so unless
/// they come soon, with the time that `timeout` leaves them.
pub(crate) fn shown_until_interrupt<T>(
    timeout: Duration,
    search: impl FnOnce(&Interrupt, Say<'_>) -> T,
) -> Result<T, Failure> {
    let (awaited, comes) = mpsc::channel();
    let end = AnnouncesEnd(awaited.clone());
    let interrupt = interrupt::listen_until_result_and(move || {
        let _ = awaited.send(Awaited::Interrupt);
    })?;
    Ok(shown(|say| {
        thread::scope(|scope| {
            let tell = move || {
                if matches!(comes.recv(), Ok(Awaited::Interrupt)) && comes.recv_timeout(SOON).is_err() {
                    say(Update::Note(&progress::draining(timeout, SOON)));
                }
            };
            // If the thread cannot start, nothing is said.
            let _ = thread::Builder::new().spawn_scoped(scope, tell);
            let _end = end;
            search(&interrupt, say)
        })
    }))
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
