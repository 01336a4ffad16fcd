//! Promise that the function `rate-limit/local` admits its rate and its burst, and refuses the rest.

use hoptax_functions::{FunctionCall, KnobValue};
use hoptax_result::{PromiseKind, counted, grouped};

use super::Subject;
use crate::check::{Course, Judged, Procedure, Promise, Seen, Series, Trial};

/// The pause after which the token bucket is full: it holds the tokens of one second.
const PAUSE_US: u64 = 1_100_000;
/// The time for which requests are sent.
const LASTS_US: u64 = 1_000_000;
/// More requests than a client can send in that time.
const MOST_REQUESTS: u32 = 1_000_000;
/// Requests sent for each that the rate admits: the bucket is empty soon, and a stalled client can catch up. More would only occupy
/// processors that other trials need.
const REQUESTS_PER_TOKEN: u64 = 10;
/// Permitted deviation of the admitted requests from the expected number, as a share, due to clocks and iterations of Envoy's event loop.
const FEWER: f64 = 0.1;
const MORE: f64 = 0.05;

pub(super) fn promise(subject: &Subject<'_>) -> Option<Promise> {
    if !subject.is_of_listener {
        return None;
    }
    let calls = subject.listener.functions.iter().filter_map(|text| FunctionCall::parse(text).ok());
    let per_second = calls.filter(|call| call.id == "rate-limit/local").find_map(|mut call| {
        match call.knobs.remove("per_second")? {
            KnobValue::Integer(value) => u32::try_from(value).ok(),
            KnobValue::Word(_) => None,
        }
    })?;
    let requests = counted(u64::from(per_second), "request");
    let said = format!("{requests} per second are admitted, and a burst of as many");
    Some(Promise { about: PromiseKind::RateLimit, said, trial: Ok(Box::new(Bucket { per_second })) })
}

/// Empties a full bucket, and continues while it is refilled.
#[derive(Debug)]
struct Bucket {
    per_second: u32,
}

impl Trial for Bucket {
    fn procedure(&self) -> Procedure {
        let per_second = (REQUESTS_PER_TOKEN * u64::from(self.per_second)).max(1);
        Procedure::Series(Series {
            pause_us: PAUSE_US,
            requests: MOST_REQUESTS,
            pace_us: 1_000_000 / per_second,
            lasts_us: LASTS_US,
        })
    }

    fn judge(&self, _course: &Course, seen: &Seen) -> Judged {
        let refused = seen.statuses.get(&429).copied().unwrap_or_default();
        let all: u32 = seen.statuses.values().sum();
        let admitted = all - refused;
        let expected = f64::from(self.per_second) * (1.0 + seen.took_us as f64 / 1e6);
        let seconds = seen.took_us as f64 / 1e6;
        let count = |number: u32| grouped(f64::from(number), 0);
        let refusals = format!("{} get status 429", count(refused));
        if f64::from(all) < expected * (1.0 + MORE) + 1.0 {
            let sent = count(all);
            return Judged::Untried(format!(
                "{sent} requests in {seconds} s are too few to reach the limit, {refusals}",
                seconds = grouped(seconds, 2)
            ));
        }
        let expects = grouped(expected, 0);
        let words = format!(
            "{} in {seconds} s, {expects} expected, {refusals}",
            count(admitted),
            seconds = grouped(seconds, 2)
        );
        let range = expected * (1.0 - FEWER) - 1.0..=expected * (1.0 + MORE) + 1.0;
        if range.contains(&f64::from(admitted)) { Judged::Kept(words) } else { Judged::retryable(words) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{is_kept, promises};
    use super::*;

    #[test]
    fn a_limit_admits_what_it_says() {
        let bucket = Bucket { per_second: 100 };
        let kept = |admitted: u32, refused: u32| {
            let statuses = [(200, admitted), (429, refused)].into();
            is_kept(&bucket, &Seen { statuses, took_us: 1_000_000, ..Seen::default() })
        };
        assert_eq!(
            [100, 170, 185, 200, 210, 230, 400].map(|admitted| kept(admitted, 5000)),
            [false, false, true, true, true, false, false]
        );
    }

    #[test]
    fn too_few_requests_are_no_evidence_even_if_all_are_admitted() {
        let seen = Seen { statuses: [(200, 200)].into(), took_us: 1_000_000, ..Seen::default() };
        assert!(!is_kept(&Bucket { per_second: 100 }, &seen));
    }

    #[test]
    fn a_low_limit_is_met_with_few_requests_and_a_high_one_with_as_many_as_are_answered() {
        let pace_us = |per_second| match (Bucket { per_second }).procedure() {
            Procedure::Series(series) => series.pace_us,
            other => panic!("{other:?}"),
        };
        assert_eq!([1, 50, 1_000, 1_000_000, u32::MAX].map(pace_us), [100_000, 2_000, 100, 0, 0]);
    }

    #[test]
    fn the_rate_is_that_of_the_function() {
        let keys = "timeout: 1s, functions: ['rate-limit/local{per_second=7}']";
        let all = promises(PromiseKind::RateLimit, keys);
        let said: Vec<&str> = all.iter().map(|one| one.said.as_str()).collect();
        assert_eq!(said, ["7 requests per second are admitted, and a burst of as many"]);
    }
}
