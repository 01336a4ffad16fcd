//! Processors: which are allowed, placement of proxy and generator, pinning, and timer slack.

use std::io;
use std::num::NonZeroU64;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors of the proxy, and those of generator and origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Processors of the proxy.
    pub proxy: Vec<u32>,
    /// Processors of generator and origin.
    pub generator: Vec<u32>,
}

impl Placement {
    /// Assigns the last `proxy_processors` of `allowed` to the proxy and the others to generator and origin. The
    /// first processor handles most interrupts and is therefore not assigned to the proxy. If none would be left
    /// for the generator, both share all.
    pub fn split(allowed: &[u32], proxy_processors: usize) -> Self {
        if allowed.len() <= proxy_processors {
            return Self { proxy: allowed.to_vec(), generator: allowed.to_vec() };
        }
        let (generator, proxy) = allowed.split_at(allowed.len() - proxy_processors);
        Self { proxy: proxy.to_vec(), generator: generator.to_vec() }
    }

    /// The processor of the thread that generates load: a single one, so it never migrates.
    pub fn caller(&self) -> &[u32] {
        self.generator.get(..1).unwrap_or_default()
    }

    /// The processors of the origin and its companion: those of the generator except the caller's, or the caller's if there are
    /// no others.
    pub fn origin(&self) -> &[u32] {
        match self.generator.get(1..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &self.generator,
        }
    }

    /// All processors.
    pub fn all(&self) -> Vec<u32> {
        let mut all = self.generator.clone();
        all.extend(self.proxy.iter().filter(|processor| !self.generator.contains(processor)));
        all
    }

    /// Returns true if the proxy has processors of its own.
    pub fn is_apart(&self) -> bool {
        self.proxy != self.generator
    }
}

/// The processors that the calling thread may run on.
///
/// # Errors
/// If `sched_getaffinity` fails.
pub fn allowed() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&number| set.is_set(number)).map(|number| number as u32).collect())
}

/// Pins the calling thread, and threads and processes that it starts later, to `processors`.
///
/// # Errors
/// If none of them is available.
pub fn pin(processors: &[u32]) -> io::Result<()> {
    Ok(sched_setaffinity(None, &cpu_set(processors))?)
}

pub(crate) fn cpu_set(processors: &[u32]) -> CpuSet {
    let mut set = CpuSet::new();
    for &number in processors {
        if (number as usize) < CpuSet::MAX_CPU {
            set.set(number as usize);
        }
    }
    set
}

/// Sets the timer slack of the calling thread to 1 ns. With the kernel's default, timers expire up to 50 us late.
///
/// # Errors
/// If `prctl` fails.
pub fn set_min_timer_slack() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxy_gets_the_last_processors_and_the_generator_the_others() {
        let placement = Placement::split(&[0, 1, 2, 3], 1);
        assert_eq!(placement, Placement { proxy: vec![3], generator: vec![0, 1, 2] });
        assert!(placement.is_apart());
        assert_eq!((placement.caller(), placement.origin()), ([0].as_slice(), [1, 2].as_slice()));
        assert_eq!(placement.all(), [0, 1, 2, 3]);
        let two = Placement::split(&[0, 1], 1);
        assert_eq!((two.caller(), two.origin()), ([0].as_slice(), [0].as_slice()));
        let many: Vec<u32> = (0..64).collect();
        let many = Placement::split(&many, 1);
        assert_eq!(
            (many.proxy.as_slice(), many.caller(), many.origin().len()),
            ([63].as_slice(), [0].as_slice(), 62)
        );
    }

    #[test]
    fn a_single_processor_is_shared() {
        let placement = Placement::split(&[5], 1);
        assert_eq!(placement, Placement { proxy: vec![5], generator: vec![5] });
        assert!(!placement.is_apart());
        assert_eq!((placement.caller(), placement.origin()), ([5].as_slice(), [5].as_slice()));
        assert_eq!(placement.all(), [5]);
    }

    #[test]
    fn a_pinned_thread_has_only_its_processor() {
        std::thread::spawn(|| {
            let last = *allowed().unwrap().last().unwrap();
            pin(&[last]).unwrap();
            assert_eq!(allowed().unwrap(), [last]);
            assert!(pin(&[]).is_err());
        })
        .join()
        .unwrap();
    }
}
