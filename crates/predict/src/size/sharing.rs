//! CPU cost of proxies that share processors to each other, learned from a chain of plain proxies on the same processors.
//!
//! **Method.** A proxy needs more CPU time for a request if another proxy ran on its processor since its last one: that one's code and
//! data took the place of its own in caches and branch predictors. So the extra cost of a request is taken to be proportional to the
//! part of the busy time of the processors that other proxies use. It depends on how busy the processors are, because proxies that
//! rarely run find little of their own anyway, and proxies with a backlog handle several requests in turn.
//!
//! A chain of *n* equal plain proxies shows it. Each of them uses an *n*-th of the busy time, and others use the rest. With the CPU time
//! *T(u)* of a request to the chain while processors are busy for *u* of the time, and that of a single plain proxy *C(b)* at its own
//! busy share *b*, all other proxies together would cost a request *E(u) = (T(u) - n C(u / n)) / (n - 1)*. A proxy that uses the part
//! *p* of the busy time costs *(1 - p) E(u)* more than alone. Response times at *u* are extended alike, quantile by quantile, by
//! *(R - D - n (P - D)) / (n - 1)*: those of the chain, of its origin without a proxy, and of a plain proxy.

use hoptax_result::ArmResult;

use crate::size::arms::{plain_chain, plain_traffic, reference};
use crate::size::graph::Traffic;
use crate::size::learn::{Plain, Source};
use crate::size::measured_at::MeasuredAt;
use crate::size::sum::Sum;

/// Least busy share of a proxy of the chain, as a share of the least one of measured plain proxies: below that, the CPU time of a plain
/// proxy is not known.
const LEAST: f64 = 0.8;

/// CPU cost of other proxies on the same processors to a request.
pub(crate) struct Sharing<'a> {
    /// The plain proxy that the chain is compared with.
    pub(crate) plain: Plain<'a>,
    /// The chain, with its CPU time over the busy share of the processors.
    pub(crate) chain: Plain<'a>,
    /// The number of its proxies, at least 2.
    proxies: f64,
    least: f64,
    most: f64,
}

impl<'a> Sharing<'a> {
    /// From a chain of so many plain proxies. None if at all its busy shares a single one was never as idle as each of the chain.
    pub(crate) fn new(plain: Plain<'a>, chain: Plain<'a>, proxies: usize) -> Option<Self> {
        let proxies = proxies as f64;
        let known = LEAST * proxies * plain.curve.busy_shares().next()?;
        let shares = chain.curve.busy_shares().filter(|busy| *busy >= known);
        let (least, most) =
            shares.fold((f64::INFINITY, 0.0_f64), |(least, most), busy| (least.min(busy), most.max(busy)));
        (most > 0.0).then_some(Self { plain, chain, proxies, least, most })
    }

    /// From the shortest chain of all results with these requests, or else with the same protocol, or else with any.
    pub(crate) fn learn(sources: &[Source<'a>], traffic: &Traffic) -> Option<Self> {
        let rank = |sharing: &Self| {
            let other = plain_traffic(sharing.plain.arm);
            let has_protocol = other.as_ref().is_some_and(|other| other.protocol == traffic.protocol);
            (other.as_ref() != Some(traffic), !has_protocol, sharing.proxies as usize)
        };
        sources.iter().flat_map(Self::all_of).min_by_key(rank)
    }

    /// From each chain of plain proxies of a result that counts. Within a chain there is no TLS, so one whose plain proxy accepts TLS
    /// does not count.
    pub(crate) fn all_of(source: &Source<'a>) -> Vec<Self> {
        let chain = |arm: &'a ArmResult| {
            let other = reference(source.result, arm).filter(|other| plain_traffic(other).is_some())?;
            Self::new(source.plain_of(other)?, source.plain_of(arm)?, plain_chain(arm)?)
        };
        source.result.arms.iter().filter_map(chain).collect()
    }

    /// The arm of the chain.
    pub(crate) fn arm(&self) -> &'a ArmResult {
        self.chain.arm
    }

    /// The busy shares of the processors that it is known at.
    pub(crate) fn measured_at(&self) -> MeasuredAt {
        MeasuredAt { least: self.least, most: self.most, only: None }
    }

    /// Returns the CPU time, in us, that all other proxies would cost a request if processors are busy for this share of the time.
    ///
    /// Levels of CPU time are used, not the cost of the chain: costs are stated at the usual speed of the machine and levels are not, so
    /// their difference would not contain the speed as rounds do.
    pub(crate) fn at(&self, busy: f64) -> Sum<'_> {
        let busy = busy.clamp(self.least, self.most);
        let mut sum = Sum::default();
        sum.add_all(1.0 / (self.proxies - 1.0), &self.chain.curve.at(busy));
        sum.add_all(-self.proxies / (self.proxies - 1.0), &self.plain.curve.at(busy / self.proxies));
        sum
    }

    /// The weights of the response times of the chain, of its origin without a proxy and of the plain proxy, whose sum is what other
    /// proxies add to the response time of a request in the same way.
    pub(crate) fn of_times(&self) -> [f64; 3] {
        let others = self.proxies - 1.0;
        [1.0 / others, 1.0, -self.proxies / others]
    }
}
