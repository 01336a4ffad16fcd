//! CPU time that the probe uses itself, by processor, and its work on each of them.

use std::collections::BTreeMap;
use std::io;
use std::thread;

use crate::processors;

/// CPU time that the probe itself used of each processor, nanoseconds.
pub(super) type OwnUse = BTreeMap<u32, u64>;

/// Runs `work` concurrently on threads that are pinned to each of `processors`.
pub(super) fn on_each<T: Send>(
    processors: &[u32],
    work: impl Fn(u32) -> io::Result<T> + Sync,
) -> io::Result<Vec<(u32, T)>> {
    thread::scope(|scope| {
        let start = |&processor: &u32| {
            let work = &work;
            let handle = thread::Builder::new().name(format!("probe {processor}")).spawn_scoped(
                scope,
                move || -> io::Result<T> {
                    processors::pin(&[processor])?;
                    work(processor)
                },
            )?;
            Ok((processor, handle))
        };
        let threads = processors.iter().map(start).collect::<io::Result<Vec<_>>>()?;
        let end = |(processor, handle): (u32, thread::ScopedJoinHandle<'_, io::Result<T>>)| {
            let done = handle.join().map_err(|_| io::Error::other("a probe thread panicked"))??;
            Ok((processor, done))
        };
        threads.into_iter().map(end).collect()
    })
}

pub(super) fn add(own: &mut OwnUse, processor: u32, used_ns: u64) {
    *own.entry(processor).or_default() += used_ns;
}
