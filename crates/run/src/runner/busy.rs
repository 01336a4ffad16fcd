//! Busy shares of the proxies of an arm under a load, and of the processors that they may use.

use std::collections::BTreeSet;

use hoptax_host::link::Link;
use hoptax_host::usable::{permitted_processors, usable_processors};
use hoptax_plan::plan::{Arm, Hop};

use super::Setting;
use super::reading::Used;
use super::specification::processors_of;
use super::subject::Subject;

/// Busy shares of an arm under a load, each from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Busy {
    /// CPU time of the proxies, as a share of the capacity of the processors that they may use. The largest share counts, of a single proxy
    /// or of all proxies that are confined to the same processors, because it limits the rate while the rest may idle.
    pub(super) proxies: f64,
    /// Busy share of these processors with everything that runs on them: the proxies, the generator and the origin. A proxy that shares its
    /// processors reaches its limit before its own CPU time fills them.
    pub(super) processors: f64,
}

/// The processors of one process, and its CPU time.
#[derive(Clone, Debug)]
struct Claim {
    /// The processors that it may use.
    processors: BTreeSet<u32>,
    /// The number of threads that it works with.
    workers: usize,
    /// CPU time that it used, nanoseconds.
    cpu_ns: u64,
}

impl Claim {
    fn new(processors: &[u32], workers: usize, cpu_ns: u64) -> Self {
        Self { processors: processors.iter().copied().collect(), workers, cpu_ns }
    }

    /// The processors that it can keep busy at once.
    fn most(&self) -> usize {
        self.workers.min(self.processors.len())
    }
}

/// The period in which an arm was under load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loaded {
    /// Its length.
    pub(super) seconds: f64,
    /// The share of it that the generator's thread was on its processor.
    pub(super) generator_share: f64,
}

/// Returns the busy shares of an arm while it was under load. `used` is the CPU time of its processes in that period.
///
/// A server that hoptax did not start is as busy as its busiest thread, or as the processors that it may use: its number of worker threads
/// is not known, and some servers spread work over more threads than processors.
///
/// None without a proxy, and if the processes are not known.
pub(super) fn busy(
    subject: &Subject,
    arm: &Arm,
    used: &Used,
    loaded: Loaded,
    setting: &Setting<'_>,
    link: Option<&Link>,
) -> Option<Busy> {
    let Loaded { seconds, generator_share } = loaded;
    let placement = setting.placement;
    // The two ends of a link are two machines: origins run on the processors of the proxies.
    let of_origins = if link.is_some() { placement.proxy.as_slice() } else { placement.origin() };
    let generator_cpu_ns = (generator_share * seconds * 1e9) as u64;
    let others = [
        Claim::new(placement.caller(), 1, generator_cpu_ns),
        Claim::new(of_origins, of_origins.len(), used.origin_cpu_ns + used.companion_cpu_ns),
    ];
    if arm.external.is_some() {
        let processes = subject.account.as_ref()?;
        let usable = usable_processors(processes).ok()?;
        let processors: Vec<u32> = permitted_processors(processes).ok()?.into_iter().collect();
        let claim = Claim::new(&processors, processors.len(), used.proxies.cpu_ns);
        let proxies = share(used.busiest_thread_ns, seconds, 1.0)?.max(share(claim.cpu_ns, seconds, usable)?);
        let all = together(&[claim], &others, seconds)?;
        return Some(Busy { proxies, processors: proxies.max(all) });
    }
    let claim = |(hop, cpu_ns): (&Hop, &u64)| {
        let processors = processors_of(setting, link, hop).ok()?;
        let workers = match hop.proxy.front() {
            Some(front) => front.threads as usize,
            None => arm.workers(hop).unwrap_or(processors.len()),
        };
        Some(Claim::new(&processors, workers, *cpu_ns))
    };
    let claims: Option<Vec<Claim>> = arm.chain.hops.iter().zip(&used.hops_cpu_ns).map(claim).collect();
    of_claims(&claims?, &others, seconds)
}

/// Returns the busy shares of proxies beside others; see [`Busy`]. None without a proxy.
fn of_claims(proxies: &[Claim], others: &[Claim], seconds: f64) -> Option<Busy> {
    let alone = proxies.iter().filter_map(|claim| share(claim.cpu_ns, seconds, claim.most() as f64));
    let proxies_share = alone.chain(together(proxies, &[], seconds)).reduce(f64::max)?;
    Some(Busy { proxies: proxies_share, processors: proxies_share.max(together(proxies, others, seconds)?) })
}

/// The largest busy share, over the sets of processors that some proxy may use, from proxies and others that are confined to the set. None
/// without a proxy.
fn together(proxies: &[Claim], others: &[Claim], seconds: f64) -> Option<f64> {
    let of_processors = |Claim { processors, .. }: &Claim| {
        let within = || proxies.iter().chain(others).filter(|claim| claim.processors.is_subset(processors));
        let most: usize = within().map(Claim::most).sum();
        share(within().map(|claim| claim.cpu_ns).sum(), seconds, most.min(processors.len()) as f64)
    };
    proxies.iter().filter_map(of_processors).reduce(f64::max)
}

/// CPU time as a share of the capacity of processors in `seconds`. At most 1, although proxies continue to work after the last response.
/// None if the capacity is zero.
fn share(cpu_ns: u64, seconds: f64, processors: f64) -> Option<f64> {
    let most = seconds * processors;
    (most > 0.0).then(|| (cpu_ns as f64 / 1e9 / most).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::fixture;

    /// Processors, workers and CPU time in milliseconds.
    type Process<'a> = (&'a [u32], usize, u64);

    /// Returns the busy shares of proxies over 2 s beside others: of the proxies, and of their processors.
    fn beside(proxies: &[Process<'_>], others: &[Process<'_>]) -> Option<[f64; 2]> {
        let claims = |all: &[Process<'_>]| -> Vec<Claim> {
            all.iter()
                .map(|(processors, workers, ms)| Claim::new(processors, *workers, ms * 1_000_000))
                .collect()
        };
        let Busy { proxies, processors } = of_claims(&claims(proxies), &claims(others), 2.0)?;
        Some([proxies, processors])
    }

    /// Returns the busy share of proxies over 2 s.
    fn busy(proxies: &[Process<'_>]) -> Option<f64> {
        beside(proxies, &[]).map(|[busy, _]| busy)
    }

    #[test]
    fn a_proxy_is_busy_as_the_processors_that_its_workers_can_use() {
        assert_eq!(busy(&[(&[1], 1, 1_000)]), Some(0.5));
        assert_eq!(busy(&[(&[1, 2], 2, 1_000)]), Some(0.25));
        assert_eq!(busy(&[(&[1, 2], 1, 1_000)]), Some(0.5), "one worker");
        assert_eq!(busy(&[(&[1], 4, 1_000)]), Some(0.5), "four workers share a processor");
        assert_eq!(busy(&[(&[1], 1, 2_010)]), Some(1.0), "it works on after the last response");
        assert_eq!(busy(&[]), None);
    }

    #[test]
    fn a_proxy_other_than_envoy_is_busy_as_its_threads() {
        let plan = fixture::plan("baseline, {name: front, hops: [{proxy: haproxy}]}");
        let used = Used { hops_cpu_ns: vec![1_000_000_000], ..Used::default() };
        let of = |arm: &Arm| {
            let busy = fixture::with_setting(&[1, 2], |setting| {
                let loaded = Loaded { seconds: 2.0, generator_share: 0.0 };
                super::busy(&Subject::default(), arm, &used, loaded, setting, None)
            });
            busy.map(|busy| busy.proxies)
        };
        assert_eq!(plan.arms.iter().map(of).collect::<Vec<_>>(), [Some(0.25), Some(0.5)]);
    }

    #[test]
    fn proxies_on_the_same_processor_share_it() {
        assert_eq!(busy(&[(&[1], 1, 1_000), (&[1], 1, 500)]), Some(0.75));
        // At the two ends of a link, each has its own processor.
        assert_eq!(busy(&[(&[0], 1, 1_000), (&[1], 1, 500)]), Some(0.5));
    }

    #[test]
    fn the_proxy_that_limits_the_rate_counts() {
        // Two proxies with a worker each, on two processors: the first is saturated.
        assert_eq!(busy(&[(&[1, 2], 1, 2_000), (&[1, 2], 1, 600)]), Some(1.0));
        // A pinned proxy in front of clones that may use all processors.
        let clones: [Process<'_>; 2] = [(&[0, 1], 1, 400), (&[0, 1], 1, 400)];
        let pinned = |cpu_ms| [&[(&[1][..], 1, cpu_ms)], &clones[..]].concat();
        assert_eq!(busy(&pinned(1_000)), Some(0.5), "the pinned one");
        assert_eq!(busy(&pinned(1_900)), Some(0.95), "the pinned one");
        let many: Vec<Process<'_>> = vec![(&[0, 1], 1, 800); 4];
        assert_eq!(busy(&many), Some(0.8), "all processors");
    }

    #[test]
    fn processors_that_proxies_share_with_others_are_busier_than_the_proxies() {
        let caller: Process<'_> = (&[0], 1, 800);
        assert_eq!(beside(&[(&[1], 1, 1_000)], &[caller]), Some([0.5, 0.5]), "apart");
        let unpinned: [Process<'_>; 2] = [(&[0, 1], 1, 1_200), (&[0, 1], 1, 1_600)];
        assert_eq!(beside(&unpinned, &[caller]), Some([0.8, 0.9]));
        // Four processors: the proxy may use its own and the caller's, and the origin has the others.
        let two: Process<'_> = (&[0, 3], 2, 2_800);
        assert_eq!(beside(&[two], &[caller, (&[1, 2], 2, 3_000)]), Some([0.7, 0.9]));
        // A machine with one processor, which all share.
        assert_eq!(beside(&[(&[0], 1, 1_000)], &[caller]), Some([0.5, 0.9]));
        assert_eq!(beside(&[], &[caller]), None);
    }
}
