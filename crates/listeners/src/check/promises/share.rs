//! A split sends its share of the requests elsewhere: of a number of requests, those that arrive there are counted, and a test decides.

use hoptax_result::{PromiseKind, grouped};
use hoptax_stats::exact_share;

use super::Subject;
use crate::check::{Course, Judged, Procedure, Promise, Seen, Series, Trial};
use crate::plan::Matches;

/// Requests: of a share of 10 %, so many tell it to 1.4 percentage points.
const REQUESTS: u32 = 5000;
/// The confidence of the interval. It misses the true share once in 1,000 times, and a share counts as broken when three intervals miss it.
const CONFIDENCE: f64 = 0.999;
/// Time enough for all requests, microseconds.
const LASTS_US: u64 = 60_000_000;

pub(super) fn promise(subject: &Subject<'_>) -> Option<Promise> {
    let Matches::Share(percent) = subject.route.matches else { return None };
    let said = format!("{percent} % of its requests go to `{}`", subject.cluster.name);
    Some(Promise { about: PromiseKind::Share, said, trial: Ok(Box::new(Split { percent })) })
}

/// This share of the requests arrives.
#[derive(Debug)]
struct Split {
    percent: u8,
}

impl Trial for Split {
    fn procedure(&self) -> Procedure {
        Procedure::Series(Series { pause_us: 0, requests: REQUESTS, lasts_us: LASTS_US })
    }

    fn judge(&self, course: &Course, seen: &Seen) -> Judged {
        let all = seen.arrivals.len() as u64;
        let here = seen.arrivals.iter().filter(|arrival| arrival.cluster == course.cluster).count() as u64;
        if all < u64::from(REQUESTS) / 2 {
            let words = format!("{all} of {REQUESTS} requests arrive: {}", seen.response());
            return if course.has_functions { Judged::Untried(words) } else { Judged::excusable(words) };
        }
        let Some(interval) = exact_share(here, all, CONFIDENCE) else {
            return Judged::Untried("no request arrives".to_owned());
        };
        let words = format!(
            "{:.1} %, {} of {} requests, {:.1} % interval {:.1} to {:.1} %",
            interval.estimate * 100.0,
            grouped(here as f64, 0),
            grouped(all as f64, 0),
            CONFIDENCE * 100.0,
            interval.low * 100.0,
            interval.high * 100.0,
        );
        if interval.contains(f64::from(self.percent) / 100.0) {
            Judged::Kept(words)
        } else {
            Judged::excusable(words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{course, is_kept, seen};
    use super::*;

    /// So many of all requests arrive elsewhere.
    fn with(here: usize, all: usize) -> Seen {
        let mut seen = seen(200, 1, all);
        seen.arrivals.iter_mut().skip(here).for_each(|arrival| "rest".clone_into(&mut arrival.cluster));
        seen
    }

    #[test]
    fn a_share_is_kept_as_far_as_chance_goes() {
        let split = Split { percent: 10 };
        let kept = |here: usize| is_kept(&split, &with(here, 5000));
        assert_eq!([420, 440, 500, 570, 590].map(kept), [false, true, true, true, false]);
        assert!(matches!(
            split.judge(&course(), &with(590, 5000)),
            Judged::Broken { is_excusable: true, .. }
        ));
    }

    #[test]
    fn no_share_and_all_of_it_are_exact() {
        assert_eq!(
            [0, 1, 5].map(|here| is_kept(&Split { percent: 0 }, &with(here, 5000))),
            [true, false, false]
        );
        assert_eq!(
            [5000, 4999].map(|here| is_kept(&Split { percent: 100 }, &with(here, 5000))),
            [true, false]
        );
    }

    #[test]
    fn a_few_requests_are_no_evidence() {
        assert!(!is_kept(&Split { percent: 10 }, &with(10, 100)));
        let with_functions = Course { has_functions: true, ..course() };
        assert!(matches!(Split { percent: 10 }.judge(&with_functions, &with(10, 100)), Judged::Untried(_)));
    }
}
