//! The CPU cost of sharing processors with other proxies, learned from a chain of plain proxies on the same processors.
//!
//! **Method.** A proxy needs more CPU time for a request if another proxy has run on its processor since the previous request, because the
//! other proxy has evicted its code and data from caches and branch predictors. So the extra cost of a request is assumed to be
//! proportional to the other proxies' part of the processors' busy time. It also depends on how busy the processors are: proxies that
//! rarely run find little of their own state in caches anyway, and proxies with a backlog handle several requests in a row.
//!
//! A chain of *n* equal plain proxies shows this cost. Each proxy uses an *n*-th of the busy time, and the others use the rest. *T(u)* is
//! the CPU time of a request to the chain at the busy share *u* of the processors, and *C(b)* that of a single plain proxy at its own busy
//! share *b*. If all the busy time belonged to other proxies, the extra cost of a request would be *E(u) = (T(u) - n C(u / n)) / (n - 1)*.
//! A proxy that uses the part *p* of the busy time costs *(1 - p) E(u)* more than alone. Response times at *u* grow likewise, quantile by
//! quantile, by *(R - D - n (P - D)) / (n - 1)*, with the response times *R* of the chain, *D* of its origin without a proxy, and *P* of a
//! plain proxy.

use hoptax_result::ArmResult;

use crate::size::arms::{plain_chain, plain_traffic, reference};
use crate::size::graph::Traffic;
use crate::size::learn::{Plain, Source};
use crate::size::measured_at::MeasuredAt;
use crate::size::sum::Sum;

/// Smallest busy share of a proxy in the chain, as a share of the smallest one of measured plain proxies. Below it, the CPU time of a plain
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
    /// Learns from a chain of this many plain proxies. None if each proxy of the chain was always less busy than any measured single proxy.
    pub(crate) fn new(plain: Plain<'a>, chain: Plain<'a>, proxies: usize) -> Option<Self> {
        let proxies = proxies as f64;
        let known = LEAST * proxies * plain.curve.busy_shares().next()?;
        let shares = chain.curve.busy_shares().filter(|busy| *busy >= known);
        let (least, most) =
            shares.fold((f64::INFINITY, 0.0_f64), |(least, most), busy| (least.min(busy), most.max(busy)));
        (most > 0.0).then_some(Self { plain, chain, proxies, least, most })
    }

    /// Learns from the shortest chain in all results with these requests, or else with the same protocol, or else with any requests.
    pub(crate) fn learn(sources: &[Source<'a>], traffic: &Traffic) -> Option<Self> {
        let rank = |sharing: &Self| {
            let other = plain_traffic(sharing.plain.arm);
            let has_protocol = other.as_ref().is_some_and(|other| other.protocol == traffic.protocol);
            (other.as_ref() != Some(traffic), !has_protocol, sharing.proxies as usize)
        };
        sources.iter().flat_map(Self::all_of).min_by_key(rank)
    }

    /// Learns from each usable chain of plain proxies in a result. There is no TLS within a chain, so a chain whose plain proxy accepts TLS
    /// is not usable.
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

    /// The busy shares of the processors at which the cost is known.
    pub(crate) fn measured_at(&self) -> MeasuredAt {
        MeasuredAt { least: self.least, most: self.most, only: None }
    }

    /// Returns the extra CPU time of a request, in us, if other proxies used all of this busy share of the processors.
    ///
    /// Computed from levels of CPU time, not from the cost of the chain. Costs are stated at the usual speed of the machine and levels are
    /// not, so the speed of a round would not cancel in a mixture of both.
    pub(crate) fn at(&self, busy: f64) -> Sum<'_> {
        let busy = busy.clamp(self.least, self.most);
        let mut sum = Sum::default();
        sum.add_all(1.0 / (self.proxies - 1.0), &self.chain.curve.at(busy));
        sum.add_all(-self.proxies / (self.proxies - 1.0), &self.plain.curve.at(busy / self.proxies));
        sum
    }

    /// The weights of the response times of the chain, of its origin without a proxy and of the plain proxy. The weighted sum is the time
    /// that other proxies add to a response in the same way.
    pub(crate) fn of_times(&self) -> [f64; 3] {
        let others = self.proxies - 1.0;
        [1.0 / others, 1.0, -self.proxies / others]
    }
}
