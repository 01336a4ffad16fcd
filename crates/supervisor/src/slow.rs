//! Which upstream is slow, and since when: its times now are compared with its own usual ones, and those of one that always was slow with
//! the others.
//!
//! What is compared is the 90th percentile of the time to the first byte, in windows of at least five seconds and fifty requests. An
//! upstream is slow if two windows in a row are above twice its usual time and a millisecond more: by chance alone, twice the 90th percentile
//! of fifty values comes twice in a row less than once in 100,000 windows for times whose logarithms have a standard deviation of one.
//! A request without a response in time counts as longer than all others.

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use hoptax_listeners::phases::Phase;

use crate::machine::Moment;
use crate::observed::{Bins, Observed};

/// Fewest requests of a window.
const FEWEST: u64 = 50;
/// Windows that make the usual time: five minutes of a busy upstream.
const USUAL: usize = 60;
/// Windows in a row that make an upstream slow, or no longer slow.
const IN_A_ROW: usize = 2;
/// The share of the percentile that is compared.
const COMPARED: f64 = 0.9;
/// How many times its usual time is slow.
const FACTOR: f64 = 2.0;
/// How many times the time of the others is slow for an upstream that always was so.
const FACTOR_TO_OTHERS: f64 = 5.0;
/// Fewest others to compare with.
const FEWEST_OTHERS: usize = 3;
/// A smaller difference is none, microseconds.
const LEAST_US: f64 = 1000.0;
/// Time after which what was slow is usual.
const ADAPTED: Moment = Moment::from_hours(24);
/// Time after which an upstream without requests is forgotten.
const FORGOTTEN: Moment = Moment::from_hours(1);

/// What is known of an upstream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    /// The end of the last window.
    pub(crate) at: Moment,
    /// Its requests per second.
    pub(crate) per_second: f64,
    /// The share of them without a response in time.
    pub(crate) unanswered: f64,
    /// The medians of the phases, microseconds.
    pub(crate) medians_us: BTreeMap<Phase, f64>,
    /// The percentile that is compared, microseconds; infinite if more requests than the rest had no response.
    pub(crate) compared_us: f64,
    /// Why it is slow, if it is.
    pub(crate) slow: Option<Slow>,
}

/// Since when an upstream is slow, and what it is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Slow {
    /// It became so.
    Became {
        /// When.
        since: Moment,
        /// What was usual, microseconds.
        usual_us: f64,
    },
    /// It was so as long as it is known.
    Always {
        /// Since when it is known.
        since: Moment,
        /// The median of the others, microseconds.
        others_us: f64,
    },
}

/// The end of a window.
#[derive(Clone, Debug)]
struct Window {
    from: Moment,
    level_us: f64,
}

/// An upstream.
#[derive(Clone, Debug)]
struct Upstream {
    since: Moment,
    /// What came since the last window.
    phases: BTreeMap<Phase, Bins>,
    unanswered: u64,
    from: Moment,
    /// The levels of windows that were as usual, the latest last.
    usual: VecDeque<f64>,
    /// The last windows in a row that differ from the state.
    differing: Vec<Window>,
    slow: Option<(Moment, f64)>,
    last: Option<Known>,
}

/// All upstreams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Upstreams {
    all: BTreeMap<String, Upstream>,
    /// The process that was looked at last, and what it said.
    before: Option<(u64, Observed)>,
    looked: Moment,
}

impl Upstreams {
    /// Takes what a process said.
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
        // A successor begins with the counters of its predecessor, but not with its histograms.
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

    /// What is known, by name.
    pub(crate) fn known(&self) -> BTreeMap<String, Known> {
        let levels: Vec<(&String, f64)> =
            self.all.iter().filter_map(|(name, one)| Some((name, one.last.as_ref()?.compared_us))).collect();
        let known = |(name, upstream): (&String, &Upstream)| {
            let mut known = upstream.last.clone()?;
            let became = upstream.slow.map(|(since, usual_us)| Slow::Became { since, usual_us });
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
            usual: VecDeque::new(),
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

    /// Compares a window with what is usual.
    fn judge(&mut self, window: Window, now: Moment) {
        let usual = match self.slow {
            Some((_, usual_us)) => Some(usual_us),
            None => median(self.usual.iter().copied().collect()).filter(|_| self.usual.len() >= IN_A_ROW),
        };
        let is_slow = usual.is_some_and(|usual| is_above(window.level_us, usual, FACTOR));
        if is_slow == self.slow.is_some() {
            self.differing.clear();
            if !is_slow {
                self.usual.push_back(window.level_us);
                if self.usual.len() > USUAL {
                    self.usual.pop_front();
                }
            }
            if self.slow.is_some_and(|(since, _)| now.saturating_sub(since) > ADAPTED) {
                self.slow = None;
                self.usual.clear();
            }
            return;
        }
        self.differing.push(window);
        if self.differing.len() == IN_A_ROW {
            let since = self.differing.first().map_or(now, |first| first.from);
            self.differing.clear();
            self.slow = usual.filter(|_| is_slow).map(|usual| (since, usual));
        }
    }

    /// Whether it is slower than the others by far, and always was.
    fn always(&self, others: Vec<f64>) -> Option<Slow> {
        let own = median(self.usual.iter().copied().collect()).filter(|_| self.usual.len() >= IN_A_ROW)?;
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

/// The median, of two in the middle the lower one.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A process whose histograms grow.
    #[derive(Default)]
    struct Process {
        said: Observed,
    }

    impl Process {
        /// Adds requests of an upstream that took so long.
        fn add(&mut self, upstream: &str, count: u64, us: u64) {
            let text = format!(
                r#"{{"stats":[{{"histograms":{{"details":[{{"name":"hoptax_phases.first_byte_us.upstream.{upstream}","totals":[{{"lower_bound":{us},"width":0,"count":{count}}}]}}]}}}}]}}"#
            );
            let more = crate::observed::read(&text, "").unwrap();
            for (name, phases) in more.phases {
                for (phase, bins) in phases {
                    let of = self.said.phases.entry(name.clone()).or_default();
                    of.entry(phase).or_default().add(&bins);
                }
            }
        }

        fn add_unanswered(&mut self, upstream: &str, count: u64) {
            *self.said.unanswered.entry(upstream.to_owned()).or_default() += count;
        }
    }

    const WINDOW: Duration = Duration::from_secs(5);

    /// Ten upstreams, of which `u3` takes `slow_us` in windows from `first` on.
    fn course(windows: u32, slow_us: impl Fn(u32) -> u64) -> Vec<BTreeMap<String, Known>> {
        let (mut upstreams, mut process) = (Upstreams::default(), Process::default());
        let window = |number: u32| {
            for upstream in 0..10 {
                let us = if upstream == 3 { slow_us(number) } else { 1000 + 10 * upstream };
                process.add(&format!("u{upstream}"), 100, us);
            }
            upstreams.take(WINDOW * (number + 1), 1, process.said.clone());
            upstreams.known()
        };
        (0..windows).map(window).collect()
    }

    fn slow(known: &BTreeMap<String, Known>) -> Vec<(&str, Slow)> {
        known.iter().filter_map(|(name, known)| Some((name.as_str(), known.slow?))).collect()
    }

    #[test]
    fn the_one_that_becomes_slow_is_named_after_two_windows_with_when_it_began_and_what_was_usual() {
        let known = course(20, |number| if (10..16).contains(&number) { 50_000 } else { 1000 });
        assert_eq!(slow(&known[9]), []);
        assert_eq!(slow(&known[10]), []);
        let expected = Slow::Became { since: WINDOW * 10, usual_us: 1000.0 };
        for during in known.get(11..17).unwrap() {
            assert_eq!(slow(during), [("u3", expected)]);
        }
        assert_eq!(slow(&known[17]), [], "two windows are as before");
    }

    #[test]
    fn one_that_always_was_slow_is_compared_with_the_others() {
        let known = course(5, |_| 50_000);
        assert_eq!(slow(&known[0]), []);
        let expected = Slow::Always { since: Moment::ZERO, others_us: 1050.0 };
        assert_eq!(slow(&known[4]), [("u3", expected)]);
    }

    #[test]
    fn a_single_slow_window_and_a_small_difference_are_nothing() {
        for slow_us in
            [|number| if number == 10 { 50_000 } else { 1000 }, |number| 1000 + u64::from(number) * 90]
        {
            let known = course(12, slow_us);
            assert!(known.iter().all(|known| slow(known).is_empty()));
        }
    }

    #[test]
    fn requests_without_a_response_are_the_slowest() {
        let (mut upstreams, mut process) = (Upstreams::default(), Process::default());
        for number in 1..=8 {
            process.add("a", 100, 1000);
            if number > 5 {
                process.add_unanswered("a", 30);
            }
            upstreams.take(WINDOW * number, 1, process.said.clone());
        }
        let known = upstreams.known();
        let a = known.get("a").unwrap();
        assert!(a.compared_us.is_infinite());
        assert!((a.unanswered - 30.0 / 130.0).abs() < 1e-9);
        assert_eq!(a.slow, Some(Slow::Became { since: WINDOW * 5, usual_us: 1000.0 }));
    }

    #[test]
    fn a_successor_begins_anew_and_what_was_usual_stays() {
        let (mut upstreams, mut process) = (Upstreams::default(), Process::default());
        process.add_unanswered("a", 5);
        for number in 1..=5 {
            process.add("a", 100, 1000);
            upstreams.take(WINDOW * number, 1, process.said.clone());
        }
        let mut successor = Process::default();
        successor.add_unanswered("a", 5);
        for number in 6..=7 {
            successor.add("a", 100, 9000);
            upstreams.take(WINDOW * number, 2, successor.said.clone());
        }
        let known = upstreams.known();
        let a = known.get("a").unwrap();
        assert_eq!(a.slow, Some(Slow::Became { since: WINDOW * 5, usual_us: 1000.0 }));
        assert!((a.per_second - 20.0).abs() < 1e-9 && a.unanswered < 1e-9, "{a:?}");
    }

    #[test]
    fn few_requests_are_gathered_until_they_are_enough() {
        let (mut upstreams, mut process) = (Upstreams::default(), Process::default());
        for number in 1..=10 {
            process.add("a", 10, 1000);
            upstreams.take(WINDOW * number, 1, process.said.clone());
            assert_eq!(upstreams.known().contains_key("a"), number >= 5);
        }
        let known = upstreams.known();
        assert!((known.get("a").unwrap().per_second - 2.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_slow_for_a_day_is_usual_and_what_gets_no_requests_is_forgotten() {
        let (mut upstreams, mut process) = (Upstreams::default(), Process::default());
        let hour = Duration::from_hours(1);
        for number in 0..40 {
            process.add("a", 100, if number < 5 { 1000 } else { 9000 });
            upstreams.take(hour / 2 * (number + 1) * 2, 1, process.said.clone());
            let is_slow = upstreams.known().get("a").is_some_and(|a| a.slow.is_some());
            assert_eq!(is_slow, (6..29).contains(&number), "{number}");
        }
        upstreams.take(hour * 42, 1, process.said.clone());
        assert!(upstreams.known().is_empty());
    }
}
