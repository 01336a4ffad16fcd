//! Busy shares of proxies at a rate, on their own processors or on shared ones.

use std::collections::BTreeSet;

use crate::size::measured_at::{IsBeyond, NEARLY};
use crate::size::proxy::{FunctionOf, Proxy};
use crate::size::sharing::Sharing;
use crate::size::sum::Sum;

/// Bisection steps for a busy share: enough for all digits that results show.
const HALVINGS: u32 = 50;

/// Upper limit of a busy share, far above any realistic one.
const MOST: f64 = 1e9;

/// The processors that proxies run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processors {
    /// Each worker has its own processor.
    Own,
    /// All proxies together have this many.
    Shared(u32),
}

/// The processors of proxies, and the CPU cost of sharing them.
pub(crate) struct Placement<'a> {
    pub(crate) processors: Processors,
    /// CPU cost of sharing processors; none if no result states it, or if the proxies share none.
    pub(crate) sharing: Option<Sharing<'a>>,
}

/// Proxies, and where they run.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'p, 'a> {
    /// The proxies. Their order defines their numbers.
    pub(crate) proxies: &'p [Proxy<'a>],
    /// The processors that they run on.
    pub(crate) placement: &'p Placement<'a>,
}

impl Placed<'_, '_> {
    /// Returns the busy share of each proxy at `rate` requests per second to the entry of the graph.
    pub(crate) fn busy(self, rate: f64) -> Vec<Busy> {
        self.placement.busy(self.proxies, rate, None)
    }
}

/// Busy shares of a proxy and of its processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Busy {
    /// The share of the time of its workers that a proxy uses, above 1 if it has too few.
    pub(crate) own: f64,
    /// The share of the time of its processors that all proxies on them use, above 1 if they have too few.
    pub(crate) processors: f64,
    /// The part of `processors` that the proxy itself uses: 1 on its own processors.
    pub(crate) part: f64,
}

impl Busy {
    /// The busy share of a proxy on its own processors.
    pub(crate) fn alone(own: f64) -> Self {
        Self { own, processors: own, part: 1.0 }
    }
}

/// A function that is left out, and the index of its proxy.
pub(crate) type Without<'a> = Option<(usize, FunctionOf<'a>)>;

impl<'a> Placement<'a> {
    /// Returns the busy share of each of `proxies` at `rate` requests per second to the entry, without the function in `without`, if any.
    ///
    /// **Method.** The busy share `b` of a proxy solves `b = cores(b) / workers`, by bisection. On shared processors, this is solved for a
    /// given busy share of the processors, and an outer bisection finds the busy share that equals the sum over all proxies. A solution
    /// exists if CPU time per request falls as proxies get busier. Busy shares are computed from estimates; their own errors are neglected.
    pub(crate) fn busy(&self, proxies: &[Proxy<'a>], rate: f64, without: Without<'a>) -> Vec<Busy> {
        match self.processors {
            Processors::Own => {
                let alone = |(number, proxy)| self.alone(proxy, rate, left_out(without, number));
                proxies.iter().enumerate().map(alone).collect()
            }
            Processors::Shared(count) => {
                let used = |processors: f64| -> f64 {
                    let busy = self.at(proxies, rate, without, count, processors);
                    proxies.iter().zip(busy).map(|(proxy, busy)| of_processors(proxy, busy.own, count)).sum()
                };
                self.at(proxies, rate, without, count, agreed(used))
            }
        }
    }

    /// Returns the busy share of one proxy, by its number.
    pub(crate) fn busy_of(
        &self,
        proxies: &[Proxy<'a>],
        number: usize,
        rate: f64,
        without: Without<'a>,
    ) -> Option<Busy> {
        match self.processors {
            Processors::Own => {
                let proxy = proxies.get(number)?;
                Some(self.alone(proxy, rate, left_out(without, number)))
            }
            Processors::Shared(_) => self.busy(proxies, rate, without).get(number).copied(),
        }
    }

    /// The busy share of a proxy with its own processors.
    fn alone(&self, proxy: &Proxy<'a>, rate: f64, without: Option<FunctionOf<'a>>) -> Busy {
        Busy::alone(agreed(|own| self.workers(proxy, rate, Busy::alone(own), without)))
    }

    /// Returns the busy share of each proxy while `count` processors, which all of them share, are busy for the share `processors` of the
    /// time.
    fn at(
        &self,
        proxies: &[Proxy<'a>],
        rate: f64,
        without: Without<'a>,
        count: u32,
        processors: f64,
    ) -> Vec<Busy> {
        let one = |(number, proxy): (usize, &Proxy<'a>)| {
            let busy = |own: f64| {
                let part = of_processors(proxy, own, count) / processors;
                Busy { own, processors, part: part.clamp(0.0, 1.0) }
            };
            busy(agreed(|own| self.workers(proxy, rate, busy(own), left_out(without, number))))
        };
        proxies.iter().enumerate().map(one).collect()
    }

    /// Returns true if no measurement covers the cost of proxies to each other at this busy share of the processors, by `is_beyond`.
    pub(crate) fn is_beyond(&self, busy: &Busy, is_beyond: IsBeyond) -> bool {
        match (&self.sharing, self.processors) {
            (_, Processors::Own) => false,
            (None, Processors::Shared(_)) => busy.part < 1.0 - NEARLY,
            (Some(sharing), Processors::Shared(_)) => {
                is_beyond(&sharing.measured_at(), busy.processors.min(1.0))
            }
        }
    }

    /// The indexes of the results from which anything about these proxies was learned.
    pub(crate) fn sources(&self, proxies: &[Proxy<'_>]) -> BTreeSet<usize> {
        let sharing = self.sharing.iter().map(|sharing| sharing.plain.source);
        proxies.iter().flat_map(Proxy::sources).chain(sharing).collect()
    }

    /// The cores that a proxy uses at this busy share, without the function `without`, if any.
    pub(crate) fn cores<'p>(
        &'p self,
        proxy: &'p Proxy<'a>,
        rate: f64,
        busy: Busy,
        without: Option<FunctionOf<'a>>,
    ) -> Sum<'p> {
        let mut cores = proxy.cores_alone(rate, busy.own, without);
        if let Some(sharing) = &self.sharing {
            let requests = rate * proxy.per_request();
            cores.add_all(requests * (1.0 - busy.part) / 1e6, &sharing.at(busy.processors));
        }
        cores
    }

    /// The workers that a proxy keeps busy, as a share of its workers.
    fn workers(&self, proxy: &Proxy<'a>, rate: f64, busy: Busy, without: Option<FunctionOf<'a>>) -> f64 {
        self.cores(proxy, rate, busy, without).estimate() / f64::from(proxy.service.workers)
    }
}

/// The function that is left out of the proxy with this number.
pub(crate) fn left_out(without: Without<'_>, number: usize) -> Option<FunctionOf<'_>> {
    without.filter(|(of, _)| *of == number).map(|(_, function)| function)
}

/// The share of the time of `count` processors that a proxy uses.
fn of_processors(proxy: &Proxy<'_>, own: f64, count: u32) -> f64 {
    own * f64::from(proxy.service.workers) / f64::from(count)
}

/// The busy share `b` with `needed(b) = b`.
fn agreed(needed: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while high < MOST && needed(high) > high {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if needed(middle) > middle { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}
