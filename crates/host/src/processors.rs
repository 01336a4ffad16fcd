//! Processors: which there are, who runs on which, and precise sleeping.

use std::io;
use std::num::NonZeroU64;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Which processors the proxy gets, and which the generator and the origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The proxy's.
    pub proxy: Vec<u32>,
    /// The generator's and the origin's.
    pub generator: Vec<u32>,
}

impl Placement {
    /// The proxy gets the last `proxy_processors` of `allowed`, generator and origin the others. The first
    /// processor serves most interrupts, so the proxy does not get it. Where nothing would be left for the
    /// generator, both share all.
    pub fn split(allowed: &[u32], proxy_processors: usize) -> Self {
        if allowed.len() <= proxy_processors {
            return Self { proxy: allowed.to_vec(), generator: allowed.to_vec() };
        }
        let (generator, proxy) = allowed.split_at(allowed.len() - proxy_processors);
        Self { proxy: proxy.to_vec(), generator: generator.to_vec() }
    }

    /// The processor of the thread that generates load: one alone, so that it stays where it is.
    pub fn caller(&self) -> &[u32] {
        self.generator.get(..1).unwrap_or_default()
    }

    /// The processors of the origin and of what stands beside it: those that the caller leaves, or the same where it leaves
    /// none.
    pub fn origin(&self) -> &[u32] {
        match self.generator.get(1..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &self.generator,
        }
    }

    /// All of them.
    pub fn all(&self) -> Vec<u32> {
        let mut all = self.generator.clone();
        all.extend(self.proxy.iter().filter(|processor| !self.generator.contains(processor)));
        all
    }

    /// Whether the proxy has processors of its own.
    pub fn is_apart(&self) -> bool {
        self.proxy != self.generator
    }
}

/// The processors that the calling thread may run on.
///
/// # Errors
/// When the kernel does not say.
pub fn allowed() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&number| set.is_set(number)).map(|number| number as u32).collect())
}

/// Keeps the calling thread, and what it starts from now on, on `processors`.
///
/// # Errors
/// When none of them may be used.
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

/// Lets the calling thread wake when it asked to, not up to 50 us later: the kernel's default slack for timers.
///
/// # Errors
/// When the kernel refuses.
pub fn set_min_timer_slack() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxy_gets_the_last_processors_and_the_generator_the_rest() {
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
    fn with_one_processor_all_share_it() {
        let placement = Placement::split(&[5], 1);
        assert_eq!(placement, Placement { proxy: vec![5], generator: vec![5] });
        assert!(!placement.is_apart());
        assert_eq!((placement.caller(), placement.origin()), ([5].as_slice(), [5].as_slice()));
        assert_eq!(placement.all(), [5]);
    }

    #[test]
    fn a_pinned_thread_is_allowed_only_there() {
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
