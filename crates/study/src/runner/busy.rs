//! How busy a load kept the processors that the proxies of an arm may use.

use std::collections::BTreeSet;

use hoptax_host::link::Link;
use hoptax_host::usable::usable_processors;

use super::Setting;
use super::reading::Used;
use super::subjects::{Subject, processors_of};
use crate::plan::Arm;

/// What one proxy may use, and what it used.
#[derive(Clone, Debug)]
struct Claim {
    /// The processors that it may use.
    processors: BTreeSet<u32>,
    /// Its worker threads.
    workers: usize,
    /// CPU time that it used, nanoseconds.
    cpu_ns: u64,
}

impl Claim {
    /// The processors that it can keep busy at once.
    fn most(&self) -> usize {
        self.workers.min(self.processors.len())
    }
}

/// The share of `seconds` for which the proxies of an arm kept the processors that they may use busy, 0 to 1; see [`of_claims`].
/// Where these are all processors of the study, generator and origin, which used `generator_cpu_ns` and what `used` states, limit the
/// proxies and are counted with them. A server that already ran is
/// as busy as its busiest thread, or as the processors that it may use: how many threads it works with is not known, and some
/// servers spread work over more threads than processors. None without a proxy, and if the processes are not known.
pub(super) fn busy_share(
    (subject, arm): (&Subject, &Arm),
    (used, generator_cpu_ns): (&Used, u64),
    seconds: f64,
    setting: &Setting<'_>,
    link: Option<&Link>,
) -> Option<f64> {
    if arm.external.is_some() {
        let usable = usable_processors(subject.account.as_ref()?).ok().filter(|usable| *usable > 0.0)?;
        let all = share(used.proxies.cpu_ns, seconds, usable)?;
        return Some(share(used.busiest_thread_ns, seconds, 1.0)?.max(all));
    }
    let claim = |(number, cpu_ns): (usize, &u64)| {
        let hop = arm.chain.hops.get(number)?;
        let processors = processors_of(setting, link, (hop, arm.chain.is_near(number))).ok()?;
        let workers = arm.workers(hop).unwrap_or(processors.len());
        Some(Claim { processors: processors.into_iter().collect(), workers, cpu_ns: *cpu_ns })
    };
    let claims: Option<Vec<Claim>> = used.hops_cpu_ns.iter().enumerate().map(claim).collect();
    // The two ends of a link are two machines.
    let own = if link.is_some() { [].as_slice() } else { setting.placement.generator.as_slice() };
    let others = Claim {
        processors: own.iter().copied().collect(),
        workers: own.len(),
        cpu_ns: generator_cpu_ns + used.origin_cpu_ns + used.companion_cpu_ns,
    };
    of_claims(&claims?, &others, seconds)
}

/// The share of `seconds` for which the busiest proxies were busy: a single one, as a share of what its workers can use, or all
/// that may only use certain processors, as a share of these. One of them limits the rate, while the rest may idle. `others` is the use
/// of generator and origin, of which proxies that may use their processors get less. None without a proxy.
fn of_claims(claims: &[Claim], others: &Claim, seconds: f64) -> Option<f64> {
    let alone = claims.iter().map(|claim| share(claim.cpu_ns, seconds, claim.most() as f64));
    let together = claims.iter().map(|Claim { processors, .. }| {
        let shares = !others.processors.is_empty() && others.processors.is_subset(processors);
        let within = || {
            let proxies = claims.iter().filter(|other| other.processors.is_subset(processors));
            proxies.chain(shares.then_some(others))
        };
        let workers: usize = within().map(Claim::most).sum();
        let cpu_ns = within().map(|claim| claim.cpu_ns).sum();
        share(cpu_ns, seconds, workers.min(processors.len()) as f64)
    });
    alone.chain(together).flatten().reduce(f64::max)
}

/// CPU time as a share of what processors can give in `seconds`. At most 1, although proxies work on after the last response.
/// None if they can give nothing.
fn share(cpu_ns: u64, seconds: f64, processors: f64) -> Option<f64> {
    let most = seconds * processors;
    (most > 0.0).then(|| (cpu_ns as f64 / 1e9 / most).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The busy share over 2 s of proxies: processors, workers and CPU time in milliseconds of each.
    fn busy(claims: &[(&[u32], usize, u64)]) -> Option<f64> {
        beside(claims, (&[], 0, 0))
    }

    /// The same beside generator and origin.
    fn beside(claims: &[(&[u32], usize, u64)], others: (&[u32], usize, u64)) -> Option<f64> {
        let claim = |(processors, workers, cpu_ms): &(&[u32], usize, u64)| Claim {
            processors: processors.iter().copied().collect(),
            workers: *workers,
            cpu_ns: cpu_ms * 1_000_000,
        };
        of_claims(&claims.iter().map(claim).collect::<Vec<_>>(), &claim(&others), 2.0)
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
    fn proxies_on_the_same_processor_share_it() {
        assert_eq!(busy(&[(&[1], 1, 1_000), (&[1], 1, 500)]), Some(0.75));
        // At the two ends of a link, each has a processor of its own.
        assert_eq!(busy(&[(&[0], 1, 1_000), (&[1], 1, 500)]), Some(0.5));
    }

    #[test]
    fn the_proxy_that_limits_the_rate_counts() {
        // Two proxies with a worker each, on two processors: the first is saturated.
        assert_eq!(busy(&[(&[1, 2], 1, 2_000), (&[1, 2], 1, 600)]), Some(1.0));
        // A pinned proxy in front of clones that may use all processors.
        let clones: [(&[u32], usize, u64); 2] = [(&[0, 1], 1, 400), (&[0, 1], 1, 400)];
        let pinned = |cpu_ms| [&[(&[1][..], 1, cpu_ms)], &clones[..]].concat();
        assert_eq!(busy(&pinned(1_000)), Some(0.5), "the pinned one");
        assert_eq!(busy(&pinned(1_900)), Some(0.95), "the pinned one");
        let many: Vec<(&[u32], usize, u64)> = vec![(&[0, 1], 1, 800); 4];
        assert_eq!(busy(&many), Some(0.8), "all processors");
    }

    #[test]
    fn generator_and_origin_count_where_proxies_may_use_their_processors() {
        let generator: (&[u32], usize, u64) = (&[0], 1, 800);
        assert_eq!(beside(&[(&[1], 1, 1_000)], generator), Some(0.5), "apart");
        let unpinned: [(&[u32], usize, u64); 2] = [(&[0, 1], 1, 1_200), (&[0, 1], 1, 1_600)];
        assert_eq!(beside(&unpinned, generator), Some(0.9));
        assert_eq!(busy(&unpinned), Some(0.8), "the second proxy alone");
        // A machine with one processor, which all share.
        assert_eq!(beside(&[(&[0], 1, 1_000)], generator), Some(0.9));
        assert_eq!(beside(&[], generator), None);
    }
}
