//! Conditions are parsed, judged and explained.

use hoptax_result::{LowerBounds, Percentile, TimeBounds, sample};

use super::*;

/// The outcome of a condition on a sound load with a change.
pub(super) fn outcome(condition: &str, change: impl FnOnce(&mut LoadResult)) -> FailOnOutcome {
    let mut result = sample::load();
    change(&mut result);
    let all_pass = judge(&mut result, &[condition.parse().unwrap()]);
    assert_eq!(all_pass, result.fail_on[0].outcome == FailOnOutcome::Passed);
    result.fail_on[0].outcome
}

#[test]
fn every_relation_is_evaluated_as_written() {
    // 20,000/s; p99 of response time 200 us, of service time 190 us; p99 of send lag 10 us.
    for (condition, fails) in [
        ("p99>199us", true),
        ("p99>200us", false),
        ("p99>=0.2ms", true),
        ("p99 < 0.0002s", false),
        ("p99<=200us", true),
        ("response.p99.9>299us", true),
        ("service.p99>190us", false),
        ("service.mean<96us", true),
        ("send-lag.p99>9us", true),
        ("max>500us", false),
        ("rate<20001", true),
        ("rate<9900/s", false),
        ("offered>20000", false),
        ("errors>0.1%", false),
        ("errors>=0", true),
        ("unsent>0", false),
        ("status-5xx>0", false),
    ] {
        let expected = if fails { FailOnOutcome::Failed } else { FailOnOutcome::Passed };
        assert_eq!(outcome(condition, |_| {}), expected, "{condition}");
    }
}

#[test]
fn a_condition_limits_response_time_if_it_fails_above_a_percentile_or_the_slowest() {
    let limit_us = |condition: &str| condition.parse::<Condition>().unwrap().response_limit_us();
    for (condition, limit) in [("p99>5ms", 5_000.0), ("response.p50>=200us", 200.0), ("max>1s", 1e6)] {
        assert_eq!(limit_us(condition), Some(limit), "{condition}");
    }
    for condition in ["p99<5ms", "mean>5ms", "service.p99>5ms", "send-lag.p99>1ms", "errors>1%", "rate<9900"]
    {
        assert_eq!(limit_us(condition), None, "{condition}");
    }
}

#[test]
fn failures_are_counted_by_kind_and_as_a_share_of_sent_requests() {
    let fail = |result: &mut LoadResult| {
        result.book.answered -= 500;
        result.book.failed += 500;
        result.failures = [("reset".to_owned(), 400), ("stream-reset-cancel".to_owned(), 100)].into();
    };
    for (condition, fails) in [
        ("errors>0.24%", true),
        ("errors>0.26%", false),
        ("errors>499", true),
        ("reset>0.2%", false),
        ("reset>=0.2%", true),
        ("stream-reset-cancel>99", true),
        ("closed>0", false),
        ("failed>500", false),
    ] {
        let expected = if fails { FailOnOutcome::Failed } else { FailOnOutcome::Passed };
        assert_eq!(outcome(condition, fail), expected, "{condition}");
    }
}

#[test]
fn an_unknown_value_does_not_pass() {
    let withhold = |result: &mut LoadResult| {
        (result.latency.response.p99_us, result.bounds.response.p99_us) = (None, None);
    };
    assert_eq!(outcome("p99>5s", withhold), FailOnOutcome::Unknown);
    assert_eq!(outcome("rate<1", |result| result.rate.achieved = None), FailOnOutcome::Unknown);
    assert_eq!(outcome("p99.99>5s", |_| {}), FailOnOutcome::Unknown, "it was not computed");
    assert_eq!(outcome("errors>0%", |result| result.book.sent = 0), FailOnOutcome::Unknown);
    let bound = |result: &mut LoadResult| {
        withhold(result);
        result.latency.response.at_least = LowerBounds { p99_us: Some(1_000.0), ..LowerBounds::default() };
    };
    for (condition, expected) in [
        ("p99>2ms", FailOnOutcome::Unknown),
        ("p99>0.5ms", FailOnOutcome::Failed),
        ("p99<0.5ms", FailOnOutcome::Passed),
        ("p99<2ms", FailOnOutcome::Unknown),
    ] {
        assert_eq!(outcome(condition, bound), expected, "{condition}");
    }
}

#[test]
fn bounds_decide_what_all_values_between_them_do() {
    use FailOnOutcome::{Failed, Passed, Unknown};

    let between = |low_us, high_us| {
        move |result: &mut LoadResult| {
            result.latency.response.p99_us = None;
            result.bounds.response.p99_us = Some(TimeBounds { low_us, high_us });
        }
    };
    for (condition, expected) in [
        // Within 200 to 400 us, at most 400 us, at least 200 us.
        ("p99>100us", [Failed, Unknown, Failed]),
        ("p99>300us", [Unknown, Unknown, Unknown]),
        ("p99>400us", [Passed, Passed, Unknown]),
        ("p99>=400us", [Unknown, Unknown, Unknown]),
        ("p99<200us", [Passed, Unknown, Passed]),
        ("p99<300us", [Unknown, Unknown, Unknown]),
        ("p99<=400us", [Failed, Failed, Unknown]),
    ] {
        let bounds = [(Some(200.0), Some(400.0)), (None, Some(400.0)), (Some(200.0), None)];
        for ((low_us, high_us), expected) in bounds.into_iter().zip(expected) {
            let found = outcome(condition, between(low_us, high_us));
            assert_eq!(found, expected, "{condition}: {low_us:?} to {high_us:?}");
        }
    }
    let mut result = sample::load();
    between(Some(200.0), Some(400.0))(&mut result);
    judge(&mut result, &["p99>100us".parse().unwrap()]);
    let found = &result.fail_on[0];
    assert_eq!((found.value, found.at_least, found.at_most), (None, Some(200.0), Some(400.0)));
}

#[test]
fn a_void_result_never_passes() {
    let void = |result: &mut LoadResult| result.verdict = Verdict::Void;
    assert_eq!(outcome("errors>50%", void), FailOnOutcome::Unknown);
    assert_eq!(outcome("errors>=0", void), FailOnOutcome::Failed);
}

#[test]
fn any_percentile_of_response_and_service_time_can_be_a_condition() {
    let condition: Condition = "service.p97.5>80us".parse().unwrap();
    assert_eq!(condition.percentile(), Some(97.5));
    let add = |result: &mut LoadResult| {
        result.percentiles.push(Percentile {
            percentile: 97.5,
            response_at_least_us: Some(70.0),
            service_us: Some(81.0),
            ..Percentile::default()
        });
    };
    assert_eq!(outcome("service.p97.5>80us", add), FailOnOutcome::Failed);
    assert_eq!(outcome("p97.5>80us", add), FailOnOutcome::Unknown);
    assert_eq!("connect.p99>1ms".parse::<Condition>().unwrap().percentile(), None);
}

#[test]
fn invalid_conditions_are_errors() {
    for (text, expected) in [
        ("p99", "write it as `p99>5ms`"),
        ("p99>5", "with its unit"),
        ("p99>fast", "with its unit"),
        ("p100>5ms", "below 100"),
        ("p0>5ms", "above 0"),
        ("rest>0", "no metric `rest`"),
        ("send-lag>1ms", "`send-lag.p99`"),
        ("send-lag.p95>1ms", "other percentiles than p50, p90, p99 and p99.9"),
        ("rate<fast", "is not a rate"),
        ("errors>-1%", "neither a share nor a count"),
        ("errors>100.1%", "more than all requests"),
        ("cpu>80", "write `80%`"),
        ("cpu_us>5ms", "a number of microseconds"),
        ("memory>200", "as `200MiB`"),
        (">5ms", "no metric ``"),
    ] {
        let error = text.parse::<Condition>().unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
