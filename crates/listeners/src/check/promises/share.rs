//! Promise that a split routes its share of the requests: of a number of requests, those that arrive there are counted, and a test decides.

use hoptax_result::{PromiseKind, grouped, percent};
use hoptax_stats::exact_share;

use super::Subject;
use crate::check::{Course, Judged, Procedure, Promise, Seen, Series, Trial};
use crate::plan::Matches;

/// Number of requests, which determines a share of 10 % to within 1.7 percentage points.
const REQUESTS: u32 = 5000;
/// Confidence of the interval: of 10,000 checks of a correct share, one reports it as broken. The trial is not repeated, because that would
/// give a wrong share another chance.
const CONFIDENCE: f64 = 0.9999;
/// Enough time for all requests, microseconds.
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
        Procedure::Series(Series { pause_us: 0, requests: REQUESTS, pace_us: 0, lasts_us: LASTS_US })
    }

    fn judge(&self, course: &Course, seen: &Seen) -> Judged {
        let all = seen.arrivals.len() as u64;
        let here = seen.arrivals.iter().filter(|arrival| arrival.cluster == course.cluster).count() as u64;
        if all < u64::from(REQUESTS) / 2 {
            let words = format!("{all} of {REQUESTS} requests arrive: {}", seen.response());
            return if course.has_functions { Judged::Untried(words) } else { Judged::retryable(words) };
        }
        let Some(interval) = exact_share(here, all, CONFIDENCE) else {
            return Judged::Untried("no request arrives".to_owned());
        };
        let words = format!(
            "{}, {} of {} requests, {} interval {} to {}",
            percent(interval.estimate, 1),
            grouped(here as f64, 0),
            grouped(all as f64, 0),
            percent(CONFIDENCE, 2),
            grouped(interval.low * 100.0, 1),
            percent(interval.high, 1)
        );
        if interval.contains(f64::from(self.percent) / 100.0) {
            Judged::Kept(words)
        } else {
            Judged::broken(words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{course, is_kept, seen};
    use super::*;

    /// Returns observations of `all` requests, of which `here` arrive here.
    fn with(here: usize, all: usize) -> Seen {
        let mut seen = seen(200, 1, all);
        seen.arrivals.iter_mut().skip(here).for_each(|arrival| "rest".clone_into(&mut arrival.cluster));
        seen
    }

    #[test]
    fn a_share_is_kept_as_far_as_chance_goes() {
        let split = Split { percent: 10 };
        let kept = |here: usize| is_kept(&split, &with(here, 5000));
        assert_eq!([410, 430, 500, 580, 600].map(kept), [false, true, true, true, false]);
        // Chance is in the interval.
        let judged = split.judge(&course(), &with(600, 5000));
        assert!(matches!(judged, Judged::Broken { is_retryable: false, .. }), "{judged:?}");
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
