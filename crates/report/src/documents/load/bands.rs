//! The requests of a load, divided by the limits of response time in its conditions.

use hoptax_checks::fail_on::Condition;
use hoptax_result::{LoadResult, Loop};

use super::counts::NS_PER_US;
use crate::chart::{Flow, FlowPart, FlowRole};
use crate::histograms::recorded;

/// Returns the requests divided into those within the lowest limit of `--fail-on`, those between two limits, slower ones, and those without
/// an answer. None without a limit, if the times of some answered requests are unknown, and for results of other tools, whose counts may
/// overlap.
pub(super) fn bands(result: &LoadResult) -> Option<Flow> {
    let limits_us = limits_us(result);
    let book = &result.book;
    let times = recorded(result.histograms.as_ref().and_then(|all| all.response.as_ref()));
    let timed: u64 = times.iter().map(|time| time.count).sum();
    if limits_us.is_empty() || result.imported.is_some() || timed == 0 || timed != book.answered {
        return None;
    }
    let up_to = |limit_us: f64| -> u64 {
        let within = times.iter().filter(|time| time.ns as f64 <= limit_us * NS_PER_US);
        within.map(|time| time.count).sum()
    };
    let part = |name: String, count: u64, role: FlowRole| FlowPart { name, of: Some(0), count, role };
    // A closed loop plans no requests, because it sends the next one after a response.
    let (whole, count, role) = if result.plan.loop_ == Loop::Open || book.unsent > 0 {
        ("planned", book.planned, FlowRole::Planned)
    } else {
        ("sent", book.sent, FlowRole::Sent)
    };
    let mut parts = vec![FlowPart { of: None, ..part(whole.to_owned(), count, role) }];
    let (mut last_us, mut faster) = (None, 0);
    for limit_us in limits_us {
        let (name, role) = match last_us {
            None => (format!("within {}", time(limit_us)), FlowRole::Answered),
            Some(last_us) => (format!("{} to {}", time(last_us), time(limit_us)), FlowRole::Slow),
        };
        let within = up_to(limit_us);
        parts.push(part(name, within - faster, role));
        (last_us, faster) = (Some(limit_us), within);
    }
    let slower = last_us.map_or_else(String::new, |last_us| format!("slower than {}", time(last_us)));
    parts.push(part(slower, timed - faster, FlowRole::Slow));
    let rest = [
        ("not answered", book.sent.saturating_sub(book.answered), FlowRole::Lost),
        ("unsent", book.unsent, FlowRole::Unsent),
    ];
    let rest = rest.into_iter().filter(|(_, count, _)| *count > 0);
    parts.extend(rest.map(|(name, count, role)| part(name.to_owned(), count, role)));
    Some(Flow { title: "requests by their response time".to_owned(), unit: "requests", parts })
}

/// The limits of response time in the conditions, ascending, without duplicates.
fn limits_us(result: &LoadResult) -> Vec<f64> {
    let limit_us = |condition: &str| condition.parse::<Condition>().ok()?.response_limit_us();
    let mut limits: Vec<f64> = result
        .fail_on
        .iter()
        .filter_map(|one| limit_us(&one.condition))
        .filter(|limit| *limit > 0.0)
        .collect();
    limits.sort_by(f64::total_cmp);
    limits.dedup_by(|one, other| one.total_cmp(other).is_eq());
    limits
}

/// A limit as text, in a convenient unit.
fn time(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 1e3 => (us, "us"),
        us if us < 1e6 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    format!("{value} {unit}")
}

#[cfg(test)]
mod tests {
    use hoptax_load::encoded::encode;
    use hoptax_result::{Book, FailOn, FailOnOutcome, LoadHistograms};

    use super::*;
    use crate::fixture;

    fn condition(text: &str) -> FailOn {
        FailOn {
            condition: text.to_owned(),
            outcome: FailOnOutcome::Passed,
            value: None,
            at_least: None,
            at_most: None,
            unit: "us".to_owned(),
        }
    }

    /// A load with 70 requests of 0.5 ms, 20 of 2 ms and 5 of 9 ms, 3 without an answer and 2 that were not sent.
    fn result(conditions: &[&str]) -> LoadResult {
        let mut times = hoptax_load::histogram();
        for (us, count) in [(500, 70), (2_000, 20), (9_000, 5)] {
            times.record_n(us * 1_000, count).unwrap();
        }
        let mut result = fixture::load();
        result.histograms = Some(LoadHistograms { response: encode(&times), ..LoadHistograms::default() });
        result.book = Book { planned: 100, sent: 98, unsent: 2, answered: 95, failed: 3, ..Book::default() };
        result.fail_on = conditions.iter().map(|text| condition(text)).collect();
        result
    }

    fn parts(result: &LoadResult) -> Vec<(String, u64, FlowRole)> {
        let flow = bands(result).unwrap();
        flow.parts.into_iter().map(|part| (part.name, part.count, part.role)).collect()
    }

    #[test]
    fn requests_divide_at_each_limit_and_add_up() {
        let parts = parts(&result(&["p99>5ms", "errors>1%", "p50 > 1000us", "p90>=5ms"]));
        let named: Vec<(&str, u64, FlowRole)> =
            parts.iter().map(|(name, count, role)| (name.as_str(), *count, *role)).collect();
        assert_eq!(
            named,
            [
                ("planned", 100, FlowRole::Planned),
                ("within 1 ms", 70, FlowRole::Answered),
                ("1 ms to 5 ms", 20, FlowRole::Slow),
                ("slower than 5 ms", 5, FlowRole::Slow),
                ("not answered", 3, FlowRole::Lost),
                ("unsent", 2, FlowRole::Unsent),
            ]
        );
        assert_eq!(named[1..].iter().map(|(_, count, _)| count).sum::<u64>(), 100);
    }

    #[test]
    fn no_band_is_made_up_without_a_limit_or_without_the_time_of_each_request() {
        for of_no_limit in ["errors>1%", "service.p99>5ms", "mean>5ms", "p99<5ms"] {
            assert!(bands(&result(&[of_no_limit])).is_none(), "{of_no_limit}");
        }
        assert!(bands(&result(&["max>5ms"])).is_some());
        let mut result = result(&["p99>5ms"]);
        result.book.answered += 1;
        assert!(bands(&result).is_none(), "the time of one is not known");
        result.histograms = None;
        assert!(bands(&result).is_none());
    }

    #[test]
    fn a_closed_loop_begins_with_what_it_sent() {
        let mut result = result(&["p99>5ms"]);
        result.plan.loop_ = Loop::Closed;
        result.book = Book { planned: 98, unsent: 0, ..result.book };
        assert_eq!(parts(&result)[0], ("sent".to_owned(), 98, FlowRole::Sent));
    }
}
