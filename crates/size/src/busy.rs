//! How busy proxies are at a rate: on processors of their own, or on processors that they share.

use crate::proxy::{FunctionOf, Proxy};
use crate::sharing::Sharing;
use crate::sum::Sum;

/// Halvings of the interval that a busy share is in: enough for all digits of a CPU time that people read.
const HALVINGS: u32 = 40;

/// The processors that proxies run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processors {
    /// Each worker has one of its own.
    Own,
    /// All proxies together have this many.
    Shared(u32),
}

/// Where proxies run, and what they cost each other there.
pub(crate) struct Placement<'a> {
    pub(crate) processors: Processors,
    /// What proxies that share processors cost each other; none if no result states it, or if they share none.
    pub(crate) sharing: Option<Sharing<'a>>,
}

/// How busy a proxy and its processors are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Busy {
    /// The share of the time of its workers that a proxy uses, above 1 if it has too few.
    pub(crate) own: f64,
    /// The share of the time of its processors that all proxies on them use, above 1 if they have too few.
    pub(crate) processors: f64,
    /// The part of that which it uses itself: 1 on processors of its own.
    pub(crate) part: f64,
}

impl Busy {
    /// On processors of its own.
    pub(crate) fn alone(own: f64) -> Self {
        Self { own, processors: own, part: 1.0 }
    }
}

impl<'a> Placement<'a> {
    /// How busy each of `proxies` is at `rate` requests per second to the entry, without one function of one of them if one is given.
    ///
    /// **Method.** The busy share `b` of a proxy is that at which CPU time per request and rate agree: `b = cores(b) / workers`. CPU
    /// time per request falls while a proxy gets busier, so there is one, which bisection finds. On shared processors, this is done
    /// for each busy share of the processors, and that at which it agrees with the sum of all proxies is found in the same way.
    /// Busy shares are computed from estimates: their own errors are neglected.
    pub(crate) fn busy(
        &self,
        proxies: &[Proxy<'a>],
        rate: f64,
        without: Option<(usize, FunctionOf<'a>)>,
    ) -> Vec<Busy> {
        let left_out = |number: usize| without.filter(|(of, _)| *of == number).map(|(_, function)| function);
        let Processors::Shared(count) = self.processors else {
            let alone = |(number, proxy): (usize, &Proxy<'a>)| {
                let needed = |own: f64| self.workers(proxy, rate, Busy::alone(own), left_out(number));
                Busy::alone(agreed(needed))
            };
            return proxies.iter().enumerate().map(alone).collect();
        };
        let part = |proxy: &Proxy<'_>, own: f64, processors: f64| {
            own * f64::from(proxy.service.workers) / (f64::from(count) * processors)
        };
        let all_at = |processors: f64| -> Vec<Busy> {
            let busy = |proxy: &Proxy<'_>, own: f64| Busy {
                own,
                processors,
                part: part(proxy, own, processors).clamp(0.0, 1.0),
            };
            let one = |(number, proxy): (usize, &Proxy<'a>)| {
                let needed = |own: f64| self.workers(proxy, rate, busy(proxy, own), left_out(number));
                busy(proxy, agreed(needed))
            };
            proxies.iter().enumerate().map(one).collect()
        };
        let used = |processors: f64| {
            let used = |(proxy, busy): (&Proxy<'_>, Busy)| part(proxy, busy.own, 1.0);
            proxies.iter().zip(all_at(processors)).map(used).sum()
        };
        all_at(agreed(used))
    }

    /// The cores that a proxy uses while it is this busy, without one function if one is given.
    pub(crate) fn cores<'p>(
        &'p self,
        proxy: &'p Proxy<'a>,
        rate: f64,
        busy: Busy,
        without: Option<FunctionOf<'a>>,
    ) -> Sum<'p> {
        let mut cores = proxy.cores(rate, busy.own, without);
        if let Some(sharing) = &self.sharing {
            let requests = rate * proxy.per_request();
            cores.add_all(requests * (1.0 - busy.part) / 1e6, &sharing.at(busy.processors));
        }
        cores
    }

    /// The workers that a proxy keeps busy, as a share of those that it has.
    fn workers(&self, proxy: &Proxy<'a>, rate: f64, busy: Busy, without: Option<FunctionOf<'a>>) -> f64 {
        self.cores(proxy, rate, busy, without).estimate() / f64::from(proxy.service.workers)
    }
}

/// The share that needs itself. Above 1, what 1 needs.
fn agreed(needed: impl Fn(f64) -> f64) -> f64 {
    let at_most = needed(1.0);
    if at_most >= 1.0 {
        return at_most;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if needed(middle) > middle { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}
