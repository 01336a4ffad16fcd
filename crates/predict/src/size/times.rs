//! Response times from results, and sums of them, quantile by quantile.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_judge::summary::response_times_by_round;
use hoptax_result::{ArmKind, ArmResult, CountedTime, LoadSpec, Loop, StudyResult};
use hoptax_stats::{Weighted, pooled_values, quantile_level};

use crate::size::arms::reference;
use crate::size::interpolation::weighted;
use crate::size::learn::{Plain, Priced, Source};
use crate::size::measured_at::MeasuredAt;
use crate::size::proxy::{FunctionOf, LearnedFlow};
use crate::size::sharing::Sharing;

/// The rounds of a result from which numbers are learned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceRounds {
    /// The index of the result.
    pub(crate) source: usize,
    pub(crate) count: usize,
    /// The confidence of intervals over them.
    pub(crate) confidence: f64,
}

/// Number of equally likely values that represent a distribution of times.
pub(crate) const VALUES: usize = 2_000;

/// The quantile that is reported besides the mean.
pub(crate) const TAIL: f64 = 0.99;

/// A term with a weight below this is a minor part of a sum.
const MINOR: f64 = 0.2;

/// A round that is left out, by the index of its result and its own index.
pub(crate) type LeftOut = Option<(usize, usize)>;

/// Response times of an arm under a load, by round.
struct Times {
    source: usize,
    arm: String,
    load: String,
    rounds: Vec<Vec<CountedTime>>,
    /// True if there are enough responses for the tail.
    has_tail: bool,
}

/// A weighted sum of response times, whose quantiles are the weighted sums of their quantiles: weights, and indexes in a [`Table`].
///
/// **Why quantiles add up within a proxy.** A request waits for the work of one proxy, and its service time is work of the same proxy. At
/// the same busy share, a proxy with longer service times has waits that are longer by the same factor (the formula of Pollaczek and
/// Khinchine scales with the service time; L. Kleinrock, *Queueing Systems* 1, 1975, chapter 5). So the whole distribution is stretched,
/// and the additions of functions are the differences of quantiles at equal busy shares.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Formula(Vec<Weighted<usize>>);

impl Formula {
    pub(crate) fn add_all(&mut self, weight: f64, other: &Self) {
        self.0.extend(other.0.iter().map(|own| Weighted::new(weight * own.weight, own.value)));
    }
}

/// Sums of response times as a function of the busy share of the processors, ascending.
pub(crate) struct TimesCurve(Vec<TimesAt>);

/// A sum of response times at a busy share of the processors.
struct TimesAt {
    busy: f64,
    times: Formula,
}

impl TimesCurve {
    /// The busy shares of its points, ascending.
    fn busy_shares(&self) -> Vec<f64> {
        self.0.iter().map(|point| point.busy).collect()
    }

    /// Returns the busy shares at which the curve was measured.
    pub(crate) fn measured_at(&self) -> MeasuredAt {
        MeasuredAt::new(&[self.busy_shares()])
    }

    /// The sum at this busy share. Between the nearest points, it is interpolated linearly over the mean number of requests in a simple
    /// queue; outside of all points, it is that of the first or last point.
    pub(crate) fn at(&self, busy: f64) -> Formula {
        let mut formula = Formula::default();
        weighted(&self.0, |point| in_queue(point.busy), in_queue(busy))
            .for_each(|point| formula.add_all(point.weight, &point.value.times));
        formula
    }
}

/// The mean number of requests in a queue that is busy for this share of the time, *b / (1 - b)* with independent arrivals and
/// exponential service times (L. Kleinrock, *Queueing Systems* 1, 1975, chapter 3). Waits grow with it, not with *b*.
fn in_queue(busy: f64) -> f64 {
    /// Nothing can be measured above this busy share, because the queue would grow without limit.
    const MOST: f64 = 0.999;
    let busy = busy.clamp(0.0, MOST);
    busy / (1.0 - busy)
}

/// Time that a proxy adds to the response time of the requests of a flow, at each busy share.
pub(crate) struct FlowTimes {
    /// Curves whose sum is the added time.
    curves: Vec<TimesCurve>,
}

impl FlowTimes {
    pub(crate) fn new(curves: Vec<TimesCurve>) -> Self {
        Self { curves }
    }

    pub(crate) fn at(&self, busy: f64) -> Formula {
        let mut formula = Formula::default();
        self.curves.iter().for_each(|curve| formula.add_all(1.0, &curve.at(busy)));
        formula
    }
}

/// The busy shares at which all response times of these flows were measured; any if they have none.
pub(crate) fn measured_at<'a>(flows: impl Iterator<Item = &'a FlowTimes>) -> MeasuredAt {
    MeasuredAt::new(&flows.flat_map(|flow| &flow.curves).map(TimesCurve::busy_shares).collect::<Vec<_>>())
}

/// All response times that predictions use, each decoded once.
pub(crate) struct AllTimes<'s, 'a> {
    sources: &'s [Source<'a>],
    table: Table,
}

/// Response times, by the index that formulas use.
#[derive(Default)]
pub(crate) struct Table(Vec<Times>);

impl<'s, 'a> AllTimes<'s, 'a> {
    pub(crate) fn new(sources: &'s [Source<'a>]) -> Self {
        Self { sources, table: Table::default() }
    }

    /// Returns the time that a proxy adds to the requests of a flow, without the given function, if any.
    ///
    /// # Errors
    /// A sentence that names the missing response times, and the study that measures them.
    pub(crate) fn flow(
        &mut self,
        flow: &LearnedFlow<'_>,
        without: Option<FunctionOf<'_>>,
    ) -> Result<FlowTimes, String> {
        let mut curves = vec![self.added(&flow.plain)?];
        for (called, priced) in &flow.functions {
            if without == Some((flow.side, *called)) {
                continue;
            }
            curves.push(self.of_function(priced).ok_or_else(|| {
                let study = self.study(priced.source);
                format!(
                    "`{study}` does not state response times of `{}` at shares of the capacity",
                    called.text
                )
            })?);
        }
        Ok(FlowTimes::new(curves))
    }

    /// Returns the time that a function adds to the response times of a plain proxy at the same busy share.
    pub(crate) fn of_function(&mut self, priced: &Priced<'_>) -> Option<TimesCurve> {
        let other = reference(self.result(priced.source)?, priced.arm)?;
        let own = self.curve(priced.source, priced.arm, &[Weighted::new(1.0, priced.arm)])?;
        let plain = self.curve(priced.source, other, &[Weighted::new(1.0, other)])?;
        let point = |TimesAt { busy, mut times }: TimesAt| {
            times.add_all(-1.0, &plain.at(busy));
            TimesAt { busy, times }
        };
        Some(TimesCurve(own.0.into_iter().map(point).collect()))
    }

    /// Returns the time that a plain proxy adds to the response times of its origin.
    ///
    /// # Errors
    /// A sentence that names the missing response times, and the study that measures them.
    pub(crate) fn added(&mut self, plain: &Plain<'_>) -> Result<TimesCurve, String> {
        let direct = self.direct_arm(plain)?;
        let terms = [Weighted::new(1.0, plain.arm), Weighted::new(-1.0, direct)];
        self.curve(plain.source, plain.arm, &terms).ok_or_else(|| self.no_times(plain, direct))
    }

    /// The response times of the origin without a proxy, at the rates of a plain proxy.
    ///
    /// # Errors
    /// A sentence that names the missing response times, and the study that measures them.
    pub(crate) fn direct(&mut self, plain: &Plain<'_>) -> Result<TimesCurve, String> {
        let direct = self.direct_arm(plain)?;
        self.curve(plain.source, plain.arm, &[Weighted::new(1.0, direct)])
            .ok_or_else(|| self.no_times(plain, direct))
    }

    /// The response times of a plain proxy and its origin.
    pub(crate) fn whole(&mut self, plain: &Plain<'_>) -> Option<TimesCurve> {
        self.curve(plain.source, plain.arm, &[Weighted::new(1.0, plain.arm)])
    }

    /// Returns the time that other proxies on the same processors add to the response times of a plain proxy, at the busy shares of the
    /// chain; none if its response times do not count.
    pub(crate) fn sharing(&mut self, sharing: &Sharing<'_>) -> Option<FlowTimes> {
        let [of_chain, of_direct, of_plain] = sharing.of_times();
        let chain = self.whole(&sharing.chain)?;
        let direct = self.direct(&sharing.plain).ok()?;
        let plain = self.whole(&sharing.plain)?;
        let point = |TimesAt { busy, times }: TimesAt| {
            let mut added = Formula::default();
            added.add_all(of_chain, &times);
            added.add_all(of_direct, &direct.at(busy));
            added.add_all(of_plain, &plain.at(busy));
            TimesAt { busy, times: added }
        };
        Some(FlowTimes::new(vec![TimesCurve(chain.0.into_iter().map(point).collect())]))
    }

    /// The response times of an arm under one load; none if they do not count.
    pub(crate) fn formula(&mut self, source: usize, arm: &ArmResult, load: &str) -> Option<Formula> {
        Some(Formula(vec![Weighted::new(1.0, self.index(source, arm, load)?)]))
    }

    fn direct_arm(&self, plain: &Plain<'_>) -> Result<&'a ArmResult, String> {
        let is_direct = |arm: &&ArmResult| {
            arm.kind == ArmKind::Direct && arm.compared_with.as_ref() == Some(&plain.arm.id)
        };
        let result = self.result(plain.source);
        result.and_then(|result| result.arms.iter().find(is_direct)).ok_or_else(|| {
            format!(
                "`{}` has no arm without a proxy beside `{}`: add `direct` under the same conditions, and measure again",
                self.study(plain.source),
                plain.arm.id
            )
        })
    }

    fn no_times(&self, plain: &Plain<'_>, direct: &ArmResult) -> String {
        let study = self.study(plain.source);
        if self.result(plain.source).is_some_and(|result| result.rounds.is_empty()) {
            return format!(
                "`{study}` has no rounds, as the result of several sittings, and so no histograms: use that of a single sitting"
            );
        }
        format!(
            "`{study}` does not state response times of `{}` and `{}` at shares of the capacity: it needs loads with `utilisation` and \
             `arrivals: poisson`, whose response times count",
            plain.arm.id, direct.id
        )
    }

    fn result(&self, source: usize) -> Option<&'a StudyResult> {
        self.sources.get(source).map(|source| source.result)
    }

    fn study(&self, source: usize) -> &'a str {
        self.result(source).map_or("", |result| result.name.as_str())
    }

    /// A sum over arms at the busy shares of a plain proxy; none without a load under which all arms were measured.
    fn curve(
        &mut self,
        source: usize,
        plain: &ArmResult,
        arms: &[Weighted<&ArmResult>],
    ) -> Option<TimesCurve> {
        let result = self.result(source)?;
        let mut points: Vec<TimesAt> = Vec::new();
        for load in result.plan.loads.iter().filter(|load| states_response_times(load)) {
            let busy = plain.under(&load.name).and_then(|load| load.proxy_busy_share);
            let terms = arms
                .iter()
                .map(|arm| Some(Weighted::new(arm.weight, self.index(source, arm.value, &load.name)?)));
            if let (Some(busy), Some(terms)) = (busy, terms.collect::<Option<Vec<_>>>()) {
                points.push(TimesAt { busy, times: Formula(terms) });
            }
        }
        points.sort_by(|one, other| one.busy.total_cmp(&other.busy));
        (!points.is_empty()).then_some(TimesCurve(points))
    }

    /// The index of the response times of an arm under a load; none if they do not count, or no round has any.
    fn index(&mut self, source: usize, arm: &ArmResult, load: &str) -> Option<usize> {
        let is_it = |times: &Times| times.source == source && times.arm == arm.id && times.load == load;
        if let Some(found) = self.table.0.iter().position(is_it) {
            return Some(found);
        }
        // Findings that withhold response times also withhold the median.
        arm.under(load)?.response_us.p50.as_ref()?;
        let result = self.result(source)?;
        let rounds = response_times_by_round(result, &arm.id, load);
        let slices: Vec<&[CountedTime]> = rounds.iter().map(Vec::as_slice).collect();
        pooled_values(&slices, None, 1)?;
        let has_tail = quantile_level(&slices, TAIL, result.plan.quantile_confidence()).is_some();
        let (arm, load) = (arm.id.clone(), load.to_owned());
        self.table.0.push(Times { source, arm, load, rounds, has_tail });
        Some(self.table.0.len() - 1)
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// The rounds of the results that are used, with the confidence of quantiles.
    pub(crate) fn rounds(&self) -> Vec<SourceRounds> {
        let is_used = |source: &&Source<'_>| self.table.0.iter().any(|times| times.source == source.number);
        let used = self.sources.iter().filter(is_used);
        used.map(|source| SourceRounds {
            source: source.number,
            count: source.result.rounds.len(),
            confidence: source.result.plan.quantile_confidence(),
        })
        .collect()
    }
}

impl Table {
    /// Returns true if the results of a formula have enough responses for its tail. Terms with a small weight need not: their errors count
    /// in proportion to their weights, and the interval includes them.
    pub(crate) fn has_tail(&self, formula: &Formula) -> bool {
        let has_tail = |index: usize| self.0.get(index).is_some_and(|times| times.has_tail);
        let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
        formula.0.iter().for_each(|term| *weights.entry(term.value).or_default() += term.weight);
        weights.into_iter().all(|(index, weight)| weight.abs() < MINOR || has_tail(index))
    }

    /// Equally likely values of the times in these sums, us, with one round left out.
    pub(crate) fn values<'f>(
        &self,
        formulas: impl Iterator<Item = &'f Formula>,
        left_out: LeftOut,
    ) -> Values {
        let used: BTreeSet<usize> = formulas.flat_map(|formula| &formula.0).map(|term| term.value).collect();
        let of = |index: usize| {
            let times = self.0.get(index)?;
            let rounds: Vec<&[CountedTime]> = times.rounds.iter().map(Vec::as_slice).collect();
            let round = left_out.filter(|(source, _)| *source == times.source).map(|(_, round)| round);
            let values = pooled_values(&rounds, round, VALUES).unwrap_or_else(|| vec![f64::NAN; VALUES]);
            Some((index, values.into_iter().map(|ns| ns / 1e3).collect()))
        };
        Values(used.into_iter().filter_map(of).collect())
    }
}

/// Equally likely values of the response times of a [`Table`], us.
pub(crate) struct Values(BTreeMap<usize, Vec<f64>>);

impl Values {
    /// Equally likely values of a sum, ascending. Quantiles of differences may cross; sorting them restores a distribution with the
    /// same mean (V. Chernozhukov, I. Fernandez-Val and A. Galichon, "Quantile and Probability Curves Without Crossing",
    /// *Econometrica* 78, 2010).
    pub(crate) fn sums(&self, formula: &Formula) -> Vec<f64> {
        let mut sums = vec![0.0; VALUES];
        for Weighted { weight, value: index } in &formula.0 {
            for (sum, value) in sums.iter_mut().zip(self.0.get(index).into_iter().flatten()) {
                *sum += weight * value;
            }
        }
        sums.sort_by(f64::total_cmp);
        sums
    }
}

/// The mean of values; NaN without any.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns true if response times under a load show how they grow with the busy share: arrivals are those of independent users, and all
/// arms are about equally busy.
pub(crate) fn states_response_times(load: &LoadSpec) -> bool {
    load.loop_ == Loop::Open && load.utilisation.is_some() && load.arrivals.as_deref() == Some("poisson")
}

#[cfg(test)]
impl Table {
    /// Adds response times in us of one result by round, and returns their formula.
    pub(crate) fn simulated(&mut self, source: usize, rounds: Vec<Vec<CountedTime>>) -> Formula {
        self.0.push(Times { source, arm: String::new(), load: String::new(), rounds, has_tail: true });
        Formula(vec![Weighted::new(1.0, self.0.len() - 1)])
    }
}
