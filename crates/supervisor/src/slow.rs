//! Detection of slow upstreams. The current times of an upstream are compared with its own usual times. An upstream that has always been
//! slow is found by comparing its times with those of the others.
//!
//! The level of an upstream is the 90th percentile of its time to the first byte, in windows of at least five seconds and fifty requests.
//! An upstream becomes slow if five consecutive windows exceed twice its usual time, exceed its usual time by a millisecond, and exceed all
//! but the highest twentieth of its usual windows. With ten requests per second, this is reported 25 to 30 s after it becomes slow; with
//! fewer, later. The usual windows are the last sixty that were not slow, at least twelve. A request without a response in time counts as
//! longer than all others.
//!
//! Assumption: windows differ only by chance, with any distribution, so that each order of their percentiles is equally likely. Five
//! windows then exceed the highest three of sixty others once in 393,000 times (21 of 65!/60!/5!), which is once in 550 hours, and less
//! often if twice the usual time is higher; `simulation` measures the rate, also for percentiles that jump between two modes. Limits: a
//! load that changes the times for more than four windows makes the upstream slow by this definition; a change that takes much longer than
//! five minutes becomes usual and is not reported.

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use hoptax_listeners::phases::Phase;

use crate::machine::Moment;
use crate::observed::{Bins, Observed};

/// Minimum number of requests in a window.
const FEWEST: u64 = 50;
/// Maximum number of usual windows: five minutes of a busy upstream.
const USUAL: usize = 60;
/// Minimum number of usual windows.
const FEWEST_USUAL: usize = 12;
/// Minimum number of windows of an upstream for comparisons with others.
const FEWEST_TO_COMPARE: usize = 6;
/// A slow window must exceed all usual windows except one in this many.
const USUAL_TO_ONE_ABOVE: usize = 20;
/// Number of consecutive windows that make an upstream slow, or no longer slow.
const IN_A_ROW: usize = 5;
/// The compared quantile.
const COMPARED: f64 = 0.9;
/// Multiple of its usual time from which an upstream is slow.
const FACTOR: f64 = 2.0;
/// Multiple of the others' time from which an upstream has always been slow.
const FACTOR_TO_OTHERS: f64 = 5.0;
/// Minimum number of others to compare with.
const FEWEST_OTHERS: usize = 3;
/// Smallest difference that counts, microseconds.
const LEAST_US: f64 = 1000.0;
/// Time after which slow levels become the usual ones.
const ADAPTED: Moment = Moment::from_hours(24);
/// Time without requests after which an upstream is forgotten.
const FORGOTTEN: Moment = Moment::from_hours(1);

/// The state of an upstream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    /// The end of the last window.
    pub(crate) at: Moment,
    /// Its requests per second.
    pub(crate) per_second: f64,
    /// The share of requests without a response in time.
    pub(crate) unanswered: f64,
    /// The medians of the phases, microseconds.
    pub(crate) medians_us: BTreeMap<Phase, f64>,
    /// The compared percentile, microseconds; infinite if too many requests had no response.
    pub(crate) compared_us: f64,
    /// Set if it is slow.
    pub(crate) slow: Option<Slow>,
}

/// Since when an upstream has been slow, and the level that it is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Slow {
    /// It became slow.
    Became {
        /// Time at which it became slow.
        since: Moment,
        /// The usual level before, microseconds.
        usual_us: f64,
    },
    /// It has always been slow.
    Always {
        /// When it was first observed.
        since: Moment,
        /// The median of the others, microseconds.
        others_us: f64,
    },
}

/// A completed window.
#[derive(Clone, Debug)]
struct Window {
    from: Moment,
    level_us: f64,
}

/// An upstream.
#[derive(Clone, Debug)]
struct Upstream {
    since: Moment,
    /// Times of phases in the current window.
    phases: BTreeMap<Phase, Bins>,
    unanswered: u64,
    from: Moment,
    /// The levels of windows that were not slow, the latest last.
    windows: VecDeque<f64>,
    /// The latest consecutive windows that contradict the state.
    differing: Vec<Window>,
    /// Since when it has been slow, and the usual level before that.
    slow: Option<(Moment, Usual)>,
    last: Option<Known>,
}

/// Usual levels of an upstream.
#[derive(Clone, Copy, Debug)]
struct Usual {
    median_us: f64,
    /// The level that one in twenty usual windows exceeds.
    high_us: f64,
}

impl Usual {
    /// Computes the usual levels from windows; none if there are too few.
    fn from_windows(windows: &VecDeque<f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = windows.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let above = sorted.len().div_ceil(USUAL_TO_ONE_ABOVE);
        let high_us = sorted.len().checked_sub(above).and_then(|at| sorted.get(at)).copied()?;
        let median_us = middle(&sorted)?;
        (windows.len() >= FEWEST_USUAL).then_some(Self { median_us, high_us })
    }

    /// Computes the usual levels from windows, if `level_us` exceeds them.
    fn exceeded(windows: &VecDeque<f64>, level_us: f64) -> Option<Self> {
        // Count first: nearly always, too many windows are as high, and sorting is unnecessary.
        let as_high = windows.iter().filter(|one| **one >= level_us).count();
        if as_high >= windows.len().div_ceil(USUAL_TO_ONE_ABOVE) {
            return None;
        }
        Self::from_windows(windows).filter(|usual| usual.is_exceeded(level_us))
    }

    fn is_exceeded(self, level_us: f64) -> bool {
        is_above(level_us, self.median_us, FACTOR) && level_us > self.high_us
    }
}

/// All upstreams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Upstreams {
    all: BTreeMap<String, Upstream>,
    /// The last polled process, with its histograms.
    before: Option<(u64, Observed)>,
    looked: Moment,
}

impl Upstreams {
    /// Adds the polled histograms of a process.
    pub(crate) fn take(&mut self, now: Moment, process: u64, observed: Observed) {
        let before = self.before.take().filter(|(of, _)| *of == process).map(|(_, before)| before);
        let from = mem::replace(&mut self.looked, now);
        for (name, phases) in &observed.phases {
            let upstream = self.all.entry(name.clone()).or_insert_with(|| Upstream::new(from));
            for (phase, bins) in phases {
                let earlier = before.as_ref().and_then(|before| before.phases.get(name)?.get(phase));
                let grown = earlier.map_or_else(|| bins.clone(), |earlier| bins.since(earlier));
                upstream.phases.entry(*phase).or_default().add(&grown);
            }
        }
        // A successor inherits the counters of its predecessor, but not its histograms.
        if let Some(before) = &before {
            for (name, count) in &observed.unanswered {
                let grown = count.saturating_sub(before.unanswered.get(name).copied().unwrap_or(0));
                if grown > 0 {
                    self.all.entry(name.clone()).or_insert_with(|| Upstream::new(from)).unanswered += grown;
                }
            }
        }
        self.before = Some((process, observed));
        for upstream in self.all.values_mut() {
            upstream.close(now);
        }
        let is_kept = |one: &Upstream| {
            now.saturating_sub(one.last.as_ref().map_or(one.since, |last| last.at)) < FORGOTTEN
        };
        self.all.retain(|_, upstream| is_kept(upstream));
    }

    /// Returns the state of each upstream, by name.
    pub(crate) fn known(&self) -> BTreeMap<String, Known> {
        let levels: Vec<(&String, f64)> =
            self.all.iter().filter_map(|(name, one)| Some((name, one.level_us()?))).collect();
        let known = |(name, upstream): (&String, &Upstream)| {
            let mut known = upstream.last.clone()?;
            let became =
                upstream.slow.map(|(since, usual)| Slow::Became { since, usual_us: usual.median_us });
            known.slow = became.or_else(|| {
                let others = levels.iter().filter(|(other, _)| *other != name).map(|(_, level)| *level);
                upstream.always(others.collect())
            });
            Some((name.clone(), known))
        };
        self.all.iter().filter_map(known).collect()
    }
}

impl Upstream {
    fn new(since: Moment) -> Self {
        Self {
            since,
            phases: BTreeMap::new(),
            unanswered: 0,
            from: since,
            windows: VecDeque::new(),
            differing: Vec::new(),
            slow: None,
            last: None,
        }
    }

    /// Ends the window if it has enough requests.
    fn close(&mut self, now: Moment) {
        let answered = self.phases.get(&Phase::FirstByte).map_or(0, Bins::count);
        let requests = answered + self.unanswered;
        if requests < FEWEST {
            return;
        }
        let phases = mem::take(&mut self.phases);
        let unanswered = mem::take(&mut self.unanswered);
        let from = mem::replace(&mut self.from, now);
        let first_byte = phases.get(&Phase::FirstByte).cloned().unwrap_or_default();
        let level_us = first_byte.quantile(COMPARED, unanswered).unwrap_or_default();
        let above = |phase: Phase| if phase == Phase::FirstByte { unanswered } else { 0 };
        let median = |(phase, bins): (&Phase, &Bins)| Some((*phase, bins.quantile(0.5, above(*phase))?));
        self.last = Some(Known {
            at: now,
            per_second: requests as f64 / (now.saturating_sub(from)).as_secs_f64().max(1e-3),
            unanswered: unanswered as f64 / requests as f64,
            medians_us: phases.iter().filter_map(median).collect(),
            compared_us: level_us,
            slow: None,
        });
        self.judge(Window { from, level_us }, now);
    }

    /// Compares a window with the usual levels.
    fn judge(&mut self, window: Window, now: Moment) {
        let exceeded = match self.slow {
            Some((_, usual)) => usual.is_exceeded(window.level_us).then_some(usual),
            None => Usual::exceeded(&self.windows, window.level_us),
        };
        let is_slow = exceeded.is_some();
        if is_slow != self.slow.is_some() {
            self.differing.push(window);
            if self.differing.len() == IN_A_ROW {
                let since = self.differing.first().map_or(now, |first| first.from);
                let differing = mem::take(&mut self.differing);
                self.slow = exceeded.map(|usual| (since, usual));
                if !is_slow {
                    self.keep(differing);
                }
            }
            return;
        }
        // The contradicting windows before this one turn out to belong to the current state.
        let differing = mem::take(&mut self.differing);
        if !is_slow {
            self.keep(differing.into_iter().chain([window]));
        } else if self.slow.is_some_and(|(since, _)| now.saturating_sub(since) > ADAPTED) {
            self.slow = None;
            self.windows.clear();
        }
    }

    fn keep(&mut self, windows: impl IntoIterator<Item = Window>) {
        self.windows.extend(windows.into_iter().map(|window| window.level_us));
        self.windows.drain(..self.windows.len().saturating_sub(USUAL));
    }

    /// The median of the windows that were not slow, if there are enough for comparisons with others.
    fn level_us(&self) -> Option<f64> {
        median(self.windows.iter().copied().collect()).filter(|_| self.windows.len() >= FEWEST_TO_COMPARE)
    }

    /// Returns its slowness if it has always been much slower than the others.
    fn always(&self, others: Vec<f64>) -> Option<Slow> {
        let own = self.level_us()?;
        if others.len() < FEWEST_OTHERS {
            return None;
        }
        let others_us = median(others)?;
        is_above(own, others_us, FACTOR_TO_OTHERS).then_some(Slow::Always { since: self.since, others_us })
    }
}

fn is_above(level_us: f64, usual_us: f64, factor: f64) -> bool {
    level_us > (usual_us * factor).max(usual_us + LEAST_US)
}

/// The median. Of two middle values, the lower one.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    middle(&values)
}

/// The median of sorted values.
fn middle(sorted: &[f64]) -> Option<f64> {
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
