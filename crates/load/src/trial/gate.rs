//! Starts the threads of a trial's workers, which run once all of them have arrived. At a barrier, they would wait forever for a worker
//! whose thread cannot be started.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// A gate that lets all workers pass together, or none.
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// This many workers have not arrived yet.
    Missing(usize),
    /// A worker will not arrive.
    Shut,
}

/// A worker's place at a gate. If it is dropped before the worker has arrived, the gate lets no worker pass.
#[derive(Debug)]
pub(super) struct Place<'a> {
    gate: &'a Gate,
    has_arrived: bool,
}

impl Gate {
    /// A gate for this many workers.
    pub(super) fn new(workers: usize) -> Self {
        Self { state: Mutex::new(State::Missing(workers)), changed: Condvar::new() }
    }

    fn place(&self) -> Place<'_> {
        Place { gate: self, has_arrived: false }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place<'_> {
    /// Waits until all workers have arrived. False if one of them will not.
    pub(super) fn pass(mut self) -> bool {
        self.has_arrived = true;
        let gate = self.gate;
        let mut state = gate.lock();
        if let State::Missing(missing) = &mut *state {
            *missing = missing.saturating_sub(1);
        }
        gate.changed.notify_all();
        let is_waiting = |state: &mut State| matches!(*state, State::Missing(missing) if missing > 0);
        let state = gate.changed.wait_while(state, is_waiting).unwrap_or_else(PoisonError::into_inner);
        *state != State::Shut
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.has_arrived {
            *self.gate.lock() = State::Shut;
            self.gate.changed.notify_all();
        }
    }
}

/// Starts a thread for the task of each worker, which is given its place at the gate. `builder` makes the thread of the worker
/// with this index.
///
/// # Errors
/// The index of the first worker whose thread cannot be started, and why. The gate then lets no worker pass.
pub(super) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    gate: &'scope Gate,
    tasks: impl IntoIterator<Item = impl FnOnce(Place<'scope>) -> T + Send + 'scope>,
    builder: impl Fn(usize) -> Builder,
) -> Result<Vec<ScopedJoinHandle<'scope, T>>, (usize, io::Error)> {
    let started = tasks.into_iter().enumerate().map(|(number, task)| {
        let place = gate.place();
        // The place is dropped with the closure of a thread that cannot be started.
        builder(number).spawn_scoped(scope, move || task(place)).map_err(|error| (number, error))
    });
    started.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    /// More than an address space has.
    const IMPOSSIBLE_STACK_BYTES: usize = 1 << 60;

    /// Returns the number of three workers that pass, and the index of the one whose thread cannot be started.
    fn passed(builder: impl Fn(usize) -> Builder) -> (usize, Option<usize>) {
        let (gate, passed) = (Gate::new(3), AtomicUsize::new(0));
        let failed = thread::scope(|scope| {
            let task = |place: Place<'_>| {
                passed.fetch_add(usize::from(place.pass()), Ordering::Relaxed);
            };
            start(scope, &gate, [task; 3], builder).err()
        });
        (passed.into_inner(), failed.map(|(number, _)| number))
    }

    #[test]
    fn all_workers_run_or_none_if_the_thread_of_one_cannot_be_started() {
        assert_eq!(passed(|_| Builder::new()), (3, None));
        for impossible in 0..3 {
            let builder = |number: usize| {
                let builder = Builder::new();
                if number == impossible { builder.stack_size(IMPOSSIBLE_STACK_BYTES) } else { builder }
            };
            assert_eq!(passed(builder), (0, Some(impossible)));
        }
    }

    #[test]
    fn a_worker_that_fails_before_the_gate_does_not_hold_up_the_others() {
        let gate = Gate::new(2);
        let passed = thread::scope(|scope| {
            let task = |fails: bool| move |place: Place<'_>| !fails && place.pass();
            let handles = start(scope, &gate, [task(false), task(true)], |_| Builder::new()).unwrap();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(passed, [false, false]);
    }
}
